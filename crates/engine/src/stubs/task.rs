//! The stand-in of a function that reaches outside the engine.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::input::SentInput;
use super::{ANY, StubAnswer, StubCall};
use crate::catalogue::{DefaultOutput, FunctionEntry};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::function::{CompileCx, CompiledTask, Function, TaskCx, TaskOutcome};
use crate::path::Path;
use crate::recording::{ReplayedCall, SecretStandIns, innermost_index};
use crate::redaction::Redaction;

/// The stand-in of one function.
pub(crate) struct StubFunction(pub(crate) &'static FunctionEntry);

impl Function for StubFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.0
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(StubTask::compile(self.0, input, cx)?))
    }
}

impl StubTask {
    fn compile(entry: &'static FunctionEntry, input: &Value, cx: &CompileCx<'_>) -> Result<Self, String> {
        Ok(Self {
            function: entry.name,
            target_input: entry.target.input(),
            input: SentInput::compile(entry, input, cx)?,
            output: output(entry, input)?,
        })
    }
}

/// A function of a plugin in a trial: it runs if no stub answers for it.
pub(crate) struct ReplaceableFunction(pub(crate) Arc<dyn Function>);

impl Function for ReplaceableFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.0.entry()
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let live = self.0.compile(input, cx)?;
        Ok(Box::new(ReplaceableTask { stub: StubTask::compile(self.entry(), input, cx)?, live }))
    }
}

/// A task of a trial whose function may run.
struct ReplaceableTask {
    stub: StubTask,
    live: Box<dyn CompiledTask>,
}

impl CompiledTask for ReplaceableTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        let is_answered = cx.work.stubs.answer(self.stub.function, None, cx.task_id(), None).is_some();
        // A run over a recording has no stubs.
        if is_answered && cx.work.recorder.is_none() { self.stub.run(cx) } else { self.live.run(cx) }
    }
}

/// A function in a shadow: its calls get the answers of the run that the shadow follows.
pub(crate) struct ShadowFunction {
    /// The function itself.
    pub(crate) function: Arc<dyn Function>,
    /// Its calls only read, so that they are made if that run did not make them.
    pub(crate) is_read: bool,
}

impl Function for ShadowFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.function.entry()
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let live = if self.is_read { Some(self.function.compile(input, cx)?) } else { None };
        Ok(Box::new(ShadowTask { stub: StubTask::compile(self.entry(), input, cx)?, live }))
    }
}

/// A task of a shadow.
struct ShadowTask {
    stub: StubTask,
    /// The task that makes the call, if it only reads.
    live: Option<Box<dyn CompiledTask>>,
}

impl CompiledTask for ShadowTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let SentCall { input, target, redaction } = self.stub.send(cx)?;
            match (self.stub.ask(cx, input, target, redaction, self.live.is_some()), &self.live) {
                (RepliedCall { call: ReplayedCall::ToMake, .. }, Some(live)) => live.run(cx).await,
                (RepliedCall { call: ReplayedCall::Answered(answer), target }, _) => {
                    self.stub.finish(cx, answer?, target.as_deref())
                }
                (RepliedCall { target, .. }, _) => Err(self.stub.unanswered(target.as_deref())),
            }
        })
    }
}

/// The input of a call with its target, before secrets are replaced.
struct SentCall {
    input: Value,
    target: Option<String>,
    redaction: Redaction,
}

/// The reply to a call of a run over a recording, with the target as others may see it.
struct RepliedCall {
    call: ReplayedCall,
    target: Option<String>,
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
            let SentCall { mut input, target, redaction } = self.send(cx)?;
            if cx.work.recorder.is_some() {
                return self.replay(cx, input, target, redaction);
            }
            redaction.mask(&mut input);
            let task_id = cx.task_id().to_owned();
            let index = innermost_index(cx.work.element_place());
            let answer = cx.work.stubs.answer(self.function, target.as_deref(), &task_id, index).cloned();
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
    /// Computes the input of the call.
    fn send(&self, cx: &mut TaskCx<'_>) -> Result<SentCall, TaskError> {
        let mut redaction = cx.redaction().clone();
        let input = self.input.evaluate(cx, &mut redaction);
        let input = input.map_err(|mut error| {
            error.redact(&redaction);
            error
        })?;
        let target = self.target_input.and_then(|name| input.get(name)?.as_str().map(str::to_owned));
        Ok(SentCall { input: Value::Object(input), target, redaction })
    }

    /// Answers the call as the recorded run was answered.
    fn replay(
        &self,
        cx: &mut TaskCx<'_>,
        input: Value,
        target: Option<String>,
        redaction: Redaction,
    ) -> Result<TaskOutcome, TaskError> {
        let RepliedCall { call, target } = self.ask(cx, input, target, redaction, false);
        let ReplayedCall::Answered(answer) = call else {
            let target = target.as_deref().unwrap_or(ANY);
            let text =
                format!("the recorded run made no such call: {} of '{target}' has no answer", self.function);
            return Err(TaskError::new(ErrorCode::Function, text));
        };
        self.finish(cx, answer?, target.as_deref())
    }

    /// Looks for the answer of the recorded run.
    fn ask(
        &self,
        cx: &mut TaskCx<'_>,
        mut input: Value,
        target: Option<String>,
        redaction: Redaction,
        is_read: bool,
    ) -> RepliedCall {
        let target = target.map(|target| redaction.mask_text(target));
        let secrets = cx.evaluator.secrets();
        SecretStandIns::of_call(&secrets, redaction, self.input.first_secret()).replace(&mut input);
        let index = innermost_index(cx.work.element_place());
        let call = cx.work.recorder.as_mut().map_or(ReplayedCall::Unanswered, |recorder| {
            recorder.answer_call(self.function, target.as_deref(), index, &input, is_read)
        });
        RepliedCall { call, target }
    }

    /// Writes the answer of the recorded run.
    fn finish(
        &self,
        cx: &mut TaskCx<'_>,
        answer: Value,
        target: Option<&str>,
    ) -> Result<TaskOutcome, TaskError> {
        if let Some(target) = target {
            cx.name_target(target);
        }
        if let Some(path) = &self.output {
            cx.write(path, answer)?;
        }
        Ok(TaskOutcome::Success)
    }

    /// Returns the error of a call of a shadow that is not made.
    fn unanswered(&self, target: Option<&str>) -> TaskError {
        let target = target.unwrap_or(ANY);
        let text = format!(
            "shadow_unanswered: {} of '{target}' may change something, and the followed run made no such call; \
             nothing was called",
            self.function
        );
        TaskError::new(ErrorCode::Function, text)
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
