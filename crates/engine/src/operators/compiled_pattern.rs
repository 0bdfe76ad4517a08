//! Regular expressions with an estimate of what a match costs: a match is not interrupted.

use regex::{Regex, RegexBuilder};

use super::arguments::refuse;
use super::guard::spend;

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1024;
/// Bytes that the program of a pattern may take. The smallest that holds it estimates the states of the program.
const PROGRAMS: [usize; 4] = [8 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Bytes of one state.
const STATE: usize = 32;
/// Longest text that a pattern is matched with, in bytes.
pub(super) const MAX_TEXT: usize = 64 << 10;
/// Steps that count as one unit of work.
const STEPS_OF_UNIT: usize = 1024;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct CompiledPattern {
    regex: Regex,
    /// Steps for one byte of a text.
    steps: usize,
}

impl CompiledPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        if source.len() > MAX_PATTERN {
            return Err(format!("a pattern has at most {MAX_PATTERN} bytes"));
        }
        let mut refusal = String::new();
        for size in PROGRAMS {
            match RegexBuilder::new(source).size_limit(size).build() {
                Ok(regex) => return Ok(Self { regex, steps: size / STATE }),
                Err(error) => refusal = error.to_string(),
            }
        }
        let cause = refusal.lines().last().unwrap_or_default().trim_start_matches("error: ");
        Err(format!("the pattern does not compile: {cause}"))
    }

    pub(super) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Counts the work of a match that takes at most so many steps. A step is a state at one byte of the text, `weight`
    /// times.
    ///
    /// # Errors
    /// The text is too long, or time is over.
    pub(super) fn spend(
        &self,
        operator: &str,
        text: &str,
        weight: usize,
        max_steps: usize,
    ) -> datalogic_rs::Result<()> {
        let steps = self.steps * weight.max(1);
        let longest = MAX_TEXT.min(max_steps / steps);
        if text.len() > longest {
            return Err(refuse(format!("{operator} takes texts of up to {longest} bytes with this pattern")));
        }
        spend(1 + text.len() * steps / STEPS_OF_UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_or_too_large_pattern_is_refused() {
        let refusal = |source: &str| CompiledPattern::compile(source).unwrap_err();
        assert!(CompiledPattern::compile("(?P<a>[0-9]+)").is_ok());
        assert!(refusal("(?P<a>[0-9+").contains("unclosed"));
        assert!(refusal(&format!("(?P<a>{})", "x".repeat(2000))).contains("1024"));
        assert!(refusal("(?P<a>((x{1000}){1000}){1000})").contains("compile"));
        assert!(refusal("(?=x)").contains("look"));
    }

    #[test]
    fn larger_program_takes_shorter_texts() {
        crate::operators::guard::start(std::time::Duration::from_secs(60));
        let longest = |source: &str, weight: usize, max_steps: usize| {
            let pattern = CompiledPattern::compile(source).expect(source);
            (0..=16)
                .rev()
                .map(|power| 1_usize << power)
                .find(|length| pattern.spend("matches", &"x".repeat(*length), weight, max_steps).is_ok())
        };
        let (small, large) = ("^[0-9]{4}-[0-9]{2}$", "(?:x{50}){100}");
        assert_eq!(longest(small, 0, 1 << 25), Some(MAX_TEXT));
        assert!((Some(1 << 10)..=Some(1 << 12)).contains(&longest(large, 0, 1 << 25)));
        assert!(longest(large, 0, 1 << 25) < longest(large, 0, 1 << 28));
        assert!(longest(large, 100, 1 << 25) < longest(large, 1, 1 << 25));
    }
}
