//! The threads that run an actor of every channel.

use std::collections::HashMap;
use std::thread::{self, ThreadId};
use std::time::Duration;

use actix_rt::Arbiter;
use actix_supervision::Placement;
use parking_lot::RwLock;
use slog::{Logger, warn};
use svc_registry::{Registry, WorkerId};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::sleep;

/// Pauses between attempts to join. A registry that is down for longer has failed for good.
const BACKOFF: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

/// The threads that the registry knows as workers.
#[derive(Debug, Default)]
pub(crate) struct WorkerThreads {
    known: RwLock<HashMap<ThreadId, WorkerId>>,
    /// Locked while a thread joins: one that mounts several parts of the service joins once.
    joining: AsyncMutex<()>,
}

impl WorkerThreads {
    /// Makes the current thread a worker; retries while the registry restarts.
    pub(crate) async fn join_with_retries(&self, registry: &Registry, log: &Logger) -> Option<WorkerId> {
        for pause in BACKOFF {
            if let Some(joined) = self.join(registry, log).await {
                return Some(joined);
            }
            sleep(pause).await;
        }
        self.join(registry, log).await
    }

    /// Makes the current thread a worker, if it runs an arbiter. Returns `None` if it cannot be one now.
    pub(crate) async fn join(&self, registry: &Registry, log: &Logger) -> Option<WorkerId> {
        if let Some(known) = self.current_worker() {
            return Some(known);
        }
        let arbiter = Arbiter::try_current()?;
        let _joining = self.joining.lock().await;
        if let Some(known) = self.current_worker() {
            return Some(known);
        }
        let joined = registry.add_worker(Placement::On(arbiter)).await;
        let id = joined.inspect_err(|error| warn!(log, "thread is no worker"; "detail" => %error)).ok()?;
        let mut workers = self.known.write();
        // Workers whose threads have ended are forgotten; a thread id is never reused.
        workers.retain(|_, worker| registry.has_worker(*worker));
        workers.insert(thread::current().id(), id);
        Some(id)
    }

    /// Returns the worker id of the current thread.
    pub(crate) fn current_worker(&self) -> Option<WorkerId> {
        self.known.read().get(&thread::current().id()).copied()
    }

    /// Returns `true` if any thread serves.
    pub(crate) fn has_any(&self, registry: &Registry) -> bool {
        let workers = self.known.read();
        workers.values().any(|worker| registry.has_worker(*worker))
    }
}
