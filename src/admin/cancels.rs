//! Cancellation of accepted work and of occurrences.
//!
//! The order is committed first; the node that has the run learns of it, drops the run and writes its end. The answer
//! waits for that a little while.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::DataEnvelope;
use svc_model::{AuditAction, CANCELLED_OCCURRENCE, ServiceError};
use svc_registry::{FailedOccurrence, PreparedReport};
use svc_store::{Mutation, OccurrenceCancel, OccurrenceRecord, TraceRecord, TraceStatus};
use tokio::time::{Instant, sleep};

use super::cron::{self, OCCURRENCE};
use super::query::QueryParameters;
use super::request_body::NoBody;
use super::response::data_response;
use super::traces::{self, TRACE};
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// Longest wait for the end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two looks for the end.
const LOOK: Duration = Duration::from_millis(25);

/// `POST /traces/{id}/cancel`: 200 once the work has ended, 202 if it has not within two seconds.
pub(super) async fn cancel_trace(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let reports = query.flag("report")?;
    let audit = caller.audit(AuditAction::Cancel, TRACE, &id);
    let principal = audit.principal.clone();
    state.work.traces.cancel(&id, &principal, reports, Mutation::new(audit)).await?;
    state.metrics.record_audit_event(AuditAction::Cancel, TRACE);
    let until = Instant::now() + PATIENCE;
    let mut work = id.into_inner();
    loop {
        let trace = state.store.traces().get(&work).await?;
        let trace = trace.ok_or_else(|| ServiceError::not_found(format!("trace '{work}' does not exist")))?;
        if let Some(whole) = &trace.row.attempt_of {
            // A later attempt was named: its work is what ends.
            work.clone_from(whole);
            continue;
        }
        if has_ended(&trace) {
            return Ok(data_response(traces::to_detail(trace)));
        }
        if Instant::now() >= until {
            return Ok(HttpResponse::Accepted().json(DataEnvelope { data: traces::to_detail(trace) }));
        }
        if !runs(&trace) {
            // Its run ended otherwise meanwhile, and it waits again: the order is to be given again.
            state.work.traces.look_for_cancels();
        }
        sleep(LOOK).await;
    }
}

fn has_ended(trace: &TraceRecord) -> bool {
    TraceStatus::parse(&trace.row.status).is_none_or(TraceStatus::is_end)
}

fn runs(trace: &TraceRecord) -> bool {
    [TraceStatus::Pending, TraceStatus::Running].iter().any(|status| status.name() == trace.row.status)
}

/// `POST /cron/occurrences/{id}/cancel`: 200 once it has ended, 202 if it has not within two seconds.
pub(super) async fn cancel_occurrence(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let reports = query.flag("report")?;
    let audit = caller.audit(AuditAction::Cancel, OCCURRENCE, &id);
    let report = if reports { prepare_report(&state, &id).await? } else { None };
    let order = OccurrenceCancel {
        id: id.to_string(),
        principal: audit.principal.clone(),
        reports,
        report: report.as_ref().map(|report| report.row().clone()),
    };
    let mut occurrence = state.store.ledger().cancel(order, Some(audit)).await?;
    state.metrics.record_audit_event(AuditAction::Cancel, OCCURRENCE);
    if is_over(&occurrence) {
        state.work.cron_metrics.record_cancelled();
        if let Some(report) = report {
            report.begin();
        }
        return Ok(data_response(cron::to_detail(occurrence)));
    }
    if let Some(cron) = &state.work.cron {
        cron.look_for_cancels();
    }
    let until = Instant::now() + PATIENCE;
    while !is_over(&occurrence) {
        if Instant::now() >= until {
            return Ok(HttpResponse::Accepted().json(DataEnvelope { data: cron::to_detail(occurrence) }));
        }
        sleep(LOOK).await;
        let absent = || ServiceError::not_found(format!("occurrence '{id}' does not exist"));
        occurrence = state.store.ledger().get(&id).await?.ok_or_else(absent)?;
    }
    Ok(data_response(cron::to_detail(occurrence)))
}

fn is_over(occurrence: &OccurrenceRecord) -> bool {
    occurrence.row.completed_at.is_some()
}

/// Prepares the report of an occurrence; `None` for one that does not exist, or whose channel names no receiver.
async fn prepare_report(state: &AppState, id: &str) -> Result<Option<PreparedReport>, ServiceError> {
    let Some(occurrence) = state.store.ledger().get(id).await? else { return Ok(None) };
    let failed = FailedOccurrence {
        channel_id: &occurrence.row.channel_id,
        channel_name: &occurrence.row.channel_name,
        trace_id: occurrence.trace_id.as_deref().and_then(|id| id.parse().ok()),
        error: CANCELLED_OCCURRENCE,
    };
    Ok(state.serving.registry.prepare_report(failed).await)
}
