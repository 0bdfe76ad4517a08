//! The order of tasks and what stops it: a table of workflows, and what a table cannot say.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde_json::{Value, json};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompileError, CompiledTask, Engine, ErrorCode, FailureKind, Flow, Function, Message,
    RunOptions, RunOutcome, TaskCx, TaskError, TaskOutcome, TraceOptions,
};

use crate::support::{block_on, compile, message, run};

fn observation(outcome: &RunOutcome, field: &str) -> Value {
    let steps = outcome.trace.iter().flat_map(|trace| &trace.steps);
    match field {
        "data" => outcome.message.data.clone(),
        "matched" => json!(outcome.matched),
        "progress" => outcome.message.metadata["progress"].clone(),
        "audit" => outcome.audit_trail.iter().map(|entry| json!([entry.task_id, entry.status])).collect(),
        "counters" => outcome.audit_trail.iter().map(|entry| json!(entry.loop_counter)).collect(),
        "errors" => outcome.errors.iter().map(|error| json!(error.code)).collect(),
        "messages" => outcome.errors.iter().take(2).map(|error| json!(error.message)).collect(),
        "failure" => json!(outcome.failure.as_ref().map(|failure| failure.to_service_error(false).status())),
        "has_failed" => json!(outcome.has_failed()),
        "steps" => steps.map(|step| json!([step.task_id, step.result])).collect(),
        other => panic!("no such expectation: {other}"),
    }
}

