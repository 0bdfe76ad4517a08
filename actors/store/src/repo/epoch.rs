//! The configuration epoch: a number that grows with every change of the active configuration.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::conn::on;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::mutation::{AuditEntry, Mutation, MutationResult, mutate};
use crate::schema::config_epoch;

/// The configuration epoch.
#[derive(Clone)]
pub struct ConfigEpoch(pub(crate) Database);

impl ConfigEpoch {
    /// Returns the current epoch.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn current(&self) -> Result<i64, StoreError> {
        self.0
            .read(QueryOperation::new("epoch", "current"), |conn| {
                Box::pin(async move {
                    let epoch = config_epoch::table.select(config_epoch::epoch);
                    Ok(on!(conn, c => epoch.first::<i64>(c).await)?)
                })
            })
            .await
    }

    /// Increments the epoch for a reload that an operator ordered, and records the operator.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn bump(&self, audit: AuditEntry) -> Result<(), StoreError> {
        let mutation = Mutation { epoch: true, ..Mutation::new(audit) };
        mutate(&self.0, QueryOperation::new("epoch", "bump"), mutation, |_| {
            Box::pin(async { Ok(MutationResult::new((), "")) })
        })
        .await
    }
}
