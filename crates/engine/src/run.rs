//! Running a message through a flow.
//!
//! A run is one future on one thread. It checks its deadline and its processor time before every task and
//! mapping, and inside long computations. It cancels the running task when the deadline passes, and yields
//! the thread after holding it for a while.

mod attempts;
mod call_guard;
mod cleanup;
mod composite;
mod cursor;
mod cut_step;
mod fan_out;
mod group;
mod loops;
mod open_groups;
mod outcome;
mod settle;
mod view;

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use svc_model::{Cancellation, WorkflowVersion};
use svc_spans::{ActiveSpan, SpanDraft, TraceContext};
use tokio::time::Instant;

use crate::bounds::budget::Meter;
use crate::bounds::evaluation_budget::{self, EvaluationBudget, timed_out};
use crate::builtin;
use crate::engine::Engine;
use crate::error::{RunFailure, TaskError};
use crate::error_code::ErrorCode;
use crate::function::{TaskCx, TaskOutcome};
use crate::message::Message;
use crate::reads::Reads;
use crate::recording::{
    DrawScope, MetadataReads, RecordingMode, RecordingResult, RunRecorder, RunRecordingEnd, list_errors,
};
use crate::redaction::Redaction;
use crate::run_state::RunState;
use crate::scope::{Arena, EvaluationScope, WrittenRoots};
use crate::stubs::Stubs;
use crate::trace::{StepResult, TaskTiming, Timings, TraceOptions, Tracer};
use crate::workflow::program::{CompiledStep, CompiledWorkflow, Flow, Program, StepAction};

use self::call_guard::CallGuard;
use self::cursor::SweepCursor;
use self::open_groups::OpenGroups;
pub use self::outcome::RunOutcome;

/// Maximum number of tasks that one run executes. Each leaves its records in memory.
const MAX_TASKS: usize = 1_000_000;

/// Maximum number of tasks of one run that have spans: the spans of a long loop would push those of other runs out of
/// the queue of the exporter.
const TASK_SPANS: usize = 256;

/// The options of one run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The share of the traffic that the message belongs to, 0 to 99; drawn from the id of the message if
    /// absent.
    pub bucket: Option<u8>,
    /// The time the run may take.
    pub deadline: Option<Duration>,
    /// The instant at which the run ends at the latest, even if `deadline` leaves more time.
    pub until: Option<Instant>,
    /// Records an execution trace.
    pub trace: Option<TraceOptions>,
    /// Records the writes of every task in its audit entry. A traced run always does.
    pub capture_changes: bool,
    /// Names of the channels that led to this run: first the one that took the message in, last the one that
    /// runs it. Empty for a run outside a channel.
    pub chain: Arc<[Arc<str>]>,
    /// The secrets that the run received with its payload.
    pub redaction: Redaction,
    /// The answers to the calls of a workflow that was compiled with stand-ins.
    pub stubs: Stubs,
    /// The place in a distributed trace at which the spans of the tasks begin.
    pub trace_context: TraceContext,
    /// The caller does not look at the metadata of the outcome: they are not stamped for a workflow that does not either.
    pub ignores_metadata: bool,
    /// The version of the workflow that runs, in place of the one that owns the bucket.
    pub version: Option<i64>,
    /// The cancellation of the run, which the runs that it calls share.
    pub cancellation: Option<Arc<dyn Cancellation>>,
    /// Records the run, or has it run over a recording.
    pub recording: Option<RecordingMode>,
}

impl Engine {
    /// Runs a message through the version of the flow that owns its bucket. Its time begins with the call.
    ///
    /// The future is boxed: it is large, and would be moved with each future around it. An `async fn` would hold the
    /// message and the options twice.
    pub fn run<'e>(
        &'e self,
        flow: &'e Flow,
        message: Message,
        mut options: RunOptions,
    ) -> Pin<Box<impl Future<Output = RunOutcome> + 'e>> {
        let bucket = flow.bucket_of(options.bucket, message.id);
        // The clock is read once for all that begins here.
        let began = Instant::now();
        let deadline = evaluation_budget::deadline(began, options.deadline, options.until);
        let picked = match options.version {
            Some(version) => flow.pick_version(version),
            None => flow.pick(bucket),
        };
        let is_read = picked.is_some_and(|(workflow, _)| workflow.reads_metadata());
        let stamps = is_read || options.trace.is_some() || !options.ignores_metadata;
        let pace = EvaluationBudget::start(began, deadline);
        let mut meter = Meter::new(self.limits.cpu_budget, deadline, options.cancellation.clone());
        let recording = options.recording.take();
        // The values that a called channel draws are not those of its caller.
        let is_called = options.chain.len() > 1;
        let mut run = Run::new(self, message, options, pace, stamps);
        if let Some(mode) = recording {
            run.begin_recording(mode, picked.map(|(workflow, _)| &workflow.metadata_reads));
        }
        let recorded = run.work.recorder.as_deref().map(RunRecorder::shared);
        let has_scope = is_called || recorded.is_some();
        Box::pin(async move {
            let failure = {
                let mut pass = pin!(async {
                    let (workflow, id) = picked?;
                    run.workflow(workflow, id, began).await
                });
                let mut first_turn = Some(began);
                poll_fn(|cx| {
                    let started = first_turn.take().unwrap_or_else(Instant::now);
                    let _scope = has_scope.then(|| DrawScope::enter(recorded.clone()));
                    meter.turn(started, || pass.as_mut().poll(cx))
                })
                .await
            };
            run.finish(failure, picked.map(|(workflow, _)| workflow.identity()))
        })
    }
}

