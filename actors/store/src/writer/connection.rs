//! The connection of the writer: kept across batches and restarts of the actor, replaced when it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slog::{Logger, info, warn};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep, timeout};

use crate::config::Backend;
use crate::connections::connection_manager::{ConnectionManager, PooledConn, Purpose};
use crate::error::StoreError;
use crate::status::{DatabaseStatus, StatusLevel};
use crate::writer::batch::{Batch, Trial};
use crate::writer::latest_commit::LatestCommit;

/// Time limit of a batch; a server that takes longer counts as dead.
const BATCH_LIMIT: Duration = Duration::from_secs(30);
/// Pause before the second attempt to connect; doubles.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Longest pause between two attempts to connect.
const SLOWEST_RETRY: Duration = Duration::from_millis(250);
/// The detail of an outage of which only the silence is known.
const LATE: &str = "the database did not answer in time";

/// The single connection that writes. Its lock orders the batches, including those of an earlier instance of
/// the actor. Every method must run on the threads of the backend
/// ([`run_on_io`](crate::conn::run_on_io)).
pub(crate) struct WriterConnection {
    conn: Mutex<Option<PooledConn>>,
    connector: ConnectionManager,
    patience: Duration,
    status: Arc<StatusLevel>,
    /// True after a write failed, until a trial write succeeds: a transaction without writes succeeds on a
    /// full disk as well.
    is_unwritable: AtomicBool,
    latest: LatestCommit,
    log: Logger,
}

impl WriterConnection {
    pub(crate) fn new(
        connector: ConnectionManager,
        patience: Duration,
        status: Arc<StatusLevel>,
        log: Logger,
    ) -> Self {
        Self {
            conn: Mutex::new(None),
            connector,
            patience,
            status,
            is_unwritable: AtomicBool::new(false),
            latest: LatestCommit::new(),
            log,
        }
    }

    /// Returns `true` if the last transaction succeeded, without a refused row, and moments ago.
    pub(crate) fn has_written_lately(&self) -> bool {
        self.latest.is_recent()
    }

    /// Records that a row was refused before a transaction, because too many wait.
    pub(super) fn record_refusal(&self) {
        self.latest.record(false);
    }

    /// Returns the kind of database.
    pub(crate) fn backend(&self) -> Backend {
        self.connector.target.backend()
    }

    /// Writes the batch in one transaction and answers every caller after the commit. A part that fails is
    /// rolled back alone; a failed commit fails the whole batch. Returns the time that the commit took, zero for one
    /// that failed.
    ///
    /// # Errors
    /// The [`StoreError`] that prevented the begin of a transaction; the callers have received it.
    pub(crate) async fn run(&self, batch: Batch) -> Result<Duration, StoreError> {
        let slot = self.conn.lock().await;
        self.write(slot, batch, self.patience).await
    }

    /// Begins and ends a transaction. While the database counts as away it also writes, because a full disk
    /// permits everything else.
    pub(crate) async fn probe(&self) {
        if self.status.get() == DatabaseStatus::Ok {
            return self.run_batch(Batch::default()).await;
        }
        self.run_batch(Batch { trial: Some(Trial::Write), ..Batch::default() }).await;
        if self.status.get() == DatabaseStatus::Ok {
            self.run_batch(Batch { trial: Some(Trial::Clear), ..Batch::default() }).await;
        }
    }

    /// Writes a batch of the probe. The result is recorded in the status.
    async fn run_batch(&self, batch: Batch) {
        let slot = self.conn.lock().await;
        let _learnt = self.write(slot, batch, Duration::ZERO).await;
    }

    /// Returns the number of batches that showed that the database works.
    pub(crate) fn answers(&self) -> u64 {
        self.status.answers()
    }

    /// Records that the database did not answer in time, unless it has answered since the count was `answers`. Returns
    /// `true` if this was recorded.
    pub(crate) fn record_timeout(&self, answers: u64) -> bool {
        let was_up = self.status.set_down_since(answers, LATE);
        if was_up == Some(true) {
            warn!(self.log, "the database is away"; "detail" => LATE);
        }
        was_up.is_some()
    }

