//! The watch for orders to cancel occurrences.

use std::sync::Arc;

use slog::warn;
use svc_model::CANCELLED_OCCURRENCE;
use svc_registry::FailedOccurrence;
use svc_store::{CancelStep, OccurrenceCancel, OpenOccurrenceCancel, StoreError};
use tokio::time::sleep;

use super::attempt_pool::AttemptPool;
use crate::backoff::retry_delay;
use crate::shared::CronShared;

/// Reads orders at every notice, until it is cancelled. The attempts of this node drop their runs; an occurrence
/// that no process holds any more ends here.
pub(super) async fn watch_cancels(shared: Arc<CronShared>, attempts: Arc<AttemptPool>) {
    let mut failures = 0;
    loop {
        match look(&shared, &attempts).await {
            Ok(()) => {
                failures = 0;
                attempts.wait_for_look_for_cancels().await;
            }
            Err(error) => {
                failures += 1;
                if !error.is_outage() {
                    warn!(shared.log, "cannot read orders to cancel"; "error" => %error);
                }
                sleep(retry_delay(&shared.settings.holder, failures)).await;
            }
        }
    }
}

/// Reads the orders, and carries them out. One that fails holds up no other, unless the database is away.
async fn look(shared: &CronShared, attempts: &AttemptPool) -> Result<(), StoreError> {
    let open = shared.call_ledger(shared.ledger.open_cancels(&shared.settings.holder)).await?;
    let (own, given_again): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|order| order.step == CancelStep::DropRun);
    for order in own {
        attempts.cancel(order.id, order.reports);
    }
    let mut failure = None;
    for order in given_again {
        if let Err(error) = give_again(shared, order).await {
            let is_outage = error.is_outage();
            failure = failure.or(Some(error));
            if is_outage {
                break;
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Ends an occurrence that was given back, or whose holder is dead.
async fn give_again(shared: &CronShared, order: OpenOccurrenceCancel) -> Result<(), StoreError> {
    let OpenOccurrenceCancel { id, principal, reports, .. } = order;
    let id = id.to_string();
    let report = if reports { prepare_report(shared, &id).await? } else { None };
    let row = report.as_ref().map(|report| report.row().clone());
    let order = OccurrenceCancel { id, principal, reports, report: row };
    match shared.call_ledger(shared.ledger.cancel(order, None)).await {
        Ok(occurrence) => {
            if occurrence.row.completed_at.is_some() {
                shared.metrics.record_cancelled();
                if let Some(report) = report {
                    report.begin();
                }
            }
            Ok(())
        }
        // It has ended.
        Err(StoreError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn prepare_report(
    shared: &CronShared,
    id: &str,
) -> Result<Option<svc_registry::PreparedReport>, StoreError> {
    let Some(occurrence) = shared.call_ledger(shared.ledger.get(id)).await? else { return Ok(None) };
    let failed = FailedOccurrence {
        channel_id: &occurrence.row.channel_id,
        channel_name: &occurrence.row.channel_name,
        trace_id: occurrence.trace_id.as_deref().and_then(|id| id.parse().ok()),
        error: CANCELLED_OCCURRENCE,
    };
    Ok(shared.registry.prepare_report(failed).await)
}
