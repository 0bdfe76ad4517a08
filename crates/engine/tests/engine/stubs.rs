//! Stand-ins of connectors and channels: the calls that they record, and what they answer.

use std::time::Duration;

use serde_json::{Value, json};
use svc_engine::{CompileSecrets, Engine, Flow, Message, RunOptions, RunOutcome, StubCall, Stubs};
use svc_secrets::Readings;
use tokio::time::Instant;

use crate::declared;
use crate::support::{block_on, message, workflow};

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

fn compile(engine: &Engine, tasks: Value) -> Flow {
    let declared = engine.declared_secrets();
    let material = CompileSecrets { references: &Readings::default(), declared: &declared };
    Flow::single(engine.compile_stubbed(&workflow(&json!({"tasks": tasks})), material).unwrap())
}

fn run_stubbed(engine: &Engine, flow: &Flow, message: Message, stubs: &Value) -> RunOutcome {
    let stubs = Stubs::parse(engine.catalogue(), stubs, "stubs").unwrap();
    block_on(engine.run(flow, message, RunOptions { stubs, ..RunOptions::default() }))
}

fn run(tasks: Value, payload: Value, stubs: &Value) -> RunOutcome {
    let engine = declared::engine();
    run_stubbed(&engine, &compile(&engine, tasks), message(payload), stubs)
}

fn codes(outcome: &RunOutcome) -> Vec<&str> {
    outcome.errors.iter().map(|error| error.code.name()).collect()
}

#[test]
fn stubbed_attempts_do_not_wait() {
    let mut read =
        task("read", "db_read", json!({"connector": "shop", "query": "select 1", "output": "data.rows"}));
    read["retry"] = json!({"attempts": 3, "delay": "1h"});
    let engine = declared::engine();
    let flow = compile(&engine, json!([read]));
    let stubs = json!({"db_read": {"shop": {"$error": {"code": "IO_ERROR"}}}});
    let stubs = Stubs::parse(engine.catalogue(), &stubs, "stubs").unwrap();
    let options = RunOptions { stubs, ..RunOptions::default() };
    let (outcome, time) = block_on(async {
        let began = Instant::now();
        let outcome = engine.run(&flow, message(json!(null)), options).await;
        (outcome, began.elapsed())
    });
    assert_eq!(outcome.calls.len(), 3);
    assert_eq!(outcome.failure.unwrap().error.code.name(), "IO_ERROR");
    assert!(time < Duration::from_secs(1), "{time:?}");
}

#[test]
fn call_is_recorded_as_it_would_be_sent() {
    let tasks = json!([
        task("in", "parse_json", json!({"source": "payload", "target": "o"})),
        task(
            "get",
            "http_call",
            json!({"connector": "crm", "path_logic": {"cat": ["/orders/", {"var": "data.o.id"}]}})
        ),
        task(
            "post",
            "http_call",
            json!({"connector": "crm", "method": "POST", "path": "/x",
            "headers": {"x-a": "1"}, "body_logic": {"n": {"+": [{"var": "data.o.id"}, 1]}}, "output": "data.r"})
        ),
        task(
            "tell",
            "publish_kafka",
            json!({"connector": "bus", "topic": "t", "key_logic": {"var": "data.o.id"}})
        ),
        task("call", "channel_call", json!({"channel_logic": {"cat": ["au", "dit"]}, "output": "data.c"})),
        task(
            "read",
            "db_read",
            json!({"connector": "shop", "query": "select 1", "params": [{"var": "data.o.id"}],
            "output": "data.rows"})
        ),
    ]);
    let stubs = json!({"http_call": {"*": {"ok": true}}, "publish_kafka": {"bus": null},
        "channel_call": {"audit": 1}, "db_read": {"shop": []}});
    let outcome = run(tasks, json!({"id": 7}), &stubs);
    assert_eq!(codes(&outcome), [""; 0], "{:?}", outcome.errors);
    let data = json!({"o": {"id": 7}, "r": {"ok": true}});
    let calls = StubCall::by_function(&outcome.calls);
    let call = |seq: u64, task: &str, function: &str, target: &str, input: Value| json!({"seq": seq, "task_id": task, "function": function, "stub_target": target, "input": input});
    assert_eq!(
        calls,
        json!({
            "http_call": [
                call(0, "get", "http_call", "crm", json!({"connector": "crm", "method": "GET", "path": "/orders/7"})),
                call(1, "post", "http_call", "crm", json!({"connector": "crm", "method": "POST", "path": "/x",
                    "headers": {"x-a": "1"}, "body": {"n": 8}})),
            ],
            "publish_kafka": [call(2, "tell", "publish_kafka", "bus",
                json!({"connector": "bus", "topic": "t", "key": "7", "value": data}))],
            "channel_call": [call(3, "call", "channel_call", "audit", json!({"channel": "audit", "data": {"id": 7}}))],
            "db_read": [call(4, "read", "db_read", "shop",
                json!({"connector": "shop", "query": "select 1", "params": [7]}))],
        })
    );
    assert_eq!(outcome.message.data, json!({"o": {"id": 7}, "r": {"ok": true}, "c": 1, "rows": []}));
}

