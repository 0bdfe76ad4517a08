//! Reads of traces: pages of runs, and one run with its result.

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Map, Value};
use svc_api::{AttemptSummary, TraceDetail, TraceListEnvelope, TraceSummary};
use svc_contract::remove_response_control;
use svc_model::mask::{MASK, looks_secret};
use svc_model::{AuditResource, ServiceError, Timestamp};
use svc_store::{TraceAttempt, TraceMode, TraceRecord, TraceRow, TraceStatus};

use super::explanations;
use super::filters::read_trace_query;
use super::query::QueryParameters;
use super::response::data_response;
use crate::http::{Error, TraceReader, TraceView, state_response};
use crate::state::AppState;

/// The resource type of traces in audit rows.
pub(super) const TRACE: AuditResource = AuditResource::Trace;

/// `GET /traces`: no payloads, and no total unless asked for.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let filter = read_trace_query(&query, page, Timestamp::now())?;
    let traces = state.store.traces().list(filter).await?;
    Ok(HttpResponse::Ok().json(TraceListEnvelope {
        data: traces.rows.into_iter().map(to_summary).collect(),
        limit: page.limit,
        offset: page.offset,
        total: traces.total,
        counts: traces.counts.map(to_public_counts),
        next_cursor: traces.next_cursor,
        scanned_until: traces.scanned_until,
    }))
}

/// Returns counts by the statuses of rows as counts by those of responses.
fn to_public_counts(counts: BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    let mut shown = BTreeMap::new();
    for (status, count) in counts {
        *shown.entry(TraceStatus::to_public(status)).or_default() += count;
    }
    shown
}

/// Returns a trace as lists show it.
fn to_summary(row: TraceRow) -> TraceSummary {
    TraceSummary {
        id: row.id,
        channel: row.channel,
        channel_id: row.channel_id,
        workflow_id: row.workflow_id,
        workflow_version: row.workflow_version,
        mode: row.mode,
        status: TraceStatus::to_public(row.status),
        request_id: row.request_id,
        error_code: row.error_code,
        error_group: row.error_group,
        error_message: row.error_message,
        duration_ms: row.duration_ms,
        started_at: row.started_at,
        completed_at: row.completed_at,
        created_at: row.created_at,
        updated_at: row.updated_at,
        attempt: row.attempt,
        attempt_of: row.attempt_of,
        next_retry_at: row.next_retry_at,
        deliver_at: row.deliver_at,
        rerun_of: row.rerun_of,
    }
}

/// `GET /traces/{id}`: open to operators and to the holder of the trace's token. The existence of a trace is
/// no secret: ids cannot be guessed, and a client must be able to distinguish a wrong id from a wrong token.
pub(super) async fn read(
    state: Data<AppState>,
    id: Path<String>,
    reader: TraceReader,
) -> Result<HttpResponse, Error> {
    let (traces, unknown) =
        (state.store.traces(), || ServiceError::not_found(format!("trace '{id}' does not exist")));
    let access = traces.access(&id).await?.ok_or_else(unknown)?;
    let view = reader.admit(&state, access.token_hash.as_deref())?;
    let trace = traces.get(&id).await?.ok_or_else(unknown)?;
    Ok(match view {
        TraceView::Submitter => state_response(trace),
        TraceView::Operator => {
            let waits_for = explanations::explain_wait(&state, &trace.row).await?;
            let shown = state.config.tracing.link_to(trace.distributed_trace_id.as_deref());
            data_response(TraceDetail { waits_for, distributed_trace_url: shown, ..to_detail(trace) })
        }
    })
}

/// Returns a trace as operators see it. It omits the metadata, which has details of the caller, and the members by
/// which a workflow shapes its response.
pub(super) fn to_detail(trace: TraceRecord) -> TraceDetail {
    let TraceRecord {
        row,
        result_json,
        task_trace_json,
        distributed_trace_id,
        cancel_requested_at,
        cancelled_by,
        in_flight_json,
        reruns,
        attempts,
    } = trace;
    let (mut message, mut error) = (None, None);
    let mut result = parse_json(result_json);
    let status = TraceStatus::parse(&row.status);
    let is_data = row.mode == TraceMode::Cron.name() && matches!(status, Some(TraceStatus::Completed));
    let errors = if is_data {
        result.as_mut().and_then(take_tolerated_errors)
    } else {
        result.as_ref().and_then(task_errors)
    };
    match status {
        Some(TraceStatus::Completed) => message = result.map(visible_message),
        Some(TraceStatus::Failed | TraceStatus::Retrying) => error = row.error_message,
        _ => {}
    }
    let is_work = row.mode == TraceMode::Async.name();
    TraceDetail {
        id: row.id,
        status: TraceStatus::to_public(row.status),
        mode: row.mode,
        channel: row.channel,
        channel_id: row.channel_id,
        workflow_id: row.workflow_id,
        workflow_version: row.workflow_version,
        request_id: row.request_id,
        created_at: row.created_at,
        message,
        error,
        error_code: row.error_code,
        errors,
        started_at: row.started_at,
        completed_at: row.completed_at,
        duration_ms: row.duration_ms,
        attempt: row.attempt,
        attempt_of: row.attempt_of,
        next_retry_at: row.next_retry_at,
        deliver_at: row.deliver_at,
        waits_for: None,
        distributed_trace_id,
        distributed_trace_url: None,
        cancel_requested_at,
        cancelled_by,
        in_flight: parse_json(in_flight_json),
        rerun_of: row.rerun_of,
        reruns,
        attempts: attempts.into_iter().filter(|_| is_work).map(to_attempt).collect(),
        task_trace_json: parse_json(task_trace_json).map(visible_steps),
    }
}

