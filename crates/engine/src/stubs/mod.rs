//! Answers that replace connectors and other channels while a workflow is tried.
//!
//! A workflow is compiled with stand-ins once ([`Engine::compile_stubbed`](crate::Engine::compile_stubbed));
//! the answers come with each run, which records the calls that it makes.

mod input;
mod task;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_model::{FieldCode, FieldError, nearest, unknown_keys};

use crate::catalogue::{Catalogue, FunctionEntry, FunctionTarget};
use crate::error::TaskError;
use crate::error_code::ErrorCode;

pub(crate) use input::SentInput;
pub(crate) use task::{ReplaceableFunction, ShadowFunction, StubFunction};

/// The target that matches every other one.
const ANY: &str = "*";

/// The only member of an answer that is an error.
const ERROR: &str = "$error";

/// The members of such an error.
const ERROR_KEYS: [&str; 4] = ["code", "message", "status", "body"];

/// The answers of one trial.
#[derive(Clone, Debug, Default)]
pub struct Stubs {
    /// By function, then by connector or channel.
    answers: Arc<BTreeMap<String, BTreeMap<String, StubAnswer>>>,
}

/// The answer of a system that a stub replaces.
#[derive(Clone, Debug)]
pub(crate) enum StubAnswer {
    Result(Value),
    Failure(Box<TaskError>),
}

/// A call that a run made and a stub answered.
#[derive(Clone, Debug, PartialEq)]
pub struct StubCall {
    /// The function.
    pub function: &'static str,
    /// The task that made it.
    pub task_id: String,
    /// The index of the element, in a fan-out.
    pub index: Option<usize>,
    /// The connector or channel that was called.
    pub target: Option<String>,
    /// The input as the function would send it, without secrets.
    pub input: Value,
}

impl Stubs {
    /// Reads `{function: {target: answer}}`. A target is a connector or channel, one of these for a single
    /// task (`shop#load`) or for an element of its list (`shop#load[2]`), or `*` for any other. An answer
    /// `{"$error": {"code", "message"?, "status"?, "body"?}}` fails the task.
    ///
    /// # Errors
    /// Every function that is not answered by stubs, every member that is no object, and every malformed
    /// error; paths begin at `at`.
    pub fn parse(catalogue: &Catalogue, stubs: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        let Value::Object(functions) = stubs else {
            return Err(vec![FieldError::type_mismatch(at, "object", stubs)]);
        };
        let (mut answers, mut errors) = (BTreeMap::new(), Vec::new());
        for (function, targets) in functions {
            let path = format!("{at}.{function}");
            match (find_stubbable(catalogue, function), targets) {
                (None, _) => errors.push(unknown(catalogue, path, function)),
                (Some(entry), Value::Object(targets)) => {
                    answers.insert(entry.name.to_owned(), parse_targets(targets, &path, &mut errors));
                }
                (Some(_), other) => errors.push(FieldError::type_mismatch(path, "object", other)),
            }
        }
        if errors.is_empty() { Ok(Self { answers: Arc::new(answers) }) } else { Err(errors) }
    }

    /// Returns the answer to a call: that for the element of the task, else that for the task, else that for the target,
    /// else that for any.
    pub(crate) fn answer(
        &self,
        function: &str,
        target: Option<&str>,
        task: &str,
        index: Option<usize>,
    ) -> Option<&StubAnswer> {
        let targets = self.answers.get(function)?;
        let named = target.and_then(|target| {
            let of_element = index.and_then(|index| targets.get(&format!("{target}#{task}[{index}]")));
            of_element.or_else(|| targets.get(&format!("{target}#{task}"))).or_else(|| targets.get(target))
        });
        named.or_else(|| targets.get(ANY))
    }
}

impl StubCall {
    /// Returns calls by function, each with its place in the order of all:
    /// `{function: [{seq, task_id, function, index?, stub_target?, input}]}`.
    pub fn by_function(calls: &[Self]) -> Value {
        let mut grouped: Map<String, Value> = Map::new();
        for (seq, call) in calls.iter().enumerate() {
            let mut shown = json!({"seq": seq, "task_id": call.task_id, "function": call.function});
            if let Some(index) = call.index {
                shown["index"] = index.into();
            }
            if let Some(target) = &call.target {
                shown["stub_target"] = target.as_str().into();
            }
            shown["input"] = call.input.clone();
            let of_function = grouped.entry(call.function).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = of_function {
                list.push(shown);
            }
        }
        Value::Object(grouped)
    }
}