#[test]
fn recorded_tombstone_has_no_value() {
    for (tombstone, value) in [(json!(true), None), (json!(false), Some(json!({})))] {
        let input = json!({"connector": "bus", "topic": "t", "key": "k", "tombstone": tombstone});
        let tasks = json!([task("delete", "publish_kafka", input)]);
        let outcome = run(tasks, json!({}), &json!({"publish_kafka": {"*": null}}));
        let recorded = &StubCall::by_function(&outcome.calls)["publish_kafka"][0]["input"];
        assert_eq!((&recorded["tombstone"], recorded.get("value")), (&tombstone, value.as_ref()));
    }
}

#[test]
fn result_without_output_replaces_data_or_is_discarded() {
    let alone = |function: &str, input: Value| {
        run(json!([task("t", function, input)]), json!({}), &json!({function: {"*": {"new": 1}}}))
            .message
            .data
    };
    assert_eq!(alone("channel_call", json!({"channel": "a"})), json!({"new": 1}));
    assert_eq!(alone("db_read", json!({"connector": "a", "query": "q"})), json!({"new": 1}));
    assert_eq!(alone("http_call", json!({"connector": "a"})), json!({}));
    assert_eq!(alone("publish_kafka", json!({"connector": "a", "topic": "t"})), json!({}));
}

#[test]
fn missing_stub_fails_task_and_records_call() {
    let tasks = json!([task("t", "db_read", json!({"connector": "shop", "query": "q"}))]);
    let outcome = run(tasks, json!({}), &json!({"db_read": {"other": 1}}));
    assert_eq!(codes(&outcome), ["FUNCTION_ERROR", "WORKFLOW_ERROR"]);
    assert!(outcome.errors[0].message.contains("db_read of 'shop'"), "{}", outcome.errors[0].message);
    assert_eq!(outcome.calls.len(), 1);
}

#[test]
fn task_stub_wins_over_target_and_any() {
    let read = |id: &str, connector: &str| {
        task(id, "db_read", json!({"connector": connector, "query": "q", "output": format!("data.{id}")}))
    };
    let tasks = json!([read("a", "shop"), read("b", "shop"), read("c", "crm")]);
    let stubs = json!({"db_read": {"*": "any", "shop": "shop", "shop#b": "second"}});
    let data = run(tasks, json!({}), &stubs).message.data;
    assert_eq!(data, json!({"a": "shop", "b": "second", "c": "any"}));
}

