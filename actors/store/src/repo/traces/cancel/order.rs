//! Orders to cancel accepted work.

use std::collections::HashSet;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_model::ServiceError;
use uuid::Uuid;

use super::end::{end_now, keep_end, leave_failure};
use super::model::{CancelEffect, CancelOrder, CancelStep, OpenCancel};
use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::config_changes::announce;
use crate::repo::traces::{TraceMode, TraceStatus};
use crate::schema::{nodes, trace_dlq, traces};

/// Condition of the index of orders that are not carried out, as text.
const OPEN_ORDER: &str = "traces.cancel_requested_at IS NOT NULL \
     AND traces.status IN ('pending', 'scheduled', 'waiting', 'running', 'retrying')";

/// The statuses of a run that has not ended.
const OPEN_RUN: [&str; 4] = [
    TraceStatus::Pending.name(),
    TraceStatus::Scheduled.name(),
    TraceStatus::Waiting.name(),
    TraceStatus::Running.name(),
];

/// The row of a run that has not ended.
struct OpenRun {
    id: String,
    status: String,
    owner: Option<String>,
}

impl OpenRun {
    /// Returns the node that has the run, if one has.
    fn taken_by(&self) -> Option<&str> {
        let is_taken =
            [TraceStatus::Pending, TraceStatus::Running].iter().any(|taken| taken.name() == self.status);
        self.owner.as_deref().filter(|_| is_taken)
    }
}

/// Cancels accepted work, or writes the order for the node that runs it. Idempotent until the work has ended.
///
/// # Errors
/// [`StoreError::Refused`]: 404 for an unknown trace, 409 for one that has ended or is none of accepted work.
pub(in crate::repo) async fn cancel_trace(
    conn: &mut Conn,
    order: &CancelOrder,
) -> Result<CancelEffect, StoreError> {
    let work = find_work(conn, &order.id).await?.ok_or_else(|| absent(&order.id))?;
    // Letters are locked before their work, as by the writes that take them.
    let is_retrying = read_status(conn, &work).await?.as_deref() == Some(TraceStatus::Retrying.name());
    let mut has_letter = is_retrying && delete_letters(conn, &work).await?;
    // An attempt is locked before its work, as by the write that ends it.
    let newest = lock_attempt(conn, &work).await?;
    let (status, owner, attempt) = lock_open(conn, &work).await?;
    if status == TraceStatus::Retrying && !has_letter {
        has_letter = delete_letters(conn, &work).await?;
    }
    let run = match status {
        TraceStatus::Retrying if has_letter => None,
        TraceStatus::Retrying | TraceStatus::Running if attempt > 1 => match newest {
            Some(run) => Some(run),
            // It began meanwhile.
            None => lock_attempt(conn, &work).await?,
        },
        TraceStatus::Retrying => None,
        _ => Some(OpenRun { id: work.clone(), status: status.name().to_owned(), owner }),
    };
    let mut ids = vec![work];
    if let Some(run) = &run
        && !ids.contains(&run.id)
    {
        ids.push(run.id.clone());
    }
    record_order(conn, order, &ids).await?;
    if let Some(run) = &run
        && let Some(owner) = run.taken_by()
        && let Ok(id) = Uuid::try_parse(&run.id)
        && (*owner == *order.node || !live_nodes(conn, vec![owner]).await?.is_empty())
    {
        announce(conn).await?;
        return Ok(CancelEffect::Requested { run: id, owner: owner.to_owned() });
    }
    end_now(conn, &ids).await?;
    if let (Some(failure), Some(last)) = (&order.failure, ids.last()) {
        if let Some(first) = run.as_ref().filter(|run| attempt == 1 && run.id == *last) {
            keep_end(conn, &first.id).await?;
        }
        leave_failure(conn, last, failure).await?;
    }
    Ok(CancelEffect::Ended)
}

/// Returns the id of the work that a trace is, or is a later attempt at.
async fn find_work(conn: &mut Conn, id: &str) -> Result<Option<String>, StoreError> {
    let work: Option<Option<String>> = on!(conn, c => {
        traces::table.find(id).select(traces::attempt_of).first(c).await.optional()
    })?;
    Ok(work.map(|work| work.unwrap_or_else(|| id.to_owned())))
}

async fn read_status(conn: &mut Conn, id: &str) -> Result<Option<String>, StoreError> {
    Ok(on!(conn, c => traces::table.find(id).select(traces::status).first(c).await.optional())?)
}

/// Deletes the dead letters of work. Returns whether there was one.
async fn delete_letters(conn: &mut Conn, work: &str) -> Result<bool, StoreError> {
    let letters = trace_dlq::table.filter(trace_dlq::trace_id.eq(work).or(trace_dlq::attempt_of.eq(work)));
    Ok(on!(conn, c => diesel::delete(letters).execute(c).await)? > 0)
}

