//! The codes of answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;

use super::NextStep::{self, Header, Table, Told};
use super::{ProvokedError, UnprovokedCode, check_walk, text_of};
use crate::cron::held_upstream;
use crate::support::{echo, echo_workflow, error, eventually, launch, serve, serve_with};

const ADMIN: &str = "/api/v1/admin";

/// The codes that no request provokes.
const UNPROVOKED: &[UnprovokedCode] = &[
    (
        "UNTRUSTED_PACKAGE",
        "takes a server with trusted keys",
        "tests/scenarios/packages/trust.rs",
        "unsigned_import_is_refused_by_code",
    ),
    (
        "PLUGIN_COMPILING",
        "takes a call in the moment before a component is compiled",
        "crates/plugins/tests/runtime.rs",
        "call_fails_with_retry_until_compiled",
    ),
    (
        "SUBMISSION_UNCERTAIN",
        "takes a database that refuses a row whose job has begun",
        "actors/traces/tests/queue/early_start.rs",
        "refused_row_of_begun_job_is_uncertain_once",
    ),
    (
        "INTERNAL_ERROR",
        "takes a fault of the service, which the test injects",
        "tests/service/crashes.rs",
        "crash_shows_no_secret_to_operators",
    ),
    (
        "CONFIG_ERROR",
        "kept for clients: a faulty configuration stops the start or quarantines",
        "src/error_codes.rs",
        "every_code_has_cause_and_remedy_as_sentences",
    ),
    (
        "SERIALIZATION_ERROR",
        "every value of a message can be written as JSON",
        "src/error_codes.rs",
        "every_code_has_cause_and_remedy_as_sentences",
    ),
];

/// The errors of one server.
struct AnswerWalk {
    server: ServerProcess,
    client: HttpClient,
    provoked: Vec<ProvokedError>,
}