#[test]
fn a_stub_may_fail_as_its_system_did() {
    let mut call = task("t", "http_call", json!({"connector": "bank", "output": "data.x"}));
    call["continue_on_error"] = json!(true);
    let stubs = json!({"http_call": {"bank": {"$error": {"code": "HTTP_ERROR", "message": "down", "status": 502,
        "body": {"a": 1}}}}});
    let outcome = run(json!([call]), json!({}), &stubs);
    assert_eq!(codes(&outcome), ["HTTP_ERROR"]);
    let record = &outcome.message.metadata["_svc_errors"][0];
    assert_eq!((&record["status"], &record["body"]), (&json!(502), &json!({"a": 1})), "{record}");
}

#[test]
fn malformed_stub_is_refused_with_nearest_name() {
    let engine = declared::engine();
    let refused = |stubs: Value| {
        let errors = Stubs::parse(engine.catalogue(), &stubs, "stubs").unwrap_err();
        errors.iter().map(|error| format!("{} {}", error.path, error.message)).collect::<Vec<_>>().join("; ")
    };
    let error = |error: Value| json!({"http_call": {"bank": {"$error": error}}});
    for (stubs, expected) in [
        (json!([]), "stubs expected object"),
        (json!({"db_raed": {}}), "did you mean db_read?"),
        (json!({"map": {}}), "stubs.map no function of this name"),
        (json!({"db_read": []}), "stubs.db_read expected object"),
        (error(json!({"code": "HTP_ERROR"})), "did you mean HTTP_ERROR?"),
        (error(json!({})), "stubs.http_call.bank.$error.code this field is required"),
        (error(json!({"code": "HTTP_ERROR", "status": 42})), "a status from 100 to 599"),
        (error(json!({"code": "HTTP_ERROR", "sttus": 502})), "did you mean 'status'?"),
        (error(json!("HTTP_ERROR")), "stubs.http_call.bank.$error expected object"),
    ] {
        let text = refused(stubs.clone());
        assert!(text.contains(expected), "{stubs}: {text}");
    }
}

#[test]
fn no_record_of_a_call_shows_a_secret() {
    let engine = declared::engine().with_secrets([("token", json!("s3cret-token"))].into_iter().collect());
    let tasks = json!([task(
        "t",
        "http_call",
        json!({"connector": "crm", "method": "POST",
        "path_logic": {"cat": ["/k/", {"secret": "token"}]}, "body_logic": {"key": {"secret": "token"}, "n": 1}})
    )]);
    let outcome =
        run_stubbed(&engine, &compile(&engine, tasks), message(json!({})), &json!({"http_call": {"*": 1}}));
    assert_eq!(outcome.calls[0].input["body"], json!({"key": "******", "n": 1}));
    assert_eq!(outcome.calls[0].input["path"], "******", "made of a secret");
}

#[test]
fn stub_refuses_mistyped_input_like_its_function() {
    let tasks = json!([task(
        "t",
        "db_read",
        json!({"connector": "shop", "query": "q", "params": {"var": "data.no"}})
    )]);
    let outcome = run(tasks, json!({}), &json!({"db_read": {"*": []}}));
    assert_eq!(codes(&outcome), ["VALIDATION_ERROR", "WORKFLOW_ERROR"]);
    assert!(outcome.errors[0].message.starts_with("params: expected array"), "{}", outcome.errors[0].message);
    assert_eq!(outcome.calls, []);
    let tasks = json!([task("t", "channel_call", json!({"channel_logic": {"var": "data.none"}}))]);
    assert_eq!(codes(&run(tasks, json!({}), &json!({}))), ["VALIDATION_ERROR", "WORKFLOW_ERROR"]);
}

#[test]
fn one_compilation_serves_runs_with_different_answers() {
    let engine = declared::engine();
    let flow = compile(&engine, json!([task("t", "db_read", json!({"connector": "shop", "query": "q"}))]));
    for answer in [json!(1), json!({"a": [2]})] {
        let outcome = run_stubbed(&engine, &flow, message(json!({})), &json!({"db_read": {"shop": answer}}));
        assert_eq!((outcome.message.data, outcome.calls.len()), (answer, 1));
    }
}
