//! The handle to the store.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{ChildSpec, GroupSpec, Placement, SpawnError, StartError, Tree};
use slog::Logger;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::config::{Backend, StoreConfig};
use crate::connections::connection_manager::ConnectionManager;
use crate::connections::pool::ConnectionPool;
use crate::connections::probe::HealthProbe;
use crate::database::Database;
use crate::error::OpenError;
use crate::files::backup::{self, BackupError};
use crate::files::private_file::is_readable_by_others;
use crate::metrics::StoreMetrics;
use crate::migrate::{self, SchemaReport};
use svc_model::{Channel, Workflow};
use svc_secrets::EnvelopeKeys;

use crate::connections::retry_window::RetryWindow;
use crate::repo::{
    AuditLog, Backtests, BulkRuns, CanaryRollouts, ChannelPauses, ConfigEpoch, ConnectorRepository,
    Consumers, DeadLetterRepository, ErrorGroups, JobLeases, KeptAnswers, Ledger, LedgerQueues, NodeLeases,
    PackageReceipts, Plugins, QuotaCounts, Recordings, Repository, StatusChanges, TokenStates,
    TraceRepository, Webhooks,
};
use crate::status::{DatabaseStatus, StatusLevel};
use crate::writer::{StoreWriter, WriterConnection, WriterQueue};

/// Units in flight above which further writes are refused.
const WRITES_IN_FLIGHT: usize = 8192;

/// A database that was reached, has the right schema, and waits for its actors.
pub struct OpenedStore {
    backend: Backend,
    pool: ConnectionPool,
    link: Arc<WriterConnection>,
    status: Arc<StatusLevel>,
    io: Handle,
    patience: Duration,
    health_check: Duration,
    keys: Arc<EnvelopeKeys>,
    file: Option<PathBuf>,
    backup_dir: Option<PathBuf>,
    connector: ConnectionManager,
}

