//! `split` by a pattern with named groups. Not an operator for authors, who write the name of the library underneath:
//! that one splits at texts only.

use std::collections::HashMap;
use std::sync::Arc;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};
use parking_lot::RwLock;
use regex::{Regex, RegexBuilder};

use super::arguments::refuse;
use super::guard::{spend, text_units};

/// `[text, pattern]`: what each named group of the pattern matched, null for one that matched nothing.
pub(crate) const GROUPS: &str = "#groups";

/// Longest pattern, in bytes, and the bytes that it may take when it is compiled.
const MAX_PATTERN: usize = 1024;
const MAX_PROGRAM: usize = 1 << 20;
/// Longest text that a pattern is matched with, in bytes: a match is not interrupted.
pub(super) const MAX_TEXT: usize = 64 << 10;
/// Patterns that are kept compiled. Patterns are literals, so that there are as many as definitions have.
const MAX_KEPT: usize = 1024;

/// Returns `true` for a separator that is a pattern with named groups.
pub(crate) fn has_named_groups(separator: &str) -> bool {
    separator.contains("(?P<")
        || separator
            .match_indices("(?<")
            .any(|(at, found)| !separator[at + found.len()..].starts_with(['=', '!']))
}

/// Compiles a pattern.
///
/// # Errors
/// A text for the author.
pub(crate) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    build_pattern(pattern, MAX_PROGRAM)
}

/// Compiles a pattern whose program takes at most so many bytes.
///
/// # Errors
/// A text for the author.
pub(super) fn build_pattern(pattern: &str, max_program: usize) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("a pattern has at most {MAX_PATTERN} bytes"));
    }
    let compiled = RegexBuilder::new(pattern).size_limit(max_program).build();
    compiled.map_err(|error| {
        let error = error.to_string();
        let cause = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("the pattern does not compile: {cause}")
    })
}

#[derive(Default)]
pub(super) struct NamedGroups {
    kept: RwLock<HashMap<String, Arc<Regex>>>,
}

impl NamedGroups {
    fn compiled(&self, pattern: &str) -> Result<Arc<Regex>, String> {
        if let Some(known) = self.kept.read().get(pattern) {
            return Ok(Arc::clone(known));
        }
        let compiled = Arc::new(compile_pattern(pattern)?);
        let mut kept = self.kept.write();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), Arc::clone(&compiled));
        Ok(compiled)
    }
}

impl CustomOperator for NamedGroups {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::String(text), DataValue::String(pattern)] = args else {
            return Err(refuse("split takes a text and a separator"));
        };
        if text.len() > MAX_TEXT {
            return Err(refuse(format!("a pattern splits texts of up to {} KiB", MAX_TEXT >> 10)));
        }
        spend(text_units(text))?;
        let pattern = self.compiled(pattern).map_err(refuse)?;
        let matched = pattern.captures(text);
        let members = pattern.capture_names().flatten().map(|name| {
            let part = matched.as_ref().and_then(|matched| matched.name(name));
            let part = part.map_or(DataValue::Null, |part| DataValue::String(&text[part.range()]));
            (&*arena.alloc_str(name), part)
        });
        let members: Vec<_> = members.collect();
        Ok(arena.alloc(DataValue::Object(arena.alloc_slice_copy(&members))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_groups_distinguish_pattern_from_separator() {
        for pattern in ["(?P<a>.)", "x(?<a>.)y"] {
            assert!(has_named_groups(pattern), "{pattern}");
        }
        for separator in [",", "(?", "(a)", "(?<=x)", "(?<!x)"] {
            assert!(!has_named_groups(separator), "{separator}");
        }
    }

    #[test]
    fn wrong_or_too_large_pattern_is_refused() {
        assert!(compile_pattern("(?P<a>[0-9]+)").is_ok());
        assert!(compile_pattern("(?P<a>[0-9+").unwrap_err().contains("unclosed"));
        assert!(compile_pattern(&format!("(?P<a>{})", "x".repeat(2000))).unwrap_err().contains("1024"));
        assert!(compile_pattern("(?P<a>((x{1000}){1000}){1000})").is_err());
    }
}
