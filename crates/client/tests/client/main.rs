//! The client against a scripted server: attempts, errors, secrets, pages.

#![expect(clippy::unwrap_used, reason = "a failed expectation is the finding")]

mod http2;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use svc_client::{
    ApiKey, ApiRequest, Client, ClientError, ClientSettings, LocalAnswer, LocalRequest, LocalResponse,
    LocalServer, Pages, RetryPolicy, admin_path,
};
use svc_testkit::server::free_port;
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

const KEY: &str = "a-key-that-must-not-be-printed";

fn settings(upstream: &Upstream) -> ClientSettings {
    ClientSettings::new(format!("http://{}", upstream.address()).parse().unwrap())
}

fn client(upstream: &Upstream) -> Client {
    Client::new(settings(upstream)).unwrap()
}

fn refusal(status: u16, code: &str, headers: &[(&str, &str)]) -> UpstreamReply {
    let body = json!({"error": {"code": code, "message": "No.", "request_id": "r1",
        "details": [{"path": "tasks[0].id", "code": "REQUIRED", "message": "is required"}]}});
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    UpstreamReply::Answer { status, headers, body: body.to_string().into_bytes() }
}

/// Starts a server that gives these replies in turn, and the last one ever after.
fn scripted_server(replies: Vec<UpstreamReply>) -> Upstream {
    let next = AtomicUsize::new(0);
    Upstream::start(move |_| {
        let at = next.fetch_add(1, Ordering::SeqCst).min(replies.len() - 1);
        replies[at].clone()
    })
    .unwrap()
}

fn methods(upstream: &Upstream) -> Vec<String> {
    upstream.requests().iter().map(|request: &ReceivedRequest| request.method.clone()).collect()
}

