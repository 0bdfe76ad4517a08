//! The codes of task errors.

use std::thread;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::NextStep::{self, Table, Told};
use super::{ProvokedError, UnprovokedCode, check_walk, text_of};
use crate::cron::held_upstream;
use crate::support::{echo, eventually, launch, serve, serve_with};

const ADMIN: &str = "/api/v1/admin";

/// The codes that no request provokes.
const UNPROVOKED: &[UnprovokedCode] = &[
    (
        "FUNCTION_NOT_FOUND",
        "kept for traces: a workflow with such a task is refused, or its channels are quarantined",
        "src/error_codes.rs",
        "every_code_has_cause_and_remedy_as_sentences",
    ),
    (
        "UNKNOWN_ERROR",
        "kept for stubs of test cases: every error of the service has a class",
        "src/error_codes.rs",
        "every_code_has_cause_and_remedy_as_sentences",
    ),
    (
        "PLUGIN_COMPILING",
        "takes a call in the moment before a component is compiled",
        "crates/plugins/tests/runtime.rs",
        "call_fails_with_retry_until_compiled",
    ),
    (
        "PLUGIN_ERROR",
        "takes a component that refuses its input",
        "crates/plugins/tests/runtime.rs",
        "error_of_guest_has_its_code_and_class",
    ),
    (
        "PLUGIN_LIMIT",
        "takes a component that reaches its bounds",
        "crates/plugins/tests/runtime.rs",
        "inputs_and_results_are_bounded",
    ),
    (
        "PLUGIN_TRAP",
        "takes a component that traps",
        "crates/plugins/tests/runtime.rs",
        "harmful_code_fails_its_task_alone",
    ),
    (
        "channel_forbidden",
        "no guard that applies to calls between channels answers 403",
        "actors/channels/src/run/failure.rs",
        "later_run_may_succeed_where_one_error_may_heal",
    ),
    (
        "channel_conflict",
        "no guard that applies to calls between channels answers 409",
        "src/error_codes.rs",
        "every_code_has_cause_and_remedy_as_sentences",
    ),
];

/// The errors of the tasks of one server.
struct TaskWalk {
    server: ServerProcess,
    client: HttpClient,
    provoked: Vec<ProvokedError>,
    channels: usize,
}

