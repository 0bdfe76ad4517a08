//! Bounds of what a workflow builds: depth, padding, and the time it holds its thread.

use std::time::Duration;

use serde_json::{Value, json};
use svc_engine::{Engine, EngineLimits, Flow, RunOptions, RunOutcome};
use svc_model::{FieldCode, WorkflowChecks as _};
use tokio::time::Instant;

use crate::support::{compile, message, run, workflow};

fn map(mappings: &Value) -> Value {
    json!({"id": "m", "function": {"name": "map", "input": {"mappings": mappings}}})
}

/// Runs on a thread whose stack is as small as that of a worker.
fn on_a_worker_stack(document: Value, payload: Value) -> RunOutcome {
    let run = move || run(&Engine::builder().build(), &document, message(payload));
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap()
}

#[test]
fn path_of_more_than_64_segments_is_refused() {
    let engine = Engine::builder().build();
    for (segments, accepted) in [(64, true), (65, false), (3000, false)] {
        let path = format!("data{}", ".a".repeat(segments));
        let document = json!({"tasks": [map(&json!([{"path": path, "logic": 1}]))]});
        let mut errors = Vec::new();
        engine.check(&workflow(&document).content, &mut errors, &mut Vec::new());
        let invalid = errors.iter().any(|error| error.code == FieldCode::Invalid);
        assert_eq!(
            (invalid, compile(&engine, &document).is_ok()),
            (!accepted, accepted),
            "{segments} segments"
        );
    }
}

#[test]
fn value_growing_each_sweep_ends_as_task_error() {
    let mappings = json!([{"path": "data.x", "logic": {"k": {"var": "data.x"}, "z": 1}}]);
    let document = json!({"loop": {"max": 10_000}, "tasks": [map(&mappings)]});
    let outcome = on_a_worker_stack(document, json!({}));
    let error = &outcome.failure.unwrap().error;
    assert!(error.message.contains("data.x") && error.message.contains("128"), "{}", error.message);
    assert!(outcome.trace.is_some());
}

#[test]
fn value_grown_by_reduce_is_a_task_error() {
    let growing = [
        json!({"k": {"var": "accumulator"}, "z": 1}),
        json!([{"var": "accumulator"}]),
        json!({"if": [true, [[{"var": "accumulator"}]], 1]}),
    ];
    for body in growing {
        let deep = json!({"reduce": [{"var": "payload"}, body, 0]});
        for logic in [deep.clone(), json!({"==": [deep, deep]}), json!({"cat": [deep]})] {
            let document = json!({"tasks": [map(&json!([{"path": "data.x", "logic": logic}]))]});
            let outcome = on_a_worker_stack(document, vec![1; 50_000].into());
            assert!(outcome.failure.unwrap().error.message.contains("deep"), "{logic}");
        }
    }
}

#[test]
fn reduce_that_does_not_grow_is_left_alone() {
    let sum = json!({"reduce": [{"var": "payload"},
        {"sum": {"+": [{"var": "accumulator.sum"}, {"var": "current"}]}, "n": {"+": [{"var": "accumulator.n"}, 1]}},
        {"sum": 0, "n": 0}]});
    let document = json!({"tasks": [map(&json!([{"path": "data.x", "logic": sum}]))]});
    let outcome = on_a_worker_stack(document, vec![2; 1000].into());
    assert_eq!(outcome.message.data, json!({"x": {"sum": 2000, "n": 1000}}));
}

#[test]
fn deepest_expression_fits_the_stack_of_a_worker() {
    let nests: [fn(Value) -> Value; 7] = [
        |inner| json!({"!": [inner]}),
        |inner| json!({"if": [true, inner, 1]}),
        |inner| json!({"k": inner, "z": 1}),
        |inner| json!({"+": [inner, 1]}),
        |inner| json!({"map": [[1], inner]}),
        |inner| json!({"reduce": [[1], inner, 0]}),
        |inner| json!({"try": [{"throw": inner}, 1]}),
    ];
    for nest in nests {
        let mut logic = json!({"var": "data.n"});
        let engine = Engine::builder().build();
        loop {
            let deeper = nest(logic.clone());
            let document = json!({"tasks": [map(&json!([{"path": "data.x", "logic": deeper}]))]});
            if compile(&engine, &document).is_err() {
                break;
            }
            logic = deeper;
        }
        // An object of several members is no condition.
        let is_template = logic.as_object().is_some_and(|members| members.len() > 1);
        let condition = if is_template { json!(true) } else { logic.clone() };
        let document =
            json!({"condition": condition, "tasks": [map(&json!([{"path": "data.x", "logic": logic}]))]});
        on_a_worker_stack(document.clone(), json!({}));
        let mut unconditional = document;
        unconditional["condition"] = json!(true);
        on_a_worker_stack(unconditional, json!({}));
    }
}

#[test]
fn deep_input_is_processed_within_the_limit() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let document = json!({"tasks": [
        {"id": "p", "function": {"name": "parse_json", "input": {"source": "payload", "target": "x"}}},
        {"id": "j", "function": {"name": "publish_json", "input": {"source": "x", "target": "json"}}},
        {"id": "s", "function": {"name": "publish_xml", "input": {"source": "x", "target": "xml"}}},
    ]});
    assert!(on_a_worker_stack(document.clone(), nested(127)).failure.is_none());
    assert!(on_a_worker_stack(document, nested(128)).failure.is_some());
}

