//! Backtests.
//!
//! A backtest is a row. One node makes it under a lease and writes its report so far with the place behind the last
//! recorded run, in one transaction; after the death of the node another one goes on from there. A node makes one at a
//! time, the oldest first. Each backtest leaves an audit row at its start and one at its end.

mod model;
mod rows;

use std::time::Duration;

use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use svc_model::id::new_ordered_id;
use svc_model::{AuditAction, AuditResource, Page, ServiceError, Timestamp};

use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::key;
use crate::repo::mutation::{AuditEntry, AuditReceipt, Mutation, MutationResult, mutate, record};
use crate::schema::{backtests, nodes};
use crate::writer::UnitOutcome;

pub use model::{
    BacktestClaim, BacktestEnd, BacktestPoint, BacktestState, BacktestStep, NewBacktest, StoredBacktest,
};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("backtests", method)
}

/// The backtests.
#[derive(Clone)]
pub struct Backtests(pub(crate) Database);

impl Backtests {
    /// Puts a backtest on record, unless as many as `most` have not ended yet on all nodes together.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 with the ids of those; the other variants if the database fails.
    pub async fn start(
        &self,
        new: NewBacktest,
        most: usize,
        mutation: Mutation,
    ) -> Result<StoredBacktest, StoreError> {
        mutate(&self.0, operation("start"), mutation, move |conn| {
            Box::pin(async move {
                let open = rows::list_open(conn).await?;
                if open.len() >= most {
                    return Err(too_many(&open).into());
                }
                let id = new_ordered_id().to_string();
                rows::insert(conn, &id, &new).await?;
                let backtest = rows::get(conn, &id).await?.ok_or_else(|| absent(&id))?;
                Ok(MutationResult::new(backtest, &id))
            })
        })
        .await
    }

