//! The pauses of channels: a state of what serves, beside the definitions.
//!
//! Every change raises the epoch, so that all nodes read the pauses again, and leaves one audit row, however many
//! channels it concerns. Ends of pauses and the counting of failures go by the clock of the database.

mod awaiting;
mod failures;
mod rows;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use svc_model::config::RepeatedFailureConfig;
use svc_model::{ChannelPause, EntityKind, FieldError, ServiceError, Timestamp, lifecycle};

use crate::clock;
use crate::conn::Conn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::config_changes::{PAUSES, record_change};
use crate::repo::definitions::queries;
use crate::repo::key;
use crate::repo::mutation::{Mutation, lock, record};
use crate::repo::traces::{NewTrace, TraceWrite};
use crate::writer::UnitOutcome;

pub(super) use awaiting::{find_channel_name, hold_pause};
pub(super) use rows::{find, forget};

/// The pauses of channels.
#[derive(Clone)]
pub struct ChannelPauses(pub(crate) Database);

/// A pause that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPause {
    /// Time at which the channel resumes by itself; `None` if an operator must resume it.
    pub until: Option<Timestamp>,
    /// The principal that pauses it.
    pub by: String,
    /// The reason, for operators.
    pub reason: String,
}

/// The failure of a channel that pauses itself after several.
#[derive(Clone, Debug)]
pub struct CountedFailure {
    /// Names the run that failed: its failure counts once, however often it is reported.
    pub id: String,
    pub channel_id: String,
    /// The failures after which it pauses.
    pub limit: RepeatedFailureConfig,
    /// The pause that begins then.
    pub pause: NewPause,
    /// The report to the channel of `on_failure`, which is written with the pause.
    pub report: Option<NewTrace>,
}

/// The channels that a change concerned, with the value for its caller.
struct PauseChange<T> {
    value: T,
    /// Ids of the channels whose pauses were written.
    changed: Vec<String>,
    facts: Value,
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("channel_pauses", method)
}

