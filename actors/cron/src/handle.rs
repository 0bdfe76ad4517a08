//! The handle of the schedules.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use chrono::{DateTime, Utc};
use slog::Logger;
use svc_registry::Registry;
use svc_store::Store;

use crate::claimer::{self, AttemptPool, Claimer, GIVING_BACK, MARGIN};
use crate::health::CronHealth;
use crate::metrics::CronMetrics;
use crate::reaper::Reaper;
use crate::reconciler::ScheduleReconciler;
use crate::settings::Settings;
use crate::shared::CronShared;

/// Time beyond the deadline of a stop in which claims may still be released.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// The services that schedules need.
pub struct CronServices {
    /// Store of the ledger.
    pub store: Store,
    /// Registry of the channels, which runs the attempts.
    pub registry: Registry,
    /// Settings of the schedules.
    pub settings: Settings,
    /// Metrics of the schedules.
    pub metrics: CronMetrics,
    /// Logger of the actors.
    pub log: Logger,
    /// Paths of the nodes that runs use: started before the claimer and drained after it.
    pub needs: Vec<String>,
}

/// The handle of the schedules of a node, usable from any thread. Cheap to clone.
#[derive(Clone)]
pub struct CronHandle {
    shared: Arc<CronShared>,
    attempts: Arc<AttemptPool>,
}

impl CronHandle {
    /// Path of the group of schedules below that of [`supervise`](Self::supervise).
    pub const SCHEDULES: &'static str = "schedules";

    /// Adds the group `path` with everything in it, on the thread `at`. The runtime of that thread must run
    /// spawned tasks: the claimer spawns one for each attempt.
    ///
    /// # Errors
    /// [`SpawnError`] when a path is taken, the place is gone, or a needed node is missing.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        parts: CronServices,
    ) -> Result<Self, SpawnError> {
        let CronServices { store, registry, settings, metrics, log, needs } = parts;
        let shared = Arc::new(CronShared::new(store.ledger(), registry, settings, metrics, log));
        let schedules = format!("{path}/{}", Self::SCHEDULES);
        tree.add_group(path, GroupSpec::new()).await?;
        tree.add_group(&schedules, GroupSpec::new()).await?;

        let attempts = Arc::new(AttemptPool::new(shared.settings.workers));
        let drain = shared.settings.shutdown_timeout + MARGIN;
        let spec = ChildSpec::new().needs(&needs).drain_deadline(drain);
        let (claimer_shared, claimer_pool) = (Arc::clone(&shared), Arc::clone(&attempts));
        tree.spawn(&format!("{path}/claimer"), spec, at.clone(), move |_| {
            let claimer = Claimer::new(Arc::clone(&claimer_shared), Arc::clone(&claimer_pool));
            std::future::ready(Ok(claimer))
        })
        .await?;
        let reaper_shared = Arc::clone(&shared);
        tree.spawn(&format!("{path}/reaper"), ChildSpec::new().needs(&needs), at.clone(), move |_| {
            std::future::ready(Ok(Reaper::new(Arc::clone(&reaper_shared))))
        })
        .await?;
        let (reconciler_shared, below, place) = (Arc::clone(&shared), tree.clone(), at.clone());
        let schedules: Arc<str> = schedules.into();
        let needs: Arc<[String]> = needs.into();
        let spec = ChildSpec::new().needs(needs.iter());
        tree.spawn(&format!("{path}/reconciler"), spec, at, move |_| {
            let reconciler = ScheduleReconciler {
                shared: Arc::clone(&reconciler_shared),
                tree: below.clone(),
                group: Arc::clone(&schedules),
                at: place.clone(),
                needs: Arc::clone(&needs),
            };
            std::future::ready(Ok(reconciler))
        })
        .await?;
        Ok(Self { shared, attempts })
    }

    /// Ends the runs of this node for good. Nothing is claimed any more; runs in progress continue for
    /// `limit`, or for the configured shutdown time if that is shorter. Then they are aborted and given back
    /// to the ledger, which takes at most the rest of `limit` and half a second more.
    pub async fn stop(&self, limit: Duration) {
        let patience = limit.min(self.shared.settings.shutdown_timeout);
        let giving_back = LAST_WRITES + limit.saturating_sub(patience).min(GIVING_BACK);
        self.attempts.close_for_good();
        claimer::stop(&self.shared, &self.attempts, patience, giving_back).await;
    }

    /// Says that there may be something to claim: an occurrence was triggered or is to be tried again.
    pub fn nudge(&self) {
        self.shared.due.notify_one();
    }

    /// Has the ledger read for orders to cancel, because it may have some.
    pub fn look_for_cancels(&self) {
        self.attempts.look_for_cancels();
    }

    /// Returns the next due instant of a channel as its schedule last reported it; `None` for a channel that
    /// this node does not schedule.
    pub fn next_due(&self, channel_id: &str) -> Option<DateTime<Utc>> {
        self.shared.handle(channel_id)?.next_due()
    }

    /// Returns the health of the schedules. Reads levels; does no I/O.
    pub fn health(&self) -> CronHealth {
        self.shared.health()
    }
}

impl fmt::Debug for CronHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CronHandle").field("health", &self.health()).finish_non_exhaustive()
    }
}
