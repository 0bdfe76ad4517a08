//! Loops over a list, with a setup and scratch space.

use serde_json::{Value, json};
use svc_engine::{Engine, EngineLimits};

use crate::suppliers::set;
use crate::support::{compile, message, run};

fn sum(id: &str, path: &str, value: Value) -> Value {
    set(id, path, json!({"+": [{"??": [{"var": path}, 0]}, value]}))
}

fn looping(block: Value, tasks: Value) -> Value {
    json!({"loop": block, "tasks": tasks})
}

#[test]
fn each_sweep_takes_the_next_element() {
    let engine = Engine::builder().build();
    let document = looping(
        json!({"over": {"var": "data.pages"}, "as": "page", "counter": "n", "scratch": "work",
            "setup": [set("load", "data.pages", json!([3, 5, 8]))]}),
        json!([
            set("seen", "data.seen", json!({"??": [{"var": "temp_data.work.mark"}, "clean"]})),
            set("mark", "temp_data.work.mark", json!("used")),
            sum("add", "data.sum", json!({"*": [{"var": "temp_data.page"}, {"var": "temp_data.n"}]}))
        ]),
    );
    let outcome = run(&engine, &document, message(json!(null)));
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"pages": [3, 5, 8], "seen": "clean", "sum": 21}));
    let tasks: Vec<_> =
        outcome.audit_trail.iter().map(|entry| (&*entry.task_id, entry.loop_counter)).collect();
    assert_eq!(tasks.len(), 1 + 3 * 3);
    assert_eq!([tasks[0], tasks[1], tasks[9]], [("load", None), ("seen", Some(0)), ("add", Some(2))]);
    assert_eq!(outcome.timings.tasks.len(), tasks.len());
}

#[test]
fn setup_that_fails_or_stops_begins_no_sweep() {
    let engine = Engine::builder().build();
    let tasks = json!([set("sweep", "data.swept", json!(true))]);
    let fails = json!({"id": "setup", "function": {"name": "parse_xml", "input": {"source": "data.none", "target": "x"}}});
    let stops =
        json!({"id": "setup", "function": {"name": "filter", "input": {"condition": {"var": "payload"}}}});
    for (setup, has_failed) in [(fails, true), (stops, false)] {
        let document = looping(json!({"max": 3, "setup": [setup]}), tasks.clone());
        let outcome = run(&engine, &document, message(json!(0)));
        assert_eq!(outcome.failure.is_some(), has_failed);
        assert!(outcome.matched);
        assert_eq!(outcome.message.data, json!({}));
    }
}

#[test]
fn lists_of_loops_are_bounded() {
    let limits = EngineLimits { max_loop_iterations: 3, ..EngineLimits::default() };
    let engine = Engine::builder().limits(limits).build();
    let run_over = |list: Value, more: Value| {
        let mut block = json!({"over": {"var": "payload"}});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let document = looping(block, json!([sum("add", "data.count", json!(1))]));
        let outcome = run(&engine, &document, message(list));
        (outcome.failure.map(|failure| failure.error.code.name()), outcome.message.data["count"].clone())
    };
    assert_eq!(run_over(json!([1, 2, 3]), json!({})), (None, json!(3)));
    assert_eq!(run_over(json!([1, 2, 3, 4]), json!({})), (Some("LIMIT_EXCEEDED"), Value::Null));
    assert_eq!(run_over(json!([1, 2, 3, 4]), json!({"max": 2})), (None, json!(2)));
    assert_eq!(run_over(json!(null), json!({})), (None, Value::Null));
    assert_eq!(run_over(json!("text"), json!({})), (Some("VALIDATION_ERROR"), Value::Null));
}

#[test]
fn malformed_loops_do_not_compile() {
    let engine = Engine::builder().build();
    for (block, at) in [
        (json!({}), "loop.max"),
        (json!({"over": "payload.items"}), "loop.over"),
        (json!({"over": [1], "as": "a.b"}), "loop.as"),
        (json!({"max": 2, "as": "page"}), "loop.as"),
        (json!({"over": [1], "scratch": ""}), "loop.scratch"),
        (json!({"over": [1], "scratch": "item"}), "loop.scratch"),
        (json!({"over": [1], "as": "page", "counter": "page"}), "loop.counter"),
        (json!({"max": 2, "scratch": "work", "counter": "work.n"}), "loop.counter"),
        (json!({"over": [1], "setup": {}}), "loop.setup"),
        (json!({"over": [1], "setup": [{"id": "t"}]}), "loop.setup[0].function.name"),
        (json!({"over": [1], "setup": [set("sweep", "data.x", json!(1))]}), "\"sweep\" is used by two"),
    ] {
        let document = looping(block, json!([set("sweep", "data.swept", json!(true))]));
        let error = compile(&engine, &document).unwrap_err().to_string();
        assert!(error.contains(at), "{error}");
    }
}