    /// Returns a page of the backtests, the newest first, and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, page: Page) -> Result<(Vec<StoredBacktest>, i64), StoreError> {
        self.0
            .read(operation("list"), move |conn| Box::pin(async move { rows::list(conn, page).await }))
            .await
    }

    /// Returns the backtest with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, id: &str) -> Result<Option<StoredBacktest>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { rows::get(conn, &id).await })).await
    }

    /// Ends a backtest: at once if no node makes it, otherwise at the next write of its node. Returns it. One that is
    /// being aborted stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if it has ended; the other variants if the database fails.
    pub async fn abort(&self, id: &str, mutation: Mutation) -> Result<StoredBacktest, StoreError> {
        let id = key(id);
        mutate(&self.0, operation("abort"), mutation, move |conn| {
            Box::pin(async move {
                let mut backtest = rows::lock(conn, &id).await?.ok_or_else(|| absent(&id))?;
                let is_new = match backtest.parsed_state() {
                    Some(BacktestState::Pending) => {
                        end(conn, &mut backtest, BacktestState::Aborted).await?;
                        true
                    }
                    Some(BacktestState::Running) => {
                        backtest.state = BacktestState::Aborting.name().to_owned();
                        rows::save(conn, &backtest).await?;
                        true
                    }
                    Some(BacktestState::Aborting) => false,
                    _ => {
                        let message = format!("backtest '{id}' is {} and cannot be aborted", backtest.state);
                        return Err(ServiceError::conflict(message).into());
                    }
                };
                let written = is_new.then(|| id.clone());
                Ok(MutationResult { value: backtest, id: written, facts: ChangeFacts::default() })
            })
        })
        .await
    }

    /// Takes or keeps the oldest backtest that has not ended and that no other live node makes, for `lease`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn claim(&self, holder: &str, lease: Duration) -> Result<Option<StoredBacktest>, StoreError> {
        // Mostly there is none.
        let open = self.0.read(operation("list_open"), |conn| Box::pin(rows::list_open(conn))).await?;
        if open.is_empty() {
            return Ok(None);
        }
        let holder = holder.to_owned();
        self.0
            .write(operation("claim"), move |conn| {
                Box::pin(async move { claim(conn, &open, &holder, lease).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Writes the progress of a backtest and renews the lease. One that is being aborted ends.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn advance(
        &self,
        held: BacktestClaim,
        point: BacktestPoint,
        lease: Duration,
    ) -> Result<BacktestStep, StoreError> {
        self.0
            .write(operation("advance"), move |conn| {
                Box::pin(async move {
                    advance(conn, &held, point, None, Some(lease)).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Ends a backtest with its whole report, or with the one so far if there is no new one.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn end(
        &self,
        held: BacktestClaim,
        point: Option<BacktestPoint>,
        outcome: BacktestEnd,
    ) -> Result<BacktestStep, StoreError> {
        self.0
            .write(operation("end"), move |conn| {
                Box::pin(async move {
                    let step = match point {
                        Some(point) => advance(conn, &held, point, Some(outcome), None).await,
                        None => end_held(conn, &held, outcome).await,
                    };
                    step.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Deletes the backtests that ended more than `hours` ago, and returns their number. Works in steps of at most
    /// `chunk` rows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(async move {
                    let before = clock::hours_ago(conn, hours).await?;
                    rows::delete_expired(conn, before, chunk).await
                })
            })
            .await
    }
}

async fn claim(
    conn: &mut Conn,
    open: &[String],
    holder: &str,
    lease: Duration,
) -> Result<Option<StoredBacktest>, StoreError> {
    let now = clock::now(conn).await?;
    for id in open {
        let dead_holder = nodes::table
            .filter(nodes::id.nullable().eq(backtests::holder))
            .filter(nodes::lease_until.lt(now));
        // Another node may have been faster.
        let free = backtests::table.find(id).filter(backtests::state.eq_any(rows::OPEN)).filter(
            backtests::holder
                .is_null()
                .or(backtests::holder.eq(holder))
                .or(backtests::held_until.lt(now))
                .or(exists(dead_holder)),
        );
        let held = (
            backtests::holder.eq(holder),
            backtests::held_until.eq(FromNow::seconds(lease.as_secs_f64()).nullable()),
        );
        if on!(conn, c => diesel::update(free).set(held).execute(c).await)? == 0 {
            continue;
        }
        let waiting = backtests::table.find(id).filter(backtests::state.eq(BacktestState::Pending.name()));
        let running = backtests::state.eq(BacktestState::Running.name());
        on!(conn, c => diesel::update(waiting).set(running).execute(c).await)?;
        return rows::get(conn, id).await;
    }
    Ok(None)
}

/// Writes the progress of a backtest, then its end or its lease.
async fn advance(
    conn: &mut Conn,
    held: &BacktestClaim,
    point: BacktestPoint,
    outcome: Option<BacktestEnd>,
    lease: Option<Duration>,
) -> Result<BacktestStep, StoreError> {
    let Some(mut backtest) = lock_claimed(conn, held).await? else { return Ok(BacktestStep::Lost) };
    backtest.done = point.done;
    backtest.position = point.position;
    backtest.report = Some(point.report);
    if let Some(outcome) = outcome {
        return end_as(conn, backtest, outcome).await;
    }
    if backtest.parsed_state() == Some(BacktestState::Aborting) {
        end(conn, &mut backtest, BacktestState::Aborted).await?;
        return Ok(BacktestStep::Ended(BacktestState::Aborted));
    }
    rows::save(conn, &backtest).await?;
    if let Some(lease) = lease {
        let until = backtests::held_until.eq(FromNow::seconds(lease.as_secs_f64()).nullable());
        let row = backtests::table.find(&backtest.id);
        on!(conn, c => diesel::update(row).set(until).execute(c).await)?;
    }
    Ok(BacktestStep::Continues)
}

/// Ends a backtest with its report so far.
async fn end_held(
    conn: &mut Conn,
    held: &BacktestClaim,
    outcome: BacktestEnd,
) -> Result<BacktestStep, StoreError> {
    let Some(backtest) = lock_claimed(conn, held).await? else { return Ok(BacktestStep::Lost) };
    end_as(conn, backtest, outcome).await
}

async fn end_as(
    conn: &mut Conn,
    mut backtest: StoredBacktest,
    outcome: BacktestEnd,
) -> Result<BacktestStep, StoreError> {
    let state = match outcome {
        BacktestEnd::Completed => BacktestState::Completed,
        BacktestEnd::Failed(reason) => {
            backtest.reason = Some(reason);
            BacktestState::Failed
        }
    };
    end(conn, &mut backtest, state).await?;
    Ok(BacktestStep::Ended(state))
}

/// Locks a backtest that has not ended, if the claim is still valid and knows its position.
async fn lock_claimed(conn: &mut Conn, held: &BacktestClaim) -> Result<Option<StoredBacktest>, StoreError> {
    Ok(rows::lock(conn, &held.id).await?.filter(|backtest| {
        backtest.holder.as_deref() == Some(&*held.holder)
            && backtest.position == held.position
            && backtest.parsed_state().is_some_and(|state| !state.is_ended())
    }))
}

/// Writes the end of a backtest and its audit row, which has the counts of its report.
async fn end(conn: &mut Conn, backtest: &mut StoredBacktest, state: BacktestState) -> Result<(), StoreError> {
    backtest.state = state.name().to_owned();
    backtest.ended_at = Some(Timestamp::from_naive(clock::now(conn).await?));
    rows::save(conn, backtest).await?;
    let kinds = backtest.report.as_ref().map_or(&Value::Null, |report| &report["kinds"]);
    let details = json!({
        "kind": backtest.kind,
        "definition": backtest.definition,
        "version": backtest.version,
        "state": state.name(),
        "done": backtest.done,
        "kinds": kinds,
        "reason": backtest.reason,
    });
    let entry = AuditEntry {
        principal: backtest.started_by.clone(),
        action: AuditAction::BacktestEnd.name().to_owned(),
        resource_type: AuditResource::Backtest.name().to_owned(),
        resource_id: backtest.id.clone(),
        details: Some(details),
        receipt: AuditReceipt::default(),
    };
    record(conn, entry, &backtest.id).await?;
    Ok(())
}

fn absent(id: &str) -> ServiceError {
    ServiceError::not_found(format!("backtest '{id}' does not exist"))
}

fn too_many(open: &[String]) -> ServiceError {
    ServiceError::conflict(format!(
        "{} backtests have not ended, as many as there may be: wait for {}, or abort one",
        open.len(),
        open.join(" and ")
    ))
}
