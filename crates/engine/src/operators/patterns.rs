//! `matches` and `capture`: regular expressions, in a time that grows with the text and not faster.
//!
//! A pattern is a literal. It is compiled with its expression, and forgotten with it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};
use parking_lot::RwLock;
use regex::Regex;

use super::arguments::{kind_of, refuse};
use super::groups::{MAX_TEXT, build_pattern};
use super::guard::spend;

/// The operators that take a pattern as their second operand.
pub(crate) const PATTERN_OPERATORS: [&str; 2] = ["matches", "capture"];

/// Bytes that the program of a pattern may take. The smallest that holds it estimates the states of the program.
const PROGRAMS: [usize; 4] = [8 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Bytes of one state.
const STATE: usize = 32;
/// Groups whose places are kept in the time of one step of a program.
const GROUPS_OF_STEP: usize = 4;
/// Steps that a match may take: it is not interrupted. A step is a state at one byte of the text.
const MAX_STEPS: usize = 1 << 27;
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
    fn compile(source: &str) -> Result<Self, String> {
        let mut refusal = String::new();
        for size in PROGRAMS {
            match build_pattern(source, size) {
                Ok(regex) => return Ok(Self { regex, steps: size / STATE }),
                Err(why) => refusal = why,
            }
        }
        Err(refusal)
    }

    /// Counts the work of a match, which keeps the places of so many groups.
    fn spend(&self, operator: &str, text: &str, groups: usize) -> datalogic_rs::Result<()> {
        let steps = self.steps * groups.div_ceil(GROUPS_OF_STEP).max(1);
        let longest = MAX_TEXT.min(MAX_STEPS / steps);
        if text.len() > longest {
            return Err(refuse(format!("{operator} takes texts of up to {longest} bytes with this pattern")));
        }
        spend(1 + text.len() * steps / STEPS_OF_UNIT)
    }
}

/// The patterns of the expressions that exist, by their texts.
#[derive(Debug, Default)]
pub(crate) struct PatternPool {
    compiled: RwLock<HashMap<String, Weak<CompiledPattern>>>,
}

impl PatternPool {
    /// Returns a pattern, which is known as long as it is kept.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn compile(&self, source: &str) -> Result<Arc<CompiledPattern>, String> {
        if let Some(known) = self.find(source) {
            return Ok(known);
        }
        let pattern = Arc::new(CompiledPattern::compile(source)?);
        let mut compiled = self.compiled.write();
        if compiled.len() == compiled.capacity() {
            compiled.retain(|_, pattern| pattern.strong_count() > 0);
        }
        compiled.insert(source.to_owned(), Arc::downgrade(&pattern));
        Ok(pattern)
    }

    fn find(&self, source: &str) -> Option<Arc<CompiledPattern>> {
        self.compiled.read().get(source)?.upgrade()
    }

    /// Returns the pattern of a call. Its expression has compiled it.
    fn known(&self, source: &str) -> datalogic_rs::Result<Arc<CompiledPattern>> {
        self.find(source).ok_or_else(|| refuse("a pattern is a literal text"))
    }
}

/// `[text, pattern]`: true if the pattern matches a part of the text; false for null.
pub(super) struct MatchesOperator(pub(super) Arc<PatternPool>);

impl CustomOperator for MatchesOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let Some((text, pattern)) = operands("matches", args)? else { return Ok(arena.bool(false)) };
        let pattern = self.0.known(pattern)?;
        pattern.spend("matches", text, 0)?;
        Ok(arena.bool(pattern.regex.is_match(text)))
    }
}

/// `[text, pattern]`: the parts of the first match: an object of the named groups, or else a list of the match and its
/// groups; null without a match, and for null.
pub(super) struct CaptureOperator(pub(super) Arc<PatternPool>);

impl CustomOperator for CaptureOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let Some((text, pattern)) = operands("capture", args)? else { return Ok(arena.null()) };
        let pattern = self.0.known(pattern)?;
        pattern.spend("capture", text, pattern.regex.captures_len())?;
        let Some(parts) = pattern.regex.captures(text) else { return Ok(arena.null()) };
        let part = |part: Option<regex::Match<'a>>| {
            part.map_or(DataValue::Null, |part| DataValue::String(part.as_str()))
        };
        let members: Vec<(&'a str, DataValue<'a>)> = pattern
            .regex
            .capture_names()
            .flatten()
            .map(|name| (&*arena.alloc_str(name), part(parts.name(name))))
            .collect();
        if members.is_empty() {
            let items: Vec<_> = parts.iter().map(part).collect();
            return Ok(arena.array(&items));
        }
        Ok(arena.object(&members))
    }
}

/// Returns the text and the pattern of a call; `None` for the text null.
fn operands<'a>(
    operator: &str,
    args: &[&'a DataValue<'a>],
) -> datalogic_rs::Result<Option<(&'a str, &'a str)>> {
    match args {
        [DataValue::String(text), DataValue::String(pattern)] => Ok(Some((*text, *pattern))),
        [DataValue::Null, DataValue::String(_)] => Ok(None),
        [other, DataValue::String(_)] => {
            Err(refuse(format!("{operator} takes a text, not {}", kind_of(other))))
        }
        _ => Err(refuse(format!("{operator} takes a text and a pattern"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_known_as_long_as_kept() {
        let pool = PatternPool::default();
        let kept = pool.compile("a+").unwrap();
        drop(pool.compile("b+").unwrap());
        assert!(Arc::ptr_eq(&kept, &pool.compile("a+").unwrap()));
        assert!(pool.known("a+").is_ok() && pool.known("b+").is_err());
        for n in 0..1000 {
            drop(pool.compile(&format!("c{n}")).unwrap());
        }
        assert!(pool.compiled.read().len() < 100, "{}", pool.compiled.read().len());
        assert!(pool.known("a+").is_ok());
    }

    #[test]
    fn larger_program_takes_shorter_texts() {
        crate::operators::guard::start(std::time::Duration::from_secs(60));
        let longest = |source: &str, groups: usize| {
            let pattern = CompiledPattern::compile(source).expect(source);
            (0..=16)
                .rev()
                .map(|power| 1_usize << power)
                .find(|length| pattern.spend("matches", &"x".repeat(*length), groups).is_ok())
        };
        assert_eq!(longest("^[0-9]{4}-[0-9]{2}$", 0), Some(MAX_TEXT));
        assert!((Some(1 << 12)..=Some(1 << 14)).contains(&longest("(?:x{50}){100}", 0)));
        assert!(longest("^(a)(b)(c)(d)(e)(f)(g)(h)$", 400) < longest("^(a)(b)(c)(d)(e)(f)(g)(h)$", 9));
        assert!(CompiledPattern::compile("((x{1000}){1000}){1000}").unwrap_err().contains("compile"));
        assert!(CompiledPattern::compile(&"x".repeat(1025)).unwrap_err().contains("1024"));
        assert!(CompiledPattern::compile("(?=x)").unwrap_err().contains("look"));
    }
}
