//! The handle to the store.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Address, CallError, CallErrorKind, ChildSpec, GroupSpec, Placement, SpawnError, StartError, Tree,
};
use futures_util::future::BoxFuture;
use slog::Logger;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::config::{Backend, StoreConfig};
use crate::conn::Conn;
use crate::connection_manager::ConnectionManager;
use crate::error::{OpenError, StoreError};
use crate::metrics::{Queries, QueryOperation, StoreMetrics};
use crate::migrate;
use crate::pool::{ConnectionPool, TransactionFn};
use crate::probe::HealthProbe;
use svc_model::{Channel, Workflow};
use svc_secrets::EnvelopeKeys;

use crate::repo::{
    AuditLog, ConfigEpoch, ConnectorRepository, DeadLetterRepository, Ledger, NodeLeases, Repository,
    StatusChanges, TokenStates, TraceRepository, TraceWrite,
};
use crate::status::{DatabaseStatus, StatusLevel};
use crate::writer::{RunUnit, StoreWriter, UnitOutcome, WriteRow, WriterConnection, abandoned};

/// First pause between attempts to reach a server at start; doubles.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const SLOWEST_RETRY: Duration = Duration::from_secs(5);

/// Units in flight above which further writes are refused.
const WRITES_IN_FLIGHT: usize = 8192;

/// A database that was reached, has the right schema, and waits for its actors.
pub struct OpenedStore {
    backend: Backend,
    readers: ConnectionPool,
    link: Arc<WriterConnection>,
    status: Arc<StatusLevel>,
    io: Handle,
    patience: Duration,
    health_check: Duration,
    keys: Arc<EnvelopeKeys>,
    file: Option<PathBuf>,
}

/// A handle to the store. Cheap to clone; survives restarts of its actors.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    backend: Backend,
    readers: ConnectionPool,
    writer: Address<StoreWriter>,
    status: Arc<StatusLevel>,
    patience: Duration,
    queries: Queries,
    keys: Arc<EnvelopeKeys>,
    file: Option<PathBuf>,
    status_changes: Arc<StatusChanges>,
}

impl Store {
    /// Connects to the database, then migrates its schema or checks it. `io` drives every connection from then on and
    /// must be a multi-thread runtime.
    ///
    /// # Errors
    /// [`OpenError`], as one clear line, if the database cannot be opened or its schema does not fit.
    pub async fn open(config: &StoreConfig, io: Handle, log: Logger) -> Result<OpenedStore, OpenError> {
        let (config, inner) = (config.clone(), io.clone());
        let opening = io.spawn(async move { open(&config, inner, log).await });
        opening.await.unwrap_or_else(|error| {
            Err(OpenError::Unreachable { target: "the database".into(), detail: error.to_string() })
        })
    }

    /// Adds the actors to a tree: the group `path` with the essential `writer`, and `probe`, which keeps the status
    /// current.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is taken or the placement is gone.
    pub async fn supervise(
        opened: OpenedStore,
        tree: &Tree,
        path: &str,
        at: Placement,
    ) -> Result<Self, SpawnError> {
        let OpenedStore { backend, readers, link, status, io, patience, health_check, keys, file } = opened;
        tree.add_group(path, GroupSpec::new()).await?;
        let (of_writer, of_probe) = ((Arc::clone(&link), io.clone()), (link, io));
        let writer = tree
            .spawn(
                &format!("{path}/writer"),
                ChildSpec::new().mailbox(WRITES_IN_FLIGHT).essential(),
                at.clone(),
                move |_| {
                    let (link, io) = of_writer.clone();
                    std::future::ready(Ok::<_, StartError>(StoreWriter::new(link, io)))
                },
            )
            .await?;
        tree.spawn(&format!("{path}/probe"), ChildSpec::new(), at, move |_| {
            let (link, io) = of_probe.clone();
            std::future::ready(Ok::<_, StartError>(HealthProbe { link, io, limit: health_check }))
        })
        .await?;
        let queries = Queries::new();
        let status_changes = Arc::default();
        let shared =
            Shared { backend, readers, writer, status, patience, queries, keys, file, status_changes };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the kind of database.
    pub fn backend(&self) -> Backend {
        self.shared.backend
    }

    /// Returns the status of the database, without I/O.
    pub fn status(&self) -> DatabaseStatus {
        self.shared.status.get()
    }

    /// Returns the path of the database file; `None` for a server.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_deref()
    }

