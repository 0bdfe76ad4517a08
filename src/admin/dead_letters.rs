//! Dead letters: asynchronous runs that failed and wait for another attempt, or for an operator.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::Value;
use svc_api::{DeadLetterDetail, DeadLetterListEnvelope, DeadLetterSummary, PurgeRequest, PurgeResult};
use svc_model::{AuditAction, AuditResource, FieldError, ServiceError, Timestamp};
use svc_store::{DeadLetter, DeadLetterRow};

use super::filters::read_dead_letter_filter;
use super::mutation_request::{MutationRequest, dry_run_response};
use super::query::QueryParameters;
use super::request_body::{NoBody, require_known_keys};
use super::response::data_response;
use super::traces::mask_address;
use crate::http::{Error, JsonBody};
use crate::state::AppState;

/// The resource type in audit rows.
const RESOURCE: AuditResource = AuditResource::TraceDlq;

/// `GET /trace-dlq`, newest first unless asked for otherwise, by offset or by cursor.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let filter = read_dead_letter_filter(&query, Timestamp::now())?;
    let letters = state.store.dead_letters().list_page(filter, page).await?;
    Ok(HttpResponse::Ok().json(DeadLetterListEnvelope {
        data: letters.rows.into_iter().map(to_summary).collect(),
        total: letters.total,
        limit: page.limit,
        offset: page.offset,
        counts: letters.counts,
        next_cursor: letters.next_cursor,
        scanned_until: letters.scanned_until,
    }))
}

/// `GET /trace-dlq/{id}`: with the payload and the metadata of the run.
pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Result<HttpResponse, Error> {
    let letter = state.store.dead_letters().get(&id).await?;
    let letter =
        letter.ok_or_else(|| ServiceError::not_found(format!("dead letter '{id}' does not exist")))?;
    Ok(data_response(to_detail(letter)))
}

/// `POST /trace-dlq/{id}/requeue`: makes the letter due at once, with all its retries again. 503 while as much work waits
/// as may wait, unless the work of the letter waits for a retry already.
pub(super) async fn requeue(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    let letters = state.store.dead_letters();
    let has_room =
        change.is_dry_run() || letters.find_retrying(std::slice::from_ref(&*id)).await?.contains(&*id);
    let room = if has_room { None } else { Some(state.work.traces.reserve_retry().await?) };
    let outcome = letters.requeue(&id, change.mutation(AuditAction::Requeue, RESOURCE, &id)).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let letter = outcome?;
    if let Some(room) = &room {
        // Retries are counted now and then.
        room.confirm();
    }
    state.metrics.record_audit_event(AuditAction::Requeue, RESOURCE);
    state.work.traces.look_for_dead_letters();
    Ok(data_response(to_detail(letter)))
}

/// `POST /trace-dlq/purge`: deletes letters that have no retry left and are older than the given number of
/// hours.
pub(super) async fn purge(
    state: Data<AppState>,
    change: MutationRequest,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let PurgeRequest { older_than_hours: hours } = parse_purge(&body.0)?;
    let scope = format!("older_than_hours={hours}");
    let outcome =
        state.store.dead_letters().purge(hours, change.mutation(AuditAction::Purge, RESOURCE, &scope)).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let purged = outcome?;
    if purged > 0 {
        state.metrics.record_audit_event(AuditAction::Purge, RESOURCE);
        state.work.traces.count_dead_letters();
    }
    Ok(data_response(PurgeResult { purged, older_than_hours: hours }))
}

/// Returns a letter as lists show it.
fn to_summary(row: DeadLetterRow) -> DeadLetterSummary {
    DeadLetterSummary {
        id: row.id,
        trace_id: row.trace_id,
        attempt_of: row.attempt_of,
        channel: row.channel,
        error_message: row.error_message,
        error_group: row.error_group,
        retry_count: row.retry_count,
        max_retries: row.max_retries,
        next_retry_at: (row.retry_count < row.max_retries).then_some(row.next_retry_at),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

fn to_detail(letter: DeadLetter) -> DeadLetterDetail {
    let DeadLetter { row, payload_json, metadata_json } = letter;
    DeadLetterDetail {
        summary: to_summary(row),
        payload_json,
        metadata_json: visible_metadata(metadata_json),
    }
}

/// Returns the metadata of a request with the secrets of its address masked, else word for word.
fn visible_metadata(metadata_json: String) -> String {
    let Ok(mut metadata) = serde_json::from_str::<Value>(&metadata_json) else { return metadata_json };
    if mask_address(&mut metadata) { metadata.to_string() } else { metadata_json }
}

/// Reads the body of a purge.
fn parse_purge(body: &Value) -> Result<PurgeRequest, ServiceError> {
    const PATH: &str = "body.older_than_hours";
    let fields = require_known_keys(body, &["older_than_hours"])?;
    match fields.get("older_than_hours") {
        None | Some(Value::Null) => Err(FieldError::required(PATH).into()),
        Some(hours) => match hours.as_u64().filter(|hours| i64::try_from(*hours).is_ok()) {
            Some(older_than_hours) => Ok(PurgeRequest { older_than_hours }),
            None => Err(FieldError::type_mismatch(PATH, "integer, 0 or more", hours).into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_shows_no_secret_of_its_address() {
        let metadata = json!({"headers": {}, "query": {"api_key": "canary", "page": "2"}}).to_string();
        let shown: Value = serde_json::from_str(&visible_metadata(metadata)).unwrap();
        assert_eq!(shown, json!({"headers": {}, "query": {"api_key": "******", "page": "2"}}));
        let plain = r#"{ "query": {"page": "2"} }"#;
        assert_eq!(visible_metadata(plain.into()), plain, "word for word");
    }

    #[test]
    fn a_purge_names_its_age_in_whole_hours() {
        assert_eq!(
            parse_purge(&json!({"older_than_hours": 0})).unwrap(),
            PurgeRequest { older_than_hours: 0 }
        );
        for bad in [
            json!([]),
            json!({}),
            json!({"older_than_hours": null}),
            json!({"older_than_hours": -1}),
            json!({"older_than_hours": u64::MAX}),
            json!({"older_than_hours": 1.5}),
            json!({"older_than_hours": "1"}),
            json!({"older_than_hours": 1, "older": 1}),
        ] {
            assert_eq!(parse_purge(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }
}
