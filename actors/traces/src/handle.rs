//! The handle to traces and the queue.

use std::hash::Hash;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_supervision::{GroupSpec, Placement, SpawnError, Tree};
use futures_util::future::join_all;
use slog::{Logger, info, warn};
use svc_cluster::nodes::NodeHandle;
use svc_model::config::{TracingConfig, TracingMode};
use svc_model::{Code, ErrorReason, ServiceError};
use svc_store::{KillStep, NewTrace, Outage, Store, StoreError};
use tokio::time::timeout;
use uuid::Uuid;

use crate::ambiguity::wait_until_known;
use crate::cancel::requests::CancelRequests;
use crate::claim::JobClaim;
use crate::dead_letters::{DeadLetterRetrier, DueTimer};
use crate::early_start::{EarlyStart, RowOutcome};
use crate::job::{Job, Runner};
use crate::metrics::{TraceMetrics, WorkCounts};
use crate::policy::{Sampler, TracePolicy, Untraced, sample_key};
use crate::queue::{JobQueue, QueueActor, QueueCapacity, QueueRejection, QueueSlot, QueuedJob};
use crate::record::Record;
use crate::recorder::{BatchQueues, RecordingSource, TraceRecorder, TraceWriter};
use crate::report::{self, FailureReport, PreparedReport};
use crate::settings::Settings;
use crate::shared::TracesShared;
use crate::submission::{self, AcceptedJob, SubmitError};
use crate::waiting::WaitingTally;
use crate::worker::{QueueWorker, StopSignal, StopStage, WorkerJobs};
use crate::{input, token};

/// Time allowed for dropped jobs to end.
const ABORT_GRACE: Duration = Duration::from_millis(250);

/// Longest delay of the answer to a submission while the queue is more than half full.
pub(crate) const HOLD_BACK: Duration = Duration::from_millis(500);

/// Longest row of a job that begins before its row is on disk: a run over much data may hold its thread for long, and
/// the 202 with it.
const MOST_EARLY_BYTES: usize = 4096;

/// A job that is about to be accepted.
pub(crate) struct Submission {
    pub(crate) row: NewTrace,
    pub(crate) owner: Arc<str>,
    pub(crate) slot: QueueSlot,
    pub(crate) token: String,
}

impl From<SubmitError> for ServiceError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Shed(error)
            | SubmitError::Unwritten(error)
            | SubmitError::Failed(error)
            | SubmitError::Uncertain(error) => error,
        }
    }
}

/// The services that traces and the queue are built on.
pub struct TraceServices {
    /// The database that holds them.
    pub store: Store,
    /// The node that owns accepted work.
    pub nodes: NodeHandle,
    /// The settings of the crate.
    pub settings: Settings,
    /// The metrics of the crate.
    pub metrics: TraceMetrics,
    /// The logger of all actors and tasks of the crate.
    pub log: Logger,
}

/// A handle to traces and the queue, usable from any thread. Cheap to clone.
#[derive(Clone)]
pub struct Traces {
    pub(crate) shared: Arc<TracesShared>,
}