fn to_attempt(attempt: TraceAttempt) -> AttemptSummary {
    AttemptSummary {
        attempt: attempt.attempt,
        trace_id: attempt.trace_id,
        status: TraceStatus::to_public(attempt.status),
        error: attempt.error_message,
        started_at: attempt.started_at,
        completed_at: attempt.completed_at,
        duration_ms: attempt.duration_ms,
    }
}

fn parse_json(text: Option<String>) -> Option<Value> {
    serde_json::from_str(&text?).ok()
}

/// Returns the errors of the tasks of a run, if it has some.
fn task_errors(result: &Value) -> Option<Value> {
    let errors = result.get("errors")?;
    errors.as_array().is_some_and(|errors| !errors.is_empty()).then(|| errors.clone())
}

/// Takes the errors that a scheduled run went on after out of its result, and leaves the data document.
fn take_tolerated_errors(result: &mut Value) -> Option<Value> {
    let has_both = |members: &&mut Map<String, Value>| members.len() == 2 && members.contains_key("data");
    let members = result.as_object_mut().filter(has_both)?;
    let errors = members.get_mut("_svc_errors").filter(|errors| errors.is_array())?.take();
    let data = members.get_mut("data")?.take();
    *result = data;
    Some(errors)
}

/// Returns the visible part of the result of a run. The result of a schedule is the data document alone,
/// which is shown as it is.
fn visible_message(mut message: Value) -> Value {
    if message.get("audit_trail").is_none() {
        return message;
    }
    if let Some(context) = message.get_mut("context") {
        strip_context(context);
    }
    for entry in members(message.get_mut("audit_trail")) {
        strip_changes(entry);
    }
    message
}

/// Returns an execution trace with the visible part of its snapshots, and with its input, from which a test case is
/// made.
fn visible_steps(mut trace: Value) -> Value {
    if let Some(request) = trace.pointer_mut("/input/request") {
        mask_address(request);
    }
    for step in members(trace.get_mut("steps")) {
        if let Some(snapshot) = step.get_mut("message") {
            strip_context(snapshot);
        }
        members(step.get_mut("mapping_contexts")).for_each(strip_context);
        strip_changes(step);
    }
    trace
}

/// Masks values of an address whose names suggest a secret: some callers send their key in a query. Returns `true` if
/// there was one.
pub(super) fn mask_address(metadata: &mut Value) -> bool {
    let mut is_masked = false;
    for part in ["query", "params"] {
        let Some(Value::Object(values)) = metadata.get_mut(part) else { continue };
        for (_, value) in values.iter_mut().filter(|(name, _)| looks_secret(name)) {
            *value = MASK.into();
            is_masked = true;
        }
    }
    is_masked
}

fn members(array: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    array.and_then(Value::as_array_mut).into_iter().flatten()
}

fn strip_context(context: &mut Value) {
    if let Some(context) = context.as_object_mut() {
        context.remove("metadata");
        if let Some(data) = context.get_mut("data") {
            remove_response_control(data);
        }
    }
}

/// Removes recorded writes to hidden members, which would reveal them.
fn strip_changes(entry: &mut Value) {
    if let Some(changes) = entry.get_mut("changes").and_then(Value::as_array_mut) {
        changes.retain_mut(strip_change);
    }
}

/// Removes the hidden part of a recorded write. Returns `false` if nothing of it may be shown.
fn strip_change(change: &mut Value) -> bool {
    let path = change.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
    // A leading `#` marks a segment as a key.
    let keys: Vec<_> = path.split('.').map(|key| key.strip_prefix('#').unwrap_or(key)).collect();
    let hide: fn(&mut Value) = match *keys {
        ["metadata", ..] | ["data", "_svc", "response", ..] => return false,
        ["data", "_svc"] => remove_response,
        ["data"] => remove_response_control,
        _ => return true,
    };
    for side in ["old_value", "new_value"] {
        if let Some(value) = change.get_mut(side) {
            hide(value);
        }
    }
    true
}

