//! The configuration epoch: a number that grows with every change of the active configuration.

use uuid::Uuid;

use crate::connections::listener::ConfigListener;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::config_changes::{self, BreakerReset, ConfigChange, EpochNumbers};
use crate::repo::mutation::{AuditEntry, Mutation, MutationResult, mutate};

/// The configuration epoch, with the record of what changed.
#[derive(Clone)]
pub struct ConfigEpoch(pub(crate) Database);

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("epoch", method)
}

impl ConfigEpoch {
    /// Returns the current epoch.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn current(&self) -> Result<i64, StoreError> {
        Ok(self.numbers().await?.epoch)
    }

    /// Returns the numbers of the latest change and the latest reset of a circuit breaker.
    ///
    /// # Errors
    /// As [`current`](Self::current).
    pub async fn numbers(&self) -> Result<EpochNumbers, StoreError> {
        self.0.read(operation("current"), |conn| Box::pin(config_changes::numbers(conn))).await
    }

    /// Lists the recorded changes after `epoch`, in order. If an epoch is missing, anything may have changed.
    ///
    /// # Errors
    /// As [`current`](Self::current).
    pub async fn changes_after(&self, epoch: i64) -> Result<Vec<ConfigChange>, StoreError> {
        self.0
            .read(operation("changes_after"), move |conn| {
                Box::pin(config_changes::changes_after(conn, epoch))
            })
            .await
    }

    /// Lists the recorded resets of circuit breakers after `sequence`, in order.
    ///
    /// # Errors
    /// As [`current`](Self::current).
    pub async fn resets_after(&self, sequence: i64) -> Result<Vec<BreakerReset>, StoreError> {
        self.0
            .read(operation("resets_after"), move |conn| {
                Box::pin(config_changes::resets_after(conn, sequence))
            })
            .await
    }

    /// Increments the epoch for a reload that an operator ordered, and records the operator.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn bump(&self, audit: AuditEntry, change_id: Uuid) -> Result<(), StoreError> {
        let mutation = Mutation { epoch: true, change_id, ..Mutation::new(audit) };
        mutate(&self.0, operation("bump"), mutation, |_| Box::pin(async { Ok(MutationResult::new((), "")) }))
            .await
    }

    /// Records that an operator reset a circuit breaker, for every process.
    ///
    /// # Errors
    /// As [`bump`](Self::bump).
    pub async fn record_reset(
        &self,
        key: &str,
        audit: AuditEntry,
        change_id: Uuid,
    ) -> Result<(), StoreError> {
        let key = key.to_owned();
        mutate(&self.0, operation("record_reset"), Mutation::new(audit), move |conn| {
            Box::pin(async move {
                config_changes::record_reset(conn, &key, &change_id.to_string()).await?;
                Ok(MutationResult::new((), &key))
            })
        })
        .await
    }

    /// Listens for announcements of changes; `None` if this database makes none.
    ///
    /// # Errors
    /// [`StoreError`] if no connection can be opened.
    pub async fn listen(&self) -> Result<Option<ConfigListener>, StoreError> {
        self.0.listen().await
    }
}
