//! The writer's connection: kept across batches and across restarts of the actor, made anew when it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slog::{Logger, info, warn};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep, timeout};

use crate::config::Backend;
use crate::conn::Conn;
use crate::connection_manager::{ConnectionManager, Purpose};
use crate::error::StoreError;
use crate::status::{DatabaseStatus, StatusLevel};
use crate::writer::batch::{Batch, Trial};

/// A server that takes longer over a batch than this is taken for dead.
const BATCH_LIMIT: Duration = Duration::from_secs(30);
/// Pause before the second attempt to connect; doubles.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const SLOWEST_RETRY: Duration = Duration::from_secs(1);

/// The one connection that writes. Its lock orders batches, also those of an instance of the actor that is gone.
/// Everything here must run where that backend's work belongs ([`run_on_io`](crate::conn::run_on_io)).
pub(crate) struct WriterConnection {
    conn: Mutex<Option<Conn>>,
    connector: ConnectionManager,
    patience: Duration,
    status: Arc<StatusLevel>,
    /// True if a write failed and no trial has succeeded since: transactions that write nothing succeed
    /// on a full disk as well.
    is_unwritable: AtomicBool,
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
            log,
        }
    }

    /// The kind of database.
    pub(crate) fn backend(&self) -> Backend {
        self.connector.target.backend()
    }

    /// Writes the batch in one transaction and answers every caller after the commit. What fails of it is undone alone;
    /// a commit that fails fails it all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when no transaction could begin; every caller of the batch has that answer.
    pub(crate) async fn run(&self, batch: Batch) -> Result<(), StoreError> {
        let slot = self.conn.lock().await;
        self.write(slot, batch, self.patience).await
    }

    /// Begins a transaction and ends it. While the database counts as away it also writes: a disk that is full answers
    /// everything else. A database that has not done so within `limit`, because of a batch before it or for whatever
    /// reason, counts as away until it answers.
    pub(crate) async fn probe(&self, limit: Duration) {
        let check = async {
            if self.status.get() == DatabaseStatus::Ok {
                return self.run_batch(Batch::default()).await;
            }
            self.run_batch(Batch { trial: Some(Trial::Write), ..Batch::default() }).await;
            if self.status.get() == DatabaseStatus::Ok {
                self.run_batch(Batch { trial: Some(Trial::Clear), ..Batch::default() }).await;
            }
        };
        if timeout(limit, check).await.is_err() {
            self.record_timeout();
        }
    }

    /// Writes a batch of the probe; the status tells how it went.
    async fn run_batch(&self, batch: Batch) {
        let slot = self.conn.lock().await;
        let _learnt = self.write(slot, batch, Duration::ZERO).await;
    }

    /// Notes that the database has not answered in time.
    pub(crate) fn record_timeout(&self) {
        self.record_outcome(&Err(timeout_error()), false);
    }

    /// Uses the connection at hand, or a new one when that turns out to be broken before anything was done with it.
    async fn write(
        &self,
        mut slot: MutexGuard<'_, Option<Conn>>,
        mut batch: Batch,
        patience: Duration,
    ) -> Result<(), StoreError> {
        let mut at_hand = slot.take();
        let away = loop {
            let (conn, is_new) = match at_hand.take() {
                Some(conn) => (conn, false),
                None => match self.connect(patience).await {
                    Ok(conn) => (conn, true),
                    Err(away) => break away,
                },
            };
            match attempt(conn, batch).await {
                Attempt::Ended { conn, batch, outcome } => {
                    *slot = conn;
                    drop(slot);
                    let is_trial = batch.trial == Some(Trial::Write);
                    match batch.unwritable_failure().filter(|_| outcome.is_ok()) {
                        Some(detail) => self.record_outcome(&Err(StoreError::Unavailable(detail)), is_trial),
                        None => self.record_outcome(&outcome, is_trial),
                    }
                    batch.settle(&outcome.map_err(StoreError::into_collateral));
                    return Ok(());
                }
                Attempt::NotBegun { batch: back, error, is_broken } => {
                    batch = back;
                    if is_new || !is_broken {
                        break error;
                    }
                }
            }
        };
        drop(slot);
        let outcome = Err(away);
        self.record_outcome(&outcome, false);
        let outcome = outcome.map_err(StoreError::into_collateral);
        batch.settle(&outcome);
        outcome
    }

    /// A new connection. Retried for as long as `patience`.
    async fn connect(&self, patience: Duration) -> Result<Conn, StoreError> {
        let deadline = Instant::now() + patience;
        let mut pause = FIRST_RETRY;
        loop {
            let error = match timeout(self.patience, self.connector.open(Purpose::Write)).await {
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

    fn record_outcome(&self, outcome: &Result<(), StoreError>, is_trial: bool) {
        if is_trial && outcome.is_ok() {
            self.is_unwritable.store(false, Ordering::Release);
        }
        if outcome.as_ref().is_err_and(StoreError::is_unwritable) {
            self.is_unwritable.store(true, Ordering::Release);
        }
        match outcome {
            Ok(()) => {
                if !self.is_unwritable.load(Ordering::Acquire) && self.status.set_up() {
                    info!(self.log, "the database answers again");
                }
            }
            Err(StoreError::Unavailable(detail) | StoreError::Unanswered(detail)) => {
                if self.status.set_down(detail) {
                    warn!(self.log, "the database is away"; "detail" => detail);
                }
            }
            Err(error) => warn!(self.log, "a transaction failed"; "error" => %error),
        }
    }
}

fn timeout_error() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".into())
}

/// The result of running a batch on one connection.
enum Attempt {
    /// The transaction ended one way or the other.
    Ended { conn: Option<Conn>, batch: Batch, outcome: Result<(), StoreError> },
    /// There was none; nothing of the batch was tried. Also tells whether the connection is to blame.
    NotBegun { batch: Batch, error: StoreError, is_broken: bool },
}

/// From begin to commit, in one go: for SQLite that is one visit to a blocking thread.
async fn attempt(mut conn: Conn, mut batch: Batch) -> Attempt {
    if conn.is_broken() {
        return Attempt::NotBegun { batch, error: timeout_error(), is_broken: true };
    }
    match timeout(BATCH_LIMIT, conn.begin()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            // A server that ends a connection says so before it closes it.
            let is_broken = conn.is_broken() || matches!(error, StoreError::Unavailable(_));
            return Attempt::NotBegun { batch, error, is_broken };
        }
        Err(_) => return Attempt::NotBegun { batch, error: timeout_error(), is_broken: false },
    }
    let outcome = timeout(BATCH_LIMIT, batch.run(&mut conn)).await;
    let outcome = outcome.unwrap_or_else(|_| Err(timeout_error().into_commit_failure()));
    // After a failure the state of the connection is not known for sure, and a new one is cheap.
    let conn = (outcome.is_ok() && !conn.is_broken()).then_some(conn);
    Attempt::Ended { conn, batch, outcome }
}
