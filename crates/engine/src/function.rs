//! Task functions: compiled with their input once, run for every message.
//!
//! The built-ins of the engine are functions of their own kind; everything else (connectors, channel calls,
//! plugins) implements [`Function`] and is registered under its name when the engine is built.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use slog::Logger;
use svc_model::{Cancellation, FieldError, key_part};
use svc_secrets::Resolver;
use svc_spans::TraceContext;
use tokio::time::Instant;

use crate::bounds::bounded_json::{ParseJsonError, parse_json_within};
use crate::catalogue::FunctionEntry;
use crate::clock::EngineClock;
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::{Evaluator, Expression, SecretPolicy};
use crate::message::Message;
use crate::operators::DeclaredSecrets;
use crate::path::Path;
use crate::redaction::Redaction;
use crate::run_state::RunState;
use crate::scope::{EvaluationScope, WrittenRoots};
use crate::template::Template;
use crate::truth::ResultUse;

/// The metadata field of a called workflow with the [place](TaskCx::call_path) of the task that called it.
pub const CALL_PATH: &str = "_svc_call_path";

/// The result of a task that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskOutcome {
    /// Done: 200.
    Success,
    /// A bulk write that was applied in part: 207.
    Partial,
    /// A status of the function's own. 400 to 499 go on, 500 and above stop the workflow.
    Status(u16),
    /// Nothing happened and nothing is recorded.
    Skip,
    /// The workflow stops here, normally: 299.
    Halt,
}

/// A task function, by name.
///
/// ```
/// use std::sync::Arc;
///
/// use serde_json::Value;
/// use svc_engine::catalogue::FunctionEntry;
/// use svc_engine::{
///     CompileCx, CompiledTask, Engine, Function, Path, TaskCx, TaskExecution, TaskOutcome,
/// };
///
/// static STAMP: FunctionEntry = FunctionEntry::plugin("stamp", "Writes the time of the run");
///
/// struct StampFunction;
///
/// impl Function for StampFunction {
///     fn entry(&self) -> &'static FunctionEntry {
///         &STAMP
///     }
///
///     fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
///         let output = Path::parse_target("data.stamped_at").map_err(|error| error.to_string())?;
///         Ok(Box::new(StampTask { output }))
///     }
/// }
///
/// struct StampTask {
///     output: Path,
/// }
///
/// impl CompiledTask for StampTask {
///     fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a> {
///         Box::pin(async move {
///             let now = cx.now().to_rfc3339();
///             cx.write(&self.output, now.into())?;
///             Ok(TaskOutcome::Success)
///         })
///     }
/// }
///
/// let builder = Engine::builder().function(Arc::new(StampFunction));
/// assert!(builder.has_function("stamp"));
/// ```
pub trait Function: Send + Sync {
    /// Returns the catalogue entry: the names of the function, its inputs and the systems that it calls.
    fn entry(&self) -> &'static FunctionEntry;

    /// Adds what is wrong with an authored input beyond its table in the catalogue; `at` is the path of the
    /// input.
    ///
    /// Asked of authors' documents and before [`compile`](Self::compile): it passes over what does not fit
    /// the table, looks no reference up, and takes every secret for declared, as the process that serves may
    /// not be the one that stores.
    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let _ = (input, at, errors);
    }

    /// Prepares a task with an authored input in which the checks found nothing.
    ///
    /// # Errors
    /// A text for the author; the workflow is then not usable.
    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String>;

    /// Returns the function for workflows with stand-ins, if its tasks have an effect inside of the process, which no
    /// stub answers for; `None` if they have none.
    fn without_effects(&self) -> Option<Arc<dyn Function>> {
        None
    }
}

/// The execution of a task as a future, which stays on the thread of its run.
pub type TaskExecution<'a> = LocalBoxFuture<'a, Result<TaskOutcome, TaskError>>;

/// A function bound to its input: one task of a workflow.
pub trait CompiledTask: Send + Sync {
    /// Runs the task for one message. Dropping the future cancels it.
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a>;
}

/// The services that a function may use while its task is compiled.
pub struct CompileCx<'e> {
    pub(crate) evaluator: &'e Evaluator,
    pub(crate) material: CompileSecrets<'e>,
}

/// The secrets a workflow is compiled with.
#[derive(Clone, Copy)]
pub struct CompileSecrets<'m> {
    /// Resolves the references in secret fields.
    pub references: &'m dyn Resolver,
    /// The values of the declared names.
    pub declared: &'m DeclaredSecrets,
}