#[test]
fn workflows_do_what_the_table_says() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("cases/flow.json")).unwrap();
    let engine = Engine::builder().build();
    let mut wrong = Vec::new();
    for case in &cases {
        let outcome = run(&engine, case, message(case["payload"].clone()));
        let mut expectations = case.as_object().unwrap().clone();
        for input in ["rule", "payload", "condition", "tasks", "loop", "continue_on_error"] {
            expectations.remove(input);
        }
        expectations.entry("failure").or_insert(Value::Null);
        expectations.entry("errors").or_insert(json!([]));
        for (field, expected) in expectations {
            let value = observation(&outcome, &field);
            if value != expected {
                wrong.push(format!("{}: {field} is {value}, not {expected}", case["rule"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Answers with what its input says.
struct Answer;

struct AnswerTask(Value);

impl Function for Answer {
    fn entry(&self) -> &'static FunctionEntry {
        static ENTRY: FunctionEntry = FunctionEntry::plugin("answer", "Answers as its input says");
        &ENTRY
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(AnswerTask(input.clone())))
    }
}

impl CompiledTask for AnswerTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        async move {
            match &self.0 {
                input if input["hang"] == true => std::future::pending().await,
                input if input["skip"] == true => {
                    cx.write(&svc_engine::Path::parse("data.written").unwrap(), json!(1))?;
                    Ok(TaskOutcome::Skip)
                }
                input if input["partial"] == true => Ok(TaskOutcome::Partial),
                input => match input["error"].as_str() {
                    Some("circuit") => {
                        Err(TaskError::new(ErrorCode::CircuitOpen, "the breaker of crm on orders is open"))
                    }
                    Some("detail") => {
                        Err(TaskError::new(ErrorCode::ConnectorDetail, "host db-7 refused").with_detail("d"))
                    }
                    Some("late") => Err(TaskError::new(ErrorCode::Timeout, "no answer within 5 s")),
                    Some(_) => Err(TaskError::new(ErrorCode::Function, "host db-7 failed")),
                    None => Ok(TaskOutcome::Status(
                        u16::try_from(input["status"].as_u64().unwrap_or(200)).unwrap(),
                    )),
                },
            }
        }
        .boxed_local()
    }
}

fn answering() -> Engine {
    Engine::builder().function(Arc::new(Answer)).build()
}

fn answer(id: &str, input: Value) -> Value {
    json!({"id": id, "function": {"name": "answer", "input": input}})
}

fn statuses(outcome: &RunOutcome) -> Vec<u16> {
    outcome.audit_trail.iter().map(|entry| entry.status).collect()
}

#[test]
fn status_4xx_continues_and_5xx_stops() {
    let document = json!({"tasks": [answer("a", json!({"partial": true})), answer("b", json!({"status": 422})),
        answer("c", json!({"skip": true})), answer("d", json!({"status": 503})), answer("e", json!({}))]});
    let outcome = run(&answering(), &document, message(Value::Null));
    assert_eq!(statuses(&outcome), [207, 422, 503]);
    let codes: Vec<_> = outcome.errors.iter().map(|error| error.code).collect();
    assert_eq!(codes, [ErrorCode::TaskStatus, ErrorCode::Workflow]);
    let records = outcome.message.metadata["_svc_errors"].as_array().unwrap();
    assert_eq!(records.iter().map(|record| &record["status"]).collect::<Vec<_>>(), [422, 503]);
}

#[test]
fn failure_answers_by_class_without_operator_text() {
    for (input, status, text) in [
        (json!({"error": "circuit"}), 503, "the breaker of crm on orders is open"),
        (
            json!({"error": "detail"}),
            400,
            "Request validation failed: task 't' failed with connector_detail; the trace of the run has the cause",
        ),
        (
            json!({"error": "other"}),
            500,
            "Task 't' failed with FUNCTION_ERROR; the trace of the run has the cause",
        ),
        (
            json!({"status": 500}),
            500,
            "Task 't' failed with TASK_STATUS_ERROR; the trace of the run has the cause",
        ),
    ] {
        let outcome = run(&answering(), &json!({"tasks": [answer("t", input)]}), message(Value::Null));
        let error = outcome.failure.unwrap().to_service_error(false);
        assert_eq!((error.status(), error.message()), (status, text));
    }
}

#[test]
fn arithmetic_over_text_names_operand_without_value() {
    let engine = Engine::builder().build();
    for (logic, expected) in [
        (json!({"*": [{"var": "payload.q"}, 2]}), "\"*\" needs numbers, and payload.q is a string"),
        (json!({"+": [1, {"*": [2, {"val": ["payload", "list"]}]}]}), "payload.list is an array"),
        (json!({"-": ["many", 1]}), "\"-\" needs numbers, and a literal operand is a string"),
        (
            json!({"/": [{"cat": ["a", "b"]}, 2]}),
            "\"/\" needs numbers and a divisor other than zero, and an operand is neither",
        ),
        (json!({"/": [1, {"var": "payload.none"}]}), "\"/\" cannot divide by zero, and payload.none is 0"),
    ] {
        let task = json!({"id": "m", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": logic}]}}});
        let payload = json!({"q": "three-canary", "list": [1, 2], "none": 0});
        let outcome = run(&engine, &json!({"tasks": [task]}), message(payload));
        let text = &outcome.errors[0].message;
        assert!(text.contains(expected), "{logic}: {text}");
        assert!(!text.contains("NaN") && !text.contains("canary"), "{text}");
    }
}

#[test]
fn failure_names_innermost_operator_and_its_operands() {
    let engine = Engine::builder().build();
    for (logic, expected) in [
        (
            json!({"cat": ["a", {"length": [{"var": "payload.n"}]}]}),
            "\"length\" cannot take what it is given: payload.n is a number",
        ),
        (json!({"length": {"var": "data.gone"}}), "data.gone is null"),
        (
            json!({"sort": [{"var": "payload.text"}]}),
            "\"sort\" cannot take what it is given: payload.text is a text",
        ),
        (json!({"cat": [{"index": [{"var": "payload.text"}, 0]}]}), "not a text (in operator: index)"),
        (json!({"cat": [{"parse_date": [{"var": "payload.text"}, "yyyy"]}]}), "(in operator: parse_date)"),
        (
            json!({"map": [{"var": "payload.list"}, {"keys": [{"var": "name"}]}]}),
            "\"keys\" cannot take what it is given",
        ),
    ] {
        let task = json!({"id": "m", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": logic}]}}});
        let payload = json!({"n": 5, "text": "three-canary", "list": [{"name": "canary"}]});
        let outcome = run(&engine, &json!({"tasks": [task]}), message(payload));
        let text = &outcome.errors[0].message;
        assert!(
            text.contains(expected) && !text.contains('#') && !text.contains("canary"),
            "{logic}: {text}"
        );
    }
}

#[test]
fn verbose_answer_adds_cause_late_call_is_distinct() {
    let document = json!({"tasks": [answer("t", json!({"error": "detail"}))]});
    let failure = run(&answering(), &document, message(Value::Null)).failure.unwrap();
    let refusal = failure.to_service_error(true);
    assert!(
        !refusal.message().contains("db-7"),
        "for operators, whatever the setting: {}",
        refusal.message()
    );
    let document = json!({"tasks": [answer("t", json!({"error": "other"}))]});
    let failure = run(&answering(), &document, message(Value::Null)).failure.unwrap();
    assert!(failure.to_service_error(true).message().ends_with("FUNCTION_ERROR: host db-7 failed"));
    let document = json!({"tasks": [answer("t", json!({"error": "late"}))]});
    let failure = run(&answering(), &document, message(Value::Null)).failure.unwrap();
    let error = failure.to_service_error(false);
    assert_eq!((error.status(), error.code().name()), (500, "ENGINE_ERROR"));
    assert!(error.message().starts_with("Task 't' failed with TIMEOUT_ERROR"), "{}", error.message());
}

#[test]
fn an_error_object_has_its_contract_shape() {
    let document = json!({"tasks": [answer("t", json!({"error": "detail"}))]});
    let outcome = run(&answering(), &document, message(Value::Null));
    let mut error = serde_json::to_value(&outcome.errors[0]).unwrap();
    let timestamp = error.as_object_mut().unwrap().remove("timestamp").unwrap();
    assert_eq!(timestamp, json!(outcome.audit_trail[0].timestamp));
    assert_eq!(
        error,
        json!({"code": "connector_detail", "message": "host db-7 refused", "path": null, "workflow_id": "w",
               "task_id": "t", "detail": "d"})
    );
}

#[test]
fn only_the_newest_32_failure_records_are_kept() {
    let mut failing = answer("t", json!({"error": "other"}));
    failing["continue_on_error"] = json!(true);
    let document = json!({"loop": {"counter": "n", "max": 40}, "tasks": [failing]});
    let outcome = run(&answering(), &document, message(Value::Null));
    assert_eq!(outcome.message.metadata["_svc_errors"].as_array().unwrap().len(), 32);
    assert_eq!(outcome.errors.len(), 40);
}

fn run_within(deadline: Duration, document: &Value) -> RunOutcome {
    let engine = answering();
    let flow = Flow::single(compile(&engine, document).unwrap());
    let options = RunOptions { deadline: Some(deadline), ..RunOptions::default() };
    block_on(engine.run(&flow, message(Value::Null), options))
}

#[test]
fn task_that_hangs_is_cancelled_at_the_deadline() {
    let document = json!({"tasks": [answer("t", json!({"hang": true})), answer("u", json!({}))]});
    let outcome = run_within(Duration::from_secs(5), &document);
    assert_eq!(outcome.failure.unwrap().to_service_error(false).status(), 504);
    assert_eq!(outcome.errors[0].code, ErrorCode::Timeout);
    assert_eq!(outcome.audit_trail.len(), 1);
}

#[test]
fn passed_deadline_ends_the_run_whatever_tolerates_errors() {
    let mut hanging = answer("t", json!({"hang": true}));
    hanging["continue_on_error"] = json!(true);
    let document =
        json!({"continue_on_error": true, "loop": {"max": 3}, "tasks": [hanging, answer("u", json!({}))]});
    let outcome = run_within(Duration::from_secs(1), &document);
    assert_eq!(statuses(&outcome), [500]);
    assert!(outcome.errors.iter().all(|error| !error.is_tolerated), "{:?}", outcome.errors);
    assert_eq!(outcome.failure.unwrap().kind, FailureKind::Timeout);
}

#[test]
fn the_deadline_is_checked_before_every_task() {
    let document = json!({"tasks": [{"id": "l", "function": {"name": "log"}}]});
    let outcome = run_within(Duration::ZERO, &document);
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("l"));
}

#[test]
fn a_long_loop_gives_way_to_its_thread() {
    let engine = Engine::builder().build();
    let document = json!({"loop": {"max": 10_000}, "tasks": [{"id": "l", "function": {"name": "log"}}]});
    let flow = Flow::single(compile(&engine, &document).unwrap());
    let mut run = Box::pin(engine.run(&flow, message(Value::Null), RunOptions::default()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(run.as_mut().poll(&mut cx).is_pending());
}

#[test]
fn changes_are_recorded_only_when_asked_for() {
    let engine = Engine::builder().build();
    let document = json!({"tasks": [{"id": "m", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.a", "logic": 1}, {"path": "data.a", "logic": 2}]}}}]});
    let flow = Flow::single(compile(&engine, &document).unwrap());
    let run = |options| block_on(engine.run(&flow, message(Value::Null), options));
    let silent = run(RunOptions::default());
    assert!(silent.audit_trail[0].changes.is_empty() && silent.trace.is_none());
    let captured = run(RunOptions { capture_changes: true, ..RunOptions::default() });
    assert_eq!(
        serde_json::to_value(&captured.audit_trail[0].changes).unwrap(),
        json!([{"path": "data.a", "old_value": null, "new_value": 1}, {"path": "data.a", "old_value": 1, "new_value": 2}])
    );
}

#[test]
fn trace_shows_each_step_without_headers_and_cookies() {
    let document = json!({"tasks": [{"id": "m", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.a", "logic": 1}, {"path": "data.b", "logic": 2}]}}}]});
    let mut message = message(Value::Null);
    message.metadata =
        json!({"headers": {"x": 1}, "cookies": {"s": 1}, "tenant": "t"}).as_object().unwrap().clone();
    let trace = run(&Engine::builder().build(), &document, message).trace.unwrap();
    let step = serde_json::to_value(&trace.steps[0]).unwrap();
    assert_eq!(step["message"]["data"], json!({"a": 1, "b": 2}));
    assert_eq!(step["message"]["metadata"]["tenant"], "t");
    assert!(
        step["message"]["metadata"].get("headers").is_none()
            && step["message"]["metadata"].get("cookies").is_none()
    );
    let contexts: Vec<_> =
        step["mapping_contexts"].as_array().unwrap().iter().map(|context| &context["data"]).collect();
    assert_eq!(contexts, [&json!({}), &json!({"a": 1})]);
    assert_eq!(step["changes"].as_array().unwrap().len(), 2);
    assert!(
        step["duration_us"].is_u64() && step["started_at"].is_string() && step.get("loop_counter").is_none()
    );
}

#[test]
fn snapshots_stop_when_their_budget_is_spent() {
    let engine = Engine::builder().build();
    let document =
        json!({"loop": {"counter": "n", "max": 50}, "tasks": [{"id": "l", "function": {"name": "log"}}]});
    let flow = Flow::single(compile(&engine, &document).unwrap());
    let options = RunOptions {
        trace: Some(TraceOptions { snapshot_bytes: 1000, input: false }),
        ..RunOptions::default()
    };
    let trace = block_on(engine.run(&flow, message(Value::Null), options)).trace.unwrap();
    assert!(trace.truncated);
    assert_eq!(trace.steps.len(), 50);
    assert!(trace.steps[0].message.is_some() && trace.steps[49].message.is_none());
    assert_eq!(trace.steps[49].loop_counter, Some(49));
}

#[test]
fn the_engine_stamps_its_facts() {
    let instant = chrono::DateTime::parse_from_rfc3339("2026-01-02T03:04:05Z").unwrap().to_utc();
    let engine =
        Engine::builder().vars(Some(json!({"limit": 5}))).version("9.9.9").clock(move || instant).build();
    let document = json!({"tasks": [{"id": "m", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.limit", "logic": {"var": "metadata.vars.limit"}},
        {"path": "data.version", "logic": {"var": "metadata.engine_version"}}]}}}]});
    let outcome = run(&engine, &document, message(Value::Null));
    assert_eq!(outcome.message.data, json!({"limit": 5, "version": "9.9.9"}));
    assert_eq!(outcome.message.metadata["processed_at"], "2026-01-02T03:04:05.000000Z");
    assert_eq!(outcome.audit_trail[0].timestamp, instant);
}

#[test]
fn metadata_without_a_reader_are_not_stamped() {
    let engine = Engine::builder().build();
    let map =
        |logic: Value| json!({"name": "map", "input": {"mappings": [{"path": "data.a", "logic": logic}]}});
    let stamped = |condition: Value, function: Value, options: RunOptions| {
        let document = json!({"condition": condition, "tasks": [{"id": "t", "function": function}]});
        let flow = Flow::single(compile(&engine, &document).unwrap());
        let outcome = block_on(engine.run(&flow, message(json!({"a": "run"})), options));
        ["engine_version", "processed_at", "progress"]
            .map(|stamp| outcome.message.metadata.contains_key(stamp))
    };
    let ignoring = || RunOptions { ignores_metadata: true, ..RunOptions::default() };
    let (always, constant) = (json!(true), map(json!(1)));
    assert_eq!(stamped(always.clone(), constant.clone(), ignoring()), [false; 3]);
    assert_eq!(stamped(always.clone(), constant.clone(), RunOptions::default()), [true; 3]);
    let traced = RunOptions { trace: Some(TraceOptions::default()), ..ignoring() };
    assert_eq!(stamped(always.clone(), constant.clone(), traced), [true; 3]);
    for function in [
        map(json!({"var": "metadata.engine_version"})),
        map(json!({"var": {"cat": ["metadata.", {"var": "payload.a"}]}})),
        map(json!({"var": ""})),
        json!({"name": "parse_json", "input": {"source": "metadata.progress", "target": "p"}}),
        json!({"name": "log", "input": {"message": {"var": "metadata.processed_at"}}}),
    ] {
        assert_eq!(stamped(always.clone(), function.clone(), ignoring()), [true; 3], "{function}");
    }
    let condition = json!({"!!": [{"var": "metadata.engine_version"}]});
    assert_eq!(stamped(condition, constant, ignoring()), [true; 3]);
}

#[test]
fn each_bucket_runs_one_version_under_its_own_id() {
    let engine = Engine::builder().build();
    let version = |n: i64| {
        let document = json!({"version": n, "tasks": [{"id": "m", "function": {"name": "map", "input": {
            "mappings": [{"path": "data.v", "logic": n}]}}}]});
        Arc::new(compile(&engine, &document).unwrap())
    };
    let flow = Flow { versions: vec![(version(2), 80), (version(3), 20)] };
    let run = |message, bucket| {
        block_on(engine.run(&flow, message, RunOptions { bucket, ..RunOptions::default() }))
    };
    for (bucket, expected) in [(0, 3), (19, 3), (20, 2), (99, 2)] {
        let outcome = run(message(Value::Null), Some(bucket));
        assert_eq!(outcome.message.data["v"], expected);
        assert_eq!(outcome.message.metadata["progress"]["workflow_id"], format!("w:v{expected}"));
    }
    let twin = message(Value::Null);
    let (first, second) = (run(twin.clone(), None), run(twin, None));
    assert_eq!(first.message.data, second.message.data, "without a bucket the message id decides");
    assert_eq!(first.audit_trail.len(), 1);
}

#[test]
fn message_of_missing_share_gets_no_version() {
    let engine = Engine::builder().build();
    let document = json!({"tasks": [{"id": "l", "function": {"name": "log"}}]});
    let flow = Flow { versions: vec![(Arc::new(compile(&engine, &document).unwrap()), 20)] };
    let options = RunOptions { bucket: Some(50), ..RunOptions::default() };
    assert!(!block_on(engine.run(&flow, Message::new(Value::Null, serde_json::Map::new()), options)).matched);
}

#[test]
fn an_unusable_workflow_says_why() {
    let engine = Engine::builder().build();
    let refused = |document: Value| compile(&engine, &document).map(drop).unwrap_err();
    let task = |id: &str| json!({"id": id, "function": {"name": "log"}});
    assert_eq!(
        refused(json!({"tasks": [task("a"), {"id": "g", "tasks": [task("a")]}]})),
        CompileError::DuplicateTaskId { workflow: "w".into(), task: "a".into() }
    );
    assert_eq!(
        refused(json!({"tasks": [{"id": "h", "function": {"name": "http_call", "input": {}}}]})),
        CompileError::Undispatchable { workflow: "w".into(), function: "http_call".into(), task: "h".into() }
    );
    let nine = (0..9).fold(task("t"), |inner, n| json!({"id": format!("g{n}"), "tasks": [inner]}));
    let text = refused(json!({"tasks": [nine]})).to_string();
    assert!(text.contains("at most 8 deep"), "{text}");
    let text = refused(json!({"tasks": [{"id": "m", "function": {"name": "map"}}]})).to_string();
    assert_eq!(text, "workflow w: tasks[0].function.input.mappings: this field is required");
    assert!(refused(json!({"tasks": []})).to_string().contains("at least one task"));
    assert!(refused(json!({"loop": {"max": 0}, "tasks": [task("a")]})).to_string().contains("loop.max"));
}

#[test]
fn byte_order_mark_of_json_is_dropped() {
    let engine = Engine::builder().build();
    let task =
        json!({"id": "p", "function": {"name": "parse_json", "input": {"source": "payload", "target": "x"}}});
    for (text, expected) in
        [("\u{feff}{\"a\": 1}", json!({"a": 1})), ("\u{feff}plain", json!("\u{feff}plain"))]
    {
        let outcome = run(&engine, &json!({"tasks": [task]}), message(json!(text)));
        assert_eq!(outcome.message.data["x"], expected);
    }
}
