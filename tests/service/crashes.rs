//! A crash reveals no secret, and its answer names its trace.

#![expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use slog::{Drain as _, Logger, o};
use svc::Options;
use svc::engine::catalogue::FunctionEntry;
use svc::engine::{ClosureFunction, TaskError};
use svc_channels::ProbeVersion;
use svc_testkit::canary::{Canaries, value};
use svc_testkit::example::create_and_activate;

use crate::kit::{expect_soon, panics, wait, with_service};

static PANIC: FunctionEntry = FunctionEntry::plugin("panic", "Panics");

/// The output of a logger.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

#[test]
fn crash_shows_no_secret_to_operators() {
    let mut canaries = Canaries::default();
    let mut plant = |number: u64, name: &str| {
        let text = value(number, 40);
        canaries.add(name, text.as_bytes(), &[]);
        text
    };
    let (key, literal, code) =
        (plant(1, "auth.keys"), plant(2, "auth.keys, literal"), plant(3, "crypto.key"));
    let presented = plant(4, "presented");
    let log = Written::default();
    let json = Mutex::new(slog_json::Json::default(log.clone()));
    let faults = [("Submit", 1..=3), ("ProbeVersion", 1..=20)];
    let options = Options {
        log: Logger::root(json.fuse(), o!()),
        environment: vec![("KEY".to_owned(), key.clone()), ("CODE".to_owned(), code)],
        faults: faults
            .into_iter()
            .flat_map(|(name, times)| panics("channels/locked/*", name, times))
            .collect(),
        ..Options::default()
    };
    with_service(options, move |running| {
        let mut client = running.client();
        let task = json!({"id": "code", "name": "", "function": {"name": "crypto",
            "input": {"op": "hmac", "key": "env://CODE", "data": "d", "output": "data.code"}}});
        let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [task]});
        create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
        let auth = json!({"mode": "api_key", "header": "x-key", "keys": ["env://KEY", literal]});
        let channel = json!({"channel_id": "locked", "name": "locked", "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": "/locked", "workflow_id": "w", "config": {"auth": auth}});
        create_and_activate(&mut client, "channels", "channel_id", &channel).unwrap();
        let mut said = String::new();
        let headers = [
            ("x-key", key.as_str()),
            ("authorization", presented.as_str()),
            ("content-type", "application/json"),
        ];
        // Messages fail one by one; then the actors fail past their budget.
        let mut call = || {
            let answer = client.send("POST", "/api/v1/data/locked", &headers, b"{}").unwrap();
            said.push_str(&answer.text());
            if answer.status == 500 {
                let error = answer.json()["error"].clone();
                let id = answer.header("x-request-id").unwrap();
                let expected =
                    json!({"code": "INTERNAL_ERROR", "message": "Internal server error", "request_id": id});
                assert_eq!(error, expected, "the log has the cause under that id");
            }
            answer.status
        };
        assert_eq!(call(), 500);
        expect_soon(|| call() == 200);
        while let Some(actor) = running.actor("locked") {
            let _ = wait(actor.call(ProbeVersion));
        }
        assert_eq!(call(), 503);
        for path in ["/health", "/metrics", "/api/v1/admin/actors", "/api/v1/admin/traces"] {
            said.push_str(&client.get(path).unwrap().text());
        }
        for (place, text) in [("answers", said), ("the log", log.text())] {
            let leaks = canaries.find_in(place, &text);
            assert!(leaks.is_empty(), "{leaks:?} came out in {place}");
        }
        // The supervisor writes the message of a panic into the log.
        expect_soon(|| {
            let log = log.text();
            log.contains("injected fault") && log.contains("quarantined")
        });
    });
}

#[test]
fn answer_of_panicked_run_names_its_trace() {
    let panic = |_: &Map<String, Value>| -> Result<Value, TaskError> { panic!("a defect") };
    let functions: Vec<Arc<dyn svc::engine::Function>> = vec![Arc::new(ClosureFunction::new(&PANIC, panic))];
    with_service(Options { functions, ..Options::default() }, |running| {
        let mut client = running.client();
        let task = json!({"id": "t", "name": "t", "function": {"name": "panic", "input": {}}});
        let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [task]});
        create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
        for (name, mode) in [("traced", "sync"), ("untraced", "off")] {
            let channel = json!({"channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest",
                "methods": ["POST"], "route_pattern": format!("/{name}"), "workflow_id": "w",
                "config": {"tracing": {"mode": mode}}});
            create_and_activate(&mut client, "channels", "channel_id", &channel).unwrap();
            let answer = client.json("POST", &format!("/api/v1/data/{name}"), &json!({})).unwrap();
            let error = &answer.json()["error"];
            assert_eq!((answer.status, &error["code"]), (500, &json!("INTERNAL_ERROR")), "{name}");
            if mode == "off" {
                assert_eq!((error.get("trace_id"), answer.header("x-trace-id")), (None, None));
                continue;
            }
            let id = error["trace_id"].as_str().unwrap();
            assert_eq!(answer.header("x-trace-id"), Some(id));
            let trace = client.get(&format!("/api/v1/admin/traces/{id}")).unwrap().json();
            assert_eq!(trace["data"]["status"], "failed", "{trace}");
        }
    });
}
