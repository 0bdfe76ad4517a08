//! Reading of definitions whose values are declared elsewhere. A `var://name` has no type before a server loads it, so
//! a field that holds one is read with values that it may take, and no problem of its value is reported.

use serde_json::{Value, json};

use crate::config::value_reference::{ValueReference, ValueScope, find_value_references};
use crate::field::FieldError;

/// The references of a part of a definition.
pub(super) struct ReferencedFields(Vec<ValueReference>);

impl ReferencedFields {
    pub(super) fn find(scope: ValueScope, part: &Value) -> Self {
        Self(find_value_references(scope, part))
    }

    /// Returns the problems of references that cannot name a value.
    pub(super) fn form_problems(&self) -> impl Iterator<Item = FieldError> {
        self.0.iter().filter_map(ValueReference::form_problem)
    }

    /// Returns true if a declared value may heal the problem: it is about a reference, or about a block with one.
    pub(super) fn may_heal(&self, problem: &FieldError) -> bool {
        let is_within = |path: &str| {
            let rest = path.strip_prefix(problem.path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.0.iter().any(|reference| is_within(&reference.path))
    }

    /// Reads a part with stand-ins for its references.
    ///
    /// # Errors
    /// The problems that no declared value can heal. There may be none, if no stand-in fits.
    pub(super) fn read<T>(
        &self,
        part: &Value,
        mut read: impl FnMut(&Value) -> Result<T, Vec<FieldError>>,
    ) -> Result<T, Vec<FieldError>> {
        if self.0.is_empty() {
            return read(part);
        }
        let mut part = part.clone();
        let mut attempts = vec![0_usize; self.0.len()];
        loop {
            let mut problems = match read(&part) {
                Ok(value) => return Ok(value),
                Err(problems) => problems,
            };
            let mut has_changed = false;
            for (reference, attempt) in self.0.iter().zip(&mut attempts) {
                let Some(problem) = problems.iter().find(|problem| problem.path == reference.path) else {
                    continue;
                };
                let place = part.pointer_mut(&reference.pointer);
                if let (Some(place), Some(value)) = (place, stand_in(*attempt, problem)) {
                    *place = value;
                    *attempt += 1;
                    has_changed = true;
                }
            }
            if !has_changed {
                problems.retain(|problem| !self.may_heal(problem));
                return Err(problems);
            }
        }
    }
}

/// Returns the next value to try in a field; `None` after the last one. An absent value, which is the default, is the
/// first.
fn stand_in(attempt: usize, problem: &FieldError) -> Option<Value> {
    match attempt {
        0 => Some(Value::Null),
        1 => Some(json!(1)),
        2 => Some(json!(true)),
        3 => Some(json!("a")),
        // The refusal of a text lists the words of a choice.
        4 => Some(first_word(problem).unwrap_or_else(|| json!("https://value.example"))),
        _ => None,
    }
}

fn first_word(problem: &FieldError) -> Option<Value> {
    problem.expected.as_deref()?.as_array()?.first().cloned()
}
