//! The orders that operators give: cancels and reruns.

use std::sync::Arc;

use svc_model::ServiceError;
use svc_store::{
    AcceptedRerun, CancelEffect, CancelOrder, Mutation, RerunOrder, StoreError, TraceSource, WaitReason,
};

use crate::handle::Traces;
use crate::shared::TracesShared;
use crate::waiting::{ReservedRoom, no_room};

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
    /// has a dead letter that waits, or has no stored input, 503 while as much waits as may wait, of its channel or of
    /// the service; the other variants if the database fails.
    pub async fn rerun(&self, order: RerunOrder, mutation: Mutation) -> Result<AcceptedRerun, StoreError> {
        let traces = &self.shared.traces;
        let _room = match traces.source(&order.id).await? {
            Some(TraceSource { channel_id, .. }) => Some(self.reserve_rerun(channel_id.as_deref()).await?),
            // The order itself is refused.
            None => None,
        };
        let accepted = traces.rerun(order, mutation).await?;
        self.note_rerun(&accepted);
        Ok(accepted)
    }

    /// Takes the room that a rerun of a channel needs until it is noted.
    ///
    /// # Errors
    /// 503 while as much waits as may wait, of the channel or of the service.
    pub async fn reserve_rerun(&self, channel_id: Option<&str>) -> Result<ReservedRoom, ServiceError> {
        let TracesShared { traces, tally, cancel_watch, .. } = &*self.shared;
        let channel = channel_id.unwrap_or_default();
        let most = cancel_watch.get().map_or(u64::MAX, |watch| watch.worker.runner.max_waiting(channel));
        ReservedRoom::take(tally, traces, (channel, WaitReason::Paused), most).await.ok_or_else(no_room)
    }

    /// Takes the room that the work of a dead letter needs until it is requeued. Retries count for the service alone.
    ///
    /// # Errors
    /// 503 while as much waits as may wait of the service.
    pub async fn reserve_retry(&self) -> Result<ReservedRoom, ServiceError> {
        let TracesShared { traces, tally, .. } = &*self.shared;
        ReservedRoom::take(tally, traces, ("", WaitReason::Paused), u64::MAX).await.ok_or_else(no_room)
    }

    /// Has a rerun claimed that was accepted elsewhere in this process.
    pub fn note_rerun(&self, accepted: &AcceptedRerun) {
        let channel = accepted.channel_id.as_deref().unwrap_or_default();
        self.shared.tally.add(channel, accepted.reason);
        self.shared.tally.wake();
    }
}
