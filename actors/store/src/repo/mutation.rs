//! Common parts of every mutation: the lock, the audit row, the epoch, the dry run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use svc_model::Precondition;
use svc_model::id::new_ordered_id;
use tokio::time::Instant;
use uuid::Uuid;

use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::config_changes::record_change;
use crate::schema::{audit_logs, config_epoch};
use crate::writer::UnitOutcome;

/// An audit record: who did what to which resource. Written in the transaction of the change itself.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// Name or id of the admin key, or `anonymous`.
    pub principal: String,
    /// The action, such as `create` or `status_active`.
    pub action: String,
    /// Type of the resource, such as `workflow`.
    pub resource_type: String,
    /// Id of the resource. If empty, the repository fills in the id it wrote.
    pub resource_id: String,
    /// An object: the origin of the request, as far as it is known. A repository adds the facts of its change.
    pub details: Option<Value>,
    /// Receives the id of the row.
    pub receipt: AuditReceipt,
}

impl AuditEntry {
    /// Adds the members of an object to the details.
    pub fn add_details(&mut self, members: Value) {
        let details = self.details.get_or_insert_with(|| Value::Object(Map::new()));
        if let (Value::Object(details), Value::Object(members)) = (details, members) {
            details.extend(members);
        }
    }
}

/// The id of the audit row that a request has written; of several rows, the last. Clones share it. Set within the
/// transaction, so that it counts only once that is committed. Two receipts are equal: they say nothing of the change.
#[derive(Clone, Debug, Default)]
pub struct AuditReceipt(Arc<Mutex<Option<String>>>);

impl AuditReceipt {
    /// Returns the id of the row; `None` if none was written.
    pub fn id(&self) -> Option<String> {
        self.0.lock().clone()
    }

    fn set(&self, id: &str) {
        *self.0.lock() = Some(id.to_owned());
    }
}

impl PartialEq for AuditReceipt {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The circumstances of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// The audit record of the change. Nothing is recorded if nothing is written.
    pub audit: AuditEntry,
    /// True if the change affects the active configuration, so that other nodes must reload.
    pub epoch: bool,
    /// The id by which its author knows the change again in the record of changes.
    pub change_id: Uuid,
    /// True to roll everything back at the end, including the record.
    pub dry_run: bool,
    /// The state of the entity that the change is based on.
    pub precondition: Precondition,
    /// Instant at which the request arrived. A refusal caused by a later change is a conflict.
    pub received_at: Instant,
}

impl Mutation {
    /// Creates a mutation that was requested now and does not affect the active configuration.
    pub fn new(audit: AuditEntry) -> Self {
        let received_at = Instant::now();
        let change_id = new_ordered_id();
        Self { audit, epoch: false, change_id, dry_run: false, precondition: Precondition::None, received_at }
    }
}

/// The answer of a mutation, and the id it wrote.
pub(super) struct MutationResult<T> {
    pub(super) value: T,
    /// The written id, for the audit row; `None` if nothing was written.
    pub(super) id: Option<String>,
    /// Facts of the change for its audit row.
    pub(super) facts: ChangeFacts,
}

impl<T> MutationResult<T> {
    pub(super) fn new(value: T, id: &str) -> Self {
        Self { value, id: Some(id.to_owned()), facts: ChangeFacts::default() }
    }

    /// Adds the facts about the change to the audit row.
    pub(super) fn with_facts(self, facts: ChangeFacts) -> Self {
        Self { facts, ..self }
    }
}

/// Runs `work` as one mutation.
pub(super) async fn mutate<T: Send + 'static>(
    database: &Database,
    operation: QueryOperation,
    mutation: Mutation,
    work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<MutationResult<T>, StoreError>>
    + Send
    + 'static,
) -> Result<T, StoreError> {
    database
        .write(operation, move |conn| {
            Box::pin(async move {
                lock(conn).await?;
                let MutationResult { value, id, facts } = work(conn).await?;
                if mutation.dry_run {
                    return Ok(UnitOutcome::Discard(value));
                }
                if let Some(id) = id {
                    let mut audit = mutation.audit;
                    audit.details = facts.add_to(audit.details);
                    let kind = audit.resource_type.clone();
                    let id = record(conn, audit, &id).await?;
                    if mutation.epoch {
                        record_change(conn, (&kind, &id), &mutation.change_id.to_string()).await?;
                    }
                }
                Ok(UnitOutcome::Keep(value))
            })
        })
        .await
}

