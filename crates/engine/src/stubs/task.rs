//! The stand-in of a function that reaches outside the engine.

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::input::SentInput;
use super::{ANY, StubAnswer, StubCall};
use crate::catalogue::{DefaultOutput, FunctionEntry};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::function::{CompileCx, CompiledTask, Function, TaskCx, TaskOutcome};
use crate::path::Path;
use crate::recording::{SecretStandIns, innermost_index};
use crate::redaction::Redaction;

/// The stand-in of one function.
pub(crate) struct StubFunction(pub(crate) &'static FunctionEntry);

impl Function for StubFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.0
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(StubTask {
            function: self.0.name,
            target_input: self.0.target.input(),
            input: SentInput::compile(self.0, input, cx)?,
            output: output(self.0, input)?,
        }))
    }
}

/// Returns the path that the result of a task is written to; `None` for a result that is discarded.
fn output(entry: &FunctionEntry, input: &Value) -> Result<Option<Path>, String> {
    let Some(field) = entry.field("output") else { return Ok(None) };
    let written = input.get("output").or_else(|| input.get(field.alias?)).and_then(Value::as_str);
    if written.is_none() && entry.default_output == DefaultOutput::Discarded {
        return Ok(None);
    }
    Path::parse_target(written.unwrap_or("data")).map(Some).map_err(|error| format!("output: {error}"))
}

/// A task whose function has a stand-in.
struct StubTask {
    function: &'static str,
    /// The input that names the connector or channel.
    target_input: Option<&'static str>,
    input: SentInput,
    output: Option<Path>,
}

impl CompiledTask for StubTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let mut redaction = cx.redaction().clone();
            let input = self.input.evaluate(cx, &mut redaction);
            let input = input.map_err(|mut error| {
                error.redact(&redaction);
                error
            })?;
            let target = self.target_input.and_then(|name| input.get(name)?.as_str().map(str::to_owned));
            let mut input = Value::Object(input);
            if cx.work.recorder.is_some() {
                return self.replay(cx, input, target, redaction);
            }
            redaction.mask(&mut input);
            let task_id = cx.task_id().to_owned();
            let answer = cx.work.stubs.answer(self.function, target.as_deref(), &task_id).cloned();
            let missing = || self.missing(target.as_deref().unwrap_or(ANY));
            let answer = answer.ok_or_else(missing);
            let target = target.map(|target| redaction.mask_text(target));
            if let Some(target) = &target {
                cx.name_target(target);
            }
            cx.work.calls.push(StubCall { function: self.function, task_id, index: None, target, input });
            match (answer?, &self.output) {
                (StubAnswer::Failure(error), _) => return Err(*error),
                (StubAnswer::Result(value), Some(path)) => cx.write(path, value)?,
                (StubAnswer::Result(_), None) => {}
            }
            Ok(TaskOutcome::Success)
        })
    }
}

impl StubTask {
    /// Answers the call as the recorded run was answered.
    fn replay(
        &self,
        cx: &mut TaskCx<'_>,
        mut input: Value,
        target: Option<String>,
        redaction: Redaction,
    ) -> Result<TaskOutcome, TaskError> {
        let target = target.map(|target| redaction.mask_text(target));
        let secrets = cx.evaluator.secrets();
        SecretStandIns::of_call(&secrets, redaction, self.input.first_secret()).replace(&mut input);
        let index = innermost_index(cx.work.element_place());
        let recorder = cx.work.recorder.as_mut();
        let answer = recorder
            .and_then(|recorder| recorder.answer_call(self.function, target.as_deref(), index, &input));
        let unanswered = || {
            let target = target.as_deref().unwrap_or(ANY);
            let text =
                format!("the recorded run made no such call: {} of '{target}' has no answer", self.function);
            Err(TaskError::new(ErrorCode::Function, text))
        };
        let answer = answer.unwrap_or_else(unanswered)?;
        if let Some(target) = &target {
            cx.name_target(target);
        }
        if let Some(path) = &self.output {
            cx.write(path, answer)?;
        }
        Ok(TaskOutcome::Success)
    }

    fn missing(&self, target: &str) -> TaskError {
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
