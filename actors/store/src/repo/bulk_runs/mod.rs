//! Runs of actions on many rows.
//!
//! A run is a row. One node drives it under a lease: it reads a page of the rows that match, and [`BulkRuns::apply`]
//! acts on them and stores the position of the next page in one transaction. After the death of the node another one
//! takes the run over at that position, so no row is acted on twice. The transaction looks at each row again: one that is
//! gone, or has changed since the start of the run, is skipped, by the clock of the database. So of two runs over one row
//! one acts on it. Each run leaves an audit row at its start and one at its end.

mod model;
mod orders;
mod rows;
mod step;

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::id::new_ordered_id;
use svc_model::{Page, ServiceError};

use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::cron::ChannelFacts;
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::schema::{bulk_runs, nodes};
use crate::writer::UnitOutcome;

pub use model::{
    AppliedPage, BulkAction, BulkClaim, BulkError, BulkKind, BulkPage, BulkRun, BulkState, BulkStep,
    NewBulkRun,
};
pub(in crate::repo) use model::{RowResults, words};
use step::{BackfillStepRequest, BulkEndRequest, BulkPageRequest};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("bulk_runs", method)
}

/// The runs of actions on many rows.
#[derive(Clone)]
pub struct BulkRuns(pub(crate) Database);

/// A run that this node drives.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivenRun {
    /// The run.
    pub run: BulkRun,
    /// The instants of a backfill, ascending; empty for any other action.
    pub instants: Vec<NaiveDateTime>,
}

impl BulkRuns {
    /// Starts a run, unless as many as `most` have not ended yet on all nodes together.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 with the ids of those runs; the other variants if the database fails.
    pub async fn start(&self, run: NewBulkRun, most: u32, mutation: Mutation) -> Result<BulkRun, StoreError> {
        mutate(&self.0, operation("start"), mutation, move |conn| {
            Box::pin(async move {
                let open = rows::list_open(conn).await?;
                if open.len() >= most as usize {
                    return Err(too_many(&open, most).into());
                }
                let id = new_ordered_id().to_string();
                rows::insert(conn, &id, &run).await?;
                let run = rows::get(conn, &id).await?.ok_or_else(|| absent(&id))?;
                Ok(MutationResult::new(run, &id))
            })
        })
        .await
    }

    /// Returns a page of the runs, the newest first, and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, page: Page) -> Result<(Vec<BulkRun>, i64), StoreError> {
        self.0
            .read(operation("list"), move |conn| Box::pin(async move { rows::list(conn, page).await }))
            .await
    }

    /// Returns the run with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, id: &str) -> Result<Option<BulkRun>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { rows::get(conn, &id).await })).await
    }

    /// Ends a run before its next page. Returns it; its driver writes the end. One that is being aborted stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if it has ended; the other variants if the database fails.
    pub async fn abort(&self, id: &str, mutation: Mutation) -> Result<BulkRun, StoreError> {
        let id = key(id);
        mutate(&self.0, operation("abort"), mutation, move |conn| {
            Box::pin(async move {
                let mut run = rows::lock(conn, &id).await?.ok_or_else(|| absent(&id))?;
                let is_new = match run.parsed_state() {
                    Some(BulkState::Running) => true,
                    Some(BulkState::Aborting) => false,
                    _ => {
                        let message = format!("bulk run '{id}' is {} and cannot be aborted", run.state);
                        return Err(ServiceError::conflict(message).into());
                    }
                };
                run.state = BulkState::Aborting.name().to_owned();
                rows::save(conn, &run).await?;
                let written = is_new.then(|| id.clone());
                Ok(MutationResult { value: run, id: written, facts: ChangeFacts::default() })
            })
        })
        .await
    }

    /// Takes or keeps the runs that have not ended and that no other live node drives, for `lease`. Returns them.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn claim(&self, holder: &str, lease: Duration) -> Result<Vec<DrivenRun>, StoreError> {
        // Mostly there is none.
        let open = self.0.read(operation("list_open"), |conn| Box::pin(rows::list_open(conn))).await?;
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let holder = holder.to_owned();
        self.0
            .write(operation("claim"), move |conn| {
                Box::pin(async move { claim(conn, &open, &holder, lease).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Acts on the rows of a page that have not changed since the start of the run, stores the position behind it, and
    /// renews the lease. The run ends with its last page, or if it is being aborted.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn apply(
        &self,
        claim: BulkClaim,
        page: BulkPage,
        lease: Duration,
    ) -> Result<AppliedPage, StoreError> {
        self.0.call(operation("apply"), BulkPageRequest { claim, page, lease }).await
    }

    /// Puts the next of the instants on record, as many as the run may have open, and renews the lease. The run ends
    /// with the last of its occurrences.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn backfill(
        &self,
        claim: BulkClaim,
        instants: Vec<NaiveDateTime>,
        (channel, max_parallel): (ChannelFacts, u32),
        lease: Duration,
    ) -> Result<BulkStep, StoreError> {
        let request = BackfillStepRequest { claim, instants, channel, max_parallel, lease };
        self.0.call(operation("backfill"), request).await
    }

    /// Ends a run that cannot go on, for this reason.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails; nothing is written then, unless the answer is lost.
    pub async fn fail(&self, claim: BulkClaim, reason: String) -> Result<BulkStep, StoreError> {
        self.0.call(operation("fail"), BulkEndRequest { claim, reason }).await
    }

    /// Deletes the runs that ended more than `hours` ago, and returns their number. Works in steps of at most `chunk`
    /// rows.
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
) -> Result<Vec<DrivenRun>, StoreError> {
    let now = clock::now(conn).await?;
    let mut driven = Vec::with_capacity(open.len());
    for id in open {
        let dead_holder = nodes::table
            .filter(nodes::id.nullable().eq(bulk_runs::holder))
            .filter(nodes::lease_until.lt(now));
        // Another node may have been faster.
        let free = bulk_runs::table.find(id).filter(bulk_runs::state.eq_any(rows::OPEN)).filter(
            bulk_runs::holder
                .is_null()
                .or(bulk_runs::holder.eq(holder))
                .or(bulk_runs::held_until.lt(now))
                .or(exists(dead_holder)),
        );
        let held = (
            bulk_runs::holder.eq(holder),
            bulk_runs::held_until.eq(FromNow::seconds(lease.as_secs_f64()).nullable()),
        );
        if on!(conn, c => diesel::update(free).set(held).execute(c).await)? == 0 {
            continue;
        }
        if let Some(run) = rows::get(conn, id).await? {
            let instants = rows::get_instants(conn, id).await?;
            driven.push(DrivenRun { run, instants });
        }
    }
    Ok(driven)
}

fn absent(id: &str) -> ServiceError {
    ServiceError::not_found(format!("bulk run '{id}' does not exist"))
}

fn too_many(open: &[String], most: u32) -> ServiceError {
    ServiceError::conflict(format!(
        "{} bulk runs have not ended, and bulk.max_running is {most}: wait for {}, or abort one",
        open.len(),
        open.join(" and ")
    ))
}