impl CompileCx<'_> {
    /// Compiles an input that is an expression; secrets may be read.
    ///
    /// # Errors
    /// A text for the author.
    pub fn expression(&self, source: &Value) -> Result<Expression, String> {
        self.evaluator.compile_for(ResultUse::Value, source, SecretPolicy::Allowed)
    }

    /// Compiles an input that is an expression and whose value may be recorded: secrets are refused.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn input_expression(&self, source: &Value) -> Result<Expression, String> {
        self.evaluator.compile_for(ResultUse::Value, source, SecretPolicy::Refused("this input"))
    }

    /// Prepares an input in which `{"var": path}` nodes are folded.
    pub fn template(&self, source: &Value) -> Template {
        Template::compile(source)
    }

    /// Returns the secrets, for the inputs that take a reference or `{"secret": name}`.
    pub fn material(&self) -> CompileSecrets<'_> {
        self.material
    }
}

/// The services that a task may use while it runs.
pub struct TaskCx<'x> {
    pub(crate) evaluator: &'x Evaluator,
    pub(crate) work: &'x mut RunState,
    pub(crate) scope: EvaluationScope<'x>,
    pub(crate) logger: &'x Logger,
    pub(crate) task_id: &'x str,
    pub(crate) function: &'x Arc<str>,
    pub(crate) loop_counter: Option<i64>,
    /// The roots this task has written.
    pub(crate) written: WrittenRoots,
    pub(crate) deadline: Option<Instant>,
    pub(crate) chain: &'x Arc<[Arc<str>]>,
    pub(crate) clock: &'x EngineClock,
    pub(crate) trace_context: &'x TraceContext,
    pub(crate) cancellation: Option<&'x Arc<dyn Cancellation>>,
}

