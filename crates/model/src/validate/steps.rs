//! Validation of the shape of tasks and groups.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::documents::STEP_LISTS;
use crate::entity::WorkflowContent;
use crate::field::{FieldCode, FieldError};

/// Maximum length of an id and of a function name, in bytes. Both are metric labels and part of every record
/// of a run.
pub const MAX_LABEL: usize = 255;

/// Maximum nesting depth of groups.
const MAX_DEPTH: usize = 8;

/// Checks every task and group: fields and types, unique ids, and the nesting depth.
pub(super) fn check(content: &WorkflowContent, errors: &mut Vec<FieldError>) {
    let setup = content.loop_.as_ref().and_then(|block| block.get("setup"));
    if let Some(other) = setup.filter(|setup| !setup.is_null() && !setup.is_array()) {
        errors.push(FieldError::type_mismatch("loop.setup", "array", other));
    }
    let mut steps = Steps { errors, ids: HashSet::new() };
    for (path, list) in content.step_lists() {
        steps.list(list, path, 0);
    }
}

/// Returns true for an unexpanded fragment call, which [`scan`](super::scan) reports.
pub(super) fn is_fragment_call(step: &Map<String, Value>) -> bool {
    step.contains_key("use")
}

struct Steps<'a, 'e> {
    errors: &'e mut Vec<FieldError>,
    ids: HashSet<&'a str>,
}

impl<'a> Steps<'a, '_> {
    fn list(&mut self, steps: &'a [Value], path: &str, depth: usize) {
        for (index, step) in steps.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match step {
                Value::Object(step) if is_fragment_call(step) => {}
                Value::Object(step) => self.step(step, &path, depth),
                other => self.errors.push(FieldError::type_mismatch(path, "object", other)),
            }
        }
    }

    fn step(&mut self, step: &'a Map<String, Value>, path: &str, depth: usize) {
        if let Some(id) = self.text(step, path, "id", true) {
            if id.is_empty() {
                self.errors.push(FieldError::invalid(format!("{path}.id"), "an id is not empty"));
            } else if id.len() > MAX_LABEL {
                self.too_long(format!("{path}.id"), id);
            } else if !self.ids.insert(id) {
                let message = format!("another task or group has the id '{id}'");
                let error = FieldError::new(format!("{path}.id"), FieldCode::DuplicateTaskId, message);
                self.errors.push(error.with_got(id));
            }
        }
        self.text(step, path, "description", false);
        self.boolean(step, path, "terminal");
        // The key `tasks` alone makes a group, so that a malformed group is reported as one.
        match step.get("tasks") {
            Some(_) => {
                self.text(step, path, "name", false);
                self.boolean(step, path, "parallel");
                for key in STEP_LISTS {
                    if let Some(members) = step.get(key).filter(|list| key == "tasks" || !list.is_null()) {
                        self.members(members, &format!("{path}.{key}"), depth + 1);
                    }
                }
            }
            None => {
                self.text(step, path, "name", true);
                self.boolean(step, path, "continue_on_error");
                self.function(step.get("function"), &format!("{path}.function"));
            }
        }
    }

    fn members(&mut self, members: &'a Value, path: &str, depth: usize) {
        match members {
            Value::Array(_) if depth > MAX_DEPTH => {
                self.errors
                    .push(FieldError::invalid(path, format!("groups nest at most {MAX_DEPTH} levels deep")));
            }
            Value::Array(members) if members.is_empty() => {
                self.errors.push(FieldError::invalid(path, "a group has at least one task"));
            }
            Value::Array(members) => self.list(members, path, depth),
            other => self.errors.push(FieldError::type_mismatch(path, "array", other)),
        }
    }

    fn function(&mut self, function: Option<&'a Value>, path: &str) {
        match function {
            None | Some(Value::Null) => self.errors.push(FieldError::required(path)),
            Some(Value::Object(function)) => {
                let name = self.text(function, path, "name", true).unwrap_or("-");
                if name.trim().is_empty() {
                    let error = FieldError::invalid(format!("{path}.name"), "a function name is not blank");
                    self.errors.push(error);
                } else if name.len() > MAX_LABEL {
                    self.too_long(format!("{path}.name"), name);
                }
                match function.get("input") {
                    None | Some(Value::Null | Value::Object(_)) => {}
                    Some(other) => {
                        self.errors.push(FieldError::type_mismatch(format!("{path}.input"), "object", other));
                    }
                }
            }
            Some(other) => self.errors.push(FieldError::type_mismatch(path, "object", other)),
        }
    }

    fn too_long(&mut self, path: String, text: &str) {
        self.errors.push(FieldError::too_long(path, MAX_LABEL, text.len(), "bytes"));
    }

    fn text(
        &mut self,
        step: &'a Map<String, Value>,
        path: &str,
        name: &str,
        required: bool,
    ) -> Option<&'a str> {
        match step.get(name) {
            Some(Value::String(text)) => return Some(text),
            None | Some(Value::Null) if !required => {}
            None | Some(Value::Null) => self.errors.push(FieldError::required(format!("{path}.{name}"))),
            Some(other) => {
                self.errors.push(FieldError::type_mismatch(format!("{path}.{name}"), "string", other))
            }
        }
        None
    }

    fn boolean(&mut self, step: &Map<String, Value>, path: &str, name: &str) {
        match step.get(name) {
            None | Some(Value::Null | Value::Bool(_)) => {}
            Some(other) => {
                self.errors.push(FieldError::type_mismatch(format!("{path}.{name}"), "boolean", other))
            }
        }
    }
}
