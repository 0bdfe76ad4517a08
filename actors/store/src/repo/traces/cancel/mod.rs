//! Cancellation of accepted work.
//!
//! Work that no node runs ends at once, and its dead letter goes with it. The order for work that a node runs, or is about
//! to, is written to its rows and announced: the node drops the run, and then writes its end. An order whose run ended
//! otherwise meanwhile, to be retried or to wait, is given again by the node that finds it.

mod end;
mod model;
mod order;

use std::sync::Arc;

use super::{TraceRepository, TraceSource, operation, read};
use crate::error::StoreError;
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::writer::UnitOutcome;

pub(in crate::repo) use end::record_in_flight;
pub use model::{
    CancelEffect, CancelFailure, CancelOrder, CancelStep, CancelledEnd, CancelledRun, OpenCancel,
};
pub(in crate::repo) use order::cancel_trace;

impl TraceRepository {
    /// Cancels accepted work. Idempotent until the work has ended.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 for an unknown trace, 409 for one that has ended or is none of accepted work; the
    /// other variants if the database fails.
    pub async fn cancel(&self, order: CancelOrder, mutation: Mutation) -> Result<CancelEffect, StoreError> {
        let order = CancelOrder { id: key(&order.id), ..order };
        mutate(&self.0, operation("cancel"), mutation, move |conn| {
            Box::pin(async move {
                let effect = cancel_trace(conn, &order).await?;
                Ok(MutationResult::new(effect, &order.id))
            })
        })
        .await
    }

    /// Gives an order again that is on record, and returns its effect.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel).
    pub async fn cancel_again(&self, order: CancelOrder) -> Result<CancelEffect, StoreError> {
        self.0
            .write(operation("cancel_again"), move |conn| {
                Box::pin(async move { cancel_trace(conn, &order).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Returns the part of a trace from which a report of its failure is made.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn source(&self, id: &str) -> Result<Option<TraceSource>, StoreError> {
        let id = key(id);
        self.0
            .read(operation("source"), move |conn| Box::pin(async move { read::source(conn, &id).await }))
            .await
    }

    /// Returns the orders that are not carried out yet and concern `node`: of its own runs, and of those that no live
    /// node has.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn open_cancels(&self, node: &Arc<str>) -> Result<Vec<OpenCancel>, StoreError> {
        let node = Arc::clone(node);
        self.0
            .read(operation("open_cancels"), move |conn| {
                Box::pin(async move { order::list_open(conn, &node).await })
            })
            .await
    }

    /// Writes the end of a run that its node dropped because its work was cancelled, and the end of the work. The failure
    /// is left only if the order asks for it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn end_cancelled(&self, run: CancelledRun) -> Result<CancelledEnd, StoreError> {
        self.0
            .write(operation("end_cancelled"), move |conn| {
                Box::pin(async move { end::end_run(conn, run).await.map(UnitOutcome::Keep) })
            })
            .await
    }
}
