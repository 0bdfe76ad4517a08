//! The state of submissions, as the holders of their tokens see it: on the data plane, for their callers, and
//! among the traces of the admin API.

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};
use svc_api::{DataEnvelope, SubmissionError, SubmissionState};
use svc_channels::{ChannelResponse, TRACE_ID_HEADER};
use svc_contract::ResponseControl;
use svc_model::ServiceError;
use svc_store::{TraceRecord, TraceStatus};
use uuid::Uuid;

use super::auth::is_token_of;
use super::error::refuse_method;
use super::plane::DATA_PREFIX;
use super::{Error, RequestContext};
use crate::state::AppState;

const X_TRACE_TOKEN: HeaderName = HeaderName::from_static("x-trace-token");
/// The query parameter for clients that cannot send headers.
const TOKEN: &str = "token";

/// Seconds after which a caller may look again while its submission has not ended.
const LOOK_AGAIN: HeaderValue = HeaderValue::from_static("1");

/// The methods that read the state of a submission.
const READS: &str = "GET, HEAD";

/// Mark of asynchronous delivery in a path.
const ASYNC: &str = "/async";

/// A request for the state of a submission: `{channel or route}/async/{id}`. Its id and its token decide, not the channel
/// at that path now: the address that a caller was given stays good when the route of its channel changes.
#[derive(Debug)]
pub(super) struct SubmissionRequest {
    id: Uuid,
    token: Option<Vec<u8>>,
}

impl SubmissionRequest {
    /// Reads the request off the part of a path that names the channel; `None` for any other request.
    pub(super) fn parse(
        request: &HttpRequest,
        path: &str,
        query: Option<&Map<String, Value>>,
    ) -> Option<Self> {
        if *request.method() != Method::GET && *request.method() != Method::HEAD {
            return None;
        }
        let id = submission_id(path)?;
        let token = token_of(request.headers(), query);
        Some(Self { id, token })
    }

    /// Returns `true` if the request carries a token, which no request for a channel does.
    pub(super) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Answers with the state.
    ///
    /// # Errors
    /// 404, the same for an unknown id, and a missing or wrong token; the error of the database.
    pub(super) async fn answer(&self, state: &AppState) -> Result<HttpResponse, Error> {
        let (traces, id) = (state.store.traces(), self.id.to_string());
        let access = traces.access(&id).await?.and_then(|access| access.token_hash);
        let is_holder = match (&self.token, access) {
            (Some(token), Some(hash)) => is_token_of(token, &hash),
            _ => false,
        };
        let trace = if is_holder { traces.get(&id).await? } else { None };
        match trace {
            Some(trace) => Ok(state_response(trace)),
            None => Err(unknown().into()),
        }
    }
}

/// Returns the part of a path that names a submission.
fn submission_name(path: &str) -> Option<&str> {
    let (accepting, name) = path.trim_end_matches('/').rsplit_once('/')?;
    accepting.ends_with(ASYNC).then_some(name)
}

/// Returns the id of the submission that a path asks about.
fn submission_id(path: &str) -> Option<Uuid> {
    Uuid::try_parse(submission_name(path)?).ok()
}

/// Returns `true` for the address of a submission, also of one that cannot be.
pub(super) fn is_address(path: &str) -> bool {
    submission_name(path).is_some()
}

/// Returns the refusal of a request at the address of a submission by a method that does not read its state.
pub(super) fn refuse_write(method: &Method, path: &str) -> Option<ServiceError> {
    let reads = *method == Method::GET || *method == Method::HEAD;
    submission_id(path).filter(|_| !reads)?;
    Some(refuse_method(method, READS))
}

/// Returns the one refusal of the data plane.
pub(super) fn unknown() -> ServiceError {
    ServiceError::not_found("No such submission, or it is not read with this token")
}

/// Answers with the state of a submission.
pub(crate) fn state_response(trace: TraceRecord) -> HttpResponse {
    let has_ended = TraceStatus::parse(&trace.row.status).is_none_or(TraceStatus::is_end);
    let mut response = HttpResponse::Ok().json(DataEnvelope { data: to_state(trace) });
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !has_ended {
        headers.insert(RETRY_AFTER, LOOK_AGAIN);
    }
    response
}

