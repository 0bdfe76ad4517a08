//! The writer's connection: kept across batches and across restarts of the actor, made anew when it breaks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use slog::{Logger, info, warn};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::conn::{Conn, on_io};
use crate::connector::{Connector, Purpose};
use crate::error::StoreError;
use crate::status::StatusLevel;
use crate::writer::unit::Unit;

/// A server that takes longer over a batch than this is taken for dead.
const BATCH_LIMIT: Duration = Duration::from_secs(30);
/// Pause before the second attempt to connect; doubles.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const SLOWEST_RETRY: Duration = Duration::from_secs(1);

/// The one connection that writes. Its lock orders batches, also those of an instance of the actor that is gone.
/// Everything here must run on the io runtime, which drives the connection.
pub(crate) struct Link {
    conn: Mutex<Option<Conn>>,
    connector: Connector,
    io: Handle,
    patience: Duration,
    status: Arc<StatusLevel>,
    log: Logger,
}

impl Link {
    pub(crate) fn new(
        connector: Connector,
        io: Handle,
        patience: Duration,
        status: Arc<StatusLevel>,
        log: Logger,
    ) -> Self {
        Self { conn: Mutex::new(None), connector, io, patience, status, log }
    }

    /// Runs the units in one transaction, each in a savepoint of its own, and answers every caller after the commit.
    /// A unit that fails is undone alone; a commit that fails fails them all.
    ///
    /// # Errors
    /// When no transaction could be begun; the units have been told.
    pub(crate) async fn run(&self, mut units: Vec<Box<dyn Unit>>) -> Result<(), StoreError> {
        let mut slot = self.conn.lock().await;
        let conn = match self.begin(slot.take(), self.patience).await {
            Ok(conn) => conn,
            Err(away) => {
                drop(slot);
                self.learn(&Err(away.clone()));
                let outcome = Err(away);
                units.into_iter().for_each(|unit| unit.settle(&outcome));
                return outcome;
            }
        };
        let work = on_io(&self.io, conn.backend(), async move {
            let mut conn = conn;
            let outcome = timeout(BATCH_LIMIT, transaction(&mut conn, &mut units))
                .await
                .unwrap_or_else(|_| Err(late()));
            (conn, units, outcome)
        });
        // A task that dies takes the units along: their callers learn it from the dropped channels.
        let (mut conn, units, outcome) = work.await?;
        // After a failure the state of the connection is not known for sure, and a new one is cheap.
        *slot = (outcome.is_ok() && !conn.is_broken()).then_some(conn);
        drop(slot);
        self.learn(&outcome);
        units.into_iter().for_each(|unit| unit.settle(&outcome));
        Ok(())
    }

    /// Begins a transaction and ends it, unless a batch is at it, which teaches as much.
    pub(crate) async fn probe(&self) {
        let Ok(mut slot) = self.conn.try_lock() else { return };
        let outcome = match self.begin(slot.take(), Duration::ZERO).await {
            Ok(mut conn) => {
                let work = on_io(&self.io, conn.backend(), async move {
                    let ended = timeout(BATCH_LIMIT, conn.rollback()).await.unwrap_or_else(|_| Err(late()));
                    ended.map(|()| conn)
                });
                work.await.flatten().map(|conn| *slot = Some(conn))
            }
            Err(error) => Err(error),
        };
        drop(slot);
        self.learn(&outcome);
    }

    /// A connection with a transaction begun: the one at hand, or a new one when that turns out to be broken.
    /// Connecting is retried for as long as `patience`.
    async fn begin(&self, conn: Option<Conn>, patience: Duration) -> Result<Conn, StoreError> {
        if let Some(mut conn) = conn
            && !conn.is_broken()
        {
            match self.begin_on(conn).await {
                Err((error, false)) => return Err(error),
                Err((_, true)) => {}
                Ok(conn) => return Ok(conn),
            }
        }
        let deadline = Instant::now() + patience;
        let mut pause = FIRST_RETRY;
        loop {
            let error = match timeout(self.patience, self.connector.open(Purpose::Write)).await {
                Ok(Ok(conn)) => return self.begin_on(conn).await.map_err(|(error, _)| error),
                Ok(Err(error)) => error,
                Err(_) => late(),
            };
            if Instant::now() + pause >= deadline {
                return Err(error);
            }
            sleep(pause).await;
            pause = (pause * 2).min(SLOWEST_RETRY);
        }
    }

    /// Begins; on failure also tells whether the connection is to blame.
    async fn begin_on(&self, mut conn: Conn) -> Result<Conn, (StoreError, bool)> {
        let backend = conn.backend();
        let work = async move {
            match timeout(BATCH_LIMIT, conn.begin()).await {
                Ok(Ok(())) => Ok(conn),
                Ok(Err(error)) => Err((error, conn.is_broken())),
                Err(_) => Err((late(), false)),
            }
        };
        on_io(&self.io, backend, work).await.unwrap_or_else(|error| Err((error, true)))
    }

    fn learn(&self, outcome: &Result<(), StoreError>) {
        match outcome {
            Ok(()) => {
                if self.status.up() {
                    info!(self.log, "the database answers again");
                }
            }
            Err(StoreError::Unavailable(detail)) => {
                if self.status.down(detail) {
                    warn!(self.log, "the database is away"; "detail" => detail);
                }
            }
            Err(error) => warn!(self.log, "a transaction failed"; "error" => %error),
        }
    }
}

fn late() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".into())
}

/// What follows a begin. An error means that nothing of any unit is known to be kept.
async fn transaction(conn: &mut Conn, units: &mut [Box<dyn Unit>]) -> Result<(), StoreError> {
    for unit in units {
        conn.savepoint().await?;
        let keep = AssertUnwindSafe(unit.run(conn)).catch_unwind().await.unwrap_or_else(|_| {
            unit.fail(StoreError::Database("a unit of work panicked".into()));
            false
        });
        if keep {
            conn.commit().await?;
        } else {
            conn.rollback().await?;
        }
    }
    conn.commit().await
}
