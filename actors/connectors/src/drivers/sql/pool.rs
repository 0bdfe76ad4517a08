//! The connections of one connector: how many there are, who waits for one, and how they heal.
//!
//! A connection is looked at before it is handed out, and one that is broken is replaced. Whoever waits while
//! connecting fails learns at once why, rather than at the end of the wait.

use std::time::Duration;

use bb8::{ErrorSink, ManageConnection, PooledConnection, RunError};
use svc_model::config::connector::DatabaseKind;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::error::SqlError;
use super::messages::{RunStatements, StatementResult};
use super::settings::{PoolContext, SqlSettings, SqlTarget};
use super::{mysql, postgres, sqlite};

/// An idle connection is closed after this time.
const IDLE: Duration = Duration::from_secs(600);
/// A connection is replaced after this time, so that a moved server or a changed name is noticed.
const LIFETIME: Duration = Duration::from_secs(1800);

/// The pool of a connector. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SqlPool {
    connections: Connections,
    database: DatabaseKind,
    limit: Duration,
}

#[derive(Clone)]
enum Connections {
    Postgres(Bounded<postgres::PostgresManager>),
    MySql(Bounded<mysql::MySqlManager>),
    Sqlite(Bounded<sqlite::SqliteManager>),
}

impl SqlPool {
    /// Makes the pool; nothing is connected yet. Must be called on the runtime that drives connections.
    pub(super) fn open(settings: &SqlSettings, context: &PoolContext) -> Result<Self, SqlError> {
        let dial = settings.dial(context);
        let bounds = Bounds { size: settings.max_connections, wait: settings.query_timeout, lasting: false };
        let connections = match &settings.target {
            SqlTarget::Postgres(target) => {
                Connections::Postgres(Bounded::new(postgres::PostgresManager::new(target, dial), bounds))
            }
            SqlTarget::MySql(target) => {
                Connections::MySql(Bounded::new(mysql::MySqlManager::new(target, dial), bounds))
            }
            SqlTarget::Sqlite(target) => {
                // A database in memory is gone with its connection, and no other connection sees it.
                let bounds =
                    if target.in_memory() { Bounds { size: 1, lasting: true, ..bounds } } else { bounds };
                Connections::Sqlite(Bounded::new(
                    sqlite::SqliteManager::new(target, context.own.clone()),
                    bounds,
                ))
            }
        };
        Ok(Self { connections, database: settings.kind(), limit: settings.query_timeout })
    }

    /// Runs statements within the time of the connector.
    pub(super) async fn run(&self, run: RunStatements) -> Result<Vec<StatementResult>, SqlError> {
        self.run_within(run, self.limit).await
    }

    pub(super) async fn run_within(
        &self,
        run: RunStatements,
        limit: Duration,
    ) -> Result<Vec<StatementResult>, SqlError> {
        run.check_params()?;
        let spends = run.leaves_session_state(self.database)?;
        let deadline = Instant::now() + limit;
        let timed_out = |_| SqlError::timed_out(limit);
        match &self.connections {
            Connections::Postgres(pool) => {
                let mut session = pool.get(deadline, limit).await?;
                let outcome = timeout_at(deadline, session.run(&run)).await.map_err(timed_out)?;
                session.spent |= spends;
                outcome
            }
            Connections::MySql(pool) => {
                let mut session = pool.get(deadline, limit).await?;
                let outcome = timeout_at(deadline, session.run(&run)).await.map_err(timed_out)?;
                session.spent |= spends;
                if session.is_in_transaction() && !session.spent {
                    session.io().spawn(async move { session.roll_back().await });
                }
                outcome
            }
            Connections::Sqlite(pool) => {
                let mut session = pool.get(deadline, limit).await?;
                session.spent |= spends;
                sqlite::run(session, run, deadline, limit).await
            }
        }
    }
}

struct Bounds {
    size: u32,
    wait: Duration,
    /// Keeps connections however old and idle they are.
    lasting: bool,
}

/// A pool, and what connecting fails with.
struct Bounded<M: ManageConnection> {
    pool: bb8::Pool<M>,
    failures: Failures,
}

impl<M: ManageConnection> Clone for Bounded<M> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), failures: self.failures.clone() }
    }
}

impl<M: ManageConnection<Error = PoolError>> Bounded<M> {
    fn new(manager: M, bounds: Bounds) -> Self {
        let failures = Failures(watch::Sender::new(None));
        let keep = |time: Duration| (!bounds.lasting).then_some(time);
        let pool = bb8::Pool::builder()
            .max_size(bounds.size.max(1))
            .min_idle(0)
            .test_on_check_out(true)
            .idle_timeout(keep(IDLE))
            .max_lifetime(keep(LIFETIME))
            .connection_timeout(bounds.wait.max(Duration::from_millis(1)))
            .retry_connection(false)
            .error_sink(failures.boxed_clone())
            .build_unchecked(manager);
        Self { pool, failures }
    }

    async fn get(
        &self,
        deadline: Instant,
        limit: Duration,
    ) -> Result<PooledConnection<'static, M>, SqlError> {
        let mut failures = self.failures.0.subscribe();
        let failed = async {
            // The sender is ours: it does not go away.
            let _ = failures.changed().await;
            failures.borrow().clone()
        };
        let got = async {
            tokio::select! {
                biased;
                got = self.pool.get_owned() => got.map_err(|error| match error {
                    RunError::User(PoolError::Failed(error)) => Some(error),
                    RunError::User(PoolError::Stale) | RunError::TimedOut => None,
                }),
                error = failed => Err(error),
            }
        };
        let got = timeout_at(deadline, got).await.unwrap_or(Err(None));
        got.map_err(|error| {
            let waited = || format!("no connection was free within {} ms", limit.as_millis());
            error.unwrap_or_else(|| SqlError::Unreachable(waited()))
        })
    }
}

/// A failure of a connection outside of a call.
#[derive(Clone, Debug)]
pub(crate) enum PoolError {
    /// No connection could be opened.
    Failed(SqlError),
    /// An idle one is broken: another takes its place.
    Stale,
}

impl From<SqlError> for PoolError {
    fn from(error: SqlError) -> Self {
        Self::Failed(error)
    }
}

/// Reports the failure of connecting to those who wait for a connection.
#[derive(Clone, Debug)]
struct Failures(watch::Sender<Option<SqlError>>);

impl ErrorSink<PoolError> for Failures {
    fn sink(&self, error: PoolError) {
        if let PoolError::Failed(error) = error {
            self.0.send_replace(Some(error));
        }
    }

    fn boxed_clone(&self) -> Box<dyn ErrorSink<PoolError>> {
        Box::new(self.clone())
    }
}