/// Returns the facts that the token opens: the state of the submission, the content of a synchronous answer, and the
/// codes and tasks of errors.
fn to_state(trace: TraceRecord) -> SubmissionState {
    let TraceRecord { row, result_json, .. } = trace;
    let result: Option<Value> = result_json.and_then(|text| serde_json::from_str(&text).ok());
    let errors = result.as_ref().map(public_errors).unwrap_or_default();
    let completed = result.filter(|_| row.status == TraceStatus::Completed.name());
    let data = completed.and_then(result_data);
    SubmissionState {
        id: row.id,
        status: TraceStatus::to_public(row.status),
        mode: row.mode,
        channel: row.channel,
        attempt: row.attempt,
        next_retry_at: row.next_retry_at,
        deliver_at: row.deliver_at,
        created_at: row.created_at,
        started_at: row.started_at,
        completed_at: row.completed_at,
        duration_ms: row.duration_ms,
        message: data.as_ref().map(|data| json!({"context": {"data": data}})),
        data,
        errors,
    }
}

/// Returns the data of a run; of a shaped answer the body. The result keeps the control document of a channel that shapes
/// its answers.
fn result_data(mut result: Value) -> Option<Value> {
    let mut data = result.get_mut("context")?.get_mut("data")?.take();
    Some(match ResponseControl::take(&mut data) {
        Some(control) => control.select_body(data),
        None => data,
    })
}

fn public_errors(result: &Value) -> Vec<SubmissionError> {
    let text = |error: &Value, key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
    let errors = result.get("errors").and_then(Value::as_array).into_iter().flatten();
    errors
        .filter_map(|error| {
            Some(SubmissionError { code: text(error, "code")?, task_id: text(error, "task_id") })
        })
        .collect()
}

/// Adds the URL of its state to an accepted submission, and when to look.
pub(super) fn add_location(
    request: &HttpRequest,
    context: &RequestContext,
    by_name: Option<&str>,
    answer: &mut ChannelResponse,
) {
    let Some((_, id)) = answer.headers.iter().find(|(name, _)| name == TRACE_ID_HEADER) else { return };
    let path = request.uri().path().trim_end_matches('/');
    let channel = match by_name {
        // The parameters of the route are those of one message.
        Some(name) => {
            let host = path.get(..context.host_length).unwrap_or_default();
            format!("{host}{DATA_PREFIX}/{}", encode_segment(name))
        }
        None => path.strip_suffix(ASYNC).unwrap_or(path).to_owned(),
    };
    let location = format!("{channel}{ASYNC}/{id}");
    answer.headers.push(("location".to_owned(), location));
    answer.headers.push(("retry-after".to_owned(), "1".to_owned()));
}

/// Escapes what is not unreserved in a segment of a path.
fn encode_segment(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.extend(format!("%{byte:02X}").chars()),
        }
        encoded
    })
}