/// The end of a sweep, which is one pass over the tasks.
enum End {
    /// The sweep is past the last task.
    Completed,
    /// A terminal task, a terminal group or a filter stopped the workflow, normally.
    Stopped,
    /// A task failed.
    Failed(Box<RunFailure>),
    /// A bound of the whole run was reached: its deadline or its number of tasks. `continue_on_error` does
    /// not apply.
    Expired(Box<RunFailure>),
    /// The time of a group around the sweep is over. Nothing records that: the sweep is dropped by the group.
    Cut,
}

struct Run<'e> {
    engine: &'e Engine,
    workflow_id: Option<Arc<str>>,
    now: DateTime<Utc>,
    pace: EvaluationBudget,
    work: RunState,
    timings: Timings,
    matched: bool,
    loop_counter: Option<i64>,
    /// The clock as it was last read, unless an expression was evaluated since.
    last_read: Option<Instant>,
    chain: Arc<[Arc<str>]>,
    trace_context: TraceContext,
    cancellation: Option<Arc<dyn Cancellation>>,
    /// Stamps are written into the metadata.
    stamps: bool,
    /// Tasks that may have spans.
    task_spans: usize,
    /// The groups that have begun and have a `finally`; `None` before the first one.
    open_groups: Option<Box<OpenGroups<'e>>>,
}

impl<'e> Run<'e> {
    fn new(
        engine: &'e Engine,
        mut message: Message,
        options: RunOptions,
        pace: EvaluationBudget,
        stamps: bool,
    ) -> Self {
        let now = (engine.clock)();
        if stamps {
            engine.stamp(&mut message.metadata, now);
        }
        let tracer = options.trace.map(|trace| Tracer::new(trace, &message, &options.redaction));
        let work = RunState {
            message,
            changes: (options.capture_changes || options.trace.is_some()).then(Vec::new),
            errors: Vec::new(),
            tracer,
            mapping_contexts: Vec::new(),
            audit_trail: Vec::new(),
            is_progress_due: false,
            bytes: 0,
            max_bytes: engine.limits.max_message_bytes,
            change_bytes: options.trace.unwrap_or_default().snapshot_bytes,
            redaction: options.redaction,
            stubs: options.stubs,
            calls: Vec::new(),
            recorder: None,
            target: None,
            view: None,
        };
        Self {
            engine,
            workflow_id: None,
            now,
            pace,
            work,
            timings: Timings::default(),
            matched: false,
            loop_counter: None,
            last_read: None,
            chain: options.chain,
            trace_context: options.trace_context,
            cancellation: options.cancellation,
            stamps,
            task_spans: TASK_SPANS,
            open_groups: None,
        }
    }

    /// Begins the recording of the run, or has it run over a recording, at the instant of the recorded one. A run whose
    /// payload holds secrets is not recorded: it may turn them into anything.
    fn begin_recording(&mut self, mode: RecordingMode, reads: Option<&MetadataReads>) {
        if let Some(recording) = mode.followed()
            && let Ok(started) = DateTime::parse_from_rfc3339(&recording.started_at)
        {
            self.now = started.with_timezone(&Utc);
            if self.stamps {
                self.engine.stamp(&mut self.work.message.metadata, self.now);
            }
            if let Some(vars) = recording.metadata.get("vars") {
                self.work.message.metadata.insert("vars".into(), vars.clone());
            }
        } else if !self.work.redaction.is_empty() {
            return;
        }
        let recorder = RunRecorder::begin(mode, &self.work.message, reads, self.now);
        self.work.recorder = Some(Box::new(recorder));
    }

