//! The expectations of a case, and their comparison with a run.

use serde_json::{Map, Value, json};
use svc_engine::catalogue::Catalogue;
use svc_engine::{ErrorCode, TaskError};
use svc_model::{FieldCode, FieldError, nearest};

use super::compare::{Match, describe, matches};
use super::path::DocumentPath;
use crate::run::{OfflineRecords, OfflineRun};

/// The expected end of a run.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// The values at paths of the run document.
    values: Vec<(DocumentPath, Value)>,
    /// The codes of the task errors.
    errors: Vec<ErrorCode>,
    /// The calls of functions, by name.
    calls: Vec<(String, Vec<Value>)>,
    /// The tasks that ran, in order.
    tasks: Option<Vec<String>>,
}

/// An expectation that a run did not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedExpectation {
    /// The path of the expectation in its case.
    pub path: String,
    /// The differences, a line each.
    pub differences: Vec<String>,
}

impl Expectations {
    /// Reads the members of a case that begin with `expect`.
    pub(super) fn parse(
        case: &Map<String, Value>,
        catalogue: &Catalogue,
        errors: &mut Vec<FieldError>,
    ) -> Self {
        let field = |key: &str| case.get(key).filter(|value| !value.is_null());
        Self {
            values: field("expect").map(|value| parse_values(value, errors)).unwrap_or_default(),
            errors: field("expect_errors").map(|value| parse_codes(value, errors)).unwrap_or_default(),
            calls: field("expect_calls")
                .map(|value| parse_calls(value, catalogue, errors))
                .unwrap_or_default(),
            tasks: field("expect_tasks").map(|value| parse_tasks(value, errors)),
        }
    }

    /// Returns the records that a run must keep to be compared.
    pub fn records(&self) -> OfflineRecords {
        match self.values.iter().any(|(path, _)| path.root() == "audit_trail") {
            true => OfflineRecords::Changes,
            false => OfflineRecords::Tasks,
        }
    }

    /// Returns every expectation that a run does not meet.
    pub fn compare(&self, run: &OfflineRun) -> Vec<FailedExpectation> {
        let failed = self.compare_values(run).into_iter();
        failed
            .chain(self.compare_errors(&run.outcome().errors))
            .chain(self.compare_calls(run))
            .chain(self.compare_tasks(run))
            .collect()
    }

    fn compare_values(&self, run: &OfflineRun) -> Vec<FailedExpectation> {
        let mut roots: Vec<(&str, Value)> = Vec::new();
        let mut failed = Vec::new();
        for (path, expected) in &self.values {
            if roots.iter().all(|(name, _)| *name != path.root()) {
                roots.push((path.root(), run.root(path.root())));
            }
            let root = roots.iter().find(|(name, _)| *name == path.root()).map(|(_, root)| root);
            let got = root.and_then(|root| path.read(root));
            let is_met = match got {
                None => expected.is_null(),
                Some(got) => matches(Match::Equal, expected, got),
            };
            if !is_met {
                failed.push(FailedExpectation {
                    path: format!("expect.{}", path.as_str()),
                    differences: describe(Match::Equal, path.as_str(), expected, got),
                });
            }
        }
        failed
    }

    /// Compares the codes. The marker of a stopped workflow, which follows the error that stopped it, may be
    /// left out.
    fn compare_errors(&self, errors: &[TaskError]) -> Option<FailedExpectation> {
        let all: Vec<_> = errors.iter().map(|error| error.code).collect();
        let of_tasks: Vec<_> = all.iter().copied().filter(|code| *code != ErrorCode::Workflow).collect();
        if self.errors == of_tasks || self.errors == all {
            return None;
        }
        let names = |codes: &[ErrorCode]| json!(codes.iter().map(|code| code.name()).collect::<Vec<_>>());
        let mut differences =
            vec![format!("errors: expected {}, got {}", names(&self.errors), names(&of_tasks))];
        let causes = errors.iter().filter(|error| error.code != ErrorCode::Workflow);
        differences.extend(causes.map(describe_error));
        Some(FailedExpectation { path: "expect_errors".to_owned(), differences })
    }

    fn compare_calls(&self, run: &OfflineRun) -> Vec<FailedExpectation> {
        let inputs_of = |function: &str| -> Vec<&Value> {
            let calls = run.outcome().calls.iter().filter(|call| call.function == function);
            calls.map(|call| &call.input).collect()
        };
        let failed = self.calls.iter().filter_map(|(function, expected)| {
            let (inputs, mut differences) = (inputs_of(function), Vec::new());
            if inputs.len() != expected.len() {
                let text = format!("{function}: expected {} call(s), got {}", expected.len(), inputs.len());
                differences.push(text);
            }
            for (n, (expected, input)) in expected.iter().zip(&inputs).enumerate() {
                differences.extend(describe(
                    Match::Subset,
                    &format!("{function}[{n}].input"),
                    expected,
                    Some(input),
                ));
            }
            let path = format!("expect_calls.{function}");
            (!differences.is_empty()).then_some(FailedExpectation { path, differences })
        });
        failed.collect()
    }

