//! Objects of one member that call no operator: data, and always true if only truth counts.

use serde_json::Value;
use svc_model::{FieldCode, FieldError, Issue, distance};

use crate::catalogue::operators;
use crate::expression::Evaluator;

/// Operators that take any object for what it is.
const LITERAL: [&str; 1] = ["throw"];

/// Edits within which a name was likely meant to be an operator.
const NEAR: usize = 2;

/// An object that reads like the call of an operator, and calls none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCall {
    /// Its place, its name included.
    pub path: String,
    /// The name that no operator has.
    pub name: String,
    /// True if its value is an array, as that of most calls is.
    pub has_operands: bool,
}

impl UnknownCall {
    /// Returns the refusal if only truth counts.
    pub fn refusal(&self) -> FieldError {
        let suggestion = operators::suggest_operator(&self.name);
        let hint = match suggestion {
            Some(suggestion) => format!("did you mean '{suggestion}'?"),
            None => "GET /api/v1/admin/functions/operators lists those there are".to_owned(),
        };
        let message = format!("no operator has the name '{}', {hint}", self.name);
        let error = FieldError::new(&self.path, FieldCode::UnknownOperator, message);
        match suggestion {
            Some(suggestion) => error.with_expected(suggestion),
            None => error,
        }
    }

    /// Returns the warning if a value is built; `None` for what is likely meant to be data.
    pub fn suspicion(&self) -> Option<Issue> {
        let is_near = operators::names().any(|operator| distance(&self.name, operator) <= NEAR);
        if !is_near && !self.has_operands {
            return None;
        }
        let hint = operators::suggest_operator(&self.name)
            .map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"));
        let message = format!("no operator has the name '{}', so the object is data{hint}", self.name);
        Some(Issue::new(&self.path, message).with_code(FieldCode::SuspectOperator))
    }
}

/// Returns every object of one member that calls no operator, at whatever depth; paths begin at `at`.
pub(crate) fn unknown_calls(evaluator: &Evaluator, at: &str, source: &Value) -> Vec<UnknownCall> {
    let mut calls = Vec::new();
    collect_calls(evaluator, at, source, &mut calls);
    calls
}

fn collect_calls(evaluator: &Evaluator, at: &str, source: &Value, calls: &mut Vec<UnknownCall>) {
    match source {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                collect_calls(evaluator, &format!("{at}[{n}]"), item, calls);
            }
        }
        Value::Object(members) => {
            for (name, operands) in members {
                let path = format!("{at}.{name}");
                if members.len() == 1 && LITERAL.contains(&name.as_str()) {
                    continue;
                }
                collect_calls(evaluator, &path, operands, calls);
                if members.len() == 1 && !evaluator.knows(name) {
                    calls.push(UnknownCall { path, name: name.clone(), has_operands: operands.is_array() });
                }
            }
        }
        _ => {}
    }
}
