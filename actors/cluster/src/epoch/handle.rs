//! The handle of the watcher.

use std::fmt;
use std::sync::Arc;

use actix_supervision::{ChildSpec, Placement, SpawnError, Tree};

use crate::epoch::actor::EpochWatcher;
use crate::epoch::settings::EpochServices;
use crate::epoch::shared::EpochShared;

/// The progress of the watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochStatus {
    /// The epoch that this process serves.
    pub applied: i64,
    /// The epoch of the database, as last read.
    pub current: i64,
    /// The reason why the last pass failed.
    pub problem: Option<String>,
}

/// A handle of the watcher, readable from any thread. Cheap to clone.
#[derive(Clone)]
pub struct EpochHandle {
    shared: Arc<EpochShared>,
}

impl EpochHandle {
    /// Starts the watcher at `path`.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is taken or the placement is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        services: EpochServices,
    ) -> Result<Self, SpawnError> {
        let spec = ChildSpec::new().needs(&services.settings.needs);
        let shared = Arc::new(EpochShared::new(services));
        let of_actor = Arc::clone(&shared);
        tree.spawn(path, spec, at, move |_| std::future::ready(Ok(EpochWatcher::new(Arc::clone(&of_actor)))))
            .await?;
        Ok(Self { shared })
    }

    /// Returns the progress, without I/O.
    pub fn status(&self) -> EpochStatus {
        self.shared.status()
    }
}

impl fmt::Debug for EpochHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochHandle").field("status", &self.status()).finish()
    }
}