    /// Writes with the existing connection, or with a new one if that turns out to be broken before it did
    /// anything.
    async fn write(
        &self,
        mut slot: MutexGuard<'_, Option<PooledConn>>,
        mut batch: Batch,
        patience: Duration,
    ) -> Result<Duration, StoreError> {
        let mut at_hand = slot.take().filter(|conn| !self.connector.is_given_up(conn));
        let away = loop {
            let (conn, is_new) = match at_hand.take() {
                Some(conn) => (conn, false),
                None => match self.connect(patience).await {
                    Ok(conn) => (conn, true),
                    Err(away) => break away,
                },
            };
            match attempt(conn, batch).await {
                Attempt::Ended { conn, batch, outcome, commit_time } => {
                    *slot = conn;
                    let is_trial = batch.trial == Some(Trial::Write);
                    match batch.unwritable_failure().filter(|_| outcome.is_ok()) {
                        Some(failure) => self.record_outcome(&Err(failure), is_trial),
                        None => self.record_outcome(&outcome, is_trial),
                    }
                    self.record_commit(&batch, outcome.is_ok());
                    drop(slot);
                    batch.settle(&outcome.map_err(StoreError::into_collateral));
                    return Ok(commit_time);
                }
                Attempt::NotBegun { batch: back, error, is_broken } => {
                    batch = back;
                    if is_new || !is_broken {
                        break error;
                    }
                }
            }
        };
        let outcome = Err(away);
        self.record_outcome(&outcome, false);
        self.latest.record(false);
        drop(slot);
        let outcome = outcome.map_err(StoreError::into_collateral);
        batch.settle(&outcome);
        outcome.map(|()| Duration::ZERO)
    }

    /// Opens a new connection. Retries for `patience`.
    async fn connect(&self, patience: Duration) -> Result<PooledConn, StoreError> {
        let deadline = Instant::now() + patience;
        let mut pause = FIRST_RETRY;
        loop {
            let error = match timeout(self.patience, self.connector.open_pooled(Purpose::Write)).await {
                Ok(Ok(conn)) => return Ok(conn),
                Ok(Err(error)) => error,
                Err(_) => timeout_error(),
            };
            if Instant::now() + pause >= deadline {
                return Err(error);
            }
            sleep(pause).await;
            pause = (pause * 2).min(SLOWEST_RETRY);
        }
    }

    /// Records whether rows are expected to be written, before the callers of the batch are answered. A batch of the probe
    /// shows nothing by its success.
    fn record_commit(&self, batch: &Batch, is_committed: bool) {
        let is_writable = !self.is_unwritable.load(Ordering::Acquire);
        let has_succeeded = is_committed && is_writable && !batch.has_refused_row();
        if !has_succeeded || !batch.is_empty() {
            self.latest.record(has_succeeded);
        }
    }

    /// Records the outcome of a batch. The lock of the connection is held, so that outcomes count in their order.
    fn record_outcome(&self, outcome: &Result<(), StoreError>, is_trial: bool) {
        if is_trial && outcome.is_ok() {
            self.is_unwritable.store(false, Ordering::Release);
        }
        if outcome.as_ref().is_err_and(StoreError::is_unwritable) {
            self.is_unwritable.store(true, Ordering::Release);
        }
        if outcome.as_ref().is_err_and(StoreError::is_not_primary) {
            self.connector.give_up();
        }
        match outcome {
            Ok(()) => {
                if !self.is_unwritable.load(Ordering::Acquire) && self.status.set_up() {
                    info!(self.log, "the database answers again");
                }
            }
            Err(StoreError::Unavailable(outage) | StoreError::Unanswered(outage)) => {
                if self.status.set_down(outage.detail()) {
                    warn!(self.log, "the database is away"; "detail" => %outage);
                }
            }
            Err(error) => warn!(self.log, "a transaction failed"; "error" => %error),
        }
    }
}

fn timeout_error() -> StoreError {
    StoreError::Unavailable(LATE.into())
}

/// The result of trying a batch on one connection.
enum Attempt {
    /// The transaction ended, successfully or not.
    Ended { conn: Option<PooledConn>, batch: Batch, outcome: Result<(), StoreError>, commit_time: Duration },
    /// No transaction began, so nothing of the batch was tried. `is_broken` is true if the connection is
    /// the cause.
    NotBegun { batch: Batch, error: StoreError, is_broken: bool },
}

/// Runs a batch from begin to commit in one go: for SQLite this is one move to a blocking thread.
async fn attempt(mut conn: PooledConn, mut batch: Batch) -> Attempt {
    if conn.is_broken() {
        return Attempt::NotBegun { batch, error: timeout_error(), is_broken: true };
    }
    match timeout(BATCH_LIMIT, conn.begin()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            // A server that ends a connection reports an error before it closes it.
            let is_broken = conn.is_broken() || matches!(error, StoreError::Unavailable(_));
            return Attempt::NotBegun { batch, error, is_broken };
        }
        Err(_) => return Attempt::NotBegun { batch, error: timeout_error(), is_broken: false },
    }
    let outcome = timeout(BATCH_LIMIT, batch.run(&mut conn)).await;
    let outcome = outcome.unwrap_or_else(|_| Err(timeout_error().into_commit_failure()));
    // After a failure the state of the connection is uncertain, and a new one is cheap.
    let conn = (outcome.is_ok() && !conn.is_broken()).then_some(conn);
    let commit_time = outcome.as_ref().copied().unwrap_or_default();
    Attempt::Ended { conn, batch, outcome: outcome.map(drop), commit_time }
}
