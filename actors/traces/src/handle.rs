//! The handle everyone else holds.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_supervision::{ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use futures_util::future::join_all;
use slog::{Logger, info, warn};
use svc_model::config::{TracingConfig, TracingMode};
use svc_model::{Code, ServiceError};
use svc_nodes::NodeHandle;
use svc_store::{NewTrace, Store, StoreError, TraceMode, TraceStatus};
use tokio::sync::Notify;
use tokio::time::timeout;
use uuid::Uuid;

use crate::ambiguity::wait_until_known;
use crate::claim::JobClaim;
use crate::dead_letters::{DeadLetterRetrier, DueTimer, RetryShared};
use crate::job::{Job, Runner};
use crate::metrics::TraceMetrics;
use crate::policy::{Sampler, TracePolicy};
use crate::queue::{
    Adoption, IntakeShared, JobIntake, JobQueue, QueueCapacity, QueueRejection, QueuedJob, RetryLimits,
};
use crate::record::Record;
use crate::recorder::{BatchQueues, TraceRecorder, TraceWriter};
use crate::report::{self, FailureReport, PreparedReport};
use crate::settings::Settings;
use crate::worker::{QueueWorker, StopSignal, StopStage, WorkerJobs, WorkerShared};
use crate::{input, token};

/// Time beyond its own drain limit after which an actor is ended by force.
const MARGIN: Duration = Duration::from_secs(5);

/// Time that dropped jobs get to release their threads.
const LET_GO: Duration = Duration::from_millis(250);

/// Longest time that the answer to a submission is delayed while the queue is more than half full.
const HOLD_BACK: Duration = Duration::from_millis(500);

/// The word for a message whose caller is refused because the database did not take its row.
const STORAGE: &str = "storage";

/// The receipt of accepted work, which is on disk by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedJob {
    /// Names the trace to be polled.
    pub trace_id: Uuid,
    /// Opens it: 32 hexadecimal digits, of which only the SHA-256 is stored.
    pub trace_token: String,
}

/// Why a job was not accepted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// There is no room for it, or the queue is closed: nothing was tried.
    #[error(transparent)]
    Shed(ServiceError),
    /// Its row could not be made or written. Where the database did not tell, the job may be run all the same.
    #[error(transparent)]
    Failed(ServiceError),
}

impl From<SubmitError> for ServiceError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Shed(error) | SubmitError::Failed(error) => error,
        }
    }
}

/// The surroundings of traces and the queue.
pub struct TraceServices {
    /// Database of the traces.
    pub store: Store,
    /// The node that owns what is accepted.
    pub nodes: NodeHandle,
    /// Settings of traces and the queue.
    pub settings: Settings,
    /// The measurements.
    pub metrics: TraceMetrics,
    /// Logger of the actors.
    pub log: Logger,
}

/// Traces and the queue, to be used from any thread. Cheap to clone.
#[derive(Clone)]
pub struct Traces {
    shared: Arc<TracesShared>,
}

struct TracesShared {
    tree: Tree,
    path: String,
    at: Placement,
    store: Store,
    traces: svc_store::TraceRepository,
    nodes: NodeHandle,
    settings: Settings,
    metrics: TraceMetrics,
    log: Logger,
    draws: Sampler,
    queues: Arc<BatchQueues>,
    waiting: Arc<JobQueue>,
    letters_changed: Arc<Notify>,
    letters_due: Arc<DueTimer>,
    stop: Arc<StopSignal>,
    /// The jobs of every worker.
    jobs: OnceLock<Vec<WorkerJobs>>,
}

