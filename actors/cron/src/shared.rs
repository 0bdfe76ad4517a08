//! The state that the actors of this crate share; it outlives each of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use slog::{Logger, info, warn};
use svc_ledger::AlignRequest;
use svc_registry::Registry;
use svc_store::{AlignOutcome, Ledger, MaterialiseOutcome, MaterialiseRequest, StoreError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::availability::{AvailabilityChange, DatabaseAvailability};
use crate::clock::DatabaseClock;
use crate::health::ReconcilePasses;
use crate::metrics::CronMetrics;
use crate::schedule_handle::ScheduleHandle;
use crate::settings::Settings;

/// Schedules that write to the ledger in transactions of their own at the same time: the others wait their turn, so that
/// ten thousand of them due at midnight take neither every connection nor the writer's whole mailbox.
const WRITERS: usize = 32;
/// Schedules that write in groups at the same time: as many as share a transaction.
const GROUPED_WRITERS: usize = 256;

/// Shared by every actor of a node.
pub(crate) struct CronShared {
    pub(crate) ledger: Ledger,
    pub(crate) registry: Registry,
    pub(crate) settings: Settings,
    pub(crate) metrics: CronMetrics,
    pub(crate) log: Logger,
    pub(crate) clock: DatabaseClock,
    /// Notified when there may be something to claim.
    pub(crate) due: Notify,
    pub(crate) passes: ReconcilePasses,
    writers: Semaphore,
    grouped_writers: Semaphore,
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
            grouped_writers: Semaphore::new(GROUPED_WRITERS),
            answers: Mutex::default(),
            schedules: Mutex::default(),
        }
    }

    /// Waits for a turn, then aligns the cursor of a schedule.
    pub(crate) async fn align(&self, align: AlignRequest) -> Result<AlignOutcome, StoreError> {
        self.call_in_turn(&self.writers, self.ledger.align(align)).await
    }

    /// Waits for a turn, then records instants of a schedule.
    pub(crate) async fn materialise(
        &self,
        order: MaterialiseRequest,
    ) -> Result<MaterialiseOutcome, StoreError> {
        let turns = if order.fits_group() { &self.grouped_writers } else { &self.writers };
        self.call_in_turn(turns, self.ledger.materialise(order)).await
    }

    async fn call_in_turn<T>(
        &self,
        turns: &Semaphore,
        ask: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        // It is never closed.
        let _turn = turns.acquire().await;
        self.call_ledger(ask).await
    }

    /// Asks the ledger, and notes whether it answers: a database that stays away is logged once, not by
    /// every caller.
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