/// A handle to the store. Cheap to clone; survives restarts of its actors.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    database: Database,
    status: Arc<StatusLevel>,
    keys: Arc<EnvelopeKeys>,
    file: Option<PathBuf>,
    backup_dir: Option<PathBuf>,
    status_changes: Arc<StatusChanges>,
    ledger_queues: Arc<LedgerQueues>,
    connector: ConnectionManager,
    io: Handle,
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
        let OpenedStore { backend, pool, link, status, io, patience, health_check, keys, .. } = opened;
        let OpenedStore { file, backup_dir, connector, .. } = opened;
        tree.add_group(path, GroupSpec::new()).await?;
        let queue = Arc::new(WriterQueue::new(Arc::clone(&link), io.clone()));
        let (of_writer, of_probe) = (Arc::clone(&queue), (link, io.clone()));
        let writer = tree
            .spawn(
                &format!("{path}/writer"),
                ChildSpec::new().mailbox(WRITES_IN_FLIGHT).essential(),
                at.clone(),
                move |_| std::future::ready(Ok::<_, StartError>(StoreWriter::new(Arc::clone(&of_writer)))),
            )
            .await?;
        tree.spawn(&format!("{path}/probe"), ChildSpec::new(), at, move |_| {
            let (link, io) = of_probe.clone();
            std::future::ready(Ok::<_, StartError>(HealthProbe { link, io, limit: health_check }))
        })
        .await?;
        let database = Database::new(backend, pool, (writer, queue), patience);
        let status_changes = Arc::default();
        let ledger_queues = Arc::new(LedgerQueues::default());
        Ok(Self {
            inner: Arc::new(StoreInner {
                database,
                status,
                keys,
                file,
                backup_dir,
                status_changes,
                ledger_queues,
                connector,
                io,
            }),
        })
    }

    /// Returns the kind of database.
    pub fn backend(&self) -> Backend {
        self.inner.database.backend()
    }

    /// Returns the status of the database, without I/O.
    pub fn status(&self) -> DatabaseStatus {
        self.inner.status.get()
    }

    /// Returns the path of the database file; `None` for a server.
    pub fn file(&self) -> Option<&Path> {
        self.inner.file.as_deref()
    }

    /// Returns the directory of backups of the database file; `None` for a server.
    pub fn backup_dir(&self) -> Option<&Path> {
        self.inner.backup_dir.as_deref()
    }

    /// Returns the metrics of the store, to be registered once.
    pub fn metrics(&self) -> StoreMetrics {
        self.inner.database.metrics()
    }

    /// Returns the repository of workflows.
    pub fn workflows(&self) -> Repository<Workflow> {
        Repository::new(self.database(), Arc::clone(&self.inner.keys), Arc::clone(&self.inner.status_changes))
    }

    /// Returns the repository of channels.
    pub fn channels(&self) -> Repository<Channel> {
        Repository::new(self.database(), Arc::clone(&self.inner.keys), Arc::clone(&self.inner.status_changes))
    }

    /// Returns the repository of connectors.
    pub fn connectors(&self) -> ConnectorRepository {
        Repository::new(self.database(), Arc::clone(&self.inner.keys), Arc::clone(&self.inner.status_changes))
    }

    /// Returns the repository of the tokens of connectors.
    pub fn token_states(&self) -> TokenStates {
        TokenStates { database: self.database(), keys: Arc::clone(&self.inner.keys) }
    }

    /// Returns the audit log.
    pub fn audit(&self) -> AuditLog {
        AuditLog(self.database())
    }

    /// Returns the repository of traces.
    pub fn traces(&self) -> TraceRepository {
        TraceRepository(self.database())
    }

    /// Returns the repository of dead letters: failed asynchronous runs that wait for another attempt.
    pub fn dead_letters(&self) -> DeadLetterRepository {
        DeadLetterRepository(self.database())
    }

    /// Returns the repository of the leases of processes that share the database.
    pub fn nodes(&self) -> NodeLeases {
        NodeLeases { database: self.database(), keys: Arc::clone(&self.inner.keys) }
    }

    /// Returns the leases of recurring jobs.
    pub fn job_leases(&self) -> JobLeases {
        JobLeases(self.database())
    }

    /// Returns the cron ledger.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.database(), Arc::clone(&self.inner.ledger_queues))
    }

    /// Copies the database file to a file that is absent or empty, and checks the copy. Writers go on meanwhile.
    ///
    /// # Errors
    /// [`BackupError`]; the file at `to` may hold a part then.
    pub async fn back_up(&self, to: PathBuf) -> Result<(), BackupError> {
        let connector = self.inner.connector.clone();
        let failed = to.clone();
        let copying = self.inner.io.spawn_blocking(move || backup::copy_checked(&connector, &to));
        copying.await.unwrap_or_else(|error| {
            Err(BackupError::File { path: failed, detail: format!("the copy ended early: {error}") })
        })
    }

    /// Returns the groups of failures.
    pub fn error_groups(&self) -> ErrorGroups {
        ErrorGroups(self.database())
    }

    /// Returns the receipts of packages.
    pub fn packages(&self) -> PackageReceipts {
        PackageReceipts(self.database())
    }

    pub fn plugins(&self) -> Plugins {
        Plugins { database: self.database(), keys: Arc::clone(&self.inner.keys) }
    }

    pub fn backtests(&self) -> Backtests {
        Backtests(self.database())
    }

    /// Returns the runs of actions on many rows.
    pub fn bulk_runs(&self) -> BulkRuns {
        BulkRuns(self.database())
    }

    /// Returns the rollouts that move by themselves.
    pub fn canary_rollouts(&self) -> CanaryRollouts {
        CanaryRollouts(self.database())
    }

    pub fn channel_pauses(&self) -> ChannelPauses {
        ChannelPauses(self.database())
    }

    pub fn consumers(&self) -> Consumers {
        Consumers { database: self.database(), keys: Arc::clone(&self.inner.keys) }
    }

    /// Returns the answers that repeats of a request get.
    pub fn kept_answers(&self) -> KeptAnswers {
        KeptAnswers(self.database())
    }

    pub fn quota_counts(&self) -> QuotaCounts {
        QuotaCounts(self.database())
    }

    /// Returns the webhooks to customers.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks { database: self.database(), keys: Arc::clone(&self.inner.keys) }
    }

    /// Returns the recorded runs.
    pub fn recordings(&self) -> Recordings {
        Recordings(self.database())
    }

    /// Returns the keys that encrypt what is stored.
    pub fn encryption_keys(&self) -> Arc<EnvelopeKeys> {
        Arc::clone(&self.inner.keys)
    }

    /// Returns the configuration epoch.
    pub fn epoch(&self) -> ConfigEpoch {
        ConfigEpoch(self.database())
    }

    fn database(&self) -> Database {
        self.inner.database.clone()
    }
}