fn remove_response(platform: &mut Value) {
    if let Some(platform) = platform.as_object_mut() {
        platform.remove("response");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(status: &str, result: Option<&str>, task_trace: Option<&str>) -> TraceRecord {
        let instant = Timestamp::parse("2026-01-01T00:00:00").unwrap();
        let row = TraceRow {
            id: "t".into(),
            channel: "orders".into(),
            channel_id: None,
            workflow_id: Some("w".into()),
            workflow_version: Some(3),
            mode: "async".into(),
            status: status.into(),
            request_id: Some("r-1".into()),
            error_code: (status == "failed").then(|| "HTTP_ERROR".into()),
            error_group: None,
            error_message: Some("broke".into()),
            duration_ms: Some(1.5),
            started_at: None,
            completed_at: Some(instant),
            created_at: instant,
            updated_at: instant,
            attempt: 1,
            attempt_of: None,
            next_retry_at: None,
            deliver_at: None,
            rerun_of: None,
        };
        let first = TraceAttempt {
            attempt: 1,
            trace_id: row.id.clone(),
            status: "failed".into(),
            error_message: Some("broke".into()),
            duration_ms: Some(1.5),
            started_at: None,
            completed_at: Some(instant),
        };
        TraceRecord {
            row,
            result_json: result.map(str::to_owned),
            task_trace_json: task_trace.map(str::to_owned),
            distributed_trace_id: None,
            cancel_requested_at: None,
            cancelled_by: None,
            in_flight_json: None,
            reruns: Vec::new(),
            attempts: vec![first],
        }
    }

    fn operator_view(trace: TraceRecord) -> Value {
        json!(to_detail(trace))
    }

    #[test]
    fn errors_show_details_for_every_outcome() {
        let result = json!({"errors": [{"code": "HTTP_ERROR", "message": "m", "status": 401, "body": {"a": 1}, "detail": "d"}]});
        for status in ["failed", "retrying", "completed"] {
            let shown = operator_view(record(status, Some(&result.to_string()), None));
            assert_eq!(shown["errors"], result["errors"], "{status}");
            assert_eq!((&shown["workflow_id"], &shown["workflow_version"]), (&json!("w"), &json!(3)));
        }
        let clean = operator_view(record("completed", Some(r#"{"errors": []}"#), None));
        assert_eq!(clean.get("errors"), None, "{clean}");
    }

    #[test]
    fn tolerated_errors_of_a_schedule_are_shown() {
        let shown = |result: Value| {
            let mut trace = record("completed", Some(&result.to_string()), None);
            trace.row.mode = "cron".into();
            let shown = operator_view(trace);
            (shown["message"].clone(), shown.get("errors").cloned())
        };
        let errors = json!([{"code": "HTTP_ERROR", "message": "m", "index": 2}]);
        assert_eq!(
            shown(json!({"data": {"sent": 2}, "_svc_errors": errors})),
            (json!({"sent": 2}), Some(errors.clone()))
        );
        for data in [json!({"sent": 3}), json!({"errors": errors, "data": 1}), json!({"data": {"a": 1}})] {
            assert_eq!(shown(data.clone()), (data, None));
        }
    }

    #[test]
    fn rows_show_instant_and_origin() {
        let mut trace = record("scheduled", None, None);
        let bare = json!(to_summary(trace.row.clone()));
        assert_eq!((bare.get("deliver_at"), bare.get("rerun_of")), (None, None), "{bare}");
        (trace.row.deliver_at, trace.row.rerun_of) = (Some(trace.row.created_at), Some("former".into()));
        for shown in [json!(to_summary(trace.row.clone())), operator_view(trace)] {
            let facts = (&shown["deliver_at"], &shown["rerun_of"]);
            assert_eq!(facts, (&json!("2026-01-01T00:00:00Z"), &json!("former")), "{shown}");
        }
    }

    #[test]
    fn work_awaiting_retry_shows_error_and_attempts() {
        let mut trace = record("retrying", None, None);
        trace.row.next_retry_at = Some(trace.row.created_at);
        let shown = operator_view(trace);
        assert_eq!((&shown["status"], &shown["error"]), (&json!("retrying"), &json!("broke")));
        assert_eq!(shown["next_retry_at"], "2026-01-01T00:00:00Z");
        let first = json!({"attempt": 1, "trace_id": "t", "status": "failed", "error": "broke",
            "completed_at": "2026-01-01T00:00:00Z", "duration_ms": 1.5});
        assert_eq!(shown["attempts"], json!([first]));
        let mut sync = record("failed", None, None);
        sync.row.mode = "sync".into();
        assert_eq!(operator_view(sync).get("attempts"), None, "a synchronous run has one attempt");
    }

    #[test]
    fn completed_trace_shows_its_message_without_metadata() {
        let result = json!({"id": "m", "payload": 1, "errors": [],
            "context": {"data": {"metadata": "mine"}, "metadata": {"cookies": {"sid": "canary"}}, "temp_data": {}},
            "audit_trail": [{"task_id": "a", "changes": [
                {"path": "metadata.cookies", "old_value": null, "new_value": "canary"},
                {"path": "data.x", "old_value": null, "new_value": 1}]}]});
        let steps = json!({"steps": [{"task_id": "a", "message": {"data": {}, "metadata": {"k": "canary"}},
            "mapping_contexts": [{"data": {}, "metadata": {"k": "canary"}}],
            "changes": [{"path": "metadata", "old_value": "canary", "new_value": {}}]}]});
        let shown = operator_view(record("completed", Some(&result.to_string()), Some(&steps.to_string())));
        assert!(!shown.to_string().contains("canary"), "{shown}");
        assert_eq!(shown["message"]["context"], json!({"data": {"metadata": "mine"}, "temp_data": {}}));
        assert_eq!(shown["message"]["audit_trail"][0]["changes"].as_array().map(Vec::len), Some(1));
        assert_eq!(shown["task_trace_json"]["steps"][0]["mapping_contexts"], json!([{"data": {}}]));
        assert_eq!((&shown["completed_at"], shown.get("error")), (&json!("2026-01-01T00:00:00Z"), None));
        assert_eq!((&shown["channel_id"], &shown["duration_ms"]), (&Value::Null, &json!(1.5)));
        assert_eq!(shown.get("started_at"), None, "what is not known is absent");
    }

    #[test]
    fn trace_input_masks_secrets_of_its_address() {
        let request =
            json!({"query": {"api_key": "canary", "page": "2"}, "params": {"token": "canary", "id": "7"}});
        let steps = json!({"input": {"payload": {"key": "mine"}, "request": request}, "steps": []});
        let shown = operator_view(record("completed", None, Some(&steps.to_string())));
        let input = &shown["task_trace_json"]["input"];
        let masked =
            json!({"query": {"api_key": "******", "page": "2"}, "params": {"token": "******", "id": "7"}});
        assert_eq!((&input["payload"], &input["request"]), (&json!({"key": "mine"}), &masked));
    }

    #[test]
    fn response_shaping_values_are_not_in_traces() {
        let written = json!({"a": 1, "_svc": {"response": {"headers": {"location": "canary"}}}});
        let (bare, platform) = (json!({"a": 1}), &written["_svc"]);
        let change =
            |path: &str, value: &Value| json!({"path": path, "old_value": value, "new_value": value});
        let changes = json!([
            change("data", &written),
            change("data._svc", platform),
            change("data.a", &json!(1)),
            change("data._svc.response", &platform["response"]),
            change("data.#_svc.#response.status", &json!("canary")),
            change("metadata.#cookies", &json!("canary"))
        ]);
        let result = json!({"context": {"data": written}, "audit_trail": [{"changes": changes}]});
        let snapshot = json!({"data": written, "metadata": {}, "temp_data": {}});
        let steps =
            json!({"steps": [{"message": snapshot, "mapping_contexts": [snapshot], "changes": changes}]});
        let shown = operator_view(record("completed", Some(&result.to_string()), Some(&steps.to_string())));
        assert!(!shown.to_string().contains("canary"), "{shown}");
        let seen =
            json!([change("data", &bare), change("data._svc", &json!({})), change("data.a", &json!(1))]);
        assert_eq!(shown["message"]["audit_trail"][0]["changes"], seen);
        let step = &shown["task_trace_json"]["steps"][0];
        assert_eq!((&step["message"]["data"], &step["mapping_contexts"][0]["data"]), (&bare, &bare));
        assert_eq!(step["changes"], seen);
    }

    #[test]
    fn failed_trace_shows_cause_without_unreadable_result() {
        let failed = operator_view(record("failed", Some("{}"), None));
        assert_eq!((&failed["error"], failed.get("message")), (&json!("broke"), None));
        let torn = operator_view(record("completed", Some("{\"id\":"), Some("[")));
        assert_eq!((torn.get("message"), torn.get("error"), torn.get("task_trace_json")), (None, None, None));
        assert_eq!(operator_view(record("pending", None, None)).get("error"), None);
    }
}