    /// Runs one workflow; a loop makes one sweep for each iteration. Returns the failure that ended the run,
    /// if any.
    async fn workflow(
        &mut self,
        workflow: &CompiledWorkflow,
        id: &Arc<str>,
        began: Instant,
    ) -> Option<RunFailure> {
        self.workflow_id = Some(Arc::clone(id));
        self.last_read = Some(began);
        let mut arena = Arena::lease();
        let begun = match &workflow.looping {
            None => Ok(None),
            Some(looping) => {
                let begun = Box::pin(self.begin_loop(looping, workflow.continue_on_error, id)).await;
                begun.map(Some)
            }
        };
        let failure = match begun {
            Err(failure) => failure.map(|failure| *failure),
            Ok(mut sweeps) => loop {
                if let (Some(looping), Some(sweeps)) = (&workflow.looping, &mut sweeps) {
                    match self.begin_sweep(looping, sweeps, id) {
                        Ok(true) => {}
                        Ok(false) => break None,
                        Err(failure) => break Some(*failure),
                    }
                }
                if !self.admits(workflow, id, &arena) {
                    break None;
                }
                let first_error = self.work.errors.len();
                match self.sweep(&workflow.program, id, &mut arena).await {
                    End::Stopped => break None,
                    End::Expired(failure) => break Some(*failure),
                    End::Failed(failure) if !workflow.continue_on_error => break Some(*failure),
                    End::Failed(failure) => self.tolerate(first_error, &failure),
                    End::Completed | End::Cut => {}
                }
                if sweeps.is_none() {
                    break None;
                }
            },
        };
        let ended = self.last_read.unwrap_or_else(Instant::now);
        if self.matched {
            self.timings.workflow_id = Some(Arc::clone(id));
            self.timings.workflow = ended - began;
        }
        failure.or_else(|| self.overrun(id, ended))
    }

    /// Returns true if the workflow's condition holds, and records that the message matched. A loop evaluates
    /// it before every sweep. The trace shows the workflow as skipped only if the first evaluation does not
    /// hold.
    fn admits(&mut self, workflow: &CompiledWorkflow, id: &Arc<str>, arena: &Arena) -> bool {
        let mut scope = EvaluationScope::new(arena, &workflow.program.reads);
        if self.passes(&workflow.condition, &mut scope, None) {
            self.matched = true;
            return true;
        }
        if !self.matched {
            self.trace_skipped(id, None, &mut scope);
        }
        false
    }