#[test]
fn one_write_pads_at_most_1024_nulls() {
    let mappings = json!([
        {"path": "data.a.1024", "logic": 1},
        {"path": "data.a.2049", "logic": 1},
        {"path": "data.b.1025", "logic": 1},
        {"path": "data.c.600.600", "logic": 1},
        {"path": "data.d.99999", "logic": 1},
    ]);
    let document = json!({"tasks": [map(&mappings)]});
    let outcome = run(&Engine::builder().build(), &document, message(json!({})));
    assert_eq!(outcome.message.data["a"].as_array().unwrap().len(), 2050);
    assert_eq!(outcome.message.data.as_object().unwrap().len(), 1, "a refused write changes nothing");
    let message = &outcome.failure.unwrap().error.message;
    for path in ["data.b.1025", "data.c.600.600", "data.d.99999"] {
        assert!(message.contains(path), "{message}");
    }
}

#[test]
fn written_key_is_read_back_with_every_digit() {
    let mappings = json!([
        {"path": "data.#20.x", "logic": {"var": "payload.big"}},
        {"path": "data.copy", "logic": {"var": "data.#20.x"}},
        {"path": "data.text", "logic": {"cat": ["n", {"var": "data.#20.n"}, {"var": ["data.#21.n", "-"]}]}},
    ]);
    let document = json!({"tasks": [map(&mappings)]});
    let big = 12_345_678_901_234_567_890_u64;
    let outcome = run(&Engine::builder().build(), &document, message(json!({"big": big})));
    assert_eq!(outcome.message.data, json!({"20": {"x": big}, "copy": big, "text": "n-"}));
}

#[test]
fn stored_document_that_cannot_be_read_is_refused() {
    let engine = Engine::builder().build();
    let unreadable = svc_model::unreadable;
    let task = json!({"id": "l", "function": {"name": "log"}});
    for document in [
        json!({"tasks": [task], "condition": unreadable()}),
        json!({"tasks": [task], "loop": unreadable()}),
        json!({"tasks": [unreadable()]}),
    ] {
        let error = compile(&engine, &document).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}

#[test]
fn counter_at_an_unwritable_place_is_refused() {
    let document =
        |counter: &str| json!({"loop": {"counter": counter, "max": 2}, "tasks": [map(&json!([]))]});
    let engine = Engine::builder().build();
    assert!(compile(&engine, &document("a.1024")).is_ok());
    assert!(compile(&engine, &document("a.1025")).is_err());
}

/// Polls a run by hand: how often it gave way, and how long it took.
fn run_polled(document: &Value, options: RunOptions) -> (usize, Duration, RunOutcome) {
    let engine = Engine::builder().build();
    let flow = Flow::single(compile(&engine, document).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let mut future = std::pin::pin!(engine.run(&flow, message((0..200).collect()), options));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let started = Instant::now();
    for pauses in 0.. {
        if let std::task::Poll::Ready(outcome) = future.as_mut().poll(&mut cx) {
            return (pauses, started.elapsed(), outcome);
        }
    }
    unreachable!()
}

/// Work of a good part of a millisecond; never true.
fn slow() -> Value {
    let doubled = json!({"map": [{"var": "payload"}, {"*": [{"var": ""}, 2]}]});
    json!({"<": [{"length": [doubled]}, 0]})
}

#[test]
fn run_yields_between_mappings_and_skipped_tasks() {
    let mappings: Value = (0..300).map(|n| json!({"path": format!("data.a{n}"), "logic": slow()})).collect();
    let skipped: Value = (0..300)
        .map(|n| json!({"id": n.to_string(), "condition": slow(), "function": {"name": "log"}}))
        .collect();
    for document in [json!({"tasks": [map(&mappings)]}), json!({"tasks": skipped})] {
        let (pauses, elapsed, outcome) = run_polled(&document, RunOptions::default());
        assert!(outcome.failure.is_none());
        assert!(elapsed < Duration::from_millis(4) || pauses > 0, "{pauses} pauses in {elapsed:?}");
        assert!(pauses as u128 * 20 >= elapsed.as_millis(), "{pauses} pauses in {elapsed:?}");
    }
}

#[test]
fn the_deadline_holds_between_mappings_and_skipped_tasks() {
    let mappings: Value = (0..2000).map(|n| json!({"path": format!("data.a{n}"), "logic": slow()})).collect();
    let skipped: Value = (0..2000)
        .map(|n| json!({"id": n.to_string(), "condition": slow(), "function": {"name": "log"}}))
        .collect();
    for document in [json!({"tasks": [map(&mappings)]}), json!({"tasks": skipped})] {
        let options = RunOptions { deadline: Some(Duration::from_millis(2)), ..RunOptions::default() };
        let (_, elapsed, outcome) = run_polled(&document, options);
        let failure = outcome.failure.unwrap();
        assert_eq!(failure.kind, svc_engine::FailureKind::Timeout, "after {elapsed:?}");
    }
}

#[test]
fn oversized_parsed_text_is_a_task_error() {
    let limits = EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() };
    let engine = Engine::builder().limits(limits).build();
    let wide_json = format!("[{}0]", "0,".repeat(50_000));
    let wide_xml = format!("<o>{}</o>", "<i/>".repeat(50_000));
    for (function, text) in [("parse_json", wide_json), ("parse_xml", wide_xml)] {
        let input = json!({"source": "payload.text", "target": "x"});
        let task = json!({"id": "p", "function": {"name": function, "input": input}});
        let outcome = run(&engine, &json!({"tasks": [task]}), message(json!({ "text": text })));
        let error = outcome.failure.unwrap().error;
        let expected = "payload.text: the value would take more than 1 MiB";
        assert_eq!((error.code.name(), &*error.message), ("TASK_ERROR", expected), "{function}");
    }
}