async fn open(config: &StoreConfig, io: Handle, log: Logger) -> Result<OpenedStore, OpenError> {
    let mut connector = ConnectionManager::new(config)?;
    connector.log_protection(log.clone());
    check_schema(config, &connector, &log).await?;
    if connector.is_pooled() {
        slog::info!(
            log,
            "the storage is behind a pooler: statements have no names, and changes are polled for"
        );
    }
    let status = Arc::new(StatusLevel::new());
    let pool = ConnectionPool::open(config, connector.clone(), io.clone()).await?;
    let backend = connector.target.backend();
    // Made absolute now, so that a later change of the working directory has no effect.
    let file = connector.target.file().map(to_absolute);
    let backup_dir = file.as_ref().and(config.backup_dir.as_deref()).map(to_absolute);
    if let Some(file) = file.as_deref().filter(|file| is_readable_by_others(file)) {
        slog::warn!(log, "every user of this machine can read the database file; chmod 600 prevents it";
            "file" => %file.display());
    }
    let link =
        Arc::new(WriterConnection::new(connector.clone(), config.acquire_timeout, Arc::clone(&status), log));
    let (patience, keys) = (config.acquire_timeout, Arc::new(config.connector_keys.clone()));
    let health_check = config.health_check_timeout;
    Ok(OpenedStore {
        backend,
        pool,
        link,
        status,
        io,
        patience,
        health_check,
        keys,
        file,
        backup_dir,
        connector,
    })
}

fn to_absolute(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Runs or checks migrations. This is also the first contact, so it waits for a server that is not up yet.
async fn check_schema(
    config: &StoreConfig,
    connector: &ConnectionManager,
    log: &Logger,
) -> Result<(), OpenError> {
    let mut window = RetryWindow::new(config.connect_retry);
    loop {
        let outcome = match config.auto_migrate {
            true => migrate::run_with(connector, &config.connector_keys).await,
            false => migrate::pending_with(connector).await,
        };
        match outcome {
            Ok(SchemaReport { newer, .. }) if !newer.is_empty() => {
                slog::warn!(log, "a newer program has migrated the database; it only added to the schema";
                    "migrations" => newer.join(", "));
                return Ok(());
            }
            Ok(SchemaReport { migrations, .. }) if migrations.is_empty() => return Ok(()),
            Ok(SchemaReport { migrations, .. }) if config.auto_migrate => {
                slog::info!(log, "the database schema was migrated"; "migrations" => migrations.join(", "));
                return Ok(());
            }
            Ok(SchemaReport { migrations, .. }) => {
                return Err(OpenError::Pending { target: connector.target.to_string(), migrations });
            }
            Err(OpenError::Unreachable { detail, .. })
                if connector.target.backend() == Backend::Postgres
                    && let Some(pause) = window.next_pause() =>
            {
                slog::warn!(log, "the database is not there yet"; "detail" => detail);
                sleep(pause).await;
            }
            Err(error) => return Err(error),
        }
    }
}