/// Runs `step` for each item as one mutation, in one transaction. A step that is refused leaves nothing behind, and the
/// others remain. Each has an audit row of its own; the epoch rises once for all that wrote, as a change of `several`
/// if they are more than one.
pub(super) async fn mutate_each<I: Send + 'static, T: Send + 'static>(
    database: &Database,
    operation: QueryOperation,
    mutation: Mutation,
    (items, several): (Vec<I>, &'static str),
    step: impl for<'c> Fn(&'c mut Conn, I) -> BoxFuture<'c, Result<MutationResult<T>, StoreError>>
    + Send
    + Sync
    + 'static,
) -> Result<Vec<Result<T, StoreError>>, StoreError> {
    database
        .write(operation, move |conn| {
            Box::pin(async move {
                lock(conn).await?;
                let (mut results, mut written) = (Vec::with_capacity(items.len()), Vec::new());
                for item in items {
                    conn.savepoint().await?;
                    let kept = async {
                        let MutationResult { value, id, facts } = step(conn, item).await?;
                        if let Some(id) = id.filter(|_| !mutation.dry_run) {
                            let mut audit = mutation.audit.clone();
                            audit.details = facts.add_to(audit.details);
                            written.push(record(conn, audit, &id).await?);
                        }
                        Ok(value)
                    };
                    // The savepoint must end, whatever happens: the transaction may be that of others, too.
                    let kept = AssertUnwindSafe(kept).catch_unwind().await;
                    match kept.unwrap_or_else(|_| Err(StoreError::Database("an item panicked".into()))) {
                        Ok(value) => {
                            conn.commit().await?;
                            results.push(Ok(value));
                        }
                        Err(error) => {
                            conn.rollback().await?;
                            if error.is_outage() {
                                return Err(error);
                            }
                            results.push(Err(error));
                        }
                    }
                }
                if mutation.dry_run {
                    return Ok(UnitOutcome::Discard(results));
                }
                if let Some(id) = written.as_slice().first().filter(|_| mutation.epoch) {
                    let entity = match written.len() {
                        1 => (mutation.audit.resource_type.as_str(), id.as_str()),
                        _ => (several, ""),
                    };
                    record_change(conn, entity, &mutation.change_id.to_string()).await?;
                }
                Ok(UnitOutcome::Keep(results))
            })
        })
        .await
}

/// Waits for the mutations of other nodes. SQLite has a single writer anyway.
pub(super) async fn lock(conn: &mut Conn) -> Result<(), StoreError> {
    if let Conn::Postgres(c) = conn {
        let locked = config_epoch::table.select(config_epoch::id).for_update();
        locked.first::<i64>(&mut **c).await?;
    }
    Ok(())
}

/// Writes an audit row. Returns the id of its resource, which is the written one if the entry names none.
pub(crate) async fn record(conn: &mut Conn, entry: AuditEntry, written: &str) -> Result<String, StoreError> {
    let resource_id = if entry.resource_id.is_empty() { written.to_owned() } else { entry.resource_id };
    let id = new_ordered_id().to_string();
    entry.receipt.set(&id);
    let row = (
        audit_logs::id.eq(id),
        audit_logs::principal.eq(entry.principal),
        audit_logs::action.eq(entry.action),
        audit_logs::resource_type.eq(entry.resource_type),
        audit_logs::resource_id.eq(resource_id.clone()),
        audit_logs::details.eq(entry.details.map(|details| details.to_string())),
    );
    on!(conn, c => diesel::insert_into(audit_logs::table).values(row).execute(c).await)?;
    Ok(resource_id)
}