/// Locks the row of accepted work that has not ended. Returns its status, its node and the number of its attempts.
async fn lock_open(conn: &mut Conn, work: &str) -> Result<(TraceStatus, Option<String>, i64), StoreError> {
    type Columns = (String, String, Option<String>, i64);
    let row = traces::table.find(work).select((traces::mode, traces::status, traces::owner, traces::attempt));
    let row: Option<Columns> = match conn {
        Conn::Sqlite(c) => row.first(c).await.optional()?,
        Conn::Postgres(c) => row.for_update().first(&mut **c).await.optional()?,
    };
    let (mode, status, owner, attempt) = row.ok_or_else(|| absent(work))?;
    let refused = |reason: String| StoreError::from(ServiceError::conflict(reason));
    match mode.as_str() {
        mode if mode == TraceMode::Async.name() => {}
        mode if mode == TraceMode::Cron.name() => {
            let reason = "a run of a schedule is cancelled by its occurrence, under /admin/cron/occurrences";
            return Err(refused(reason.to_owned()));
        }
        mode => {
            return Err(refused(format!("only accepted work can be cancelled, and this is a {mode} run")));
        }
    }
    match TraceStatus::parse(&status).filter(|status| !status.is_end()) {
        Some(status) => Ok((status, owner, attempt)),
        None => Err(refused(format!("a trace that is {status} cannot be cancelled"))),
    }
}

/// Locks the row of the newest attempt at work that has not ended.
async fn lock_attempt(conn: &mut Conn, work: &str) -> Result<Option<OpenRun>, StoreError> {
    let newest = traces::table
        .filter(traces::attempt_of.eq(work))
        .filter(traces::status.eq_any(OPEN_RUN))
        .order(traces::attempt.desc())
        .limit(1)
        .select((traces::id, traces::status, traces::owner));
    let row: Option<(String, String, Option<String>)> = match conn {
        Conn::Sqlite(c) => newest.first(c).await.optional()?,
        Conn::Postgres(c) => newest.for_update().first(&mut **c).await.optional()?,
    };
    Ok(row.map(|(id, status, owner)| OpenRun { id, status, owner }))
}

/// Writes an order to the rows that do not have one yet.
async fn record_order(conn: &mut Conn, order: &CancelOrder, ids: &[String]) -> Result<(), StoreError> {
    let rows = traces::table.filter(traces::id.eq_any(ids)).filter(traces::cancel_requested_at.is_null());
    let ordered = (
        traces::cancel_requested_at.eq(Now.nullable()),
        traces::cancelled_by.eq(&order.principal),
        traces::cancel_reports.eq(order.failure.is_some()),
        traces::updated_at.eq(Now),
    );
    on!(conn, c => diesel::update(rows).set(ordered).execute(c).await)?;
    Ok(())
}

/// Returns those of the nodes whose leases are valid.
async fn live_nodes(conn: &mut Conn, ids: Vec<&str>) -> Result<HashSet<String>, StoreError> {
    let now = clock::now(conn).await?;
    let live =
        nodes::table.filter(nodes::id.eq_any(ids)).filter(nodes::lease_until.ge(now)).select(nodes::id);
    let live: Vec<String> = on!(conn, c => live.load(c).await)?;
    Ok(live.into_iter().collect())
}

type OrderColumns = ((String, Option<String>, i64), (String, Option<String>), (Option<String>, Option<bool>));

/// Lists the orders that are not carried out and concern `node`.
pub(super) async fn list_open(conn: &mut Conn, node: &str) -> Result<Vec<OpenCancel>, StoreError> {
    let rows: Vec<OrderColumns> = on!(conn, c => {
        traces::table
            .filter(sql::<Bool>(OPEN_ORDER))
            .filter(traces::mode.eq(TraceMode::Async.name()))
            .select((
                (traces::id, traces::attempt_of, traces::attempt),
                (traces::status, traces::owner),
                (traces::cancelled_by, traces::cancel_reports),
            ))
            .load(c)
            .await
    })?;
    let owners: Vec<&str> = rows.iter().filter_map(|(_, (_, owner), _)| owner.as_deref()).collect();
    let live = if owners.is_empty() { HashSet::new() } else { live_nodes(conn, owners).await? };
    let open = |((id, attempt_of, attempt), (status, owner), (principal, reports)): OrderColumns| {
        let is_run = attempt == 1 || attempt_of.is_some();
        let run = OpenRun { id, status, owner };
        let step = match run.taken_by() {
            Some(owner) if owner == node => is_run.then_some(CancelStep::DropRun),
            Some(owner) if live.contains(owner) => None,
            _ => Some(CancelStep::GiveAgain),
        }?;
        let (principal, reports) = (principal.unwrap_or_default(), reports == Some(true));
        Some(OpenCancel { id: Uuid::try_parse(&run.id).ok()?, principal, reports, step })
    };
    Ok(rows.into_iter().filter_map(open).collect())
}

fn absent(id: &str) -> StoreError {
    ServiceError::not_found(format!("trace '{id}' does not exist")).into()
}