/// Returns the token of a request for a trace, of the header or of the query.
pub(super) fn token_of(headers: &HeaderMap, query: Option<&Map<String, Value>>) -> Option<Vec<u8>> {
    let by_query = query.and_then(|query| query.get(TOKEN)).and_then(Value::as_str).map(str::as_bytes);
    let by_header = headers.get(X_TRACE_TOKEN).map(HeaderValue::as_bytes);
    let token = [by_header, by_query].into_iter().flatten().find(|token| !token.is_empty());
    token.map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use actix_web::test::TestRequest;
    use svc_model::Timestamp;
    use svc_store::TraceRow;

    use super::*;
    use crate::http::RequestId;
    use crate::http::plane::channel_path_start;

    fn trace(status: &str, result: &Value) -> TraceRecord {
        let instant = Timestamp::parse("2026-01-01T00:00:00").unwrap();
        let row = TraceRow {
            id: "t".into(),
            channel: "orders".into(),
            channel_id: Some("orders".into()),
            workflow_id: Some("canary".into()),
            workflow_version: Some(3),
            mode: "async".into(),
            status: status.into(),
            request_id: Some("canary".into()),
            error_code: Some("canary".into()),
            error_group: Some("canary".into()),
            error_message: Some("canary".into()),
            duration_ms: Some(1.5),
            started_at: None,
            completed_at: Some(instant),
            created_at: instant,
            updated_at: instant,
            attempt: 2,
            attempt_of: None,
            next_retry_at: Some(instant),
            deliver_at: Some(instant),
            rerun_of: Some("canary".into()),
        };
        let task_trace_json = Some(json!({"steps": [{"message": "canary"}]}).to_string());
        let result_json = Some(result.to_string());
        TraceRecord {
            row,
            result_json,
            task_trace_json,
            distributed_trace_id: None,
            cancel_requested_at: Some(instant),
            cancelled_by: Some("canary".into()),
            in_flight_json: Some(json!(["canary"]).to_string()),
            reruns: vec!["canary".into()],
            attempts: Vec::new(),
        }
    }

    #[test]
    fn last_two_segments_name_the_submission() {
        let id = Uuid::from_u128(7);
        for (path, is_submission) in [
            (format!("/jobs/async/{id}"), true),
            (format!("/shop/orders/async/{id}/"), true),
            (format!("/jobs/{id}"), false),
            ("/jobs/async".to_owned(), false),
            ("/jobs/async/7".to_owned(), false),
        ] {
            assert_eq!(submission_id(&path), is_submission.then_some(id), "{path}");
        }
    }

    #[test]
    fn completed_submission_shows_only_data_and_codes() {
        let shaped = json!({"a": 1, "_svc": {"response": {"status": "canary"}}});
        let errors =
            json!([{"code": "HTTP_ERROR", "task_id": "call", "message": "canary", "body": "canary"}]);
        let result = json!({"id": "m", "payload": "canary", "errors": errors, "audit_trail": ["canary"],
            "context": {"data": shaped, "metadata": {"k": "canary"}, "temp_data": {"k": "canary"}}});
        let state = json!(to_state(trace("completed", &result)));
        assert!(!state.to_string().contains("canary"), "{state}");
        assert_eq!(state["data"], json!({"a": 1}));
        assert_eq!(state["message"], json!({"context": {"data": {"a": 1}}}));
        assert_eq!(state["errors"], json!([{"code": "HTTP_ERROR", "task_id": "call"}]));
        assert_eq!((&state["attempt"], &state["duration_ms"]), (&json!(2), &json!(1.5)));
    }

    #[test]
    fn shaped_submission_shows_the_body_alone() {
        let data = |control: Value| {
            let data = json!({"shown": {"a": 1}, "kept": "canary", "_svc": {"response": control}});
            let result = json!({"context": {"data": data}});
            json!(to_state(trace("completed", &result)))
        };
        let state = data(json!({"status": 201, "body_path": "data.shown"}));
        assert!(!state.to_string().contains("canary"), "{state}");
        assert_eq!(state["data"], json!({"a": 1}));
        assert_eq!(state["message"], json!({"context": {"data": {"a": 1}}}));
        assert_eq!(data(json!({"body_path": "absent"}))["data"], json!(null));
        assert_eq!(data(json!({"status": 204}))["data"], json!(null));
        assert_eq!(data(json!({"status": 201}))["data"], json!({"shown": {"a": 1}, "kept": "canary"}));
    }

    #[test]
    fn unfinished_submission_names_the_next_poll() {
        let result = json!({"errors": [{"code": "IO_ERROR"}]});
        for (status, seconds) in [
            ("pending", Some("1")),
            ("scheduled", Some("1")),
            ("waiting", Some("1")),
            ("running", Some("1")),
            ("retrying", Some("1")),
            ("failed", None),
        ] {
            let response = state_response(trace(status, &result));
            let again = response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap());
            assert_eq!(again, seconds, "{status}");
            let state = json!(to_state(trace(status, &result)));
            assert_eq!((&state["errors"], state.get("data")), (&json!([{"code": "IO_ERROR"}]), None));
        }
    }

    #[test]
    fn location_by_name_keeps_the_prefix_of_the_host() {
        for (prefix, rest) in [("", "/api/v1/data/orders/7/async"), ("/automation", "/shop/orders/7/async/")]
        {
            let request = TestRequest::post().uri(&format!("{prefix}{rest}")).to_http_request();
            let context = RequestContext {
                id: RequestId::generate(),
                client_ip: IpAddr::from([192, 0, 2, 1]),
                forwarded: false,
                principal: None,
                is_head: false,
                host_length: prefix.len(),
                channel_path_start: prefix.len() + channel_path_start(rest),
            };
            let headers = vec![(TRACE_ID_HEADER.to_owned(), "t-1".to_owned())];
            let body = "".into();
            let mut answer =
                ChannelResponse { status: 202, headers, body, is_guess: false, is_envelope: false };
            add_location(&request, &context, Some("orders"), &mut answer);
            let location = answer.headers.iter().find(|(name, _)| name == "location");
            let expected = format!("{prefix}/api/v1/data/orders/async/t-1");
            assert_eq!(location.map(|(_, place)| place.as_str()), Some(&*expected));
        }
    }

    #[test]
    fn names_are_escaped_in_the_location() {
        assert_eq!(encode_segment("a b/ü"), "a%20b%2F%C3%BC");
    }
}
