//! Orders to cancel occurrences.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_ledger::Occurrence;
use svc_model::ServiceError;
use uuid::Uuid;

use super::admin::absent;
use super::model::{OccurrenceCancel, OccurrenceRecord, OpenOccurrenceCancel};
use super::{list, rows, slots};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::config_changes::announce;
use crate::repo::mutation::{AuditEntry, record};
use crate::repo::traces::{CancelStep, TraceEnd, TraceWrite};
use crate::schema::{cron_occurrences, traces};

/// Condition of the index of orders that are not carried out, as text.
const OPEN_ORDER: &str = "cron_occurrences.cancel_requested_at IS NOT NULL \
     AND cron_occurrences.status IN ('pending', 'claimed', 'running')";

/// Cancels an occurrence; without an audit row if the order is on record already.
pub(super) struct CancelRequest {
    pub(super) order: OccurrenceCancel,
    pub(super) audit: Option<AuditEntry>,
}

impl SingleCall for CancelRequest {
    type Answer = OccurrenceRecord;

    async fn run(&self, conn: &mut Conn) -> Result<OccurrenceRecord, StoreError> {
        let occurrence = cancel_occurrence(conn, &self.order).await?;
        if let Some(audit) = &self.audit {
            record(conn, audit.clone(), &self.order.id).await?;
        }
        Ok(occurrence)
    }
}

/// Cancels an occurrence that no process holds under a live lease, or writes the order for its holder. Idempotent until the
/// occurrence has ended. Returns its new state.
///
/// # Errors
/// [`StoreError::Refused`]: 404 if there is none, 409 if it has ended.
pub(in crate::repo) async fn cancel_occurrence(
    conn: &mut Conn,
    order: &OccurrenceCancel,
) -> Result<OccurrenceRecord, StoreError> {
    let id = &order.id;
    let key = Uuid::try_parse(id).map_err(|_| absent(id))?;
    if let Some((Occurrence { slot: Some(slot), .. }, _)) = rows::read(conn, key).await? {
        slots::lock_one(conn, &slot).await?;
    }
    let Some((mut row, _)) = rows::lock(conn, key).await? else {
        return Err(match list::get(conn, id).await? {
            None => absent(id),
            // Only another program can have written a row to which no rule applies.
            Some(foreign) => {
                let status = foreign.row.status;
                ServiceError::conflict(format!("an occurrence that is {status} cannot be cancelled")).into()
            }
        });
    };
    let now = clock::now(conn).await?;
    let has_ended = row.cancel(now).map_err(|refused| ServiceError::conflict(refused.to_string()))?;
    if has_ended {
        rows::save(conn, &row, now).await?;
        if let Some(slot) = &row.slot {
            slots::free(conn, slot, row.id).await?;
        }
        if let Some(trace) = row.trace_id {
            TraceWrite::Finish(TraceEnd::cancelled(trace, None)).apply(conn).await?;
        }
        if let Some(report) = &order.report {
            TraceWrite::Insert(report.clone().into()).apply(conn).await?;
        }
    } else {
        announce(conn).await?;
    }
    record_order(conn, order, row.trace_id, now).await?;
    list::get(conn, id).await?.ok_or_else(|| absent(id))
}

/// Writes an order to the occurrence and to the trace of its run, if there is none yet.
async fn record_order(
    conn: &mut Conn,
    order: &OccurrenceCancel,
    trace: Option<Uuid>,
    now: NaiveDateTime,
) -> Result<(), StoreError> {
    let occurrence =
        cron_occurrences::table.find(&order.id).filter(cron_occurrences::cancel_requested_at.is_null());
    let ordered = (
        cron_occurrences::cancel_requested_at.eq(now),
        cron_occurrences::cancelled_by.eq(&order.principal),
        cron_occurrences::cancel_reports.eq(order.reports),
        cron_occurrences::updated_at.eq(now),
    );
    on!(conn, c => diesel::update(occurrence).set(ordered).execute(c).await)?;
    if let Some(trace) = trace {
        let run = traces::table.find(trace.to_string()).filter(traces::cancel_requested_at.is_null());
        let ordered = (traces::cancel_requested_at.eq(now), traces::cancelled_by.eq(&order.principal));
        on!(conn, c => diesel::update(run).set(ordered).execute(c).await)?;
    }
    Ok(())
}

type OrderColumns = (String, String, Option<String>, Option<NaiveDateTime>, Option<String>, Option<bool>);

/// Lists the orders that are not carried out and concern `holder`: for its own attempts, and for occurrences that no
/// process holds under a live lease.
pub(super) async fn list_open(
    conn: &mut Conn,
    holder: &str,
) -> Result<Vec<OpenOccurrenceCancel>, StoreError> {
    let now = clock::now(conn).await?;
    let rows: Vec<OrderColumns> = on!(conn, c => {
        cron_occurrences::table
            .filter(sql::<Bool>(OPEN_ORDER))
            .select((
                cron_occurrences::id,
                cron_occurrences::status,
                cron_occurrences::claimed_by,
                cron_occurrences::claimed_until,
                cron_occurrences::cancelled_by,
                cron_occurrences::cancel_reports,
            ))
            .load(c)
            .await
    })?;
    let open = |(id, status, claimed_by, until, principal, reports): OrderColumns| {
        let is_live = status != "pending" && until.is_some_and(|until: NaiveDateTime| until >= now);
        let step = match claimed_by {
            Some(by) if is_live && by == holder => CancelStep::DropRun,
            Some(_) if is_live => return None,
            _ => CancelStep::GiveAgain,
        };
        let (principal, reports) = (principal.unwrap_or_default(), reports == Some(true));
        Some(OpenOccurrenceCancel { id: Uuid::try_parse(&id).ok()?, principal, reports, step })
    };
    Ok(rows.into_iter().filter_map(open).collect())
}