#[tokio::test]
async fn request_carries_key_context_and_encoded_path() {
    let upstream = scripted_server(vec![UpstreamReply::new(200, r#"{"data":{"b":1,"a":2}}"#)]);
    let mut settings = settings(&upstream);
    settings.key = Some(ApiKey::new(KEY, None).unwrap());
    settings.change_context = Some("release 7".to_owned());
    let client = Client::new(settings).unwrap();
    let request = ApiRequest::get(admin_path(&["workflows", "a b/c"])).query("tag", "x&y");
    let response = client.send(&request).await.unwrap();
    assert_eq!(response.data::<Value>().unwrap().to_string(), r#"{"b":1,"a":2}"#);
    let received = &upstream.requests()[0];
    assert_eq!(received.target, "/api/v1/admin/workflows/a%20b%2Fc?tag=x%26y");
    assert_eq!(received.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(received.header("x-svc-change-context"), Some("release 7"));
    assert!(!format!("{client:?} {request:?}").contains(KEY), "{client:?}");
}

#[tokio::test]
async fn refusal_keeps_status_code_fields_and_request_id() {
    let upstream = scripted_server(vec![refusal(400, "VALIDATION_ERROR", &[])]);
    let error = client(&upstream).get::<Value>("/x").await.unwrap_err();
    let api = error.api().unwrap();
    assert_eq!((api.status, &*api.code, &*api.message), (400, "VALIDATION_ERROR", "No."));
    assert_eq!(api.request_id.as_deref(), Some("r1"));
    assert_eq!(api.details[0].to_string(), "tasks[0].id [REQUIRED]: is required");
    assert_eq!(error.to_string(), "[VALIDATION_ERROR] No.");
}

#[tokio::test]
async fn idempotent_request_is_repeated_and_another_is_not() {
    let upstream = scripted_server(vec![UpstreamReply::Cut, UpstreamReply::new(200, r#"{"data":1}"#)]);
    assert_eq!(client(&upstream).get::<u32>("/x").await.unwrap(), 1);
    assert_eq!(methods(&upstream), ["GET", "GET"]);

    let upstream = scripted_server(vec![UpstreamReply::Cut]);
    let error = client(&upstream).post::<Value>("/x", &json!({})).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    assert_eq!(methods(&upstream), ["POST"]);
}

#[tokio::test]
async fn retry_after_is_kept_before_the_next_attempt() {
    let limited = refusal(429, "RATE_LIMITED", &[("retry-after", "0")]);
    let upstream = scripted_server(vec![limited, UpstreamReply::new(200, r#"{"data":1}"#)]);
    assert_eq!(client(&upstream).post::<u32>("/x", &json!({})).await.unwrap(), 1);

    let closed = refusal(503, "SERVICE_UNAVAILABLE", &[("retry-after", "3600")]);
    let upstream = scripted_server(vec![closed]);
    let error = client(&upstream).get::<Value>("/x").await.unwrap_err();
    assert_eq!(error.api().unwrap().retry_after.unwrap().as_secs(), 3600);
    assert_eq!(methods(&upstream).len(), 1);
}

#[tokio::test]
async fn lost_answer_of_deletion_counts_as_done() {
    let upstream = scripted_server(vec![UpstreamReply::Cut, refusal(404, "NOT_FOUND", &[])]);
    client(&upstream).delete("/x").await.unwrap();

    let upstream = scripted_server(vec![refusal(404, "NOT_FOUND", &[])]);
    assert_eq!(client(&upstream).delete("/x").await.unwrap_err().status(), Some(404));
}

#[tokio::test]
async fn server_that_is_not_there_is_unreachable() {
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let mut settings = ClientSettings::new(format!("http://{address}").parse().unwrap());
    settings.retry = RetryPolicy::NEVER;
    let error = Client::new(settings).unwrap().get::<Value>("/x").await.unwrap_err();
    assert!(matches!(&error, ClientError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&address), "{error}");
}

#[tokio::test]
async fn answer_of_another_program_is_told_apart() {
    let upstream = scripted_server(vec![UpstreamReply::new(404, "<html>nginx</html>")]);
    let error = client(&upstream).get::<Value>("/x").await.unwrap_err();
    assert!(matches!(error, ClientError::Foreign { status: 404, .. }), "{error}");

    let upstream = scripted_server(vec![UpstreamReply::redirect(301, "https://elsewhere/")]);
    let error = client(&upstream).get::<Value>("/x").await.unwrap_err();
    assert!(error.to_string().contains("https://elsewhere/"), "{error}");
    assert_eq!(methods(&upstream).len(), 1);

    let upstream = scripted_server(vec![UpstreamReply::new(200, "[]")]);
    let error = client(&upstream).get::<Value>("/x").await.unwrap_err();
    assert!(matches!(error, ClientError::Shape { .. }), "{error}");
}

#[tokio::test]
async fn pages_are_read_to_the_end() {
    let upstream = Upstream::start(|request| {
        let offset = usize::from(request.target.contains("offset=2")) * 2;
        let rows: Vec<usize> = (offset..3.min(offset + 2)).collect();
        UpstreamReply::new(200, json!({"data": rows, "total": 3}).to_string())
    })
    .unwrap();
    let client = client(&upstream);
    let rows = Pages::new(&client, ApiRequest::get("/rows"), 2).collect().await.unwrap();
    assert_eq!(rows, [json!(0), json!(1), json!(2)]);
    assert_eq!(upstream.requests().len(), 2);
}

/// A server in the same process that describes the request in its answer, or refuses a DELETE.
#[derive(Debug)]
struct Mirror;

impl LocalServer for Mirror {
    fn answer(&self, request: LocalRequest) -> LocalAnswer {
        Box::pin(async move {
            let header = |name: &str| {
                let value = request.headers.iter().find(|(known, _)| known == name);
                value.map(|(_, value)| String::from_utf8(value.clone()).unwrap())
            };
            let seen = json!({"method": request.method, "target": request.target, "agent": header("user-agent"),
                "context": header("x-svc-change-context"), "body": String::from_utf8(request.body.to_vec()).unwrap()});
            let (status, body) = match request.method.as_str() {
                "DELETE" => (409, json!({"error": {"code": "CONFLICT", "message": "No."}})),
                _ => (200, json!({"data": seen})),
            };
            let headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
            Ok(LocalResponse { status, headers, body: body.to_string().into() })
        })
    }
}

#[tokio::test]
async fn local_server_answers_without_a_connection() {
    let mut settings = ClientSettings::new("http://localhost".parse().unwrap());
    settings.user_agent = "tool/1".to_owned();
    settings.change_context = Some("release 7".to_owned());
    settings.local = Some(Arc::new(Mirror));
    let client = Client::new(settings).unwrap();
    let request = ApiRequest::post(admin_path(&["a b"])).query("tag", "x&y").json(&json!({"c": 1})).unwrap();
    let seen: Value = client.send(&request).await.unwrap().data().unwrap();
    let expected = json!({"method": "POST", "target": "/api/v1/admin/a%20b?tag=x%26y", "agent": "tool/1",
        "context": "release 7", "body": "{\"c\":1}"});
    assert_eq!(seen, expected);
    let refused = client.delete("/x").await.unwrap_err();
    assert_eq!(refused.status(), Some(409), "{refused}");
}
