//! Answers that stand in for connectors and other channels while a workflow is tried.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use svc_model::{FieldCode, FieldError, nearest};

use crate::catalogue::{Catalogue, DefaultOutput, FunctionEntry, FunctionTarget, InputField};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::{Expression, SecretPolicy};
use crate::function::{CompileCx, CompiledTask, Function, TaskCx, TaskOutcome};
use crate::path::Path;
use crate::template::Template;

/// The target that stands for every other one.
const ANY: &str = "*";

/// The answers of one trial, and the calls that were made.
#[derive(Clone)]
pub struct Stubs {
    /// By function, then by connector or channel.
    answers: Arc<BTreeMap<String, Map<String, Value>>>,
    calls: Arc<Mutex<Vec<Call>>>,
}

struct Call {
    function: &'static str,
    task_id: String,
    target: Option<String>,
    input: Value,
}

impl Stubs {
    /// Reads `{function: {target: answer}}`, with `*` for any target.
    ///
    /// # Errors
    /// Every function that is not answered by stubs, and every member that is no object; paths begin at `at`.
    pub fn parse(catalogue: &Catalogue, stubs: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        let Value::Object(functions) = stubs else {
            return Err(vec![FieldError::type_mismatch(at, "object", stubs)]);
        };
        let (mut answers, mut errors) = (BTreeMap::new(), Vec::new());
        for (function, targets) in functions {
            let path = format!("{at}.{function}");
            match targets {
                _ if !is_stubbed(catalogue, function) => errors.push(unknown(catalogue, path, function)),
                Value::Object(targets) => {
                    answers.insert(function.clone(), targets.clone());
                }
                other => errors.push(FieldError::type_mismatch(path, "object", other)),
            }
        }
        if errors.is_empty() {
            Ok(Self { answers: Arc::new(answers), calls: Arc::default() })
        } else {
            Err(errors)
        }
    }

    /// Returns the calls that were made, by function, each with its place in the order of all.
    pub fn calls(&self) -> Value {
        let mut calls: Map<String, Value> = Map::new();
        for (seq, call) in self.calls.lock().unwrap_or_else(PoisonError::into_inner).iter().enumerate() {
            let mut shown =
                json!({"seq": seq, "task_id": call.task_id, "function": call.function, "input": call.input});
            if let Some(target) = &call.target {
                shown["stub_target"] = target.as_str().into();
            }
            let of_function = calls.entry(call.function).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = of_function {
                list.push(shown);
            }
        }
        Value::Object(calls)
    }

    /// Returns the stand-in of a function, where it has one.
    pub(crate) fn function(&self, catalogue: &Catalogue, name: &str) -> Option<StubFunction> {
        let entry = catalogue.find(name).filter(|entry| entry.target != FunctionTarget::None)?;
        Some(StubFunction { entry, stubs: self.clone() })
    }

