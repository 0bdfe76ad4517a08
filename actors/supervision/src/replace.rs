//! Replacing an actor in two phases: prepare, then commit.

use std::fmt;

use tokio::sync::oneshot;

use crate::error::{OrderError, StartError};
use crate::instances::context::Supervised;
use crate::mailbox::address::Address;
use crate::protocol::{Factory, ReplacementCommit, RunnerCommand, SupervisorCommand};
use crate::tree::Tree;

/// A new generation of an actor, built and waiting next to the one that runs. If it is dropped without
/// [`commit`](Self::commit), it is discarded and nothing changes.
#[must_use = "a prepared instance that is dropped is discarded"]
pub struct PreparedReplacement<A: Supervised> {
    tree: Tree,
    address: Address<A>,
    node_id: u64,
    id: u64,
    generation: u64,
    fingerprint: Option<String>,
}

impl<A: Supervised> PreparedReplacement<A> {
    pub(crate) async fn build(
        tree: &Tree,
        address: &Address<A>,
        fingerprint: Option<String>,
        factory: Factory<A>,
    ) -> Result<Self, StartError> {
        let prepared = Self {
            tree: tree.clone(),
            address: address.clone(),
            node_id: address.inner.node_id,
            id: tree.context.next_id(),
            generation: address.inner.node.issue_generation(),
            fingerprint,
        };
        let (reply, built) = oneshot::channel();
        let (id, generation) = (prepared.id, prepared.generation);
        let ended_error = || StartError::Transient(format!("'{}' has ended", address.path()));
        let prepare = RunnerCommand::Prepare { id, generation, factory, reply };
        address.inner.control.unbounded_send(prepare).map_err(|_| ended_error())?;
        built.await.unwrap_or_else(|_| Err(ended_error()))?;
        Ok(prepared)
    }

    /// The address, which is the same before and after.
    pub fn address(&self) -> &Address<A> {
        &self.address
    }

    /// Lets the new instance take over and the old one drain. The mailbox stays: each message is handled by
    /// one of them. A quarantined node leaves quarantine. Returns the generation that runs now.
    pub async fn commit(mut self) -> Result<u64, OrderError> {
        let (node_id, id, generation) = (self.node_id, self.id, self.generation);
        let fingerprint = self.fingerprint.take();
        let commit = |answer| SupervisorCommand::Commit {
            commit: ReplacementCommit { node_id, id, generation, fingerprint, answer },
        };
        self.tree.command(commit).await.unwrap_or(Err(OrderError::TreeEnded))
    }
}

impl<A: Supervised> Drop for PreparedReplacement<A> {
    fn drop(&mut self) {
        // Discarding what was committed, or what has ended, does nothing.
        let _ = self.address.inner.control.unbounded_send(RunnerCommand::Discard { id: self.id });
    }
}

impl<A: Supervised> fmt::Debug for PreparedReplacement<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedReplacement")
            .field("path", self.address.path())
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}
