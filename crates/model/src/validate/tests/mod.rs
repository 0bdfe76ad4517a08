//! Tests of validation: refused documents, with paths and codes of the problems.

mod channel;
mod connector;
mod cron;
mod import;
mod reference;
mod scan;
mod value_reference;
mod workflow;

use serde_json::Value;

use super::{ChannelChecks, WorkflowChecks};
use crate::entity::WorkflowContent;
use crate::field::{FieldCode, FieldError, Issue};

/// Checks that refuse a condition or expression that is the string `broken`.
struct Marked;

impl WorkflowChecks for Marked {
    fn resolves_reference(&self, function: &str, place: &str) -> bool {
        function == "sign" && place == ".key"
    }

    fn check(&self, content: &WorkflowContent, errors: &mut Vec<FieldError>, warnings: &mut Vec<Issue>) {
        if content.condition == "broken" {
            errors.push(FieldError::invalid("condition", "does not compile"));
        }
        if content.condition == "odd" {
            warnings.push(Issue::new("condition", "odd"));
        }
    }
}

impl ChannelChecks for Marked {
    fn compiles(&self, expression: &Value) -> Result<(), String> {
        if expression == "broken" { Err("broken".into()) } else { Ok(()) }
    }
}

/// Returns the paths and codes of problems, sorted.
fn codes(errors: &[FieldError]) -> Vec<(&str, FieldCode)> {
    let mut found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.code)).collect();
    found.sort_unstable_by_key(|(path, code)| (*path, code.name()));
    found
}
