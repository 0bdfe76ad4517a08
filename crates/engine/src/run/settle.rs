//! The handling of a task's outcome: its records, and the decision to continue.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{End, Run};
use crate::bounds::budget;
use crate::bounds::evaluation_budget::EvaluationBudget;
use crate::error::{RunFailure, TaskError};
use crate::error_code::ErrorCode;
use crate::function::TaskOutcome;
use crate::scope::EvaluationScope;
use crate::trace::{AuditTrailEntry, StepResult, TraceStep};
use crate::workflow::program::CompiledStep;

impl Run<'_> {
    /// Records what a task answered and decides whether the workflow goes on.
    pub(super) fn settle(
        &mut self,
        step: &CompiledStep,
        id: &Arc<str>,
        outcome: Result<TaskOutcome, TaskError>,
        first_error: usize,
        scope: &mut EvaluationScope<'_>,
    ) -> Option<End> {
        let halted = matches!(outcome, Ok(TaskOutcome::Halt));
        let status = match outcome {
            Ok(TaskOutcome::Skip) => {
                self.work.changes.iter_mut().for_each(Vec::clear);
                return None;
            }
            Ok(TaskOutcome::Success) => 200,
            Ok(TaskOutcome::Partial) => 207,
            Ok(TaskOutcome::Halt) => 299,
            Ok(TaskOutcome::Status(400..)) | Err(_) if budget::is_part_over() => {
                self.work.errors.truncate(first_error);
                return Some(End::Cut);
            }
            Ok(TaskOutcome::Status(status)) => {
                let mut new = self.work.errors.iter().skip(first_error);
                if status >= 500 && !new.any(|error| error.code == ErrorCode::TaskStatus) {
                    let text = format!("the function answered with status {status}");
                    self.work.errors.push(TaskError::new(ErrorCode::TaskStatus, text));
                }
                status
            }
            Err(error) => {
                self.work.changes.iter_mut().for_each(Vec::clear);
                self.work.errors.push(error);
                500
            }
        };
        for error in self.work.errors.iter_mut().skip(first_error) {
            error.is_tolerated = step.continue_on_error;
            error.workflow_id = Some(Arc::clone(id));
            error.task_id = Some(Arc::clone(&step.id));
            error.timestamp = self.now;
            error.redact(&self.work.redaction);
        }
        let changes = match (&mut self.work.changes, &self.work.tracer) {
            (None, _) => Vec::new(),
            (Some(changes), None) => std::mem::take(changes),
            // The trace step shows them too.
            (Some(changes), Some(_)) => changes.clone(),
        };
        self.work.record_task(AuditTrailEntry {
            workflow_id: Arc::clone(id),
            task_id: Arc::clone(&step.id),
            timestamp: self.now,
            status,
            changes,
            loop_counter: self.loop_counter,
            index: None,
        });
        if status < 400 {
            return halted.then_some(End::Stopped);
        }
        let last = self.work.errors.get(first_error..).and_then(<[_]>::last).cloned();
        let mut last =
            last.unwrap_or_else(|| TaskError::new(ErrorCode::TaskStatus, format!("status {status}")));
        self.work.record_failure(scope, failure_record(id, step, &last, status));
        if let (Some(cut), true) = (budget::cut_reason(), status >= 500) {
            return Some(self.expire(
                id,
                cut.into_error(),
                &format!("stopped inside the task \"{}\"", step.id),
            ));
        }
        let overrun = match last.code {
            ErrorCode::Timeout => EvaluationBudget::check_at(Instant::now()).err(),
            _ => None,
        };
        let expired = overrun.is_some();
        if expired {
            self.work.errors.iter_mut().skip(first_error).for_each(|error| error.is_tolerated = false);
        }
        last.is_deadline |= expired;
        last.healing = last.healing.or(overrun.and_then(|overrun| overrun.healing));
        if status < 500 || (step.continue_on_error && !expired) {
            return step.halts_on_failure.then_some(End::Stopped);
        }
        self.abort(id, format!("stopped by the task \"{}\"", step.id));
        let failure = Box::new(RunFailure::new(last));
        Some(if expired { End::Expired(failure) } else { End::Failed(failure) })
    }

    /// Marks what stopped a sweep as tolerated: the errors of the tasks that failed, and the marks that a sweep was
    /// stopped. Other errors since `first_error`, of validations, stay as they are.
    pub(super) fn tolerate(&mut self, first_error: usize, failure: &RunFailure) {
        let errors = self.work.errors.get_mut(first_error..).unwrap_or_default();
        let is_mark = |error: &TaskError| error.code == ErrorCode::Workflow;
        // The error before a mark is the one that stopped the sweep. After that `finally` may have been stopped too.
        let before_marks = errors.windows(2).filter_map(|pair| match pair {
            [before, mark] if is_mark(mark) => before.task_id.clone(),
            _ => None,
        });
        let stopped: HashSet<_> = before_marks.chain(failure.error.task_id.clone()).collect();
        for error in errors {
            let has_stopped = error.task_id.as_ref().is_some_and(|task| stopped.contains(task));
            error.is_tolerated |= has_stopped || is_mark(error);
        }
    }

    /// Tolerates what stopped a sweep where the workflow goes on: nothing marks it as stopped then.
    pub(super) fn catch(&mut self, first_error: usize, failure: &RunFailure) {
        self.tolerate(first_error, failure);
        let caught = self.work.errors.split_off(first_error);
        self.work.errors.extend(caught.into_iter().filter(|error| error.code != ErrorCode::Workflow));
    }

    /// Ends a run between two tasks, whatever tolerates errors; or the part of it whose time is over.
    pub(super) fn expire(&mut self, id: &Arc<str>, mut error: TaskError, reason: &str) -> End {
        if error.is_deadline && budget::is_part_over() {
            return End::Cut;
        }
        error.workflow_id = Some(Arc::clone(id));
        error.timestamp = self.now;
        self.work.errors.push(error.clone());
        self.abort(id, reason.into());
        End::Expired(Box::new(RunFailure::new(error)))
    }

    /// Returns the failure of a run that `ended` after its deadline.
    pub(super) fn overrun(&mut self, id: &Arc<str>, ended: Instant) -> Option<RunFailure> {
        let error = EvaluationBudget::check_at(ended).err()?;
        match self.expire(id, error, "ended after its deadline") {
            End::Expired(failure) => Some(*failure),
            _ => None,
        }
    }

    /// Marks in the errors that the workflow was stopped.
    pub(super) fn abort(&mut self, id: &Arc<str>, reason: String) {
        let mut abort = TaskError::new(ErrorCode::Workflow, reason);
        abort.workflow_id = Some(Arc::clone(id));
        abort.timestamp = self.now;
        self.work.errors.push(abort);
    }

    pub(super) fn trace_skipped(
        &mut self,
        id: &Arc<str>,
        task: Option<&Arc<str>>,
        scope: &mut EvaluationScope<'_>,
    ) {
        let message = self.work.snapshot(scope);
        if let Some(tracer) = &mut self.work.tracer {
            tracer.push(TraceStep {
                workflow_id: Arc::clone(id),
                task_id: task.cloned(),
                result: StepResult::Skipped,
                message,
                mapping_contexts: Vec::new(),
                started_at: None,
                duration_us: None,
                function: None,
                target: None,
                changes: Vec::new(),
                loop_counter: self.loop_counter,
                index: None,
            });
        }
    }

    pub(super) fn trace_step(
        &mut self,
        step: &CompiledStep,
        id: &Arc<str>,
        result: StepResult,
        started_at: Option<DateTime<Utc>>,
        duration: Duration,
        scope: &mut EvaluationScope<'_>,
    ) {
        if result == StepResult::Skipped {
            self.work.mapping_contexts.clear();
            self.work.target = None;
            return self.trace_skipped(id, Some(&step.id), scope);
        }
        let message = self.work.snapshot(scope);
        let mapping_contexts = std::mem::take(&mut self.work.mapping_contexts);
        let target = self.work.target.take().or_else(|| step.connector.clone());
        if let Some(tracer) = &mut self.work.tracer {
            tracer.push(TraceStep {
                workflow_id: Arc::clone(id),
                task_id: Some(Arc::clone(&step.id)),
                result,
                message,
                mapping_contexts,
                started_at,
                duration_us: Some(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)),
                function: Some(Arc::clone(&step.function)),
                target,
                changes: self.work.changes.as_mut().map(std::mem::take).unwrap_or_default(),
                loop_counter: self.loop_counter,
                index: None,
            });
        }
    }
}

/// Returns the record of a failed task as later tasks read it: with the status and body of an upstream, if
/// there are any.
pub(super) fn failure_record(
    id: &Arc<str>,
    step: &CompiledStep,
    error: &TaskError,
    status: u16,
) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("workflow_id".into(), (&**id).into());
    record.insert("task_id".into(), (&*step.id).into());
    record.insert("code".into(), error.code.name().into());
    record.insert("status".into(), error.http_status.unwrap_or(status).into());
    if let Some(body) = &error.body {
        record.insert("body".into(), Value::clone(body));
    }
    record
}