impl Traces {
    /// Adds the group `path` with the recorder. Nothing is accepted before [`start`](Self::start).
    ///
    /// # Errors
    /// The path is taken, the place is gone, or something needed is not there.
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
            waiting: Arc::new(JobQueue::new(Arc::new(slots))),
            letters_changed: Arc::default(),
            letters_due: Arc::new(DueTimer::new()),
            stop: Arc::new(StopSignal::new()),
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
            TraceRecorder::new(Arc::clone(&recorded.queues), rows, recorded.patience())
        };
        tree.spawn(&format!("{path}/recorder"), shared.spec(), at, move |_| {
            std::future::ready(Ok(recorder()))
        })
        .await?;
        Ok(Self { shared })
    }

    /// Begins to accept and run work: the workers, the queue and the retries of dead letters. What nodes that are gone
    /// left is taken over. To be called once, when `runner` is ready. `needs` are the paths of the nodes that run
    /// the jobs: the workers are drained before them.
    ///
    /// # Errors
    /// A path is taken, the place is gone, or something needed is not there.
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
        // What needs something is drained before it: first nothing more comes in, then the workers finish.
        let intake = shared.intake_shared(Arc::clone(&runner));
        let factory = move |_| std::future::ready(Ok(JobIntake(Arc::clone(&intake))));
        tree.spawn(&shared.path_of("queue"), queue, at.clone(), factory).await?;
        let retries = shared.retry_shared(runner);
        let factory = move |_| std::future::ready(Ok(DeadLetterRetrier::new(Arc::clone(&retries))));
        tree.spawn(&shared.path_of("dead-letters"), shared.spec().needs(["queue"]), at.clone(), factory)
            .await?;
        Ok(())
    }

    /// Ends the work: no job is begun any more, and those that run may go on for `limit`, or for the time that is
    /// configured for a shutdown where that is shorter. Then they are dropped: their rows stay unfinished, and another
    /// process runs them again. Submissions are still accepted, for another process. For good.
    pub async fn stop(&self, limit: Duration) {
        let TracesShared { stop, jobs, log, .. } = &*self.shared;
        stop.advance(StopStage::Closing);
        let written = || join_all(jobs.get().into_iter().flatten().map(WorkerJobs::written));
        if timeout(limit.min(self.shared.patience()), written()).await.is_ok() {
            return;
        }
        info!(log, "jobs are cut by the shutdown deadline and left to another process");
        stop.advance(StopStage::Ending);
        if timeout(LET_GO, written()).await.is_err() {
            warn!(log, "jobs do not let go of their thread");
        }
    }

    /// Returns the policy of a channel with this block.
    pub fn policy(&self, block: &TracingConfig) -> TracePolicy {
        self.shared.settings.tracing.policy_for(block)
    }

    /// Decides whether a synchronous run is traced, one draw each, and counts those that are not.
    pub fn draw(&self, policy: &TracePolicy) -> bool {
        let reason = match policy.mode {
            TracingMode::Off => "off",
            _ if self.shared.draws.hit(policy.sample_rate) => return true,
            _ => "sampled_out",
        };
        self.shared.metrics.record_drop(reason);
        false
    }

    /// Stores the trace of a run that was drawn. In mode `sync` it is on disk when this returns; otherwise it waits its
    /// turn, or is dropped and counted when too many do.
    ///
    /// # Errors
    /// In mode `sync`: the database is away or refused the row.
    pub async fn record(&self, policy: &TracePolicy, record: Record) -> Result<(), ServiceError> {
        let TracesShared { metrics, queues, traces, settings, .. } = &*self.shared;
        if policy.errors_only && record.clean {
            metrics.record_drop("errors_only");
            return Ok(());
        }
        let queue = match policy.mode {
            TracingMode::Sync => {
                return traces.insert(record.into_row()).await.map_err(|error| {
                    metrics.persistence_failures.inc();
                    settings.errors.tell(STORAGE);
                    error.into()
                });
            }
            TracingMode::Async => &queues.one_by_one,
            TracingMode::Batch => &queues.batched,
            TracingMode::Off => return Ok(()),
        };
        if !queue.put(record.into_row()).await {
            metrics.record_drop("overflow");
        }
        Ok(())
    }

    /// Looks for dead letters now: one was made due by an operator.
    pub fn look_for_dead_letters(&self) {
        self.shared.letters_due.note(Duration::ZERO);
    }

    /// Prepares the report of a run that fails with `error`, beside the queue: who ends the run writes its row.
    pub fn prepare_report(&self, report: FailureReport, error: &str) -> Option<PreparedReport> {
        let TracesShared { waiting, nodes, .. } = &*self.shared;
        let job = report.into_job(error);
        let bytes = input::held_bytes(&job);
        let slot = waiting.slots.reserve().and_then(|mut slot| slot.add_bytes(bytes).map(|()| slot)).ok();
        let owner = slot.is_some().then(|| nodes.id());
        let row = report::row(&job, owner.clone()).ok()?;
        let queued =
            slot.zip(owner).map(|(slot, owner)| QueuedJob::new(job, slot, 0, JobClaim::accepted(owner)));
        Some(PreparedReport::new(row, queued, Arc::clone(waiting)))
    }

    /// Accepts a job: when this returns, its row is on disk and it will be run, by this process or another. Never
    /// waits for room; but while more than half of it is taken this returns late, within half a second, so that clients
    /// who wait for their answers submit no faster than work is done. Is not to be dropped half way: a row may be on
    /// disk that only the next process takes up.
    ///
    /// # Errors
    /// [`SubmitError::Shed`], 503, when the queue is full (worth another try) or closed; [`SubmitError::Failed`] with
    /// the error of the database.
    pub async fn submit(&self, job: Job) -> Result<AcceptedJob, SubmitError> {
        let TracesShared { waiting, traces, settings, .. } = &*self.shared;
        // A place before the work of writing the job down: refusals have to be cheap.
        let mut slot = waiting.slots.reserve().map_err(|shed| self.refuse(shed))?;
        let input = input::write(&job, 0).map_err(|error| {
            SubmitError::Failed(ServiceError::from_code(Code::SerializationError).with_internal(error))
        })?;
        slot.add_bytes(input.len().max(input::held_bytes(&job))).map_err(|shed| self.refuse(shed))?;
        let token = token::make().map_err(|error| {
            SubmitError::Failed(ServiceError::from_code(Code::InternalError).with_internal(error))
        })?;
        let (id, owner) = (job.trace_id, self.shared.nodes.id());
        let row = NewTrace {
            channel_id: job.channel_id.clone(),
            input_json: Some(input),
            access_token_hash: Some(token::hash(&token)),
            owner: Some(Arc::clone(&owner)),
            ..NewTrace::new(id, Arc::clone(&job.channel), TraceMode::Async, TraceStatus::Pending)
        };
        let written = traces.insert(row).await.inspect_err(|_| settings.errors.tell(STORAGE));
        let queued = QueuedJob::new(job, slot, 0, JobClaim::accepted(owner));
        match written {
            Ok(()) => waiting.push(queued),
            Err(StoreError::Unanswered(detail)) => self.settle(queued, detail).await?,
            Err(refused) => return Err(SubmitError::Failed(refused.into())),
        }
        // Whether it became calm or the time is up: it is accepted.
        let _calm = timeout(HOLD_BACK, waiting.slots.wait_until_calm()).await;
        Ok(AcceptedJob { trace_id: id, trace_token: token })
    }

    /// The answer to a write was lost: what is on disk is accepted. While nobody can tell, the job keeps its room.
    async fn settle(&self, queued: QueuedJob, detail: String) -> Result<(), SubmitError> {
        let id = queued.job.trace_id;
        let failed = SubmitError::Failed(StoreError::Unanswered(detail).into());
        match self.shared.traces.is_stored(id).await {
            Ok(true) => {
                self.shared.waiting.push(queued);
                return Ok(());
            }
            Ok(false) => {}
            Err(error) => {
                warn!(self.shared.log, "a job may have been accepted"; "trace_id" => %id, "error" => %error);
                let shared = Arc::clone(&self.shared);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the caller is told at once; the row is the truth"
                )]
                tokio::spawn(async move {
                    if wait_until_known(&shared.traces, id, &shared.log).await {
                        shared.waiting.push(queued);
                    }
                });
            }
        }
        Err(failed)
    }

    /// Counts a refusal and returns what its caller is told. It leaves no row.
    fn refuse(&self, shed: QueueRejection) -> SubmitError {
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

impl TracesShared {
    fn patience(&self) -> Duration {
        self.settings.queue.shutdown_timeout
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn spec(&self) -> ChildSpec {
        ChildSpec::new().needs(&self.settings.needs).drain_deadline(self.patience() + MARGIN)
    }

    fn worker_shared(&self, runner: Arc<dyn Runner>) -> Arc<WorkerShared> {
        Arc::new(WorkerShared {
            waiting: Arc::clone(&self.waiting),
            store: self.traces.clone(),
            nodes: self.nodes.clone(),
            runner,
            limit: self.settings.queue.processing_timeout,
            max_retries: self.settings.dead_letters.max_retries,
            metrics: self.metrics.clone(),
            letters_changed: Arc::clone(&self.letters_changed),
            letters_due: Arc::clone(&self.letters_due),
            errors: self.settings.errors.clone(),
            log: self.log.clone(),
            stop: Arc::clone(&self.stop),
        })
    }

    fn intake_shared(&self, runner: Arc<dyn Runner>) -> Arc<IntakeShared> {
        let adoption = Arc::new(Adoption::new(
            Arc::clone(&self.waiting),
            self.traces.clone(),
            self.nodes.clone(),
            RetryLimits {
                max_retries: self.settings.dead_letters.max_retries,
                max_recoveries: self.settings.queue.max_recoveries,
            },
            runner,
            self.metrics.clone(),
            self.log.clone(),
        ));
        Arc::new(IntakeShared { waiting: Arc::clone(&self.waiting), adoption })
    }

    fn retry_shared(&self, runner: Arc<dyn Runner>) -> Arc<RetryShared> {
        Arc::new(RetryShared {
            waiting: Arc::clone(&self.waiting),
            letters: self.store.dead_letters(),
            traces: self.traces.clone(),
            runner,
            settings: self.settings.dead_letters.clone(),
            holder: self.nodes.id().to_string(),
            nodes: self.nodes.clone(),
            moving: Arc::default(),
            patience: self.patience(),
            metrics: self.metrics.clone(),
            due: Arc::clone(&self.letters_due),
            changed: Arc::clone(&self.letters_changed),
            jobs: self.settings.jobs.clone(),
            log: self.log.clone(),
        })
    }
}

/// A seed for the draws; they are no secret.
fn seed() -> u64 {
    getrandom::u64().unwrap_or_default()
}
