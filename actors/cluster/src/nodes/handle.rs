//! The handle to the node of this process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{ChildSpec, Placement, SpawnError, Tree};
use slog::Logger;
use svc_store::{NodeLeases, Store, StoreError};
use tokio::time::{Instant, sleep_until};

use crate::nodes::actor::LeaseRenewer;
use crate::nodes::metrics::NodeMetrics;
use crate::nodes::settings::Settings;
use crate::nodes::shared::NodeShared;
use crate::nodes::state::LeaseProof;
use crate::nodes::takeover::scan_interval;

/// The node of this process, readable from any thread. Cheap to clone.
#[derive(Clone)]
pub struct NodeHandle {
    shared: Arc<NodeShared>,
}

/// The reason why a process could not register as a node.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The database did not store the node.
    #[error("the node cannot be put on record: {0}")]
    Store(#[from] StoreError),
    /// The actor that renews the lease could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl NodeHandle {
    /// Registers this process as a node and adds the actor `path`, which renews its lease.
    ///
    /// # Errors
    /// - [`RegisterError::Store`] if the database does not answer or refuses the row.
    /// - [`RegisterError::Spawn`] if the path is taken, the placement is gone, or a required node does not
    ///   exist.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        store: &Store,
        settings: Settings,
        metrics: NodeMetrics,
        log: Logger,
    ) -> Result<Self, RegisterError> {
        let spec = ChildSpec::new().essential().needs(&settings.needs);
        let shared = Arc::new(NodeShared::register(store.nodes(), settings, metrics, log).await?);
        let of_actor = Arc::clone(&shared);
        tree.spawn(path, spec, at, move |_| std::future::ready(Ok(LeaseRenewer::new(Arc::clone(&of_actor)))))
            .await?;
        Ok(Self { shared })
    }

    /// Returns the current id of this node, with or without a proven lease. Accepted work is stored under
    /// this id.
    pub fn id(&self) -> Arc<str> {
        self.shared.id()
    }

    /// Returns whether `id` is this node and its lease is proven now. Once false for an id, it stays false.
    pub fn holds(&self, id: &str) -> bool {
        self.shared.lease.borrow().holds(id, Instant::now())
    }

    /// Waits until the lease is proven. Returns the id for which it is proven.
    pub async fn wait_until_proven(&self) -> Arc<str> {
        let mut lease = self.shared.lease.subscribe();
        // The sender is part of this handle, so the channel cannot be closed.
        let _ = lease.wait_for(|lease| lease.is_proven(Instant::now())).await;
        self.id()
    }

    /// Waits until the work of nodes without a lease may be taken over. Returns the id under which to take it
    /// over.
    pub async fn wait_until_settled(&self) -> Arc<str> {
        loop {
            let id = self.wait_until_proven().await;
            let settled_at = self.shared.lease.borrow().settled_at;
            sleep_until(settled_at).await;
            if self.holds(&id) {
                return id;
            }
        }
    }

    /// Waits until [`holds`](Self::holds) is false for `id`.
    pub async fn wait_until_lost(&self, id: &str) {
        let mut lease = self.shared.lease.subscribe();
        while self.holds(id) {
            let proof = lease.borrow_and_update().proof;
            tokio::select! {
                // The sender is part of this handle, so the channel cannot be closed.
                _ = lease.changed() => {}
                () = wait_for_end(proof) => {}
            }
        }
    }

    /// Returns the repository of all nodes.
    pub fn leases(&self) -> &NodeLeases {
        &self.shared.leases
    }

    /// Returns the time between two scans for nodes without a lease.
    pub fn look_interval(&self) -> Duration {
        scan_interval(self.shared.settings.lease)
    }

    /// Releases the lease for good: other nodes may take over the unfinished work of this node at once. The
    /// actor does the same when the tree shuts down; this is for a shutdown without time for drains.
    pub async fn release(&self) {
        self.shared.release().await;
    }
}

/// Waits until the proof expires; for ever if it cannot.
async fn wait_for_end(proof: LeaseProof) {
    match proof {
        LeaseProof::Until(end) => sleep_until(end).await,
        LeaseProof::Ended => {}
        LeaseProof::Unlimited => std::future::pending().await,
    }
}

impl fmt::Debug for NodeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeHandle")
            .field("id", &self.id())
            .field("is_proven", &self.shared.is_proven())
            .finish()
    }
}
