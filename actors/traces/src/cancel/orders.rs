//! The orders that operators give: cancels and reruns.

use std::sync::Arc;

use svc_store::{AcceptedRerun, CancelEffect, CancelOrder, Mutation, RerunOrder, StoreError};

use crate::handle::Traces;

impl Traces {
    /// Cancels accepted work. Work that a node runs ends soon after; its trace shows when. It leaves its failure, a dead
    /// letter and a report, only if `reports` is set.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 for an unknown trace, 409 for one that has ended or is none of accepted work; the
    /// other variants if the database fails.
    pub async fn cancel(
        &self,
        id: &str,
        principal: &str,
        reports: bool,
        mutation: Mutation,
    ) -> Result<CancelEffect, StoreError> {
        let (traces, watch) = (&self.shared.traces, self.shared.cancel_watch.get());
        let failure = match watch.filter(|_| reports) {
            Some(watch) => Some(watch.prepare_failure(id).await?),
            None => None,
        };
        let (principal, node) = (principal.to_owned(), self.shared.nodes.id());
        let order = CancelOrder { id: id.to_owned(), principal, node: Arc::clone(&node), failure };
        let effect = traces.cancel(order, mutation).await?;
        if let Some(watch) = watch {
            watch.note_effect(&effect);
        }
        Ok(effect)
    }

    /// Has the database read for orders to cancel, because it may have some.
    pub fn look_for_cancels(&self) {
        self.shared.cancels.look();
    }

    /// Accepts the rerun of a trace, which begins as soon as a worker is free.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 for an unknown trace, 400 for an unknown version, 409 for a trace that has not ended,
    /// has a dead letter that waits, or has no stored input; the other variants if the database fails.
    pub async fn rerun(&self, order: RerunOrder, mutation: Mutation) -> Result<AcceptedRerun, StoreError> {
        let accepted = self.shared.traces.rerun(order, mutation).await?;
        self.note_rerun(&accepted);
        Ok(accepted)
    }

    /// Has a rerun claimed that was accepted elsewhere in this process.
    pub fn note_rerun(&self, accepted: &AcceptedRerun) {
        let channel = accepted.channel_id.as_deref().unwrap_or_default();
        self.shared.tally.add(channel, accepted.reason);
        self.shared.tally.wake();
    }
}