    fn compare_tasks(&self, run: &OfflineRun) -> Option<FailedExpectation> {
        let expected = self.tasks.as_ref()?;
        let ran: Vec<&str> = run.outcome().audit_trail.iter().map(|entry| &*entry.task_id).collect();
        if *expected == ran {
            return None;
        }
        let mut differences = vec![format!("tasks: expected {}, got {}", json!(expected), json!(ran))];
        let longest = expected.len().max(ran.len());
        let first = (0..longest).find(|&n| expected.get(n).map(String::as_str) != ran.get(n).copied());
        differences.extend(first.map(|n| {
            let name = |id: Option<&str>| id.map_or_else(|| "no task".to_owned(), |id| format!("'{id}'"));
            let (expected, got) = (name(expected.get(n).map(String::as_str)), name(ran.get(n).copied()));
            format!("tasks[{n}]: expected {expected}, got {got}")
        }));
        Some(FailedExpectation { path: "expect_tasks".to_owned(), differences })
    }
}

/// Describes an error of a run with its task and its cause.
fn describe_error(error: &TaskError) -> String {
    let task = error.task_id.as_ref().map_or_else(String::new, |task| format!(" in task '{task}'"));
    let detail = error.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
    format!("{}{task}: {}{detail}", error.code.name(), error.message)
}

fn parse_values(value: &Value, errors: &mut Vec<FieldError>) -> Vec<(DocumentPath, Value)> {
    let Value::Object(members) = value else {
        errors.push(FieldError::type_mismatch("expect", "object", value));
        return Vec::new();
    };
    let mut values = Vec::new();
    for (path, expected) in members {
        match DocumentPath::parse(path) {
            Ok(path) => values.push((path, expected.clone())),
            Err(reason) => errors.push(FieldError::invalid(format!("expect.{path}"), reason)),
        }
    }
    values
}

fn parse_codes(value: &Value, errors: &mut Vec<FieldError>) -> Vec<ErrorCode> {
    let mut codes = Vec::new();
    for (n, name) in parse_texts(value, "expect_errors", errors).into_iter().enumerate() {
        match ErrorCode::ALL.iter().find(|code| code.name() == name) {
            Some(code) => codes.push(*code),
            None => {
                let near = nearest(&name, ErrorCode::ALL.iter().map(|code| code.name()));
                let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                let message = format!("no task error has this code{hint}");
                errors.push(FieldError::invalid(format!("expect_errors[{n}]"), message));
            }
        }
    }
    codes
}

fn parse_calls(
    value: &Value,
    catalogue: &Catalogue,
    errors: &mut Vec<FieldError>,
) -> Vec<(String, Vec<Value>)> {
    let Value::Object(functions) = value else {
        errors.push(FieldError::type_mismatch("expect_calls", "object", value));
        return Vec::new();
    };
    let recorded = || catalogue.entries().filter(|entry| entry.is_stubbable());
    let mut calls = Vec::new();
    for (function, expected) in functions {
        let at = format!("expect_calls.{function}");
        if recorded().all(|entry| entry.name != function) {
            let near = nearest(function, recorded().map(|entry| entry.name));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let message = format!("no function of this name calls a connector or a channel{hint}");
            errors.push(FieldError::new(at, FieldCode::UnknownFunction, message));
            continue;
        }
        let Value::Array(inputs) = expected else {
            errors.push(FieldError::type_mismatch(at, "array", expected));
            continue;
        };
        let wrong = inputs.iter().enumerate().filter(|(_, input)| !input.is_object());
        errors
            .extend(wrong.map(|(n, input)| FieldError::type_mismatch(format!("{at}[{n}]"), "object", input)));
        calls.push((function.clone(), inputs.clone()));
    }
    calls
}

fn parse_tasks(value: &Value, errors: &mut Vec<FieldError>) -> Vec<String> {
    parse_texts(value, "expect_tasks", errors)
}

fn parse_texts(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> Vec<String> {
    let Value::Array(items) = value else {
        errors.push(FieldError::type_mismatch(at, "array", value));
        return Vec::new();
    };
    let wrong = items.iter().enumerate().filter(|(_, item)| !item.is_string());
    errors.extend(wrong.map(|(n, item)| FieldError::type_mismatch(format!("{at}[{n}]"), "string", item)));
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