impl Traces {
    /// Adds the group `path` with the recorder. No job is accepted before [`start`](Self::start).
    ///
    /// # Errors
    /// Returns a [`SpawnError`] if the path is taken, the placement is gone, or a required node does not
    /// exist.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        parts: TraceServices,
    ) -> Result<Self, SpawnError> {
        let TraceServices { store, nodes, settings, metrics, log } = parts;
        let queue = &settings.queue;
        let (depth, memory) = (metrics.queue_depth.clone(), metrics.queue_memory.clone());
        let slots = QueueCapacity::new(queue.buffer_size, queue.max_memory_bytes, depth, memory);
        let shared = Arc::new(TracesShared {
            tree: tree.clone(),
            path: path.to_owned(),
            at: at.clone(),
            traces: store.traces(),
            draws: Sampler::new(seed()),
            queues: Arc::new(BatchQueues::new(&settings.recorder, &metrics)),
            recordings: Arc::default(),
            waiting: Arc::new(JobQueue::new(Arc::new(slots))),
            tally: Arc::new(WaitingTally::new(queue.max_waiting, metrics.clone())),
            letters_changed: Arc::default(),
            letters_due: Arc::new(DueTimer::new()),
            stop: Arc::new(StopSignal::new()),
            cancels: Arc::new(CancelRequests::new()),
            cancel_watch: OnceLock::new(),
            jobs: OnceLock::new(),
            store,
            nodes,
            settings,
            metrics,
            log,
        });
        tree.add_group(path, GroupSpec::new()).await?;
        let recorded = Arc::clone(&shared);
        let recorder = move || {
            let TracesShared { traces, metrics, log, .. } = &*recorded;
            let rows = TraceWriter { store: traces.clone(), metrics: metrics.clone(), log: log.clone() };
            let recordings = RecordingSource {
                queue: Arc::clone(&recorded.recordings),
                store: recorded.store.recordings(),
            };
            TraceRecorder::new(Arc::clone(&recorded.queues), recordings, rows, recorded.patience())
        };
        tree.spawn(&format!("{path}/recorder"), shared.spec(), at, move |_| {
            std::future::ready(Ok(recorder()))
        })
        .await?;
        Ok(Self { shared })
    }

    /// Starts the workers, the queue and the retries of dead letters, and takes over the unfinished work of
    /// dead nodes. Call it once, when `runner` is ready. `needs` are the paths of the nodes that run the
    /// jobs: the workers are drained before them.
    ///
    /// # Errors
    /// Returns a [`SpawnError`] if a path is taken, the placement is gone, or a required node does not exist.
    pub async fn start(&self, runner: Arc<dyn Runner>, needs: &[&str]) -> Result<(), SpawnError> {
        let shared = &self.shared;
        let (tree, at) = (&shared.tree, &shared.at);
        let (worker_shared, patience) = (shared.worker_shared(Arc::clone(&runner)), shared.patience());
        let mut queue = shared.spec();
        let workers = 1..=shared.settings.queue.workers.max(1);
        let all: Vec<WorkerJobs> = workers.clone().map(|_| WorkerJobs::new()).collect();
        for (number, jobs) in workers.zip(shared.jobs.get_or_init(|| all).clone()) {
            let (worker_shared, name) = (Arc::clone(&worker_shared), format!("worker-{number}"));
            let worker = move |_| {
                std::future::ready(Ok(QueueWorker::new(Arc::clone(&worker_shared), jobs.clone(), patience)))
            };
            let spec = shared.spec().needs(needs.iter().copied());
            tree.spawn(&shared.path_of(&name), spec, at.clone(), worker).await?;
            queue = queue.needs([name]);
        }
        // A node is drained before the nodes it needs: the queue closes first, then the workers finish.
        let shared_queue = shared.queue_shared(&worker_shared);
        let factory = move |_| std::future::ready(Ok(QueueActor(Arc::clone(&shared_queue))));
        tree.spawn(&shared.path_of("queue"), queue, at.clone(), factory).await?;
        let retries = shared.retry_shared(runner);
        let factory = move |_| std::future::ready(Ok(DeadLetterRetrier::new(Arc::clone(&retries))));
        tree.spawn(&shared.path_of("dead-letters"), shared.spec().needs(["queue"]), at.clone(), factory)
            .await?;
        Ok(())
    }

    /// Stops the work for good. No further job begins; running jobs continue for `limit`, or for the
    /// configured shutdown time if that is shorter. Then they are dropped: their rows stay unfinished, and
    /// another process runs them again. Submissions are still accepted, for another process.
    pub async fn stop(&self, limit: Duration) {
        let TracesShared { stop, jobs, log, .. } = &*self.shared;
        stop.advance(StopStage::Closing);
        let written = || join_all(jobs.get().into_iter().flatten().map(WorkerJobs::wait_until_written));
        if timeout(limit.min(self.shared.patience()), written()).await.is_ok() {
            return;
        }
        info!(log, "jobs are cut by the shutdown deadline and left to another process");
        stop.advance(StopStage::Ending);
        if timeout(ABORT_GRACE, written()).await.is_err() {
            warn!(log, "jobs do not let go of their thread");
        }
    }

    /// Returns the trace policy of a channel with this configuration block.
    pub fn policy(&self, block: &TracingConfig) -> TracePolicy {
        self.shared.settings.tracing.policy_for(block)
    }

    /// Decides whether a synchronous run is traced, with one random draw per call. Counts the runs that are
    /// not.
    pub fn draw(&self, policy: &TracePolicy) -> bool {
        let admitted = policy.admit(|rate| self.shared.draws.sample(rate));
        admitted.map_err(|reason| self.count_untraced(reason)).is_ok()
    }

    /// Decides whether a run is traced that may be attempted more than once: alike for every attempt with this
    /// `key`. Counts nothing.
    ///
    /// # Errors
    /// The reason why it is not, to be counted when the attempts are over.
    pub fn draw_by_key(&self, policy: &TracePolicy, key: &impl Hash) -> Result<(), Untraced> {
        policy.admit(|rate| sample_key(key, rate))
    }

    /// Counts a run that leaves no trace.
    pub fn count_untraced(&self, reason: Untraced) {
        self.shared.metrics.record_drop(reason.name());
    }

    /// Stores the trace of a sampled run. In mode `sync` the row is on disk when this returns. In the other
    /// modes the row is queued, or dropped and counted when the queue is full. Returns `true` if the trace is
    /// stored or queued.
    ///
    /// # Errors
    /// In mode `sync`, the error of the database that is away or refused the row. The other modes never fail.
    pub fn record<'t>(
        &'t self,
        policy: &TracePolicy,
        record: Record,
    ) -> impl Future<Output = Result<bool, ServiceError>> + use<'t> {
        let TracesShared { metrics, queues, traces, settings, .. } = &*self.shared;
        let mode = policy.mode;
        let is_left_out = policy.errors_only && record.clean;
        if is_left_out {
            metrics.record_drop("errors_only");
        }
        // Made here: an `async fn` would hold the record twice, in the future of every run.
        let row = (!is_left_out && mode != TracingMode::Off).then(|| Arc::new(record.into_row()));
        async move {
            let Some(row) = row else { return Ok(false) };
            let queue = match mode {
                TracingMode::Sync => {
                    return traces.insert(row).await.map(|()| true).map_err(|error| {
                        metrics.persistence_failures.inc();
                        settings.errors.tell(ErrorReason::Storage);
                        error.into()
                    });
                }
                TracingMode::Async => &queues.one_by_one,
                TracingMode::Batch => &queues.batched,
                TracingMode::Off => return Ok(false),
            };
            let is_queued = queue.enqueue(row).await;
            if !is_queued {
                metrics.record_drop("overflow");
            }
            Ok(is_queued)
        }
    }

    /// Polls the dead letters now, because an operator made one due, and counts them.
    pub fn look_for_dead_letters(&self) {
        self.shared.letters_due.record(Duration::ZERO);
        self.count_dead_letters();
    }

    /// Counts the dead letters soon, because an operator changed some.
    pub fn count_dead_letters(&self) {
        self.shared.letters_changed.notify_one();
    }

    /// Returns the number of dead letters without a retry left, as last counted: shortly after a change by this process,
    /// and once in a poll interval. Asks no database.
    pub fn exhausted_dead_letters(&self) -> u64 {
        self.shared.metrics.exhausted_letters()
    }

    /// Returns the numbers of work, as last counted. Asks no database.
    pub fn work_counts(&self) -> WorkCounts {
        self.shared.metrics.work_counts()
    }

    /// Prepares the report of a run that fails with `error`. The caller, which ends the run, writes its row.
    pub fn prepare_report(&self, report: FailureReport, error: &str) -> Option<PreparedReport> {
        let TracesShared { waiting, nodes, traces, log, .. } = &*self.shared;
        let job = report.into_job(error);
        let bytes = input::held_bytes(&job);
        let slot = waiting.slots.reserve().and_then(|mut slot| slot.add_bytes(bytes).map(|()| slot)).ok();
        let owner = slot.is_some().then(|| nodes.id());
        let row = report::row(&job, owner.clone()).ok()?;
        let queued =
            slot.zip(owner).map(|(slot, owner)| QueuedJob::new(job, slot, 0, JobClaim::for_accepted(owner)));
        Some(PreparedReport::new(row, queued, Arc::clone(waiting), traces.clone(), log.clone()))
    }

    /// Accepts the report of a run that failed for good, as work of its own.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub async fn submit_report(
        &self,
        report: FailureReport,
        error: &str,
    ) -> Result<AcceptedJob, SubmitError> {
        self.submit(report.into_job(error), None).await
    }

    /// Accepts a job. When this returns, its row is on disk and this process or another one will run it.
    /// `request_id` is the correlation id of the request that brought it.
    ///
    /// It never waits for room. While the queue is more than half full it returns with a delay of up to half
    /// a second, so that clients that wait for each answer submit no faster than the workers run. Not
    /// cancel-safe: a dropped call may leave a row that only the next process takes up.
    ///
    /// # Errors
    /// - [`SubmitError::Shed`], 503: the queue is full (a retry may succeed) or closed.
    /// - [`SubmitError::Unwritten`], with the error of the database, or because the row could not be made.
    /// - [`SubmitError::Failed`]: the answer of the database was lost.
    pub async fn submit(&self, job: Job, request_id: Option<&str>) -> Result<AcceptedJob, SubmitError> {
        let submission = self.prepare(&job, request_id)?;
        Box::pin(self.accept(job, submission)).await
    }

    /// Queues a job once its row is on disk.
    ///
    /// An `async fn` would hold its arguments twice.
    fn accept(
        &self,
        job: Job,
        submission: Submission,
    ) -> impl Future<Output = Result<AcceptedJob, SubmitError>> + Send + '_ {
        let Submission { row, owner, slot, token } = submission;
        let (id, row) = (job.trace_id, Arc::new(row));
        let queued = QueuedJob::new(job, slot, 0, JobClaim::for_accepted(owner));
        async move {
            let TracesShared { waiting, traces, settings, .. } = &*self.shared;
            let written =
                traces.insert(row).await.inspect_err(|_| settings.errors.tell(ErrorReason::Storage));
            match written {
                Ok(()) => waiting.push(queued),
                // Rare: by value it would make the future of every submission larger.
                Err(StoreError::Unanswered(outage)) => Box::pin(self.settle(queued, outage)).await?,
                Err(refused) => return Err(SubmitError::Unwritten(refused.into())),
            }
            // The job is accepted whether the queue calmed down or the time ran out.
            let _calm = timeout(HOLD_BACK, waiting.slots.wait_until_calm()).await;
            Ok(AcceptedJob { trace_id: id, trace_token: token })
        }
    }

    /// Accepts a job as [`submit`](Self::submit) does. While a worker is idle and the database accepts rows, a small job
    /// begins at once, and its row is written meanwhile: with the outcome, if the run ends before.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and [`SubmitError::Uncertain`] if the row was refused after the job had begun.
    pub async fn submit_early(&self, job: Job, request_id: Option<&str>) -> Result<AcceptedJob, SubmitError> {
        let TracesShared { waiting, traces, settings, .. } = &*self.shared;
        let may_begin =
            settings.queue.early_start && waiting.has_idle_worker() && traces.has_written_lately();
        let submission = self.prepare(&job, request_id)?;
        if !may_begin || submission.row.bytes() > MOST_EARLY_BYTES {
            return Box::pin(self.accept(job, submission)).await;
        }
        let Submission { row, owner, slot, token } = submission;
        let id = job.trace_id;
        let (start, row, outcome) = EarlyStart::new(row);
        let claim = JobClaim { early: Some(Arc::clone(&start)), ..JobClaim::for_accepted(owner) };
        waiting.push(QueuedJob::new(job, slot, 0, claim));
        match traces.insert_open(row).await {
            Ok(()) => {
                KillStep::RowStored.reach();
                outcome.set(true);
            }
            Err(error) => {
                settings.errors.tell(ErrorReason::Storage);
                Box::pin(self.settle_early(id, &start, outcome, error)).await?;
            }
        }
        let _calm = timeout(HOLD_BACK, waiting.slots.wait_until_calm()).await;
        KillStep::Accepted.reach();
        Ok(AcceptedJob { trace_id: id, trace_token: token })
    }

    /// Resolves the refused or unanswered row of a job that may have begun.
    async fn settle_early(
        &self,
        id: Uuid,
        start: &EarlyStart,
        outcome: RowOutcome,
        error: StoreError,
    ) -> Result<(), SubmitError> {
        let TracesShared { traces, metrics, log, .. } = &*self.shared;
        let is_stored = match &error {
            StoreError::Unanswered(_) => traces.is_stored(id).await.ok(),
            _ => Some(false),
        };
        let has_begun = match is_stored {
            Some(true) => {
                outcome.set(true);
                return Ok(());
            }
            Some(false) => {
                // First: no worker begins it between the two.
                let has_begun = !start.withdraw();
                outcome.set(false);
                has_begun
            }
            None => {
                warn!(log, "a job may have been accepted"; "trace_id" => %id);
                // A worker that has it asks the database itself once the run has ended.
                !self.take_back(id)
            }
        };
        if has_begun {
            metrics.uncertain.inc();
            let uncertain = ServiceError::from_code(Code::SubmissionUncertain).with_internal(error);
            return Err(SubmitError::Uncertain(uncertain));
        }
        Err(match error {
            StoreError::Unanswered(_) => SubmitError::Failed(error.into()),
            refused => SubmitError::Unwritten(refused.into()),
        })
    }

    /// Takes a job out of the queue until it is known whether its row is on disk. Returns `false` if a worker has it.
    fn take_back(&self, id: Uuid) -> bool {
        let taken = self.shared.waiting.remove_jobs(|queued| queued.job.trace_id == id).pop();
        let Some(mut queued) = taken else { return false };
        queued.slot.reoccupy_place();
        queued.claim.early = None;
        self.push_once_stored(queued);
        true
    }

    /// Reserves the room of a job and makes its row. The room comes first: a refusal must be cheap.
    pub(crate) fn prepare(&self, job: &Job, request_id: Option<&str>) -> Result<Submission, SubmitError> {
        let mut slot = self.shared.waiting.slots.reserve().map_err(|shed| self.refuse(shed))?;
        let input = submission::write_input(job)?;
        slot.add_bytes(input.len().max(input::held_bytes(job))).map_err(|shed| self.refuse(shed))?;
        let (token, owner) = (token::make(), self.shared.nodes.id());
        let row = NewTrace {
            owner: Some(Arc::clone(&owner)),
            ..submission::accepted_row(job, request_id, input, &token)
        };
        Ok(Submission { row, owner, slot, token })
    }

    /// Resolves a write whose answer was lost: a row on disk is an accepted job. The job keeps its room until
    /// the database answers.
    async fn settle(&self, queued: QueuedJob, outage: Outage) -> Result<(), SubmitError> {
        let id = queued.job.trace_id;
        let failed = SubmitError::Failed(StoreError::Unanswered(outage).into());
        match self.shared.traces.is_stored(id).await {
            Ok(true) => {
                self.shared.waiting.push(queued);
                return Ok(());
            }
            Ok(false) => {}
            Err(error) => {
                warn!(self.shared.log, "a job may have been accepted"; "trace_id" => %id, "error" => %error);
                self.push_once_stored(queued);
            }
        }
        Err(failed)
    }

    /// Queues a job as soon as the database shows its row.
    fn push_once_stored(&self, queued: QueuedJob) {
        let (shared, id) = (Arc::clone(&self.shared), queued.job.trace_id);
        #[expect(clippy::disallowed_methods, reason = "the caller is told at once; the row is the truth")]
        tokio::spawn(async move {
            if wait_until_known(&shared.traces, id, &shared.log).await {
                shared.waiting.push(queued);
            }
        });
    }

    /// Counts a refusal and returns the error for the caller. A refusal writes no row.
    pub(crate) fn refuse(&self, shed: QueueRejection) -> SubmitError {
        let metrics = &self.shared.metrics;
        SubmitError::Shed(match shed {
            QueueRejection::Full => {
                metrics.record_rejection("full");
                ServiceError::at_capacity("The queue is full")
            }
            QueueRejection::Memory => {
                metrics.record_rejection("memory");
                ServiceError::at_capacity("The queue holds too much")
            }
            QueueRejection::Closed => ServiceError::unavailable("The queue is closed"),
        })
    }
}

/// Returns a seed for the sampler. It need not be secret.
fn seed() -> u64 {
    getrandom::u64().unwrap_or_default()
}