impl AnswerWalk {
    fn start() -> Self {
        let command = launch();
        let blocked = command.directory().join("blocked");
        std::fs::write(&blocked, "no directory").unwrap();
        let server = command
            .env("SVC_STORAGE__BACKUP_DIR", blocked.to_str().unwrap())
            .env("SVC_INGEST__MAX_PAYLOAD_SIZE", "20000")
            .env("SVC_TRACE_QUEUE__MAX_RESULT_SIZE_BYTES", "1000")
            .env("SVC_SERVER__BODY_TIMEOUT_SECS", "1")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "1")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
            .start()
            .unwrap();
        let client = server.client();
        Self { server, client, provoked: Vec::new() }
    }

    /// Checks the envelope of an answer and keeps its error.
    fn take(&mut self, answer: &HttpResponse, code: &'static str, place: &'static str, next: NextStep) {
        let entry = svc::error_codes::response_codes().find(|entry| entry.name == code).unwrap();
        let text = error(answer, entry.status, code);
        if let Header(name) = next {
            assert!(answer.header(name).is_some_and(|value| !value.is_empty()), "{code}: no header {name}");
        }
        let details = text["details"].as_array().into_iter().flatten();
        // The places of a refused document are those of its details.
        let texts =
            details.map(|detail| format!("{}: {}", text_of(detail, "path"), text_of(detail, "message")));
        let message =
            std::iter::once(text_of(&text, "message").to_owned()).chain(texts).collect::<Vec<_>>().join("; ");
        self.provoked.push(ProvokedError { code, message, place, next });
    }

    fn post(&mut self, channel: &str, body: &Value) -> HttpResponse {
        self.client.json("POST", &format!("/api/v1/data/{channel}"), body).unwrap()
    }

    /// Sends bytes and reads the answer until the connection ends.
    fn raw(&self, bytes: &[u8]) -> HttpResponse {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // A server that refuses a head closes the connection while bytes of it are under way.
        let _ended = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        HttpResponse { status, headers, body: body.as_bytes().to_vec() }
    }

    fn requests(&mut self) {
        let refused = self.client.json("POST", &format!("{ADMIN}/workflows"), &json!({"name": "w"})).unwrap();
        self.take(&refused, "VALIDATION_ERROR", "tasks", Told("this field is required"));
        let refused = self.client.get(&format!("{ADMIN}/workflows/absent")).unwrap();
        self.take(&refused, "NOT_FOUND", "workflow 'absent'", Told("does not exist"));
        let refused = self.post("absent", &json!({}));
        self.take(&refused, "NOT_FOUND", "'absent'", Told("No active channel"));
        let refused = self.client.json("DELETE", &format!("{ADMIN}/workflows"), &json!({})).unwrap();
        self.take(&refused, "METHOD_NOT_ALLOWED", "The path", Header("allow"));
        let workflow = echo_workflow("twice");
        assert_eq!(self.client.json("POST", &format!("{ADMIN}/workflows"), &workflow).unwrap().status, 201);
        let refused = self.client.json("POST", &format!("{ADMIN}/workflows"), &workflow).unwrap();
        self.take(&refused, "CONFLICT", "workflow 'twice'", Told("exists already"));
        let headers = [("if-match", "\"stale\""), ("content-type", "application/json")];
        let refused = self.client.send("PUT", &format!("{ADMIN}/workflows/twice"), &headers, b"{}").unwrap();
        self.take(&refused, "PRECONDITION_FAILED", "workflow 'twice'", Told("read it again"));
        echo(&mut self.client, "e", json!({}));
        let large = json!("x".repeat(30_000));
        let refused = self.post("e", &large);
        self.take(&refused, "PAYLOAD_TOO_LARGE", "body", Told("20000 bytes (ingest.max_payload_size)"));
        let refused =
            self.client.send("POST", "/api/v1/data/e", &[("content-type", "text/csv")], b"a").unwrap();
        self.take(&refused, "UNSUPPORTED_MEDIA_TYPE", "content type", Told("must be application/json"));
        let head = b"POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
        let refused = self.raw(head);
        self.take(&refused, "REQUEST_TIMEOUT", "The request", Told("in time"));
        let refused = self.raw(&[b"GET / HTTP/1.1\r\nhost: x\r\nx: ".as_slice(), &[b'a'; 300_000]].concat());
        self.take(&refused, "REQUEST_HEADER_FIELDS_TOO_LARGE", "The head", Told("too large"));
        let elsewhere = format!("{ADMIN}/actors/traces/recorder/restart?node=another");
        let refused = self.client.json("POST", &elsewhere, &json!({})).unwrap();
        self.take(&refused, "MISDIRECTED_REQUEST", "node 'another'", Told("this is node"));
    }

    fn guards(&mut self) {
        echo(&mut self.client, "locked", json!({"auth": {"mode": "api_key", "keys": ["k"]}}));
        let refused = self.post("locked", &json!({}));
        self.take(&refused, "UNAUTHORIZED", "Channel authentication", Table);
        echo(&mut self.client, "ours", json!({"origin_allow_list": ["https://a.example"]}));
        let headers = [("origin", "https://b.example"), ("content-type", "application/json")];
        let refused = self.client.send("POST", "/api/v1/data/ours", &headers, b"{}").unwrap();
        self.take(&refused, "FORBIDDEN", "Origin", Table);
        echo(&mut self.client, "rare", json!({"rate_limit": {"requests_per_second": 1, "burst": 1}}));
        let mut limited = self.post("rare", &json!({}));
        eventually(|| {
            limited = self.post("rare", &json!({}));
            limited.status != 200
        });
        self.take(&limited, "RATE_LIMITED", "Too many requests", Header("retry-after"));
        echo(&mut self.client, "capped", json!({"quota": {"limit": 1, "per": "month"}}));
        let mut capped = self.post("capped", &json!({}));
        eventually(|| {
            capped = self.post("capped", &json!({}));
            capped.status != 200
        });
        self.take(&capped, "QUOTA_EXCEEDED", "The quota", Header("retry-after"));
        echo(&mut self.client, "repeated", json!({"deduplication": replay()}));
        assert_eq!(send_once(&mut self.client, "repeated", b"{}").status, 200);
        let refused = send_once(&mut self.client, "repeated", b"[]");
        self.take(&refused, "IDEMPOTENCY_KEY_REUSED", "The idempotency key", Table);
        echo(&mut self.client, "paused", json!({}));
        let pause = format!("{ADMIN}/channels/paused/pause");
        assert_eq!(self.client.json("POST", &pause, &json!({"reason": "down"})).unwrap().status, 200);
        let refused = self.post("paused", &json!({}));
        self.take(&refused, "CHANNEL_PAUSED", "Channel", Header("retry-after"));
        let key = json!({"auth": {"mode": "api_key", "keys": ["env://SVC_SECRET_NOT_SET"]}});
        echo(&mut self.client, "quarantined", key);
        let refused = self.post("quarantined", &json!({}));
        self.take(&refused, "SERVICE_UNAVAILABLE", "Channel", Table);
    }

    fn runs(&mut self) {
        let throw = json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"throw": "no"}}]}}}]);
        serve(&mut self.client, "fails", throw);
        let failed = self.post("fails", &json!({}));
        self.take(&failed, "ENGINE_ERROR", "'boom'", Told("TASK_STATUS_ERROR"));
        let result = self.post("e", &json!("x".repeat(2000)));
        self.take(
            &result,
            "RESPONSE_TOO_LARGE",
            "result",
            Told("trace_queue.max_result_size_bytes allows 1000"),
        );
        let upstream = held_upstream(&mut self.client);
        let call = json!([{"id": "wait", "name": "", "function": {"name": "http_call", "input": {
            "connector": "api", "path": "/"}}}]);
        serve_with(&mut self.client, "late", json!({"timeout_ms": 1000}), call.clone());
        let late = self.post("late", &json!({}));
        self.take(&late, "TIMEOUT", "'wait'", Told("the deadline of the run"));
        serve_with(&mut self.client, "once", json!({"deduplication": replay()}), call.clone());
        serve_with(&mut self.client, "narrow", json!({"backpressure": {"max_concurrent_per_node": 1}}), call);
        let waiting = upstream.requests().len();
        let mut first = self.server.client();
        let first = thread::spawn(move || first.json("POST", "/api/v1/data/narrow", &json!({})));
        upstream.wait_for(waiting + 1);
        let refused = self.post("narrow", &json!({}));
        self.take(&refused, "SERVICE_UNAVAILABLE", "'narrow'", Header("retry-after"));
        let waiting = upstream.requests().len();
        let mut running = self.server.client();
        let once = thread::spawn(move || send_once(&mut running, "once", b"{}").status);
        upstream.wait_for(waiting + 1);
        let refused = send_once(&mut self.client, "once", b"{}");
        self.take(&refused, "IDEMPOTENCY_IN_PROGRESS", "idempotency key", Header("retry-after"));
        upstream.open();
        assert_eq!((first.join().unwrap().unwrap().status, once.join().unwrap()), (200, 200));
        let nowhere = json!({"name": "nowhere", "connector_type": "http", "config": {
            "url": "http://127.0.0.1:1", "allow_private_urls": true, "retry": {"max_retries": 0}}});
        assert_eq!(self.client.json("POST", &format!("{ADMIN}/connectors"), &nowhere).unwrap().status, 201);
        let call = json!([{"id": "reach", "name": "", "function": {"name": "http_call", "input": {
            "connector": "nowhere", "path": "/"}}}]);
        serve(&mut self.client, "cut", call);
        let failed = self.post("cut", &json!({}));
        self.take(&failed, "ENGINE_ERROR", "'reach'", Told("IO_ERROR"));
        let refused = self.post("cut", &json!({}));
        self.take(&refused, "CIRCUIT_OPEN", "'nowhere'", Header("retry-after"));
        let refused = self.client.get(&format!("{ADMIN}/backups")).unwrap();
        self.take(&refused, "STORAGE_ERROR", "directory of backups", Told("Not a directory"));
    }
}

/// Makes the block of a channel that answers repeats as it answered the first request.
fn replay() -> Value {
    json!({"header": "idempotency-key", "on_duplicate": "replay"})
}

/// Sends a request with the one idempotency key of a channel.
fn send_once(client: &mut HttpClient, channel: &str, body: &[u8]) -> HttpResponse {
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    client.send("POST", &format!("/api/v1/data/{channel}"), &headers, body).unwrap()
}

#[test]
fn every_answer_code_names_place_and_remedy() {
    let mut walk = AnswerWalk::start();
    walk.requests();
    walk.guards();
    walk.runs();
    check_walk(&walk.provoked, UNPROVOKED, svc::error_codes::response_codes());
}
