//! Views: runs over copies of the message, within the run that they belong to.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value};
use svc_spans::TraceContext;
use tokio::time::Instant;

use super::Run;
use crate::bounds::evaluation_budget::EvaluationBudget;
use crate::bounds::extent::describe_bytes;
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::run_state::RunState;
use crate::scope::EvaluationScope;
use crate::stubs::StubCall;
use crate::trace::{AuditTrailEntry, TaskTiming, Timings, TraceStep, Tracer};

/// The records of what ran on a view.
pub(super) struct ViewRecord {
    errors: Vec<TaskError>,
    audit_trail: Vec<AuditTrailEntry>,
    calls: Vec<StubCall>,
    pub(super) steps: Vec<TraceStep>,
    is_truncated: bool,
    pub(super) timings: Vec<TaskTiming>,
    failures: Vec<Map<String, Value>>,
}

/// Runs one of several views. One that would begin to work when the turn of the run is over waits for the next turn:
/// with many views the run holds its thread no longer than without.
pub(super) async fn run_in_turns<F: Future>(view: F) -> F::Output {
    let mut view = pin!(view);
    poll_fn(|cx| {
        if EvaluationBudget::is_turn_over() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        view.as_mut().poll(cx)
    })
    .await
}

impl<'e> Run<'e> {
    /// Opens views of the message as it is now. All copies of a run share the bound of one message.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED`: the copies take more than the bound. `TIMEOUT_ERROR`: the time of the run is over.
    pub(super) async fn open_views(
        &mut self,
        count: usize,
        context: &TraceContext,
        scope: &mut EvaluationScope<'_>,
    ) -> Result<Vec<Run<'e>>, TaskError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.work.stamp_progress(scope);
        let max_bytes = self.work.max_bytes;
        let room = match self.work.view {
            // The message of a view is one of the copies.
            Some(_) => max_bytes - self.work.message.measure_copy(max_bytes).unwrap_or(max_bytes),
            None => max_bytes,
        };
        let share = room / count;
        if self.work.message.measure_copy(share).is_none() {
            let text = format!(
                "{count} copies of the message would take more than {}; let fewer work at once",
                describe_bytes(room)
            );
            return Err(TaskError::new(ErrorCode::LimitExceeded, text));
        }
        let change_bytes = match self.work.changes {
            Some(_) => self.work.change_bytes / count,
            None => 0,
        };
        let mut views = Vec::with_capacity(count);
        for _ in 0..count {
            // Copies of a large message take their time.
            self.pace.check().await?;
            views.push(self.open_view(share, change_bytes, context));
        }
        Ok(views)
    }

    fn open_view(&self, max_bytes: usize, change_bytes: usize, context: &TraceContext) -> Run<'e> {
        let mut work = RunState {
            message: self.work.message.clone(),
            changes: Some(Vec::new()),
            errors: Vec::new(),
            tracer: self.work.tracer.as_ref().map(Tracer::of_view),
            mapping_contexts: Vec::new(),
            audit_trail: Vec::new(),
            is_progress_due: false,
            bytes: self.work.bytes,
            max_bytes,
            change_bytes,
            redaction: self.work.redaction.clone(),
            stubs: self.work.stubs.clone(),
            calls: Vec::new(),
            recorder: self.work.recorder.as_deref().map(|recorder| Box::new(recorder.of_view())),
            target: None,
            view: None,
        };
        work.become_view(self.work.element_place().cloned());
        Run {
            engine: self.engine,
            workflow_id: self.workflow_id.clone(),
            now: self.now,
            pace: EvaluationBudget::start(Instant::now(), self.pace.deadline()),
            work,
            timings: Timings::default(),
            matched: true,
            loop_counter: self.loop_counter,
            last_read: None,
            chain: Arc::clone(&self.chain),
            trace_context: context.clone(),
            cancellation: self.cancellation.clone(),
            stamps: self.stamps,
            task_spans: self.task_spans.saturating_sub(self.timings.tasks.len()),
            open_groups: None,
        }
    }

    /// Takes the records of a view, which may then have `free_steps` more steps of a trace. A step that is in progress
    /// is cut short.
    pub(super) fn take_record(&mut self, free_steps: usize) -> ViewRecord {
        self.trace_cut_step();
        let tracer = self.work.tracer.as_mut();
        let is_truncated = tracer.as_ref().is_some_and(|tracer| tracer.is_truncated());
        ViewRecord {
            errors: std::mem::take(&mut self.work.errors),
            audit_trail: std::mem::take(&mut self.work.audit_trail),
            calls: std::mem::take(&mut self.work.calls),
            steps: tracer.map(|tracer| tracer.take_steps(free_steps)).unwrap_or_default(),
            is_truncated,
            timings: std::mem::take(&mut self.timings.tasks),
            failures: self.work.take_failures(),
        }
    }

    /// Adds the records of a view to those of the run. `index` is that of the element that the view worked on.
    pub(super) fn add_record(
        &mut self,
        record: ViewRecord,
        index: Option<usize>,
        scope: &mut EvaluationScope<'_>,
    ) {
        let mut errors = record.errors;
        if let Some(index) = index {
            errors.iter_mut().for_each(|error| error.add_element(index));
        }
        self.work.errors.append(&mut errors);
        let entries = record.audit_trail.into_iter();
        for entry in entries.map(|entry| AuditTrailEntry { index: entry.index.or(index), ..entry }) {
            self.work.record_task(entry);
        }
        let calls = record.calls.into_iter();
        self.work.calls.extend(calls.map(|call| StubCall { index: call.index.or(index), ..call }));
        self.timings.tasks.extend(record.timings);
        if let Some(tracer) = &mut self.work.tracer {
            for step in record.steps {
                tracer.push(TraceStep { index: step.index.or(index), ..step });
            }
            if record.is_truncated {
                tracer.truncate();
            }
        }
        for mut failure in record.failures {
            if let Some(index) = index {
                add_element(&mut failure, index);
            }
            self.work.record_failure(scope, failure);
        }
    }
}

/// Names the element of a fan-out around a recorded failure, and around those that it names.
fn add_element(failure: &mut Map<String, Value>, outer: usize) {
    let Some(inner) = failure.get("index").cloned() else {
        failure.insert("index".into(), outer.into());
        return;
    };
    let mut indexes = vec![Value::from(outer)];
    match failure.remove("indexes") {
        Some(Value::Array(named)) => indexes.extend(named),
        _ => indexes.push(inner),
    }
    failure.insert("indexes".into(), indexes.into());
}
