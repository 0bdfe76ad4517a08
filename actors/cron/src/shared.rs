//! The state that the actors of this crate share; it outlives each of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use slog::{Logger, info, warn};
use svc_registry::Registry;
use svc_store::{Ledger, StoreError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::availability::{AvailabilityChange, DatabaseAvailability};
use crate::clock::DatabaseClock;
use crate::health::ReconcilePasses;
use crate::metrics::CronMetrics;
use crate::schedule_handle::ScheduleHandle;
use crate::settings::Settings;

/// Schedules that write to the ledger at the same time, enough for one transaction that they share: the others wait their
/// turn, so that ten thousand of them due at midnight do not hold up the runs.
const WRITERS: usize = 256;

/// Shared by every actor of a node.
pub(crate) struct CronShared {
    pub(crate) ledger: Ledger,
    pub(crate) registry: Registry,
    pub(crate) settings: Settings,
    pub(crate) metrics: CronMetrics,
    pub(crate) log: Logger,
    pub(crate) clock: DatabaseClock,
    /// Told when there may be something to claim.
    pub(crate) due: Notify,
    pub(crate) passes: ReconcilePasses,
    writers: Semaphore,
    answers: Mutex<DatabaseAvailability>,
    schedules: Mutex<HashMap<Arc<str>, Arc<ScheduleHandle>>>,
}

impl CronShared {
    pub(crate) fn new(
        ledger: Ledger,
        registry: Registry,
        settings: Settings,
        metrics: CronMetrics,
        log: Logger,
    ) -> Self {
        Self {
            ledger,
            registry,
            settings,
            metrics,
            log,
            clock: DatabaseClock::default(),
            due: Notify::new(),
            passes: ReconcilePasses::default(),
            writers: Semaphore::new(WRITERS),
            answers: Mutex::default(),
            schedules: Mutex::default(),
        }
    }

    /// Waits for a turn, then asks the ledger.
    pub(crate) async fn call_in_turn<T>(
        &self,
        ask: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        // It is never closed.
        let _turn = self.writers.acquire().await;
        self.call_ledger(ask).await
    }

    /// Asks the ledger, and notes whether it answers: a database that stays away is logged once, not by
    /// everybody.
    pub(crate) async fn call_ledger<T>(
        &self,
        ask: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = ask.await;
        let answered = !answer.as_ref().is_err_and(StoreError::is_outage);
        let turn = self.lock_answers().record(answered, Instant::now());
        match (turn, &answer) {
            (Some(AvailabilityChange::Silent), Err(error)) => {
                warn!(self.log, "the ledger does not answer"; "error" => %error);
            }
            (Some(AvailabilityChange::Back), _) => info!(self.log, "the ledger answers again"),
            _ => {}
        }
        answer
    }

    /// As [`call_ledger`](Self::call_ledger), for an answer that shows the database clock.
    pub(crate) async fn learn_time(&self) -> Result<(), StoreError> {
        let sent = Instant::now();
        let now = self.call_ledger(self.ledger.now()).await?;
        self.clock.record_reading(sent, now);
        Ok(())
    }

    /// Returns true if the latest calls of the ledger were answered.
    pub(crate) fn is_available(&self) -> bool {
        !self.lock_answers().is_silent()
    }

    fn lock_answers(&self) -> MutexGuard<'_, DatabaseAvailability> {
        self.answers.lock()
    }

    /// The schedules of this node.
    pub(crate) fn schedules(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<ScheduleHandle>>> {
        self.schedules.lock()
    }

    pub(crate) fn handle(&self, channel_id: &str) -> Option<Arc<ScheduleHandle>> {
        self.schedules().get(channel_id).cloned()
    }
}
