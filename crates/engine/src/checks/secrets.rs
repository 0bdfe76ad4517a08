//! Secrets a workflow reads. An author's process may not be the one that serves, so these only warn; the
//! engine refuses when it compiles the workflow for serving.

use serde_json::{Map, Value};
use svc_model::documents::STEP_LISTS;
use svc_model::{FieldCode, Issue, WorkflowContent};

use super::Check;
use crate::expression::Survey;

/// The message about a secret that the history of a run would show.
const RECORDED: &str = "a secret read here would be recorded; a channel that runs this is quarantined";

/// Returns the inputs of a workflow in which a secret is read and would be recorded: no process can load it.
pub fn recorded_secrets(content: &WorkflowContent) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (at, steps) in content.step_lists() {
        find_recorded(at, steps, &mut issues);
    }
    issues
}

fn find_recorded(at: &str, steps: &[Value], issues: &mut Vec<Issue>) {
    let mut report = |at: String, source: &Value| {
        if !Survey::analyse(source).secrets.is_empty() {
            issues.push(Issue::new(at, RECORDED));
        }
    };
    for (n, step) in steps.iter().enumerate() {
        let (function, input) = (&step["function"]["name"], &step["function"]["input"]);
        let at = format!("{at}[{n}].function.input");
        match (function.as_str(), input) {
            (Some("map"), input) => {
                let mappings = input["mappings"].as_array().into_iter().flatten().enumerate();
                mappings.for_each(|(n, one)| report(format!("{at}.mappings[{n}].logic"), &one["logic"]));
            }
            (Some("log"), Value::Object(fields)) => {
                fields.iter().for_each(|(field, source)| report(format!("{at}.{field}"), source));
            }
            _ => {}
        }
    }
    for (n, step) in steps.iter().enumerate() {
        for key in STEP_LISTS {
            if let Some(members) = step.get(key).and_then(Value::as_array) {
                find_recorded(&format!("{at}[{n}].{key}"), members, issues);
            }
        }
    }
}

impl Check<'_, '_> {
    /// Warns about secrets this process does not declare.
    pub(super) fn warn_of_undeclared_secrets(&mut self, at: &str, source: &Value) {
        for name in Survey::analyse(source).secrets {
            let message = match name {
                None => {
                    "a secret is read by a literal name; a channel that runs this is quarantined".to_owned()
                }
                Some(name) if !self.engine.evaluator.secrets().declares(name) => {
                    format!(
                        "the secret \"{name}\" is not declared here; a channel that runs this is quarantined"
                    )
                }
                Some(_) => continue,
            };
            self.warnings.push(Issue::new(at, message).with_code(FieldCode::NotLoadable));
        }
    }

    /// Warns about secrets of a built-in: undeclared ones, and those whose value would be recorded.
    pub(super) fn check_recorded(&mut self, function: &str, input: &Map<String, Value>, at: &str) {
        for (field, source) in input {
            let at = format!("{at}.{field}");
            self.warn_of_undeclared_secrets(&at, source);
            if matches!(function, "map" | "log") && !Survey::analyse(source).secrets.is_empty() {
                self.warnings.push(Issue::new(at, RECORDED).with_code(FieldCode::NotLoadable));
            }
        }
    }
}
