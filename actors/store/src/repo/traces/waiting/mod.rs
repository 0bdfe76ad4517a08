//! Accepted work that waits in the database: paused, due later, or over its share. It belongs to no node; any node with
//! a free worker claims it.
//!
//! A row that waits for an instant is in the index of due rows. Once the instant has come, it is claimed, or waits on
//! without an instant, in the line of its key or with its paused channel. Shares are counted by the rows themselves:
//! what was taken and has not ended has one, whatever node took it and whether that node lives.

mod claim;
mod facts;
mod lines;
mod model;
mod rows;
mod write;

use std::sync::Arc;
use std::time::Duration;

use svc_ledger::WorkFacts;
use uuid::Uuid;

use super::{Ownership, TraceRepository, UnfinishedRun, operation};
use crate::error::StoreError;
use crate::repo::key;
use crate::writer::UnitOutcome;

pub use model::{
    DueTime, QueueShares, RenewedWait, WaitReason, WaitTerms, WaitingCount, WaitingCounts, WaitingWork,
};
pub(super) use write::WaitStatement;

impl TraceRepository {
    /// Returns at most `limit` rows that waited for an instant that has come, by the clock of the database, the longest
    /// due first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn due_waiting(&self, limit: usize) -> Result<Vec<WaitingWork>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.0.read(operation("due_waiting"), move |conn| Box::pin(rows::list_due(conn, limit))).await
    }

    /// Returns the oldest rows that wait because their channel was paused, at most `limit`.
    ///
    /// # Errors
    /// As [`due_waiting`](Self::due_waiting).
    pub async fn paused_waiting(
        &self,
        channel_id: String,
        limit: usize,
    ) -> Result<Vec<WaitingWork>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.0
            .read(operation("paused_waiting"), move |conn| {
                Box::pin(async move { rows::list_paused(conn, &channel_id, limit).await })
            })
            .await
    }

    /// Returns the work whose turn it is among the work that waits for a share of a channel: at most `room` rows, one of
    /// each key in turn, as far as the shares allow.
    ///
    /// # Errors
    /// As [`due_waiting`](Self::due_waiting).
    pub async fn next_turns(&self, shares: QueueShares, room: usize) -> Result<Vec<Uuid>, StoreError> {
        self.0
            .read(operation("next_turns"), move |conn| {
                Box::pin(async move { lines::next_turns(conn, &shares, room).await })
            })
            .await
    }

    /// Returns the time until the next row that waits for an instant; zero if one is due now, `None` if there is none.
    ///
    /// # Errors
    /// As [`due_waiting`](Self::due_waiting).
    pub async fn next_waiting_due(&self) -> Result<Option<Duration>, StoreError> {
        self.0.read(operation("next_waiting_due"), |conn| Box::pin(rows::next_due(conn))).await
    }

    /// Counts the accepted work that waits.
    ///
    /// # Errors
    /// As [`due_waiting`](Self::due_waiting).
    pub async fn count_waiting(&self) -> Result<WaitingCounts, StoreError> {
        self.0.read(operation("count_waiting"), |conn| Box::pin(rows::count(conn))).await
    }

    /// Returns the facts by which the wait of accepted work is explained, read in one transaction; `None` if it has ended,
    /// is no accepted work, or does not exist. A quarantine is not among them: the caller knows it.
    ///
    /// # Errors
    /// As [`due_waiting`](Self::due_waiting).
    pub async fn work_facts(&self, id: &str) -> Result<Option<WorkFacts>, StoreError> {
        self.0.transact(operation("work_facts"), key(id), |conn, id| Box::pin(facts::read(conn, id))).await
    }

    /// Makes `node` the owner of those of the rows that still wait and are due: of rows in the lines of a channel, as
    /// many as its `shares` allow, counted over all nodes. Returns the rows that belong to `node` now, in the order of
    /// `ids`. Idempotent.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn claim_waiting(
        &self,
        node: &Arc<str>,
        ids: Vec<Uuid>,
        shares: Option<QueueShares>,
    ) -> Result<Vec<UnfinishedRun>, StoreError> {
        let node = Arc::clone(node);
        self.0
            .write(operation("claim_waiting"), move |conn| {
                Box::pin(async move {
                    claim::claim(conn, &node, &ids, shares.as_ref()).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Has those of the rows that wait and are due wait for `reason`, without an instant.
    ///
    /// # Errors
    /// As [`claim_waiting`](Self::claim_waiting).
    pub async fn rest_waiting(&self, ids: Vec<Uuid>, reason: WaitReason) -> Result<(), StoreError> {
        self.0
            .write(operation("rest_waiting"), move |conn| {
                Box::pin(async move { rows::rest(conn, &ids, reason).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Has those of the rows that wait and are due wait in the lines of their channels, for a share of no key. A channel
    /// without shares has a line too: of work that no node had room for when it was due.
    ///
    /// # Errors
    /// As [`claim_waiting`](Self::claim_waiting).
    pub async fn join_line(&self, ids: Vec<Uuid>) -> Result<(), StoreError> {
        self.0
            .write(operation("join_line"), move |conn| {
                Box::pin(async move { rows::join_line(conn, &ids).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Gives back a run that did not begin: it waits for `reason` and has no owner. With a `delay` it is looked at
    /// after that time. Returns whether the run had not ended and still had the claim.
    ///
    /// # Errors
    /// As [`claim_waiting`](Self::claim_waiting).
    pub async fn put_back(
        &self,
        id: Uuid,
        claim: Ownership,
        reason: WaitReason,
        delay: Option<Duration>,
    ) -> Result<bool, StoreError> {
        let wait = RenewedWait { reason, awaited_channel: None, delay };
        self.put_back_to(None, id, claim, wait).await
    }

    /// Does the same, and names the channel of the run: work that waits is found by the id of its channel, which a retry and
    /// a report do not name. Work that waits for the resume of a channel rests until then.
    ///
    /// # Errors
    /// As [`claim_waiting`](Self::claim_waiting).
    pub async fn put_back_to(
        &self,
        channel_id: Option<Arc<str>>,
        id: Uuid,
        claim: Ownership,
        wait: RenewedWait,
    ) -> Result<bool, StoreError> {
        if wait.awaited_channel.is_some() {
            // It may wait for a resume of another node, which must not wait for writes that it meets in one transaction.
            let terms = (id, claim, wait, channel_id);
            let put_back = self.0.transact(operation("put_back"), terms, |conn, terms| {
                let (id, claim, wait, channel_id) = terms;
                Box::pin(rows::put_back(conn, *id, claim, wait, channel_id.as_deref()))
            });
            return put_back.await;
        }
        self.0
            .write(operation("put_back"), move |conn| {
                Box::pin(async move {
                    rows::put_back(conn, id, &claim, &wait, channel_id.as_deref())
                        .await
                        .map(UnitOutcome::Keep)
                })
            })
            .await
    }
}
