//! Reruns: accepted work that runs the stored input of a trace again.
//!
//! A rerun waits in the database for a free worker, in the line of its key where its channel has shares. It passes the
//! guards of a call when it begins.

mod model;
mod order;

use super::{TraceRepository, operation};
use crate::error::StoreError;
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};

pub use model::{AcceptedRerun, RERUN, RerunOrder, RerunVersion};
pub(in crate::repo) use order::{find_version, last_version, rerun_trace};

impl TraceRepository {
    /// Accepts the rerun of a trace.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 for an unknown trace, 400 for an unknown version, 409 for a trace that has not ended,
    /// has a dead letter that waits, or has no stored input; the other variants if the database fails.
    pub async fn rerun(&self, order: RerunOrder, mutation: Mutation) -> Result<AcceptedRerun, StoreError> {
        let order = RerunOrder { id: key(&order.id), ..order };
        mutate(&self.0, operation("rerun"), mutation, move |conn| {
            Box::pin(async move {
                let accepted = rerun_trace(conn, &order).await?;
                Ok(MutationResult::new(accepted, &order.id))
            })
        })
        .await
    }
}
