//! `split` by a pattern with named groups. Not an operator for authors, who write the name of the library underneath:
//! that one splits at texts only.

use std::collections::HashMap;
use std::sync::Arc;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};
use parking_lot::RwLock;

use super::arguments::refuse;
use super::compiled_pattern::{CompiledPattern, MAX_TEXT};

/// `[text, pattern]`: what each named group of the pattern matched, null for one that matched nothing.
pub(crate) const GROUPS: &str = "#groups";

/// Steps that a match may take.
const MAX_STEPS: usize = 1 << 28;
/// Patterns that are kept compiled. Patterns are literals, so that there are as many as definitions have.
const MAX_KEPT: usize = 1024;

/// Returns `true` for a separator that is a pattern with named groups.
pub(crate) fn has_named_groups(separator: &str) -> bool {
    separator.contains("(?P<")
        || separator
            .match_indices("(?<")
            .any(|(at, found)| !separator[at + found.len()..].starts_with(['=', '!']))
}

#[derive(Default)]
pub(super) struct NamedGroups {
    kept: RwLock<HashMap<String, Arc<CompiledPattern>>>,
}

impl NamedGroups {
    fn compiled(&self, pattern: &str) -> Result<Arc<CompiledPattern>, String> {
        if let Some(known) = self.kept.read().get(pattern) {
            return Ok(Arc::clone(known));
        }
        let compiled = Arc::new(CompiledPattern::compile(pattern)?);
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
        let pattern = self.compiled(pattern).map_err(refuse)?;
        pattern.spend("split", text, 1, MAX_STEPS)?;
        let matched = pattern.regex().captures(text);
        let members = pattern.regex().capture_names().flatten().map(|name| {
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
}