impl ChannelPauses {
    /// Lists every pause with the id of its channel, in the order of the ids. One whose time has passed is listed until
    /// [`resume_due`](Self::resume_due) ends it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self) -> Result<Vec<(String, ChannelPause)>, StoreError> {
        self.0.read(operation("list"), |conn| Box::pin(rows::list(conn))).await
    }

    /// Pauses channels. One that is paused keeps its begin and takes the rest of the new pause. Returns the pauses in the
    /// order of the ids.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such channel, 400 if the end of the pause has passed; the other
    /// variants if the database fails. Nothing is paused then.
    pub async fn pause(
        &self,
        ids: &[String],
        pause: NewPause,
        mutation: Mutation,
    ) -> Result<Vec<(String, ChannelPause)>, StoreError> {
        let ids = distinct_keys(ids);
        self.change(operation("pause"), mutation, move |conn| {
            Box::pin(async move {
                require_channels(conn, &ids).await?;
                let now = clock::now(conn).await?;
                if pause.until.is_some_and(|until| until.naive() <= now) {
                    let error = FieldError::invalid("body.until", "the end of the pause has passed already");
                    return Err(ServiceError::from(error).into());
                }
                for id in &ids {
                    rows::write(conn, id, &pause, now).await?;
                }
                let facts = json!({"reason": pause.reason, "until": pause.until});
                Ok(PauseChange { value: rows::find(conn, &ids).await?, changed: ids, facts })
            })
        })
        .await
    }

    /// Resumes channels. Returns the ids of those that were paused; the others are left as they are.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is no such channel; the other variants if the database fails. Nothing is
    /// resumed then.
    pub async fn resume(&self, ids: &[String], mutation: Mutation) -> Result<Vec<String>, StoreError> {
        let ids = distinct_keys(ids);
        self.change(operation("resume"), mutation, move |conn| {
            Box::pin(async move {
                require_channels(conn, &ids).await?;
                let pauses = rows::find(conn, &ids).await?;
                end_pauses(conn, pauses).await
            })
        })
        .await
    }

    /// Resumes the channels whose pauses have reached their end. Returns their ids.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails.
    pub async fn resume_due(&self, mutation: Mutation) -> Result<Vec<String>, StoreError> {
        // Asked each second while a pause has an end: mostly there is nothing to write.
        let due = self.0.read(operation("list_due"), |conn| Box::pin(rows::find_due(conn))).await?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        self.change(operation("resume_due"), mutation, move |conn| {
            Box::pin(async move {
                let pauses = rows::find_due(conn).await?;
                end_pauses(conn, pauses).await
            })
        })
        .await
    }

    /// Counts the failure of a channel. Pauses the channel if that makes as many as it names, on all nodes together, and
    /// returns `true` then: it is paused until an operator resumes it, and counts anew afterwards. Failures of a paused
    /// or deleted channel are not counted, and no failure twice, so that a caller without an answer asks again.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails.
    pub async fn record_failure(
        &self,
        failure: CountedFailure,
        mutation: Mutation,
    ) -> Result<bool, StoreError> {
        self.change(operation("record_failure"), mutation, move |conn| {
            Box::pin(async move {
                let CountedFailure { id, channel_id, limit, pause, report } = failure;
                let unchanged = PauseChange { value: false, changed: Vec::new(), facts: Value::Null };
                let ids = vec![channel_id];
                if !rows::find(conn, &ids).await?.is_empty() {
                    return Ok(unchanged);
                }
                let [channel_id] = ids.as_slice() else { return Ok(unchanged) };
                if queries::states(conn, EntityKind::Channel, channel_id).await?.is_empty() {
                    // Deleted meanwhile: its pause would hold the next channel of that id.
                    return Ok(unchanged);
                }
                if failures::add(conn, channel_id, &id, limit.within_secs).await? < limit.failures {
                    return Ok(unchanged);
                }
                failures::clear(conn, channel_id).await?;
                let now = clock::now(conn).await?;
                rows::write(conn, channel_id, &pause, now).await?;
                if let Some(report) = report {
                    TraceWrite::Insert(report.into()).apply(conn).await?;
                }
                let facts = json!({"reason": pause.reason, "until": pause.until});
                Ok(PauseChange { value: true, changed: ids, facts })
            })
        })
        .await
    }

    /// Runs `work` as one mutation. If it changed a pause, the change is recorded and raises the epoch.
    async fn change<T: Send + 'static>(
        &self,
        operation: QueryOperation,
        mutation: Mutation,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<PauseChange<T>, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.0
            .write(operation, move |conn| {
                Box::pin(async move {
                    lock(conn).await?;
                    let PauseChange { value, changed, facts } = work(conn).await?;
                    if mutation.dry_run {
                        return Ok(UnitOutcome::Discard(value));
                    }
                    if let Some(first) = changed.first() {
                        let mut audit = mutation.audit;
                        audit.details = Some(with_facts(audit.details, facts, &changed));
                        record(conn, audit, first).await?;
                        record_change(conn, (PAUSES, ""), &mutation.change_id.to_string()).await?;
                    }
                    Ok(UnitOutcome::Keep(value))
                })
            })
            .await
    }
}

/// Returns each id once, in an order that does not depend on the caller.
fn distinct_keys(ids: &[String]) -> Vec<String> {
    let mut ids: Vec<String> = ids.iter().map(|id| key(id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Refuses an id that no version of a channel has.
async fn require_channels(conn: &mut Conn, ids: &[String]) -> Result<(), StoreError> {
    for id in ids {
        if queries::states(conn, EntityKind::Channel, id).await?.is_empty() {
            return Err(lifecycle::absent(EntityKind::Channel, id).into());
        }
    }
    Ok(())
}

/// Deletes pauses and the failures that were counted before them.
async fn end_pauses(
    conn: &mut Conn,
    pauses: Vec<(String, ChannelPause)>,
) -> Result<PauseChange<Vec<String>>, StoreError> {
    let ids: Vec<String> = pauses.into_iter().map(|(id, _)| id).collect();
    for id in &ids {
        rows::forget(conn, id).await?;
    }
    Ok(PauseChange { value: ids.clone(), changed: ids, facts: json!({}) })
}

/// Adds the facts of a change and its channels to the details of its audit row.
fn with_facts(details: Option<Value>, facts: Value, channels: &[String]) -> Value {
    let mut details = match details {
        Some(Value::Object(details)) => details,
        _ => serde_json::Map::new(),
    };
    if let Value::Object(facts) = facts {
        details.extend(facts);
    }
    details.insert("channels".to_owned(), channels.into());
    Value::Object(details)
}
