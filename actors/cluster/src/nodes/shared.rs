//! The lease, renewed by the actor and read by everyone. It lives as long as the process.

use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, info, warn};
use svc_ledger::lease_fence;
use svc_store::{NewNode, NodeLeases, StoreError};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::nodes::metrics::NodeMetrics;
use crate::nodes::settings::Settings;
use crate::nodes::state::{LeaseProof, LeaseStep, NodeLease};
use crate::nodes::takeover::SETTLING;

/// Time limit of the last write of a lease.
const FAREWELL: Duration = Duration::from_secs(1);

/// State shared by the handle and every instance of the actor.
pub(crate) struct NodeShared {
    pub(crate) leases: NodeLeases,
    pub(crate) settings: Settings,
    /// The current id of the node and the proof of its lease.
    pub(crate) lease: watch::Sender<NodeLease>,
    /// Locked while the lease is written. True once the lease was released for good.
    is_released: Mutex<bool>,
    metrics: NodeMetrics,
    log: Logger,
}

impl NodeShared {
    /// Registers the node in the database.
    pub(crate) async fn register(
        leases: NodeLeases,
        settings: Settings,
        metrics: NodeMetrics,
        log: Logger,
    ) -> Result<Self, StoreError> {
        let (id, sent): (Arc<str>, _) = (settings.id.as_str().into(), Instant::now());
        leases.register(new_node(&settings, &id, None)).await?;
        warn_of_unprepared_nodes(&leases, &log).await;
        let lease = NodeLease { id, proof: proof(&settings, sent), settled_at: sent };
        let (lease, is_released) = (watch::Sender::new(lease), Mutex::new(false));
        Ok(Self { leases, settings, lease, is_released, metrics, log })
    }

    /// Returns the current id. It changes when a lease is lost.
    pub(crate) fn id(&self) -> Arc<str> {
        Arc::clone(&self.lease.borrow().id)
    }

    /// Returns true if the lease is proven now.
    pub(crate) fn is_proven(&self) -> bool {
        self.lease.borrow().is_proven(Instant::now())
    }

    /// Renews the lease, or registers the node under a new id if the lease is lost. Returns the instant of
    /// the next attempt.
    pub(crate) async fn renew_or_replace(&self) -> Instant {
        let is_released = self.is_released.lock().await;
        let (sent, lease) = (Instant::now(), self.lease.borrow().clone());
        let heartbeat = self.settings.heartbeat();
        if *is_released {
            return sent + heartbeat;
        }
        let LeaseStep::Renew(deadline) = lease.next_step(sent, heartbeat) else {
            return self.register_new_id(&lease.id).await;
        };
        let renewal = self.leases.renew(&lease.id, self.settings.lease, self.settings.is_alone);
        match timeout_at(deadline, renewal).await {
            Ok(Ok(true)) => {
                let fence = lease_fence(self.settings.lease, heartbeat);
                self.lease.send_modify(|lease| lease.renew(sent, fence, Instant::now()));
            }
            Ok(Ok(false)) => self.lease.send_modify(|lease| lease.proof = LeaseProof::Ended),
            Ok(Err(error)) => {
                self.metrics.renewal_failures.inc();
                warn!(self.log, "the lease of the node was not renewed"; "error" => %error);
            }
            Err(_) => {
                self.metrics.renewal_failures.inc();
                warn!(self.log, "the lease of the node was not renewed in time");
            }
        }
        self.lease.borrow().next_renewal(sent, heartbeat)
    }

    /// Registers the node under a new id. Returns the instant of the next attempt.
    async fn register_new_id(&self, former: &Arc<str>) -> Instant {
        let (id, sent): (Arc<str>, _) = (self.settings.next_id().into(), Instant::now());
        let heartbeat = self.settings.heartbeat();
        let registered = self.leases.register(new_node(&self.settings, &id, Some(former)));
        match timeout(heartbeat, registered).await {
            Ok(Ok(())) => {
                self.metrics.leases_lost.inc();
                warn!(self.log, "the lease of the node was lost; it goes on under a new id";
                    "former" => &**former, "id" => &*id);
                let (proof, settled_at) = (proof(&self.settings, sent), Instant::now() + SETTLING);
                let lease = NodeLease { id, proof, settled_at };
                let next = lease.next_renewal(sent, heartbeat);
                self.lease.send_replace(lease);
                next
            }
            // The database is away. The lease is already lost, so the retry is not urgent.
            Ok(Err(_)) | Err(_) => Instant::now() + heartbeat.min(Duration::from_secs(1)),
        }
    }

    /// Releases the lease, once. Other nodes may then take over the work of this node.
    pub(crate) async fn release(&self) {
        let Ok(mut is_released) = timeout(FAREWELL, self.is_released.lock()).await else {
            return warn!(self.log, "the lease of the node is left to run out");
        };
        if std::mem::replace(&mut *is_released, true) {
            return;
        }
        let id = self.id();
        self.lease.send_modify(|lease| lease.proof = LeaseProof::Ended);
        match timeout(FAREWELL, self.leases.release(&id)).await {
            Ok(Ok(())) => info!(self.log, "the lease of the node ended"; "id" => &*id),
            Ok(Err(error)) => {
                warn!(self.log, "the lease of the node is left to run out"; "error" => %error);
            }
            Err(_) => warn!(self.log, "the lease of the node is left to run out"),
        }
    }
}

/// Returns the proof of a lease that was requested at `sent`. It ends before the lease can run out in the
/// database; it has no end if no other process can use the database.
fn proof(settings: &Settings, sent: Instant) -> LeaseProof {
    if settings.is_alone {
        return LeaseProof::Unlimited;
    }
    LeaseProof::Until(sent + lease_fence(settings.lease, settings.heartbeat()))
}

/// Builds the row of this process under `id`. `former` is its previous id, if it lost the lease of that one.
fn new_node(settings: &Settings, id: &Arc<str>, former: Option<&Arc<str>>) -> NewNode {
    NewNode {
        id: Arc::clone(id),
        former: former.cloned(),
        version: settings.version,
        lease: settings.lease,
        is_alone: settings.is_alone,
    }
}

/// Warns of live nodes that cannot read what this one encrypts from now on.
async fn warn_of_unprepared_nodes(leases: &NodeLeases, log: &Logger) {
    // The start does not depend on it.
    let nodes = leases.without_key().await.unwrap_or_default();
    if !nodes.is_empty() {
        let ids: Vec<_> = nodes.into_iter().map(|node| node.id).collect();
        slog::warn!(log, "live nodes do not know the encryption key of this one: they cannot read what it stores";
            "nodes" => ids.join(", "));
    }
}