impl TaskCx<'_> {
    /// Returns the message as it is now.
    pub fn message(&self) -> &Message {
        &self.work.message
    }

    /// Returns the id of this task.
    pub fn task_id(&self) -> &str {
        self.task_id
    }

    /// Returns the name of the function that this task calls.
    pub fn function(&self) -> &Arc<str> {
        self.function
    }

    /// Returns the log of the engine.
    pub fn logger(&self) -> &Logger {
        self.logger
    }

    /// Returns the current time of the engine's clock.
    pub fn now(&self) -> DateTime<Utc> {
        let now = (self.clock)();
        match &self.work.recorder {
            None => now,
            Some(recorder) => recorder.read_clock(self.work.element_place(), now),
        }
    }

    /// Returns a value that no two runs have alike, such as a salt: a new one, which the recording of the run keeps, or that
    /// of the recorded run. `kind` names the value, alike for every run.
    ///
    /// # Errors
    /// That of `make`.
    pub fn draw<E>(&self, kind: &str, make: impl FnOnce() -> Result<Value, E>) -> Result<Value, E> {
        match &self.work.recorder {
            None => make(),
            Some(recorder) => recorder.draw(self.work.element_place(), kind, make),
        }
    }

    /// Returns the deadline of the task: that of the run, of a group around it or its own, the earliest of them. The task
    /// is cancelled then.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the time left until then.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the channels that led to this run, as [`RunOptions::chain`](crate::RunOptions::chain) names
    /// them. What a workflow writes into its metadata does not change it.
    pub fn chain(&self) -> &Arc<[Arc<str>]> {
        self.chain
    }

    /// Returns the place in a distributed trace at which the spans of this task begin. A request that the task sends
    /// passes it on.
    pub fn trace_context(&self) -> &TraceContext {
        self.trace_context
    }

    /// Returns `true` if the run is a shadow: its calls count for no breaker.
    pub fn is_shadow(&self) -> bool {
        self.work.recorder.as_ref().is_some_and(|recorder| recorder.is_shadow())
    }

    /// Returns the cancellation of the run, for the runs that the task calls.
    pub fn cancellation(&self) -> Option<&Arc<dyn Cancellation>> {
        self.cancellation
    }

    /// Returns the place of this task in the work that the run belongs to: its id, behind those of the tasks that called
    /// this channel, each with the counter of its loop and the place of its element in a fan-out. No two executions of
    /// one attempt have the same place.
    pub fn call_path(&self) -> String {
        let callers = self.message().metadata.get(CALL_PATH).and_then(Value::as_str);
        let callers = callers.map(|callers| format!("{callers}/")).unwrap_or_default();
        let task = key_part(self.task_id);
        let counter = self.loop_counter.map(|counter| counter.to_string());
        match (counter, self.work.element_place()) {
            (Some(counter), None) => format!("{callers}{task}:{counter}"),
            (None, None) => format!("{callers}{task}"),
            (counter, Some(place)) => format!("{callers}{task}:{}:{place}", counter.unwrap_or_default()),
        }
    }

    /// Returns a key for the effects of this task, which is the same at every attempt: the key of the run and the
    /// [place](Self::call_path) of the task. A run without a key, such as a trial, has its id instead.
    pub fn idempotency_key(&self) -> String {
        let message = self.message();
        let run = message.metadata.get("run").and_then(|run| run.get("key")).and_then(Value::as_str);
        let run = run.map_or_else(|| message.id.to_string(), str::to_owned);
        format!("{run}:{}", self.call_path())
    }

    /// Names the channel that the task calls, for the trace of the run. A connector is known by the input of
    /// the task.
    pub fn name_target(&mut self, name: &str) {
        if self.work.tracer.is_some() {
            self.work.target = Some(name.into());
        }
    }

    /// Returns the secrets of this run that no output may show. They must be passed on with the payload.
    pub fn redaction(&self) -> &Redaction {
        &self.work.redaction
    }

    /// Evaluates an expression whose result is handed on, and adds to `redaction` the secrets it reads and
    /// what of the result is made of them.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_tainted(
        &mut self,
        expression: &Expression,
        redaction: &mut Redaction,
    ) -> Result<Value, TaskError> {
        // A reload may replace a secret meanwhile: what was read is the value before or the one after.
        *redaction = self.evaluator.with_secrets_of(expression, redaction);
        let value = self.evaluate(expression);
        *redaction = match &value {
            Ok(value) => self.evaluator.with_derived_from(expression, value, redaction),
            Err(_) => self.evaluator.with_secrets_of(expression, redaction),
        };
        value
    }

    /// Evaluates an expression over the message.
    ///
    /// # Errors
    /// `LOGIC_ERROR` with the reason.
    pub fn evaluate(&mut self, expression: &Expression) -> Result<Value, TaskError> {
        // A scope of its own: what functions read is not known when their workflow is compiled.
        let mut scope = EvaluationScope::new(self.scope.arena(), expression.reads());
        if let Some(path) = expression.copies() {
            return Ok(self.work.get(&mut scope, path));
        }
        let context = self.work.context(&mut scope, expression.reads());
        self.evaluator
            .evaluate(expression, context, scope.arena())
            .map(|value| value.to_serde_value())
            .map_err(|reason| TaskError::new(ErrorCode::Logic, reason))
    }

    /// Evaluates an input over the message as it was when the task began.
    ///
    /// # Errors
    /// `LOGIC_ERROR` with the reason.
    pub(crate) fn evaluate_input(&self, expression: &Expression) -> Result<Value, TaskError> {
        if let Some(path) = expression.copies() {
            return Ok(self.work.message.get(path));
        }
        self.work.mark_place();
        let mut scope = EvaluationScope::new(self.scope.arena(), expression.reads());
        let context = scope.context(&self.work.message, expression.reads());
        self.evaluator
            .evaluate(expression, context, scope.arena())
            .map(|value| value.to_serde_value())
            .map_err(|reason| TaskError::new(ErrorCode::Logic, reason))
    }

    /// Folds a template over the message.
    pub fn resolve(&self, template: &Template) -> Value {
        template.resolve(&self.work.message)
    }

    /// Parses JSON text into a value that the message could hold.
    ///
    /// # Errors
    /// [`ParseJsonError`] for a text that is malformed or too large, and when the run may not go on.
    pub fn parse_json(&self, text: &[u8]) -> Result<Value, ParseJsonError> {
        parse_json_within(text, self.work.max_bytes)
    }

    /// Writes a value of the message.
    ///
    /// # Errors
    /// `TASK_ERROR` for a value that would nest too deep, or an index too far beyond the end of its array.
    pub fn write(&mut self, path: &Path, value: Value) -> Result<(), TaskError> {
        self.written.mark(path.root());
        if let Some(recorder) = &mut self.work.recorder {
            recorder.note_write(&value);
        }
        self.work.put(&mut self.scope, path, value).map_err(|error| error.into_task_error(path))
    }

    /// Reports an error without failing the task.
    pub fn report(&mut self, error: TaskError) {
        self.work.errors.push(error);
    }
}
