//! Cancellations and reruns of the rows of a page. Each is given in a savepoint of its own: what is refused leaves
//! nothing behind, and the others remain.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use futures_util::FutureExt;
use svc_model::id::new_ordered_id;

use super::model::{BulkError, BulkRun, RowResults};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::cron::OccurrenceCancel;
use crate::repo::cron::cancel::cancel_occurrence;
use crate::repo::traces::cancel::cancel_trace;
use crate::repo::traces::rerun::rerun_trace;
use crate::repo::traces::{AcceptedRerun, CancelOrder, RerunOrder, RerunVersion};
use crate::schema::{cron_occurrences, traces};

/// An order for each of many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// Cancel accepted work.
    CancelTrace,
    /// Cancel an occurrence.
    CancelOccurrence,
    /// Run a trace again, with the version that serves now.
    RerunTrace,
}

/// Condition on a trace that was not run again yet.
const HAS_NO_RERUN: &str = "NOT EXISTS (SELECT 1 FROM traces r WHERE r.rerun_of = traces.id)";

/// Gives an order to the rows that still take it. A row that has ended, or has the order already, is skipped; the rerun of
/// a trace that did not change, and still is refused, is an error.
pub(super) async fn give_orders(
    conn: &mut Conn,
    run: &BulkRun,
    order: RowOrder,
    ids: &[String],
) -> Result<RowResults, StoreError> {
    let open = find_open(conn, run, order, ids).await?;
    let mut results = RowResults::default();
    for id in ids.iter().filter(|id| open.contains(*id)) {
        conn.savepoint().await?;
        // The savepoint must end, whatever happens: the transaction may be that of others, too.
        let given = AssertUnwindSafe(give_order(conn, run, order, id)).catch_unwind().await;
        match given.unwrap_or_else(|_| Err(StoreError::Database("an order panicked".into()))) {
            Ok(rerun) => {
                conn.commit().await?;
                results.done += 1;
                results.reruns.extend(rerun);
            }
            Err(error) => {
                conn.rollback().await?;
                let refused = match error {
                    StoreError::Refused(refused) => refused,
                    error => return Err(error),
                };
                if order == RowOrder::RerunTrace {
                    let message = refused.message().to_owned();
                    results.errors.push(BulkError { id: id.clone(), message });
                }
            }
        }
    }
    results.skipped = ids.len() - results.done - results.errors.len();
    Ok(results)
}

/// Returns the rows that have no such order yet and, of those to be run again, have not changed since the start of the
/// run.
async fn find_open(
    conn: &mut Conn,
    run: &BulkRun,
    order: RowOrder,
    ids: &[String],
) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<String> = match order {
        RowOrder::CancelOccurrence => {
            let open = cron_occurrences::table
                .filter(cron_occurrences::id.eq_any(ids))
                .filter(cron_occurrences::cancel_requested_at.is_null())
                .select(cron_occurrences::id);
            on!(conn, c => open.load(c).await)?
        }
        RowOrder::CancelTrace => {
            let open = traces::table
                .filter(traces::id.eq_any(ids))
                .filter(traces::cancel_requested_at.is_null())
                .select(traces::id);
            on!(conn, c => open.load(c).await)?
        }
        RowOrder::RerunTrace => {
            let open = traces::table
                .filter(traces::id.eq_any(ids))
                .filter(traces::updated_at.le(run.started_at.naive()))
                .filter(sql::<Bool>(HAS_NO_RERUN))
                .select(traces::id);
            // Of two runs over one trace the second one sees the rerun of the first.
            match conn {
                Conn::Sqlite(c) => open.load(c).await?,
                Conn::Postgres(c) => {
                    let locked = traces::table.filter(traces::id.eq_any(ids)).order(traces::id.asc());
                    locked.select(traces::id).for_update().load::<String>(&mut **c).await?;
                    open.load(&mut **c).await?
                }
            }
        }
    };
    Ok(ids.into_iter().collect())
}

/// Gives an order. Returns the rerun that it accepted.
async fn give_order(
    conn: &mut Conn,
    run: &BulkRun,
    order: RowOrder,
    id: &str,
) -> Result<Option<AcceptedRerun>, StoreError> {
    let (id, principal) = (id.to_owned(), run.started_by.clone());
    match order {
        RowOrder::CancelTrace => {
            let node: Arc<str> = run.holder.as_deref().unwrap_or_default().into();
            cancel_trace(conn, &CancelOrder { id, principal, node, failure: None }).await?;
        }
        RowOrder::CancelOccurrence => {
            let order = OccurrenceCancel { id, principal, reports: false, report: None };
            cancel_occurrence(conn, &order).await?;
        }
        RowOrder::RerunTrace => {
            let (rerun, version) = (new_ordered_id(), RerunVersion::Current);
            let order = RerunOrder { id, rerun, version, payload: None };
            return rerun_trace(conn, &order).await.map(Some);
        }
    }
    Ok(None)
}