impl TaskWalk {
    fn start() -> Self {
        let server = launch()
            .env("SVC_TRACE_STORAGE__MODE", "sync")
            .env("SVC_ENGINE__MAX_FAN_OUT", "2")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "1")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
            .start()
            .unwrap();
        let client = server.client();
        Self { server, client, provoked: Vec::new(), channels: 0 }
    }

    fn connector(&mut self, name: &str, kind: &str, config: Value) {
        let body = json!({"name": name, "connector_type": kind, "config": config});
        let created = self.client.json("POST", &format!("{ADMIN}/connectors"), &body).unwrap();
        assert_eq!(created.status, 201, "{name}: {}", created.text());
    }

    /// Serves a task that tolerates its errors and returns its channel.
    fn serve_task(&mut self, function: &str, input: Value) -> String {
        self.channels += 1;
        let channel = format!("task-{}", self.channels);
        let task = json!([{"id": "failing", "name": "", "continue_on_error": true,
            "function": {"name": function, "input": input}}]);
        serve(&mut self.client, &channel, task);
        channel
    }

    /// Calls a channel and returns the errors of the run.
    fn errors(&mut self, channel: &str) -> Vec<Value> {
        let payload = json!({"text": "no number", "id": 1});
        let answer = self.client.json("POST", &format!("/api/v1/data/{channel}"), &payload).unwrap();
        assert_eq!(answer.status, 200, "{channel}: {}", answer.text());
        answer.json()["errors"].as_array().unwrap().clone()
    }

    /// Calls a channel and takes the first error of the run.
    fn take(&mut self, channel: &str, code: &'static str, place: &'static str, next: NextStep) {
        let errors = self.errors(channel);
        self.keep(&errors, code, place, next);
    }

    /// Keeps the first error of a run.
    fn keep(&mut self, errors: &[Value], code: &'static str, place: &'static str, next: NextStep) {
        let first = errors.first().unwrap_or_else(|| panic!("{code}: no error"));
        assert_eq!((&first["code"], &first["task_id"]), (&json!(code), &json!("failing")), "{first}");
        let message = text_of(first, "message").to_owned();
        self.provoked.push(ProvokedError { code, message, place, next });
    }

    /// Runs one task and takes its error.
    fn fail(
        &mut self,
        function: &str,
        input: Value,
        code: &'static str,
        place: &'static str,
        next: NextStep,
    ) {
        let channel = self.serve_task(function, input);
        self.take(&channel, code, place, next);
    }

    fn expressions(&mut self) {
        let number = json!({"+": [{"var": "payload.text"}, 1]});
        let rules = json!({"rules": [{"logic": {"==": [number, 2]}, "message": "m"}]});
        self.fail("validation", rules, "EVALUATION_ERROR", "payload.text", Told("needs numbers"));
        let mappings = json!({"mappings": [{"path": "data.x", "logic": number}]});
        self.fail("map", mappings, "TASK_STATUS_ERROR", "data.x", Told("needs numbers"));
        let hash = json!({"op": "hash", "algorithm": "sha256", "data": "d", "output": "data.list.2000"});
        self.fail("crypto", hash, "TASK_ERROR", "data.list.2000", Told("more than 1024"));
        let parse = json!({"source": "payload.text", "target": "x"});
        self.fail("parse_xml", parse, "DESERIALIZATION_ERROR", "payload.text", Told("not XML"));
    }

    fn calls(&mut self) {
        let upstream = Upstream::start(|request| match request.target.as_str() {
            "/held" => UpstreamReply::Held,
            _ => UpstreamReply::new(404, "{}"),
        })
        .unwrap();
        let open = json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
        self.connector("peer", "http", open.clone());
        let mut closed = open.clone();
        closed["operations"] = json!({"methods": ["POST"]});
        self.connector("closed", "http", closed);
        let mut nowhere = open;
        nowhere["url"] = json!("http://127.0.0.1:1");
        self.connector("nowhere", "http", nowhere);
        let call = |connector: &str, path: &str| json!({"connector": connector, "path": path});
        let headers = json!({"connector": "peer", "path": "/", "headers_logic": {"var": "payload.text"}});
        self.fail("http_call", headers, "VALIDATION_ERROR", "headers_logic", Told("expected an object"));
        let path = json!({"connector": "peer", "path_logic": {"+": [{"var": "payload.text"}, 1]}});
        self.fail("http_call", path, "LOGIC_ERROR", "payload.text", Told("needs numbers"));
        self.fail("http_call", call("peer", "/absent"), "HTTP_ERROR", "'peer'", Told("404"));
        let held = json!({"connector": "peer", "path": "/held", "timeout_ms": 50});
        self.fail("http_call", held, "TIMEOUT_ERROR", "'peer'", Told("within 50 ms"));
        upstream.open();
        self.fail("http_call", call("closed", "/"), "connector_detail", "'closed'", Told("does not allow"));
        let cut = self.serve_task("http_call", call("nowhere", "/"));
        self.take(&cut, "IO_ERROR", "127.0.0.1:1", Told("check that the system runs"));
        self.take(&cut, "circuit_open", "'nowhere'", Told("is open"));
    }

    fn databases(&mut self) {
        let file = self.server.directory().join("app.db").display().to_string();
        self.connector("shop", "db", json!({"connection_string": format!("sqlite:{file}")}));
        let write = |query: &str| json!({"connector": "shop", "query": query});
        for table in [
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n > 0), p INTEGER REFERENCES p (id))",
            "INSERT INTO t VALUES ('a', 1, NULL)",
        ] {
            let channel = self.serve_task("db_write", write(table));
            assert_eq!(self.errors(&channel), [Value::Null; 0], "{table}");
        }
        for (query, code, place, next) in [
            ("INSERT INTO absent VALUES (1)", "FUNCTION_ERROR", "'shop'", Told("no such table")),
            ("INSERT INTO t VALUES ('a', 1, NULL)", "integrity_unique", "'shop'", Told("unique constraint")),
            (
                "INSERT INTO t VALUES ('b', 1, 7)",
                "integrity_foreign_key",
                "'shop'",
                Told("foreign key constraint"),
            ),
            (
                "INSERT INTO t VALUES ('b', NULL, NULL)",
                "integrity_not_null",
                "'shop'",
                Told("not-null constraint"),
            ),
            ("INSERT INTO t VALUES ('b', -1, NULL)", "integrity_check", "'shop'", Told("check constraint")),
        ] {
            self.fail("db_write", write(query), code, place, next);
        }
    }

    fn channels(&mut self) {
        let call = |channel: &str| json!({"channel": channel, "output": "data.got"});
        echo(&mut self.client, "rare", json!({"rate_limit": {"requests_per_second": 1, "burst": 1}}));
        let limited = self.serve_task("channel_call", call("rare"));
        let mut refused = Vec::new();
        eventually(|| {
            refused = self.errors(&limited);
            !refused.is_empty()
        });
        self.keep(&refused, "channel_rate_limited", "'rare'", Told("Too many requests"));
        let upstream = held_upstream(&mut self.client);
        let wait = json!([{"id": "wait", "name": "", "function": {"name": "http_call", "input": {
            "connector": "api", "path": "/"}}}]);
        let narrow = json!({"backpressure": {"max_concurrent_per_node": 1}});
        serve_with(&mut self.client, "narrow", narrow, wait);
        let mut first = self.server.client();
        let first = thread::spawn(move || first.json("POST", "/api/v1/data/narrow", &json!({})));
        upstream.wait_for(1);
        self.fail("channel_call", call("narrow"), "channel_unavailable", "'narrow'", Told("at capacity"));
        upstream.open();
        assert_eq!(first.join().unwrap().unwrap().status, 200);
    }

    fn fan_outs(&mut self) {
        let task = json!([{"id": "failing", "name": "", "continue_on_error": true,
            "for_each": {"over": [1, 2, 3], "into": "data.list"}, "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": 1}]}}}]);
        serve(&mut self.client, "fan-out", task);
        self.take("fan-out", "LIMIT_EXCEEDED", "for_each", Told("engine.max_fan_out (2)"));
    }

    /// The mark of a stopped workflow is in the trace of the run.
    fn stopped(&mut self) {
        let task = json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"throw": "no"}}]}}}]);
        serve(&mut self.client, "stopped", task);
        let answer = self.client.json("POST", "/api/v1/data/stopped", &json!({})).unwrap();
        assert_eq!(answer.status, 500, "{}", answer.text());
        let page = self.client.get(&format!("{ADMIN}/traces?channel=stopped")).unwrap().json();
        let id = text_of(&page["data"][0], "id").to_owned();
        let trace = self.client.get(&format!("{ADMIN}/traces/{id}")).unwrap().json();
        let errors = trace["data"]["errors"].as_array().unwrap();
        let entry = errors.iter().find(|error| error["code"] == "WORKFLOW_ERROR");
        let message = text_of(entry.unwrap_or_else(|| panic!("{trace}")), "message").to_owned();
        self.provoked.push(ProvokedError { code: "WORKFLOW_ERROR", message, place: "\"boom\"", next: Table });
    }
}

#[test]
fn every_task_error_names_place_and_remedy() {
    let mut walk = TaskWalk::start();
    walk.expressions();
    walk.calls();
    walk.databases();
    walk.channels();
    walk.fan_outs();
    walk.stopped();
    check_walk(&walk.provoked, UNPROVOKED, svc::error_codes::task_error_codes());
}
