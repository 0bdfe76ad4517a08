//! The answer that a workflow shapes at `data._svc.response`: names without a meaning there, a status that is none, and a
//! body that nothing writes. What is wrong is left out of the answer, with a line in the log.

use serde_json::Value;
use svc_model::documents::STEP_LISTS;
use svc_model::{FieldCode, Issue, WorkflowContent, distance, nearest};

use super::written::WrittenPaths;
use crate::catalogue::operators;

/// The place below `data` that has the answer.
const PARENT: &str = "data._svc.";
const RESPONSE: &str = "response";

/// The members of an answer.
const MEMBERS: [&str; 5] = ["status", "headers", "cookies", "body_path", "raw"];

/// Edits within which a name was likely meant to be that of the answer.
const NEAR: usize = 2;

/// Adds a warning for every mapping that writes an answer in a way that has no effect. `written` is absent where a task may
/// write anything.
pub(super) fn warn(content: &WorkflowContent, written: Option<&WrittenPaths>, warnings: &mut Vec<Issue>) {
    let mut check = AnswerCheck { written, warnings };
    for (at, steps) in content.step_lists() {
        check.steps(at, steps);
    }
}

/// Returns the part behind `data.svc.` of a path that was likely meant to be that of the answer.
fn without_underscore(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("data.svc.")?;
    (rest.split('.').next() == Some(RESPONSE)).then_some(rest)
}

struct AnswerCheck<'w> {
    written: Option<&'w WrittenPaths>,
    warnings: &'w mut Vec<Issue>,
}

impl AnswerCheck<'_> {
    fn steps(&mut self, at: &str, steps: &[Value]) {
        for (n, step) in steps.iter().enumerate() {
            if step.get("tasks").is_some() {
                for key in STEP_LISTS {
                    let members = step[key].as_array().map_or(&[][..], Vec::as_slice);
                    self.steps(&format!("{at}[{n}].{key}"), members);
                }
            } else if step["function"]["name"] == "map" {
                let mappings = step["function"]["input"]["mappings"].as_array();
                for (index, mapping) in mappings.into_iter().flatten().enumerate() {
                    let path = mapping["path"].as_str();
                    if let Some(rest) = path.and_then(without_underscore) {
                        let at = format!("{at}[{n}].function.input.mappings[{index}].path");
                        let message = format!("no answer is read here, did you mean '{PARENT}{rest}'?");
                        self.warnings.push(Issue::new(at, message));
                    }
                    let below = path.and_then(|path| path.strip_prefix(PARENT));
                    if let Some(below) = below {
                        let at = format!("{at}[{n}].function.input.mappings[{index}]");
                        self.mapping(&at, below, &mapping["logic"]);
                    }
                }
            }
        }
    }

    fn mapping(&mut self, at: &str, below: &str, logic: &Value) {
        let (name, member) = below.split_once('.').map_or((below, None), |(name, rest)| (name, Some(rest)));
        let logic_at = format!("{at}.logic");
        match member {
            _ if name != RESPONSE => {
                if distance(name, RESPONSE) <= NEAR {
                    let rest = below.strip_prefix(name).unwrap_or_default();
                    let message = format!("no answer is read here, did you mean '{PARENT}{RESPONSE}{rest}'?");
                    self.warnings.push(Issue::new(format!("{at}.path"), message));
                }
            }
            Some(member) => {
                let key = member.split('.').next().unwrap_or_default();
                if let Some(message) = unknown_member(key) {
                    self.warnings.push(Issue::new(format!("{at}.path"), message));
                } else if key == member {
                    self.value(&logic_at, key, logic);
                }
            }
            None => {
                for (key, value) in built_members(logic) {
                    let at = format!("{logic_at}.{key}");
                    match unknown_member(key) {
                        Some(message) => {
                            let issue = Issue::new(at, message).with_code(FieldCode::UnknownField);
                            self.warnings.push(issue);
                        }
                        None => self.value(&at, key, value),
                    }
                }
            }
        }
    }

    /// Looks at the literal value of a member.
    fn value(&mut self, at: &str, key: &str, value: &Value) {
        let message = match (key, value) {
            ("status", Value::String(_) | Value::Bool(_) | Value::Array(_)) => {
                "a status is a number; the answer has the status 200".to_owned()
            }
            ("body_path", Value::String(path)) if !self.is_written(path) => {
                let path = path.strip_prefix("data.").unwrap_or(path);
                format!("nothing in the workflow writes data.{path}, so that the body is null")
            }
            _ => return,
        };
        self.warnings.push(Issue::new(at, message));
    }

    fn is_written(&self, path: &str) -> bool {
        let below = path.strip_prefix("data.").unwrap_or(path);
        path == "data" || self.written.is_none_or(|written| written.touch(&format!("data.{below}")))
    }
}

/// Returns the members of an object that an expression builds; none of a call.
fn built_members(logic: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let members = logic
        .as_object()
        .filter(|members| members.len() != 1 || !members.keys().any(|name| operators::find(name).is_some()));
    members.into_iter().flatten()
}

fn unknown_member(key: &str) -> Option<String> {
    if MEMBERS.contains(&key) {
        return None;
    }
    Some(match nearest(key, MEMBERS) {
        Some(meant) => format!("an answer has no '{key}', did you mean '{meant}'?"),
        None => format!("an answer has no '{key}'; it has {}", MEMBERS.join(", ")),
    })
}
