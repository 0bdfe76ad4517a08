//! Recorded runs. They hold what callers sent and systems answered, so that read-only keys do not see them.

pub(super) mod backtests;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::Value;
use svc_api::{DeletedRecordings, PageEnvelope, RecordingDetail, RecordingSummary};
use svc_model::{AuditAction, AuditResource, ServiceError, Timestamp};
use svc_store::{RecordingFilter, RecordingRow};

use crate::admin::mutation_request::{MutationRequest, dry_run_response};
use crate::admin::query::QueryParameters;
use crate::admin::response::data_response;
use crate::http::{AdminAccess, AdminCaller, Error};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// The resource type in audit rows.
const RESOURCE: AuditResource = AuditResource::Recording;

/// `GET /recordings`, the newest first.
pub(super) async fn list(state: Data<AppState>, caller: AdminCaller, query: QueryParameters) -> Answer {
    require_full_access(&caller)?;
    let page = query.page()?;
    let (since, until) = query.range(Timestamp::now())?;
    let filter = RecordingFilter {
        channel: query.text("channel"),
        run_key: query.text("run_key"),
        workflow: query.text("workflow"),
        version: query.integer("version")?,
        outcome: query.text("outcome"),
        since,
        until,
    };
    let (rows, total) = state.store.recordings().list(filter, page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(to_summary), total, page)))
}

/// `GET /recordings/{id}`: with the calls.
pub(super) async fn read(state: Data<AppState>, caller: AdminCaller, id: Path<String>) -> Answer {
    require_full_access(&caller)?;
    let stored = state.store.recordings().get(&id).await?;
    let stored = stored.ok_or_else(|| ServiceError::not_found(format!("recording '{id}' does not exist")))?;
    let recording: Value = serde_json::from_str(&stored.recording).map_err(ServiceError::internal_error)?;
    Ok(data_response(RecordingDetail { summary: to_summary(stored.row), recording }))
}

/// `DELETE /recordings`: those of a channel, of a run, or of a run on a channel.
pub(super) async fn delete(state: Data<AppState>, change: MutationRequest) -> Answer {
    let (channel, run_key) = (change.query.text("channel"), change.query.text("run_key"));
    let named = [("channel", &channel), ("run_key", &run_key)];
    let scope: Vec<String> =
        named.iter().filter_map(|(word, value)| Some(format!("{word}={}", value.as_ref()?))).collect();
    if scope.is_empty() {
        let why = "name the recordings with the query parameter 'channel', 'run_key', or both";
        return Err(ServiceError::validation(why).into());
    }
    let mutation = change.mutation(AuditAction::Purge, RESOURCE, &scope.join("&"));
    let filter = RecordingFilter { channel, run_key, ..RecordingFilter::default() };
    let outcome = state.store.recordings().delete(filter, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let deleted = outcome?;
    if deleted > 0 {
        state.metrics.record_audit_event(AuditAction::Purge, RESOURCE);
    }
    Ok(data_response(DeletedRecordings { deleted }))
}

/// Refuses a key that reads alone.
fn require_full_access(caller: &AdminCaller) -> Result<(), ServiceError> {
    match caller.principal.access() {
        AdminAccess::Full => Ok(()),
        AdminAccess::ReadOnly => {
            Err(ServiceError::forbidden("Recordings are for full admin keys; this API key is read-only"))
        }
    }
}

fn to_summary(row: RecordingRow) -> RecordingSummary {
    RecordingSummary {
        id: row.id,
        run_id: row.run_id,
        run_key: row.run_key,
        channel: row.channel,
        workflow_id: row.workflow_id,
        workflow_version: row.workflow_version,
        source: row.source,
        outcome: row.outcome,
        bytes: row.bytes,
        created_at: row.created_at,
    }
}