/// Returns the entry of a function for which stubs answer: one that reaches outside the engine, or one of a plugin.
pub(crate) fn find_stubbable(catalogue: &Catalogue, function: &str) -> Option<&'static FunctionEntry> {
    catalogue.find(function).filter(|entry| entry.is_stubbable())
}

/// Returns the entry of a function whose answers a shadow needs: one that reaches outside the engine, or has effects
/// within the process.
pub(crate) fn find_answerable(catalogue: &Catalogue, function: &str) -> Option<&'static FunctionEntry> {
    let has_effect = |entry: &FunctionEntry| !matches!(entry.retry_safety, "pure" | "read");
    catalogue.find(function).filter(|entry| entry.target != FunctionTarget::None || has_effect(entry))
}

fn unknown(catalogue: &Catalogue, path: String, function: &str) -> FieldError {
    let entries = catalogue.entries().filter(|entry| entry.is_stubbable()).map(|entry| entry.name);
    let message = match nearest(function, entries) {
        Some(near) => {
            format!("no function of this name calls a connector or a channel; did you mean {near}?")
        }
        None => {
            "no function of this name calls a connector or a channel, so nothing answers for it".to_owned()
        }
    };
    FieldError::new(path, FieldCode::UnknownFunction, message)
}

fn parse_targets(
    targets: &Map<String, Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) -> BTreeMap<String, StubAnswer> {
    let mut answers = BTreeMap::new();
    for (target, answer) in targets {
        let answer = match answer.get(ERROR).filter(|_| answer.as_object().is_some_and(|map| map.len() == 1))
        {
            None => Some(StubAnswer::Result(answer.clone())),
            Some(error) => parse_error(error, &format!("{at}.{target}.{ERROR}"), errors),
        };
        answers.extend(answer.map(|answer| (target.clone(), answer)));
    }
    answers
}

/// Reads `{"code", "message"?, "status"?, "body"?}`.
fn parse_error(error: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<StubAnswer> {
    let Value::Object(members) = error else {
        errors.push(FieldError::type_mismatch(at, "object", error));
        return None;
    };
    let before = errors.len();
    errors.extend(unknown_keys(members, at, &ERROR_KEYS, &[]));
    let code = match members.get("code") {
        None => {
            errors.push(FieldError::required(format!("{at}.code")));
            None
        }
        Some(Value::String(name)) => parse_code(name, at, errors),
        Some(other) => {
            errors.push(FieldError::type_mismatch(format!("{at}.code"), "string", other));
            None
        }
    };
    let message = match members.get("message") {
        None => Some("the stub fails"),
        Some(Value::String(text)) => Some(text.as_str()),
        Some(other) => {
            errors.push(FieldError::type_mismatch(format!("{at}.message"), "string", other));
            None
        }
    };
    let status = members.get("status").map(|status| {
        let status_code = status.as_u64().and_then(|code| u16::try_from(code).ok());
        status_code.filter(|code| (100..=599).contains(code)).ok_or("expected a status from 100 to 599")
    });
    if let Some(Err(reason)) = status {
        errors.push(FieldError::invalid(format!("{at}.status"), reason));
    }
    if errors.len() > before {
        return None;
    }
    let error = TaskError {
        http_status: status.and_then(Result::ok),
        body: members.get("body").cloned().map(Box::new),
        ..TaskError::new(code?, message?)
    };
    Some(StubAnswer::Failure(Box::new(error)))
}

fn parse_code(name: &str, at: &str, errors: &mut Vec<FieldError>) -> Option<ErrorCode> {
    let code = ErrorCode::ALL.iter().copied().find(|code| code.name() == name);
    if code.is_none() {
        let near = nearest(name, ErrorCode::ALL.iter().map(|code| code.name()));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        errors.push(FieldError::invalid(format!("{at}.code"), format!("no such task error code{hint}")));
    }
    code
}
