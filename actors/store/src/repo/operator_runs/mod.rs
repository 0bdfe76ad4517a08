//! Runs of operators: bulk runs and backtests.
//!
//! A run is a row. One node carries it out under a lease and stores its progress with its position; after the death
//! of the node another one goes on from there. Each run leaves an audit row at its start and one at its end. A kind
//! of runs declares its table, its words and its progress ([`OperatorRun`]); the start, the lists, the abort, the
//! claim, the end and the deletion are here.

mod run;
mod table;

use std::time::Duration;

use svc_model::id::new_ordered_id;
use svc_model::{Page, ServiceError, Timestamp};

use crate::clock;
use crate::conn::Conn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::key;
use crate::repo::mutation::{AuditEntry, AuditReceipt, Mutation, MutationResult, mutate, record};
use crate::writer::UnitOutcome;

pub(in crate::repo) use run::{OPEN_STATES, OperatorRun, RunFuture, RunTable};
pub use run::{OperatorRunClaim, OperatorRunState};
pub(in crate::repo) use table::run_table;

fn operation<R: RunTable>(method: &'static str) -> QueryOperation {
    QueryOperation::new(R::NAME, method)
}

/// Puts a run on record, unless as many as `most` have not ended yet on all nodes together.
pub(super) async fn start<R: OperatorRun>(
    database: &Database,
    order: R::Order,
    most: usize,
    mutation: Mutation,
) -> Result<R, StoreError> {
    mutate(database, operation::<R>("start"), mutation, move |conn| {
        Box::pin(async move {
            let open = R::list_open(conn).await?;
            if open.len() >= most {
                return Err(too_many::<R>(&open, most).into());
            }
            let id = new_ordered_id().to_string();
            R::insert(conn, &id, &order).await?;
            let run = R::get(conn, &id).await?.ok_or_else(|| absent::<R>(&id))?;
            Ok(MutationResult::new(run, &id))
        })
    })
    .await
}

/// Returns a page of the runs, the newest first, and the number of all.
pub(super) async fn list<R: RunTable>(database: &Database, page: Page) -> Result<(Vec<R>, i64), StoreError> {
    database.read(operation::<R>("list"), move |conn| R::list(conn, page)).await
}

/// Returns the run with this id.
pub(super) async fn get<R: RunTable>(database: &Database, id: &str) -> Result<Option<R>, StoreError> {
    let id = key(id);
    database.read(operation::<R>("get"), move |conn| Box::pin(async move { R::get(conn, &id).await })).await
}

/// Ends a run: at once if no node has taken it, otherwise at the next write of its node. Returns it. One that is being
/// aborted stays as it is.
pub(super) async fn abort<R: OperatorRun>(
    database: &Database,
    id: &str,
    mutation: Mutation,
) -> Result<R, StoreError> {
    let id = key(id);
    mutate(database, operation::<R>("abort"), mutation, move |conn| {
        Box::pin(async move {
            let mut run = R::lock(conn, &id).await?.ok_or_else(|| absent::<R>(&id))?;
            let is_new = match OperatorRunState::parse(run.state()) {
                Some(OperatorRunState::Pending) => {
                    end(conn, &mut run, OperatorRunState::Aborted).await?;
                    true
                }
                Some(OperatorRunState::Running) => {
                    run.set_state(OperatorRunState::Aborting);
                    R::save(conn, &run).await?;
                    true
                }
                Some(OperatorRunState::Aborting) => false,
                _ => {
                    let message = format!("{} '{id}' is {} and cannot be aborted", R::NOUN, run.state());
                    return Err(ServiceError::conflict(message).into());
                }
            };
            let written = is_new.then(|| id.clone());
            Ok(MutationResult { value: run, id: written, facts: ChangeFacts::default() })
        })
    })
    .await
}

/// Takes or keeps the oldest runs that have not ended and that no other live node carries out, for `lease`. Returns
/// them.
pub(super) async fn claim<R: OperatorRun>(
    database: &Database,
    holder: &str,
    lease: Duration,
) -> Result<Vec<R::Claimed>, StoreError> {
    // Mostly there is none.
    let open = database.read(operation::<R>("list_open"), R::list_open).await?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let holder = holder.to_owned();
    database
        .write(operation::<R>("claim"), move |conn| {
            Box::pin(async move { claim_open::<R>(conn, &open, &holder, lease).await.map(UnitOutcome::Keep) })
        })
        .await
}

async fn claim_open<R: OperatorRun>(
    conn: &mut Conn,
    open: &[String],
    holder: &str,
    lease: Duration,
) -> Result<Vec<R::Claimed>, StoreError> {
    let now = clock::now(conn).await?;
    let mut claimed = Vec::new();
    for id in open {
        if claimed.len() >= R::MOST_CLAIMED {
            break;
        }
        // Another node may have been faster.
        if !R::take(conn, id, holder, now, lease).await? {
            continue;
        }
        let Some(mut run) = R::get(conn, id).await? else { continue };
        if OperatorRunState::parse(run.state()) == Some(OperatorRunState::Pending) {
            run.set_state(OperatorRunState::Running);
            R::save(conn, &run).await?;
        }
        claimed.push(R::load_claimed(conn, run).await?);
    }
    Ok(claimed)
}

/// Locks a run that has not ended, if the claim is still valid and knows its position.
pub(super) async fn lock_claimed<R: RunTable>(
    conn: &mut Conn,
    claim: &OperatorRunClaim,
) -> Result<Option<R>, StoreError> {
    let is_open = |run: &R| OperatorRunState::parse(run.state()).is_some_and(|state| !state.is_ended());
    Ok(R::lock(conn, &claim.id).await?.filter(|run| run.matches_claim(claim) && is_open(run)))
}

/// Writes the end of a run and its audit row.
pub(super) async fn end<R: OperatorRun>(
    conn: &mut Conn,
    run: &mut R,
    state: OperatorRunState,
) -> Result<(), StoreError> {
    run.set_state(state);
    run.set_ended_at(Timestamp::from_naive(clock::now(conn).await?));
    R::save(conn, run).await?;
    let entry = AuditEntry {
        principal: run.started_by().to_owned(),
        action: R::END.name().to_owned(),
        resource_type: R::RESOURCE.name().to_owned(),
        resource_id: run.id().to_owned(),
        details: Some(run.describe_end()),
        receipt: AuditReceipt::default(),
    };
    record(conn, entry, run.id()).await?;
    Ok(())
}

/// Deletes the runs that ended more than `hours` ago, in steps of at most `chunk` rows. Returns their number.
pub(super) async fn delete_expired<R: RunTable>(
    database: &Database,
    hours: u64,
    chunk: i64,
) -> Result<u64, StoreError> {
    database
        .delete_in_steps(operation::<R>("delete_expired"), chunk, move |conn| {
            Box::pin(async move {
                let before = clock::hours_ago(conn, hours).await?;
                R::delete_ended(conn, before, chunk).await
            })
        })
        .await
}

fn absent<R: OperatorRun>(id: &str) -> ServiceError {
    ServiceError::not_found(format!("{} '{id}' does not exist", R::NOUN))
}

fn too_many<R: OperatorRun>(open: &[String], most: usize) -> ServiceError {
    ServiceError::conflict(format!(
        "{} {}s have not ended{}: wait for {}, or abort one",
        open.len(),
        R::NOUN,
        R::describe_bound(most),
        open.join(" and ")
    ))
}