    /// Returns the metrics of the store, to be registered once.
    pub fn metrics(&self) -> StoreMetrics {
        StoreMetrics { queries: self.shared.queries.clone(), readers: self.shared.readers.clone() }
    }

    /// Returns the repository of workflows.
    pub fn workflows(&self) -> Repository<Workflow> {
        Repository::new(self.clone())
    }

    /// Returns the repository of channels.
    pub fn channels(&self) -> Repository<Channel> {
        Repository::new(self.clone())
    }

    /// Returns the repository of connectors.
    pub fn connectors(&self) -> ConnectorRepository {
        ConnectorRepository { store: self.clone(), keys: Arc::clone(&self.shared.keys) }
    }

    /// Returns the repository of the tokens of connectors.
    pub fn token_states(&self) -> TokenStates {
        TokenStates { store: self.clone(), keys: Arc::clone(&self.shared.keys) }
    }

    /// Returns the audit log.
    pub fn audit(&self) -> AuditLog {
        AuditLog(self.clone())
    }

    /// Returns the repository of traces.
    pub fn traces(&self) -> TraceRepository {
        TraceRepository(self.clone())
    }

    /// Returns the repository of dead letters: failed asynchronous runs that wait for another attempt.
    pub fn dead_letters(&self) -> DeadLetterRepository {
        DeadLetterRepository(self.clone())
    }

    /// Returns the repository of the leases of processes that share the database.
    pub fn nodes(&self) -> NodeLeases {
        NodeLeases(self.clone())
    }

    /// Returns the cron ledger.
    pub fn ledger(&self) -> Ledger {
        Ledger(self.clone())
    }

    /// Returns the configuration epoch.
    pub fn epoch(&self) -> ConfigEpoch {
        ConfigEpoch(self.clone())
    }

    /// Returns the changes of status that this process makes and has made recently.
    pub(crate) fn status_changes(&self) -> &Arc<StatusChanges> {
        &self.shared.status_changes
    }

    /// Runs `work` with a connection from the pool, on the io runtime.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: QueryOperation,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.measure(operation, self.shared.readers.read(work)).await
    }

    /// Runs `work` in the next transaction of the writer, in a savepoint of its own. Returns after the commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: QueryOperation,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<UnitOutcome<T>, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.measure(operation, self.commit(RunUnit { work: Box::new(work) })).await
    }

    /// Runs `step` in a transaction that may wait for locked rows without delaying other writes: on a server a
    /// transaction of its own; on a file, where no rows are locked, the next one of the writer. Returns after the
    /// commit.
    pub(crate) async fn transact<I, T>(
        &self,
        operation: QueryOperation,
        input: I,
        step: TransactionFn<I, T>,
    ) -> Result<T, StoreError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        match self.shared.backend {
            Backend::Postgres => self.measure(operation, self.shared.readers.transact(input, step)).await,
            Backend::Sqlite => {
                self.write(operation, move |conn| {
                    Box::pin(async move { step(conn, &input).await.map(UnitOutcome::Keep) })
                })
                .await
            }
        }
    }

    /// Measures the time that a caller waits.
    async fn measure<T>(&self, operation: QueryOperation, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let outcome = work.await;
        self.shared.queries.observe(operation, begun.elapsed());
        outcome
    }

    /// Changes one row in the next transaction, together with those of other callers. Returns after the commit.
    pub(crate) async fn change(
        &self,
        operation: QueryOperation,
        change: TraceWrite,
    ) -> Result<bool, StoreError> {
        self.measure(operation, self.commit_row(change)).await
    }

    async fn commit_row(&self, change: TraceWrite) -> Result<bool, StoreError> {
        let deadline = Instant::now() + self.shared.patience;
        let (caller, answer) = oneshot::channel();
        let mut message = WriteRow { change, caller };
        while let Err(error) = self.shared.writer.cast(message) {
            message = wait_for_writer(error, deadline).await?;
        }
        answer.await.unwrap_or_else(|_| Err(abandoned()))
    }

    async fn commit<T: Send + 'static>(&self, mut message: RunUnit<T>) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.shared.patience;
        loop {
            match self.shared.writer.call(message).await {
                Ok(answer) => return answer,
                Err(error) => message = wait_for_writer(error, deadline).await?,
            }
        }
    }
}