    fn record(&self, call: Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    fn answer(&self, function: &str, target: Option<&str>) -> Option<&Value> {
        let targets = self.answers.get(function)?;
        target.and_then(|target| targets.get(target)).or_else(|| targets.get(ANY))
    }
}

/// Tells whether a function reaches outside the engine.
fn is_stubbed(catalogue: &Catalogue, function: &str) -> bool {
    catalogue.find(function).is_some_and(|entry| entry.target != FunctionTarget::None)
}

fn unknown(catalogue: &Catalogue, path: String, function: &str) -> FieldError {
    let known = catalogue.entries().filter(|entry| entry.target != FunctionTarget::None);
    let known = known.map(|entry| entry.name);
    let message = match nearest(function, known) {
        Some(near) => {
            format!("no function of this name calls a connector or a channel; did you mean {near}?")
        }
        None => {
            "no function of this name calls a connector or a channel, so nothing answers for it".to_owned()
        }
    };
    FieldError::new(path, FieldCode::UnknownFunction, message)
}

/// The stand-in of one function.
pub(crate) struct StubFunction {
    entry: &'static FunctionEntry,
    stubs: Stubs,
}

impl Function for StubFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.entry
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let name = self.entry.name;
        let output = self.entry.field("output").and_then(|field| {
            let aliased = field.alias.and_then(|alias| input.get(alias));
            input.get("output").or(aliased)?.as_str()
        });
        let output = match output {
            _ if self.entry.field("output").is_none() => None,
            None if self.entry.default_output != DefaultOutput::ReplacesData => None,
            written => Some(
                Path::parse_target(written.unwrap_or("data")).map_err(|error| format!("output: {error}"))?,
            ),
        };
        // What may be secret is no part of the record.
        let fields = self.entry.fields.iter().filter(|field| field.secret_at.is_empty());
        let inputs = fields.filter_map(|field| {
            let aliased = field.alias.and_then(|alias| Some((alias, input.get(alias)?)));
            let named = input.get(field.name).map(|value| (field.name, value));
            let (spelling, value) = if field.alias_wins { aliased.or(named) } else { named.or(aliased) }?;
            Some(Recorded::new(field, spelling, value, cx))
        });
        Ok(Box::new(StubTask {
            function: name,
            target: self.entry.target.input().and_then(|name| input[name].as_str()).map(str::to_owned),
            inputs: inputs.collect(),
            output,
            stubs: self.stubs.clone(),
        }))
    }
}

/// An input as it is recorded: its name, and how its value comes about.
struct Recorded(&'static str, Source);

enum Source {
    Folded(Template),
    Evaluated(Expression),
    Written(Value),
}

impl Recorded {
    /// An expression, which its spelling tells, is recorded as the input that it makes, unless it reads a secret: then as it
    /// is written.
    fn new(field: &InputField, spelling: &'static str, value: &Value, cx: &CompileCx<'_>) -> Self {
        let is_logic = field.logic || spelling.ends_with("_logic");
        if is_logic && let Ok(expression) = cx.evaluator.compile(value, SecretPolicy::Refused("a stub")) {
            let name = field.name.strip_suffix("_logic").unwrap_or(field.name);
            return Self(name, Source::Evaluated(expression));
        }
        let folds = field.resolvable && !is_logic;
        let source =
            if folds { Source::Folded(Template::compile(value)) } else { Source::Written(value.clone()) };
        Self(field.name, source)
    }

    /// Returns the value for the message of a task.
    fn value(&self, cx: &mut TaskCx<'_>) -> Result<Value, TaskError> {
        match &self.1 {
            Source::Folded(template) => Ok(cx.resolve(template)),
            Source::Evaluated(expression) => cx.evaluate(expression),
            Source::Written(value) => Ok(value.clone()),
        }
    }
}

/// A task whose function has a stand-in.
struct StubTask {
    function: &'static str,
    target: Option<String>,
    inputs: Vec<Recorded>,
    output: Option<Path>,
    stubs: Stubs,
}

impl CompiledTask for StubTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let mut input = Map::new();
            for recorded in &self.inputs {
                input.insert(recorded.0.to_owned(), recorded.value(cx)?);
            }
            let input = Value::Object(input);
            let (task_id, target) = (cx.task_id().to_owned(), self.target.clone());
            self.stubs.record(Call { function: self.function, task_id, target, input });
            let answer = self.stubs.answer(self.function, self.target.as_deref());
            let answer = answer.cloned().ok_or_else(|| self.missing())?;
            if let Some(path) = &self.output {
                cx.write(path, answer)?;
            }
            Ok(TaskOutcome::Success)
        })
    }
}

impl StubTask {
    fn missing(&self) -> TaskError {
        let target = self.target.as_deref().unwrap_or(ANY);
        let example = json!({ self.function: { target: {} } });
        TaskError::new(
            ErrorCode::Function,
            format!(
                "no stub answers {} of '{target}'; add it to the stubs, such as {example}",
                self.function
            ),
        )
    }
}
