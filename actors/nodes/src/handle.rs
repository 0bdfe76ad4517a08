//! The handle everyone else holds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{ChildSpec, Placement, SpawnError, Tree};
use slog::Logger;
use svc_store::{NodeLeases, Store, StoreError};
use tokio::time::{Instant, sleep_until};

use crate::actor::LeaseRenewer;
use crate::metrics::NodeMetrics;
use crate::settings::Settings;
use crate::shared::NodeShared;
use crate::state::LeaseProof;

/// Looks for nodes without a lease in the length of one.
const LOOKS: u32 = 6;

/// The node that this process is, to be asked from any thread. Cheap to clone.
#[derive(Clone)]
pub struct NodeHandle {
    shared: Arc<NodeShared>,
}

/// Why a process did not become a node.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// It could not be put on record.
    #[error("the node cannot be put on record: {0}")]
    Store(#[from] StoreError),
    /// The actor that renews its lease could not be spawned.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl NodeHandle {
    /// Puts this process on record and adds the actor `path`, which renews its lease.
    ///
    /// # Errors
    /// The database does not answer, the path is taken, the place is gone, or something needed is not there.
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

    /// The id of this node: what it accepts names it, whether its lease is proven at this moment or not.
    pub fn id(&self) -> Arc<str> {
        self.shared.id()
    }

    /// Returns true if `id` is this node and its lease is proven now. Once false for an id, it is false for ever.
    pub fn holds(&self, id: &str) -> bool {
        self.shared.standing.borrow().holds(id, Instant::now())
    }

    /// Waits until the lease is proven; the id it is proven for.
    pub async fn proven(&self) -> Arc<str> {
        let mut standing = self.shared.standing.subscribe();
        // The sender is part of this handle: it cannot be gone.
        let _ = standing.wait_for(|standing| standing.is_proven(Instant::now())).await;
        self.id()
    }

    /// Waits until work of nodes without a lease may be taken over; the id to do it under.
    pub async fn settled(&self) -> Arc<str> {
        loop {
            let id = self.proven().await;
            let settled_at = self.shared.standing.borrow().settled_at;
            sleep_until(settled_at).await;
            if self.holds(&id) {
                return id;
            }
        }
    }

    /// Waits until [`holds`](Self::holds) is false for `id`.
    pub async fn lost(&self, id: &str) {
        let mut standing = self.shared.standing.subscribe();
        while self.holds(id) {
            let proof = standing.borrow_and_update().proof;
            tokio::select! {
                // The sender is part of this handle: it cannot be gone.
                _ = standing.changed() => {}
                () = reach(proof) => {}
            }
        }
    }

    /// The nodes on record.
    pub fn leases(&self) -> &NodeLeases {
        &self.shared.leases
    }

    /// Time between two looks for nodes without a lease.
    pub fn look_interval(&self) -> Duration {
        self.shared.settings.lease / LOOKS
    }

    /// Ends the lease in good order: what this node accepted and has not finished is anybody's at once. The drain of
    /// the actor does the same; this is for an end that leaves no time for drains.
    pub async fn release(&self) {
        self.shared.release().await;
    }
}

/// Waits for the end of a proof that has one.
async fn reach(proof: LeaseProof) {
    match proof {
        LeaseProof::Until(end) => sleep_until(end).await,
        LeaseProof::Ended => {}
        LeaseProof::Unlimited => std::future::pending().await,
    }
}

impl fmt::Debug for NodeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("id", &self.id()).field("is_proven", &self.shared.is_proven()).finish()
    }
}
