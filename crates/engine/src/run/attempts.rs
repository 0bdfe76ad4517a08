//! Tasks with retries, or with a time of their own.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use svc_spans::TraceContext;
use tokio::time::Instant;

use super::Run;
use super::call_guard::CallGuard;
use crate::bounds::budget::WorkLimit;
use crate::bounds::evaluation_budget::{EvaluationBudget, timed_out};
use crate::builtin;
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::function::{TaskCx, TaskOutcome};
use crate::scope::{EvaluationScope, WrittenRoots};
use crate::workflow::program::{CompiledStep, GuardedTask, TaskCall};

impl Run<'_> {
    /// Runs a task until an attempt does not fail, its attempts are used up, or another one would not help.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub(super) async fn attempt_all<'w>(
        &mut self,
        step: &'w CompiledStep,
        task: &'w GuardedTask,
        id: &Arc<str>,
        context: &TraceContext,
        scope: &mut EvaluationScope<'w>,
    ) -> Result<TaskOutcome, TaskError> {
        let first_error = self.work.errors.len();
        let mut attempt = 1;
        loop {
            let error = match self.attempt(step, task, id, context, scope).await {
                Err(error) => error,
                outcome => return outcome,
            };
            let delay = match &task.retry {
                Some(retry)
                    if attempt < retry.attempts && retry.applies_to(&error) && self.has_key(task, scope) =>
                {
                    let asked =
                        error.retry_after_secs.map(|seconds| Duration::from_secs(seconds.get().into()));
                    asked.unwrap_or_default().max(retry.delay_after(attempt, random_share()))
                }
                _ => return Err(with_attempts(error, attempt)),
            };
            // A recorded answer does not change while one waits.
            let is_replay = self.work.recorder.as_ref().is_some_and(|recorder| recorder.may_repeat_at_once());
            let delay = if is_replay { Duration::ZERO } else { delay };
            let now = Instant::now();
            if self.pace.deadline().is_some_and(|deadline| deadline <= now + delay) {
                return Err(with_attempts(error, attempt));
            }
            tokio::time::sleep(delay).await;
            if let Err(stop) = EvaluationBudget::check_at(Instant::now()) {
                self.work.errors.push(with_attempts(error, attempt));
                return Err(stop);
            }
            self.work.errors.truncate(first_error);
            self.work.changes.iter_mut().for_each(Vec::clear);
            self.work.mapping_contexts.clear();
            attempt += 1;
            if let Some(recorder) = &mut self.work.recorder {
                recorder.attempt = attempt;
            }
        }
    }

    /// Returns `false` if a task is safe to repeat by its key alone, and the key came to none, so that none was sent.
    fn has_key<'w>(&mut self, task: &'w GuardedTask, scope: &mut EvaluationScope<'w>) -> bool {
        let Some(key) = &task.key else { return true };
        let mut own = EvaluationScope::new(scope.arena(), key.reads());
        let value = match key.copies() {
            Some(path) => self.work.get(&mut own, path),
            None => {
                let context = self.work.context(&mut own, key.reads());
                let value = self.engine.evaluator.evaluate(key, context, scope.arena());
                value.map(|value| value.to_serde_value()).unwrap_or_default()
            }
        };
        !matches!(value, Value::Null | Value::Bool(false))
    }

    /// Runs a task once, within its time.
    async fn attempt<'w>(
        &mut self,
        step: &'w CompiledStep,
        task: &'w GuardedTask,
        id: &Arc<str>,
        context: &TraceContext,
        scope: &mut EvaluationScope<'w>,
    ) -> Result<TaskOutcome, TaskError> {
        let first_error = self.work.errors.len();
        let mut time = AttemptTime::begin(task.timeout, self.pace.deadline());
        let outcome = match &task.call {
            TaskCall::Builtin(builtin) => {
                let mut cx = builtin::BuiltinCx {
                    evaluator: &self.engine.evaluator,
                    logger: &self.engine.logger,
                    workflow: id,
                    task: &step.id,
                    work: &mut self.work,
                    scope,
                    pace: &mut self.pace,
                };
                time.spend(builtin.run(&mut cx)).await
            }
            TaskCall::Task(function) => {
                self.work.stamp_progress(scope);
                let mut cx = TaskCx {
                    evaluator: &self.engine.evaluator,
                    work: &mut self.work,
                    scope: *scope,
                    logger: &self.engine.logger,
                    task_id: &step.id,
                    function: &step.function,
                    loop_counter: self.loop_counter,
                    written: WrittenRoots::default(),
                    deadline: time.deadline,
                    chain: &self.chain,
                    clock: &self.engine.clock,
                    trace_context: context,
                    cancellation: self.cancellation.as_ref(),
                };
                let recorded = step.recordable.as_deref().and_then(|call| call.begin(&mut cx));
                let call = CallGuard::new(self.cancellation.as_deref(), step);
                let outcome = time.spend(function.run(&mut cx)).await;
                call.finish();
                if let Some(recorded) = recorded {
                    recorded.end(cx.work, &outcome);
                }
                scope.forget(cx.written);
                outcome
            }
        };
        if time.own.as_ref().is_some_and(|(_, limit)| limit.is_cut()) {
            // What the task reported after that follows from it.
            self.work.errors.truncate(first_error);
        }
        outcome
    }
}

/// The time of an attempt.
struct AttemptTime {
    /// The end of the attempt: that of the run, or its own.
    deadline: Option<Instant>,
    /// Its own time, if that ends before the run.
    own: Option<(Duration, WorkLimit)>,
}

impl AttemptTime {
    fn begin(timeout: Option<Duration>, end_of_run: Option<Instant>) -> Self {
        let own = timeout.map(|timeout| (timeout, Instant::now() + timeout));
        let own = own.filter(|(_, until)| end_of_run.is_none_or(|end| *until < end));
        let deadline = own.map(|(_, until)| until).or(end_of_run);
        Self { deadline, own: own.map(|(timeout, until)| (timeout, WorkLimit::new(until))) }
    }

    /// Runs the work of the attempt until its end or its deadline, in the middle of an expression too.
    ///
    /// # Errors
    /// Those of the work, or `TIMEOUT_ERROR`.
    async fn spend(
        &mut self,
        work: impl Future<Output = Result<TaskOutcome, TaskError>>,
    ) -> Result<TaskOutcome, TaskError> {
        let Some((timeout, limit)) = &mut self.own else {
            return run_until(self.deadline, work).await.unwrap_or_else(|| Err(timed_out()));
        };
        let mut work = pin!(work);
        let outcome = run_until(self.deadline, poll_fn(|cx| limit.turn(|| work.as_mut().poll(cx)))).await;
        match outcome {
            Some(outcome) if !limit.has_stopped(&outcome) => outcome,
            _ => {
                let text = format!("the task did not end within its timeout_ms ({})", timeout.as_millis());
                Err(TaskError::new(ErrorCode::Timeout, text))
            }
        }
    }
}

/// Runs something to its end; `None` if the deadline comes before.
pub(super) async fn run_until<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        None => Some(future.await),
        Some(deadline) => tokio::time::timeout_at(deadline, future).await.ok(),
    }
}

/// Records in an error that the task was tried more than once.
fn with_attempts(mut error: TaskError, attempts: u32) -> TaskError {
    if let Some(further) = NonZeroU32::new(attempts - 1) {
        error.retry_attempted = Some(true);
        error.retry_count = error.retry_count.max(Some(further));
    }
    error
}

/// Returns a random number from 0 to 1; the middle without a random source.
fn random_share() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
