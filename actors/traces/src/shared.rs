//! The state that survives the actors of the crate.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_supervision::{ChildSpec, Placement, Tree};
use slog::Logger;
use svc_cluster::nodes::NodeHandle;
use svc_store::Store;
use tokio::sync::Notify;

use crate::cancel::requests::CancelRequests;
use crate::cancel::watch::CancelWatch;
use crate::dead_letters::{DueTimer, ForeignChannels, RetryShared};
use crate::job::Runner;
use crate::metrics::TraceMetrics;
use crate::policy::Sampler;
use crate::queue::{Adoption, JobQueue, QueueShared, RetryLimits};
use crate::recorder::{BatchQueues, RecordingQueue};
use crate::settings::Settings;
use crate::waiting::{WaitingClaimer, WaitingTally};
use crate::worker::{StopSignal, WorkerJobs, WorkerShared};

/// Time that an actor gets in addition to its own patience before it is ended by force.
const MARGIN: Duration = Duration::from_secs(5);

/// State shared by the handle and the actors of the crate.
pub(crate) struct TracesShared {
    pub(crate) tree: Tree,
    pub(crate) path: String,
    pub(crate) at: Placement,
    pub(crate) store: Store,
    pub(crate) traces: svc_store::TraceRepository,
    pub(crate) nodes: NodeHandle,
    pub(crate) settings: Settings,
    pub(crate) metrics: TraceMetrics,
    pub(crate) log: Logger,
    pub(crate) draws: Sampler,
    pub(crate) queues: Arc<BatchQueues>,
    /// The recorded runs that are to be written.
    pub(crate) recordings: Arc<RecordingQueue>,
    pub(crate) waiting: Arc<JobQueue>,
    /// The accepted work that waits in the database.
    pub(crate) tally: Arc<WaitingTally>,
    pub(crate) letters_changed: Arc<Notify>,
    pub(crate) letters_due: Arc<DueTimer>,
    pub(crate) stop: Arc<StopSignal>,
    /// The runs of this node that are to be cancelled.
    pub(crate) cancels: Arc<CancelRequests>,
    /// The watch for orders to cancel, once the work has started.
    pub(crate) cancel_watch: OnceLock<Arc<CancelWatch>>,
    /// The running jobs of every worker.
    pub(crate) jobs: OnceLock<Vec<WorkerJobs>>,
}

impl TracesShared {
    pub(crate) fn patience(&self) -> Duration {
        self.settings.queue.shutdown_timeout
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    pub(crate) fn spec(&self) -> ChildSpec {
        ChildSpec::new().needs(&self.settings.needs).drain_deadline(self.patience() + MARGIN)
    }

    pub(crate) fn worker_shared(&self, runner: Arc<dyn Runner>) -> Arc<WorkerShared> {
        Arc::new(WorkerShared {
            waiting: Arc::clone(&self.waiting),
            tally: Arc::clone(&self.tally),
            cancels: Arc::clone(&self.cancels),
            store: self.traces.clone(),
            nodes: self.nodes.clone(),
            runner,
            limit: self.settings.queue.processing_timeout,
            max_retries: self.settings.dead_letters.max_retries,
            retries: self.settings.dead_letters.retry_enabled,
            metrics: self.metrics.clone(),
            letters_changed: Arc::clone(&self.letters_changed),
            letters_due: Arc::clone(&self.letters_due),
            errors: self.settings.errors.clone(),
            log: self.log.clone(),
            stop: Arc::clone(&self.stop),
        })
    }

    pub(crate) fn queue_shared(&self, worker: &Arc<WorkerShared>) -> Arc<QueueShared> {
        let runner = Arc::clone(&worker.runner);
        let watch = || {
            let (requests, worker) = (Arc::clone(&self.cancels), Arc::clone(worker));
            Arc::new(CancelWatch { requests, worker })
        };
        let cancels = Arc::clone(self.cancel_watch.get_or_init(watch));
        let adoption = Arc::new(Adoption::new(
            Arc::clone(&self.waiting),
            (self.traces.clone(), self.nodes.clone()),
            RetryLimits {
                max_retries: self.settings.dead_letters.max_retries,
                max_recoveries: self.settings.queue.max_recoveries,
            },
            Arc::clone(&runner),
            (Arc::clone(&self.letters_changed), self.settings.errors.clone()),
            self.metrics.clone(),
            self.log.clone(),
        ));
        let claimer = Arc::new(WaitingClaimer {
            tally: Arc::clone(&self.tally),
            waiting: Arc::clone(&self.waiting),
            store: self.traces.clone(),
            nodes: self.nodes.clone(),
            runner,
            adoption: Arc::clone(&adoption),
            workers: self.settings.queue.workers.max(1),
            leaves_some: AtomicBool::new(false),
            task: parking_lot::Mutex::default(),
            log: self.log.clone(),
        });
        Arc::new(QueueShared { waiting: Arc::clone(&self.waiting), adoption, claimer, cancels })
    }

    pub(crate) fn retry_shared(&self, runner: Arc<dyn Runner>) -> Arc<RetryShared> {
        Arc::new(RetryShared {
            waiting: Arc::clone(&self.waiting),
            tally: Arc::clone(&self.tally),
            letters: self.store.dead_letters(),
            leases: self.store.job_leases(),
            traces: self.traces.clone(),
            runner,
            settings: self.settings.dead_letters.clone(),
            holder: self.nodes.id().to_string(),
            nodes: self.nodes.clone(),
            moving: Arc::default(),
            patience: self.patience(),
            metrics: self.metrics.clone(),
            due: Arc::clone(&self.letters_due),
            foreign: ForeignChannels::default(),
            changed: Arc::clone(&self.letters_changed),
            jobs: self.settings.jobs.clone(),
            errors: self.settings.errors.clone(),
            log: self.log.clone(),
        })
    }
}