/// Waits while the writer restarts and returns the message: it was never handled, so it may be sent again.
async fn wait_for_writer<M>(error: CallError<M>, deadline: Instant) -> Result<M, StoreError> {
    match error {
        CallError { kind: CallErrorKind::Restarting { retry_after }, message: Some(message) }
            if Instant::now() + retry_after < deadline =>
        {
            sleep(retry_after).await;
            Ok(message)
        }
        error => Err(unanswered(&error)),
    }
}

/// Returns the error of a caller whose write was not answered.
fn unanswered<M>(error: &CallError<M>) -> StoreError {
    let detail = format!("the writer: {error}");
    if error.message.is_some() {
        StoreError::Unavailable(detail.into())
    } else {
        StoreError::Unanswered(detail.into())
    }
}

async fn open(config: &StoreConfig, io: Handle, log: Logger) -> Result<OpenedStore, OpenError> {
    let connector = ConnectionManager::new(config)?;
    check_schema(config, &connector, &log).await?;
    let status = Arc::new(StatusLevel::new());
    let readers = ConnectionPool::open(config, connector.clone(), io.clone()).await?;
    let backend = connector.target.backend();
    // Made absolute now, so that a later change of the working directory has no effect.
    let file = connector.target.file().map(|file| absolute(file).unwrap_or_else(|_| file.to_owned()));
    let link = Arc::new(WriterConnection::new(connector, config.acquire_timeout, Arc::clone(&status), log));
    let (patience, keys) = (config.acquire_timeout, Arc::new(config.connector_keys.clone()));
    let health_check = config.health_check_timeout;
    Ok(OpenedStore { backend, readers, link, status, io, patience, health_check, keys, file })
}

/// Runs or checks migrations. This is also the first contact, so it waits for a server that is not up yet.
async fn check_schema(
    config: &StoreConfig,
    connector: &ConnectionManager,
    log: &Logger,
) -> Result<(), OpenError> {
    let deadline = Instant::now() + config.connect_retry;
    let mut pause = FIRST_RETRY;
    loop {
        let outcome = match config.auto_migrate {
            true => migrate::run_with(connector).await,
            false => migrate::pending_with(connector).await,
        };
        match outcome {
            Ok(migrations) if migrations.is_empty() => return Ok(()),
            Ok(migrations) if config.auto_migrate => {
                slog::info!(log, "the database schema was migrated"; "migrations" => migrations.join(", "));
                return Ok(());
            }
            Ok(migrations) => {
                return Err(OpenError::Pending { target: connector.target.to_string(), migrations });
            }
            Err(OpenError::Unreachable { detail, .. })
                if connector.target.backend() == Backend::Postgres && Instant::now() + pause <= deadline =>
            {
                slog::warn!(log, "the database is not there yet"; "detail" => detail);
                sleep(pause).await;
                pause = (pause * 2).min(SLOWEST_RETRY);
            }
            Err(error) => return Err(error),
        }
    }
}
