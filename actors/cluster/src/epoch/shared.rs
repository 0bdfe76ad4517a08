//! The work of the watcher, as futures over the state that its instances share.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;
use parking_lot::RwLock;
use slog::{info, warn};
use svc_model::ErrorReason;
use svc_store::{EpochNumbers, StoreError};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, sleep_until};

use crate::epoch::handle::EpochStatus;
use crate::epoch::settings::EpochServices;
use crate::epoch::state::{LoadPlan, poll_pause};

/// Name of the watcher among recurring jobs.
const JOB: &str = "epoch_watcher";
/// Pauses between attempts to listen for announcements.
const LISTEN_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// The state that outlives an instance of the actor.
pub(crate) struct EpochShared {
    services: EpochServices,
    progress: Mutex<Progress>,
    status: RwLock<EpochStatus>,
    /// Notified by an announcement.
    announced: Notify,
    random: RandomState,
}

struct Progress {
    /// Everything up to these numbers is applied.
    watermark: EpochNumbers,
    /// The applied epoch as last stored, with the id of the node.
    told: Option<(Arc<str>, i64)>,
    /// Failed passes in a row.
    failures: u32,
    passes: u64,
}

/// The reason why a pass did not reach the current epoch.
#[derive(Debug, thiserror::Error)]
enum PassError {
    /// The database did not answer, or refused a statement.
    #[error("the epoch cannot be read: {0}")]
    Store(#[from] StoreError),
    /// A change could not be loaded.
    #[error("a change was not loaded: {0}")]
    Load(String),
}

impl EpochShared {
    pub(crate) fn new(services: EpochServices) -> Self {
        let watermark = services.settings.seed;
        let progress = Progress { watermark, told: None, failures: 0, passes: 0 };
        let status = EpochStatus { applied: watermark.epoch, current: watermark.epoch, problem: None };
        let (announced, random) = (Notify::new(), RandomState::new());
        Self { services, progress: Mutex::new(progress), status: RwLock::new(status), announced, random }
    }

    pub(crate) fn status(&self) -> EpochStatus {
        self.status.read().clone()
    }

    /// Asks and loads until it is cancelled.
    pub(crate) async fn watch(&self) {
        loop {
            // Before the pass, which may load for long.
            self.services.applier.look_for_cancels();
            let pause = self.pass().await;
            self.wait(pause).await;
        }
    }

    /// Listens for announcements until it is cancelled. Without them the polls do the work.
    pub(crate) async fn listen(&self) {
        let mut backoff = LISTEN_BACKOFF.delays();
        loop {
            match self.services.epoch.listen().await {
                Ok(None) => return,
                Ok(Some(mut listener)) => {
                    backoff.reset();
                    // What was announced before this connection was not heard.
                    self.announced.notify_one();
                    while listener.wait().await.is_ok() {
                        self.services.applier.look_for_cancels();
                        self.announced.notify_one();
                    }
                }
                Err(_) => {}
            }
            sleep(backoff.next_delay()).await;
        }
    }

    /// Waits for `pause`, or until there may be something to do.
    async fn wait(&self, pause: Duration) {
        let until = Instant::now() + pause;
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.announced.notified() => {}
            () = self.services.local.wait_for_end() => {}
        }
    }

    /// Applies what changed since the last pass. Returns the time until the next one.
    async fn pass(&self) -> Duration {
        let mut progress = self.progress.lock().await;
        let problem = match self.advance(&mut progress).await {
            Ok(()) => {
                progress.failures = 0;
                (self.services.jobs)(JOB);
                None
            }
            // The database is away, which shows elsewhere; what changes meanwhile is loaded when it is back.
            Err(PassError::Store(error)) if error.is_outage() => {
                (self.services.errors)(ErrorReason::EpochWatcher);
                self.status().problem
            }
            Err(failure) => {
                progress.failures = progress.failures.saturating_add(1);
                (self.services.errors)(ErrorReason::EpochWatcher);
                let reason = failure.to_string();
                warn!(self.services.log, "the configuration is not the stored one"; "reason" => &reason);
                Some(reason)
            }
        };
        self.show(progress.watermark.epoch, problem);
        progress.passes = progress.passes.wrapping_add(1);
        self.next_pause(&progress)
    }

    fn next_pause(&self, progress: &Progress) -> Duration {
        let interval = self.services.settings.poll_interval;
        poll_pause(interval, progress.failures, self.random.hash_one(progress.passes))
    }

    async fn advance(&self, progress: &mut Progress) -> Result<(), PassError> {
        let services = &self.services;
        let current = services.epoch.numbers().await?;
        self.status.write().current = current.epoch;
        self.reset_breakers(progress, current.breaker_epoch).await?;
        if current.epoch != progress.watermark.epoch {
            self.load(progress, current.epoch).await?;
        }
        let id = services.nodes.id();
        let report = Some((Arc::clone(&id), progress.watermark.epoch));
        if progress.told != report {
            services.nodes.leases().record_applied_epoch(&id, progress.watermark.epoch).await?;
            progress.told = report;
        }
        Ok(())
    }

    /// Loads what changed between the watermark and `current`, and moves the watermark.
    async fn load(&self, progress: &mut Progress, current: i64) -> Result<(), PassError> {
        let services = &self.services;
        let watermark = progress.watermark.epoch;
        let changes = services.epoch.changes_after(watermark).await?;
        let plan = LoadPlan::new(watermark, current, &changes, |id| services.local.state(id));
        if !plan.changed.is_empty() {
            info!(services.log, "loading what other processes changed"; "epoch" => plan.target,
                "everything" => plan.changed.everything, "workflows" => plan.changed.workflows.len(),
                "channels" => plan.changed.channels.len(), "connectors" => plan.changed.connectors.len());
            services.applier.apply(plan.changed).await.map_err(PassError::Load)?;
        }
        progress.watermark.epoch = plan.target;
        let mut status = self.status.write();
        status.current = status.current.max(plan.target);
        Ok(())
    }

    /// Resets the circuit breakers that were reset on other nodes.
    async fn reset_breakers(&self, progress: &mut Progress, current: i64) -> Result<(), PassError> {
        let (services, watermark) = (&self.services, progress.watermark.breaker_epoch);
        if current > watermark {
            let resets = services.epoch.resets_after(watermark).await?;
            if resets.first().is_none_or(|first| first.sequence > watermark + 1) {
                services.applier.reset_all_breakers();
            }
            for reset in resets.iter().filter(|reset| services.local.state(&reset.change_id).is_none()) {
                services.applier.reset_breaker(&reset.key);
            }
            let last = resets.last().map_or(current, |last| last.sequence);
            progress.watermark.breaker_epoch = last;
        } else {
            // An older copy of the database begins with its own numbers.
            progress.watermark.breaker_epoch = current;
        }
        Ok(())
    }

    fn show(&self, applied: i64, problem: Option<String>) {
        let mut status = self.status.write();
        status.applied = applied;
        status.problem = problem;
        self.services.metrics.applied.set(status.applied);
        self.services.metrics.current.set(status.current);
    }
}