    /// Runs the tasks from the first one until the sweep ends.
    async fn sweep(&mut self, program: &Program, id: &Arc<str>, arena: &mut Arena) -> End {
        let mut cursor = SweepCursor::at_start(program);
        'sweep: loop {
            let mut scope = EvaluationScope::new(arena, &program.reads);
            while !scope.is_full() {
                if self.timings.tasks.len() >= MAX_TASKS {
                    let text = format!("the run executed {MAX_TASKS} tasks, which is all it may");
                    return self.expire(id, TaskError::new(ErrorCode::Task, text), "stopped by its length");
                }
                let end = match self.advance(&mut cursor, program, id, &mut scope) {
                    Ok(Some(step)) => self.step(step, id, &mut scope).await,
                    Ok(None) => match self.pace.check().await {
                        Ok(_) => None,
                        Err(error) => Some(self.expire(id, error, "stopped by its deadline")),
                    },
                    Err(end) => Some(end),
                };
                match end {
                    None => {}
                    Some(End::Cut) => break 'sweep,
                    Some(end) => return end,
                }
            }
            arena.renew();
        }
        // The time of a group around the sweep is over: the group drops what waits. An end that waited as well would
        // have a place in the future, to which every step would write.
        pending().await
    }

    /// Runs one task, records its duration and its step of the trace, and applies its outcome. Returns the
    /// end of the sweep if the task ends it.
    async fn step<'w>(
        &mut self,
        step: &'w CompiledStep,
        id: &Arc<str>,
        scope: &mut EvaluationScope<'w>,
    ) -> Option<End> {
        let now = self.last_read.unwrap_or_else(Instant::now);
        let (started, may_begin) = if self.pace.is_calm(now) {
            (now, Ok(()))
        } else {
            match self.pace.check_since(now).await {
                Ok(now) => (now, Ok(())),
                Err(error) => (Instant::now(), Err(error)),
            }
        };
        let started_at = self.open_step(step, started);
        if let Some(recorder) = &mut self.work.recorder {
            recorder.begin_task(&step.id);
        }
        let first_error = self.work.errors.len();
        let deadline = self.pace.deadline();
        let mut span = self.begin_span(step, id);
        let outcome = match may_begin {
            Err(error) => Err(error),
            Ok(()) => match &step.action {
                StepAction::Builtin(builtin) => {
                    let mut cx = builtin::BuiltinCx {
                        evaluator: &self.engine.evaluator,
                        logger: &self.engine.logger,
                        workflow: id,
                        task: &step.id,
                        work: &mut self.work,
                        scope,
                        pace: &mut self.pace,
                    };
                    builtin.run(&mut cx).await
                }
                StepAction::Task(task) => {
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
                        deadline,
                        chain: &self.chain,
                        clock: &self.engine.clock,
                        trace_context: span.context(),
                        cancellation: self.cancellation.as_ref(),
                    };
                    let recorded = step.recordable.as_deref().and_then(|call| call.begin(&mut cx));
                    let call = CallGuard::new(self.cancellation.as_deref(), step);
                    let outcome = match deadline {
                        None => task.run(&mut cx).await,
                        Some(deadline) => tokio::time::timeout_at(deadline, task.run(&mut cx))
                            .await
                            .unwrap_or_else(|_| Err(timed_out())),
                    };
                    call.finish();
                    if let Some(recorded) = recorded {
                        recorded.end(cx.work, &outcome);
                    }
                    scope.forget(cx.written);
                    outcome
                }
                StepAction::Guarded(guarded) => {
                    Box::pin(self.attempt_all(step, guarded, id, span.context(), scope)).await
                }
                StepAction::Composite(composite) => {
                    return self.run_composite(composite, step, id, span, scope).await;
                }
            },
        };
        if let Err(error) = &outcome {
            span.fail(error.code.name());
        }
        drop(span);
        let ended = Instant::now();
        let duration = ended - started;
        // A snapshot of a large message takes its time.
        self.last_read = self.work.tracer.is_none().then_some(ended);
        self.timings.tasks.push(TaskTiming { position: step.position, duration });
        let ran = !matches!(outcome, Ok(TaskOutcome::Skip));
        let has_failed = matches!(outcome, Err(_) | Ok(TaskOutcome::Status(500..)));
        let end = self.settle(step, id, outcome, first_error, scope);
        if self.work.tracer.is_some() && !matches!(end, Some(End::Cut)) {
            let result = match ran {
                false => StepResult::Skipped,
                true if has_failed => StepResult::Failed,
                true => StepResult::Executed,
            };
            self.trace_step(step, id, result, started_at, duration, scope);
        }
        end.or_else(|| (ran && step.terminal).then_some(End::Stopped))
    }

    /// Begins the span of a task. Tasks beyond the bound leave their children to the run.
    fn begin_span(&self, step: &CompiledStep, workflow: &Arc<str>) -> ActiveSpan {
        if self.timings.tasks.len() >= self.task_spans {
            return ActiveSpan::none_at(&self.trace_context);
        }
        let connector = step.connector.as_ref();
        self.trace_context.begin_local(|| SpanDraft::task(workflow, &step.id, &step.function, connector))
    }

    /// Ends the recording of the run, or the run over one.
    fn end_recording(&self, recorder: RunRecorder, failure: Option<&RunFailure>) -> RecordingResult {
        let fatal = failure.map(|failure| &failure.error);
        let fatal = fatal.or_else(|| self.work.errors.iter().find(|error| !error.is_tolerated));
        let end = RunRecordingEnd {
            matched: self.matched,
            error: fatal.map(|error| error.code.name().to_owned()),
            tasks: self.work.audit_trail.iter().map(|entry| entry.task_id.to_string()).collect(),
            data: self.work.message.data.clone(),
            errors: Some(list_errors(&self.work.errors)),
        };
        recorder.finish(end, &self.engine.evaluator.secrets())
    }

    fn finish(mut self, failure: Option<RunFailure>, workflow: Option<WorkflowVersion>) -> RunOutcome {
        if self.stamps {
            let arena = Arena::lease();
            self.work.stamp_progress(&mut EvaluationScope::new(&arena, &Reads::default()));
        }
        let recorded =
            self.work.recorder.take().map(|recorder| self.end_recording(*recorder, failure.as_ref()));
        let is_requested = |order: &Arc<dyn Cancellation>| order.is_requested();
        RunOutcome {
            recorded,
            is_cancelled: failure.is_some() && self.cancellation.as_ref().is_some_and(is_requested),
            message: self.work.message,
            matched: self.matched,
            audit_trail: self.work.audit_trail,
            errors: self.work.errors,
            failure,
            trace: self.work.tracer.map(Tracer::finish),
            calls: self.work.calls,
            timings: self.timings,
            workflow,
        }
    }
}
