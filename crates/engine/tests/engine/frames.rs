//! Retries, times of their own, and what follows a failure: `retry`, `timeout_ms`, `on_error`, `finally`, `halt_on`.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};
use svc_engine::{EngineLimits, RunOptions};

use crate::suppliers::{Suppliers, assert_time, errors, set, supply, with};
use crate::support::compile;

fn retried(input: Value, retry: Value) -> Value {
    with(supply("ask", input), json!({"retry": retry}))
}

#[test]
fn task_is_tried_until_it_succeeds() {
    let suppliers = Suppliers::default();
    let task = retried(
        json!({"fails": 2, "answer": "a", "output": "data.x"}),
        json!({"attempts": 3, "delay": "100ms", "factor": 3}),
    );
    let (outcome, time) = suppliers.run_tasks(json!([task]), json!(null));
    assert!(outcome.failure.is_none() && outcome.errors.is_empty(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"x": "a"}));
    let keys = suppliers.log.lock().keys.clone();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "each attempt has the same key");
    // 100 ms and 300 ms, each spread by half of it.
    assert!((Duration::from_millis(200)..Duration::from_millis(610)).contains(&time), "{time:?}");
    assert_eq!(outcome.audit_trail.len(), 1);
}

#[test]
fn last_error_counts_the_attempts() {
    let suppliers = Suppliers::default();
    let task = retried(json!({"fails": 9}), json!({"attempts": 10, "delay": "1ms", "factor": 1}));
    let (outcome, _) = suppliers.run_tasks(json!([task]), json!(null));
    assert_eq!(suppliers.log.lock().keys.len(), 10);
    assert!(outcome.failure.is_none(), "the tenth attempt succeeds");
    let task = retried(json!({"fails": 9}), json!({"attempts": 2, "delay": "1ms"}));
    let (outcome, _) = suppliers.run_tasks(json!([task]), json!(null));
    let error = outcome.failure.unwrap().error;
    assert_eq!((error.retry_count.map(|count| count.get()), error.retry_attempted), (Some(1), Some(true)));
}

#[test]
fn only_named_errors_that_may_heal_are_retried() {
    let suppliers = Suppliers::default();
    for (code, on, calls) in [
        ("IO_ERROR", json!(null), 3),
        ("IO_ERROR", json!(["IO_ERROR"]), 3),
        ("IO_ERROR", json!(["TIMEOUT_ERROR"]), 1),
        ("FUNCTION_ERROR", json!(null), 1),
        ("VALIDATION_ERROR", json!(null), 1),
    ] {
        let task =
            retried(json!({"fails": 99, "code": code}), json!({"attempts": 3, "delay": "1ms", "on": on}));
        let before = suppliers.log.lock().keys.len();
        let (outcome, _) = suppliers.run_tasks(json!([task]), json!(null));
        assert_eq!(outcome.failure.unwrap().error.code.name(), code);
        assert_eq!(suppliers.log.lock().keys.len() - before, calls, "{code} {on}");
    }
}

#[test]
fn no_attempt_begins_after_the_deadline() {
    let suppliers = Suppliers::default();
    let options = RunOptions { deadline: Some(Duration::from_secs(1)), ..RunOptions::default() };
    let task = retried(json!({"fails": 99}), json!({"attempts": 10, "delay": "1h"}));
    let (outcome, time) = suppliers.run(json!([task]), json!(null), options);
    assert_eq!(outcome.failure.unwrap().error.code.name(), "IO_ERROR");
    assert_time(time, 0);
}

#[test]
fn unsafe_function_needs_leave_to_be_retried() {
    let engine = Suppliers::default().engine;
    let document = |retry: Value| {
        let task = json!({"id": "t", "function": {"name": "sell", "input": {}}, "retry": retry});
        json!({"tasks": [task]})
    };
    let error = compile(&engine, &document(json!({"attempts": 2}))).unwrap_err().to_string();
    assert!(error.contains("tasks[0].retry") && error.contains("not safe to repeat"), "{error}");
    assert!(compile(&engine, &document(json!({"attempts": 2, "unsafe": true}))).is_ok());
}

#[test]
fn task_without_its_key_is_not_repeated() {
    let key = json!({"var": "payload.key"});
    for (method, key, payload, calls) in [
        ("POST", &key, json!({"key": "k"}), 3),
        ("POST", &key, json!({}), 1),
        ("POST", &key, json!({"key": false}), 1),
        ("POST", &json!({"if": [{"var": "payload.key"}, true, null]}), json!({}), 1),
        ("POST", &json!(true), json!({}), 3),
        ("PUT", &key, json!({}), 3),
    ] {
        let suppliers = Suppliers::default();
        let input = json!({"fails": 99, "method": method, "idempotency_key": key});
        let mut task = retried(input, json!({"attempts": 3, "delay": "1ms"}));
        task["function"]["name"] = json!("send");
        let (outcome, _) = suppliers.run_tasks(json!([task]), payload);
        assert_eq!(outcome.failure.unwrap().error.code.name(), "IO_ERROR");
        assert_eq!(suppliers.log.lock().keys.len(), calls, "{method} {key}");
        task["retry"]["unsafe"] = json!(true);
        suppliers.run_tasks(json!([task]), json!({}));
        assert_eq!(suppliers.log.lock().keys.len(), calls + 3, "{method} {key}");
    }
}

#[test]
fn task_ends_with_its_own_time() {
    let suppliers = Suppliers::default();
    let options = RunOptions { deadline: Some(Duration::from_secs(60)), ..RunOptions::default() };
    let slow = with(supply("slow", json!({"ms": 900, "output": "data.x"})), json!({"timeout_ms": 50}));
    let tolerant = with(slow.clone(), json!({"continue_on_error": true}));
    let (outcome, time) =
        suppliers.run(json!([tolerant, set("last", "data.y", json!(1))]), json!(null), options);
    assert_time(time, 50);
    assert!(outcome.failure.is_none(), "the run has time left");
    assert_eq!(errors(&outcome), [("TIMEOUT_ERROR", "slow".to_owned(), None)]);
    assert_eq!(outcome.message.data, json!({"y": 1}));
    let again = with(slow, json!({"retry": {"attempts": 3, "delay": "10ms", "on": ["TIMEOUT_ERROR"]}}));
    let before = suppliers.log.lock().keys.len();
    let (outcome, _) = suppliers.run_tasks(json!([again]), json!(null));
    assert_eq!(suppliers.log.lock().keys.len() - before, 3, "the time is that of an attempt");
    assert!(!outcome.failure.unwrap().error.is_deadline);
}

fn guarded_group(members: Value) -> Value {
    json!({"id": "pay", "tasks": members,
        "on_error": [set("note", "data.failed", json!({"cat": [{"var": "temp_data.error.task_id"}, " ",
            {"var": "temp_data.error.code"}]}))],
        "finally": [set("close", "data.closed", json!(true))]})
}

#[test]
fn failed_group_is_caught_and_closed() {
    let suppliers = Suppliers::default();
    let after = set("after", "data.after", json!(true));
    let group =
        guarded_group(json!([supply("charge", json!({"fails": 9})), set("skipped", "data.no", json!(1))]));
    let (outcome, _) = suppliers.run_tasks(json!([group, after]), json!(null));
    assert!(outcome.failure.is_none());
    assert!(!outcome.has_failed(), "what is caught is tolerated");
    let expected = json!({"failed": "charge IO_ERROR", "closed": true, "after": true});
    assert_eq!(outcome.message.data, expected);
    let group = guarded_group(json!([set("charge", "data.charged", json!(1))]));
    let (outcome, _) = suppliers.run_tasks(json!([group, after]), json!(null));
    assert_eq!(outcome.message.data, json!({"charged": 1, "closed": true, "after": true}));
}

#[test]
fn group_without_handler_is_closed_and_fails() {
    let suppliers = Suppliers::default();
    let mut group = guarded_group(json!([supply("charge", json!({"fails": 9}))]));
    group.as_object_mut().unwrap().remove("on_error");
    let (outcome, _) = suppliers.run_tasks(json!([group, set("after", "data.after", json!(1))]), json!(null));
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("charge"));
    assert_eq!(outcome.message.data, json!({"closed": true}));
}

#[test]
fn failing_handler_fails_the_group() {
    let suppliers = Suppliers::default();
    let mut group = guarded_group(json!([supply("charge", json!({"fails": 9}))]));
    group["on_error"] = json!([supply("refund", json!({"fails": 9}))]);
    let (outcome, _) = suppliers.run_tasks(json!([group]), json!(null));
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("refund"));
    assert_eq!(outcome.message.data, json!({"closed": true}));
}

#[test]
fn caught_failure_of_finally_is_tolerated() {
    let suppliers = Suppliers::default();
    let inner = json!({"id": "inner", "tasks": [supply("charge", json!({"fails": 9}))],
        "finally": [supply("close", json!({"fails": 9}))]});
    let outer = json!({"id": "outer", "tasks": [inner],
        "on_error": [set("note", "data.failed", json!({"var": "temp_data.error.task_id"}))]});
    let (outcome, _) = suppliers.run_tasks(json!([outer]), json!(null));
    assert!(outcome.failure.is_none() && !outcome.has_failed(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"failed": "close"}));
    let expected = ["charge", "close"].map(|task| ("IO_ERROR", task.to_owned(), None));
    assert_eq!(errors(&outcome), expected);
}

#[test]
fn group_time_bounds_all_members() {
    let suppliers = Suppliers::default();
    for is_parallel in [false, true] {
        let members = json!([
            supply("one", json!({"ms": 80, "answer": 1, "output": "data.one"})),
            supply("two", json!({"ms": 900, "answer": 2, "output": "data.two"}))
        ]);
        let group = with(guarded_group(members), json!({"timeout_ms": 100, "parallel": is_parallel}));
        let (outcome, time) = suppliers.run_tasks(json!([group]), json!(null));
        assert_time(time, 100);
        assert!(outcome.failure.is_none());
        let mut expected = json!({"failed": "pay TIMEOUT_ERROR", "closed": true});
        if !is_parallel {
            expected["one"] = json!(1);
        }
        assert_eq!(outcome.message.data, expected, "parallel: {is_parallel}");
        assert_eq!(suppliers.log.lock().running, 0);
    }
}

#[test]
fn calls_have_the_lesser_time_around_them() {
    let suppliers = Suppliers::default();
    let call = |id: &str, ms: u64| supply(id, json!({"ms": ms, "output": "data.x"}));
    let quick = with(call("quick", 5), json!({"timeout_ms": 20}));
    let each = with(call("each", 5), json!({"for_each": {"over": [1], "into": "data.list"}}));
    let inner = json!({"id": "inner", "timeout_ms": 50, "tasks": [call("inside", 5)]});
    let members = json!([call("member", 0), set("other", "data.y", json!(1))]);
    let wide = json!({"id": "wide", "timeout_ms": 9000, "parallel": true, "tasks": members});
    let tasks = json!([call("first", 10), quick, each, inner, wide]);
    let group = with(guarded_group(tasks), json!({"timeout_ms": 100}));
    let (outcome, _) = suppliers.run_tasks(json!([group, call("after", 0)]), json!(null));
    assert!(outcome.failure.is_none() && outcome.errors.is_empty(), "{:?}", outcome.errors);
    let remaining = suppliers.log.lock().remaining.clone();
    assert_eq!(remaining.len(), 6);
    assert_eq!(remaining[5], None, "the time of the group ends with it");
    for (left, expected) in remaining.iter().zip([100, 20, 85, 50, 75]) {
        let (left, expected) = (left.unwrap(), Duration::from_millis(expected));
        // Each wait before may have lasted a millisecond longer.
        assert!(
            left <= expected && left + Duration::from_millis(5) >= expected,
            "{left:?}, not {expected:?}"
        );
    }
}

#[test]
fn steps_end_with_the_group_around_them() {
    let suppliers = Suppliers::default();
    let slow = json!({"ms": 900, "output": "data.x"});
    let patient = with(supply("slow", slow.clone()), json!({"timeout_ms": 500, "continue_on_error": true}));
    let block = json!({"over": [1, 2], "into": "data.list", "collect": "data.x", "continue_on_error": true});
    let each = with(supply("slow", slow.clone()), json!({"for_each": block}));
    let caught = json!({"id": "inner", "timeout_ms": 500, "tasks": [supply("slow", slow.clone())],
        "on_error": [set("inside", "data.inside", json!(1))]});
    let both = json!({"id": "both", "parallel": true, "tasks": [supply("slow", slow),
        set("quick", "data.quick", json!(1))]});
    for member in [patient, each, caught, both] {
        let text = member.to_string();
        let group = with(
            guarded_group(json!([member, set("next", "data.next", json!(1))])),
            json!({"timeout_ms": 100}),
        );
        let (outcome, time) = suppliers.run_tasks(json!([group]), json!(null));
        assert_time(time, 100);
        assert!(outcome.failure.is_none(), "{text}");
        assert_eq!(outcome.message.data, json!({"failed": "pay TIMEOUT_ERROR", "closed": true}), "{text}");
        assert_eq!(errors(&outcome), [("TIMEOUT_ERROR", "pay".to_owned(), None)], "{text}");
        assert_eq!(suppliers.log.lock().running, 0, "{text}");
    }
}

#[test]
fn no_attempt_begins_after_group_time() {
    let suppliers = Suppliers::default();
    let task = retried(json!({"fails": 99}), json!({"attempts": 10, "delay": "1h"}));
    let group = with(guarded_group(json!([task])), json!({"timeout_ms": 100}));
    let (outcome, time) = suppliers.run_tasks(json!([group]), json!(null));
    assert_time(time, 0);
    assert_eq!(outcome.message.data, json!({"failed": "ask IO_ERROR", "closed": true}));
    assert_eq!(suppliers.log.lock().keys.len(), 1);
}

#[test]
fn cancelled_steps_leave_their_records() {
    let suppliers = Suppliers::default();
    let ask = supply("ask", json!({"ms": {"var": "temp_data.item"}, "answer": 1, "output": "data.x"}));
    let each = with(ask, json!({"for_each": {"over": [10, 900], "into": "data.list", "max_concurrency": 2}}));
    let both = json!({"id": "both", "parallel": true, "tasks": [each, set("quick", "data.quick", json!(1))]});
    let group = with(guarded_group(json!([both])), json!({"timeout_ms": 100}));
    let (outcome, time) = suppliers.run_tasks(json!([group]), json!(null));
    assert_time(time, 100);
    assert_eq!(outcome.message.data, json!({"failed": "pay TIMEOUT_ERROR", "closed": true}));
    let tasks: Vec<_> = outcome.audit_trail.iter().map(|entry| (&*entry.task_id, entry.index)).collect();
    assert_eq!(tasks, [("ask", Some(0)), ("quick", None), ("note", None), ("close", None)]);
    assert_eq!(suppliers.log.lock().running, 0);
}

/// A group that asks a supplier, and gives something back whatever becomes of that.
fn held_group(ask: Value, release_ms: u64) -> Value {
    let release = json!({"ms": release_ms, "answer": true, "output": "data.released"});
    json!({"id": "held", "tasks": [supply("ask", ask)], "finally": [supply("release", release)]})
}

/// Returns the tasks that have recorded something, with their elements.
fn recorded(outcome: &svc_engine::RunOutcome) -> Vec<(&str, Option<usize>)> {
    outcome.audit_trail.iter().map(|entry| (&*entry.task_id, entry.index)).collect()
}

#[test]
fn finally_runs_for_cancelled_elements() {
    let suppliers = Suppliers::default();
    let var = |key: &str| json!({"var": format!("temp_data.item.{key}")});
    let ask = json!({"ms": var("ms"), "fails": var("fails"), "answer": 1, "output": "data.x"});
    let block =
        json!({"over": {"var": "payload"}, "into": "data.list", "collect": "data.x", "max_concurrency": 2});
    let each = with(held_group(ask, 5), json!({"for_each": block}));
    let payload = json!([{"ms": 10, "fails": 99}, {"ms": 900}, {"ms": 1}]);
    let (outcome, time) = suppliers.run_tasks(json!([each]), payload);
    // The failed element releases, then the other one, which its end cuts short; the third one does not begin.
    assert_time(time, 20);
    assert_eq!(recorded(&outcome), [("ask", Some(0)), ("release", Some(0)), ("release", Some(1))]);
    assert_eq!(errors(&outcome)[0], ("IO_ERROR", "ask".to_owned(), Some(0)));
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("ask"));
    assert_eq!(suppliers.log.lock().running, 0);
}

#[test]
fn finally_outlives_the_time_of_its_cut_group() {
    let suppliers = Suppliers::default();
    let var = |key: &str| json!({"var": format!("temp_data.item.{key}")});
    let first = supply("first", json!({"ms": var("ms"), "fails": var("fails"), "output": "data.y"}));
    let timed = json!({"id": "timed", "timeout_ms": 50, "tasks": [held_group(json!({"ms": 900}), 100)]});
    let block = json!({"over": {"var": "payload"}, "into": "data.list", "collect": "data.released",
        "max_concurrency": 2});
    let each = json!({"id": "each", "for_each": block, "tasks": [first, timed]});
    let payload = json!([{"ms": 10, "fails": 99}, {"ms": 1}]);
    let (outcome, time) = suppliers.run_tasks(json!([each]), payload);
    assert_time(time, 110);
    assert_eq!(recorded(&outcome), [("first", Some(0)), ("first", Some(1)), ("release", Some(1))]);
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("first"));
}

#[test]
fn dropped_finally_leaves_the_run_its_time() {
    let suppliers = Suppliers::default();
    let slow = json!({"id": "slow", "timeout_ms": 6000, "tasks": [supply("release", json!({"ms": 90_000}))]});
    let held = json!({"id": "held", "tasks": [supply("ask", json!({"ms": 900}))], "finally": [slow]});
    let group = with(guarded_group(json!([held])), json!({"timeout_ms": 100}));
    let after = supply("after", json!({"ms": 2000, "answer": 1, "output": "data.after"}));
    let (outcome, time) = suppliers.run_tasks(json!([group, after]), json!(null));
    assert_time(time, 7100);
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data["after"], json!(1));
}

#[test]
fn finally_runs_for_cancelled_members() {
    let suppliers = Suppliers::default();
    let held = held_group(json!({"ms": 900}), 5);
    let bad = supply("bad", json!({"ms": 10, "fails": 99}));
    let both = json!({"id": "both", "parallel": true, "tasks": [held, bad]});
    let (outcome, time) = suppliers.run_tasks(json!([both]), json!(null));
    assert_time(time, 15);
    assert_eq!(recorded(&outcome), [("release", None), ("bad", None)]);
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("bad"));
    assert_eq!(outcome.message.data, json!({}), "a failed group writes nothing");
}

#[test]
fn finally_runs_within_group_out_of_time() {
    let suppliers = Suppliers::default();
    let inner = held_group(json!({"ms": 900}), 20);
    let note = set("note", "data.note", json!({"var": "temp_data.error.code"}));
    let outer = json!({"id": "outer", "timeout_ms": 100, "tasks": [inner], "on_error": [note]});
    let (outcome, time) = suppliers.run_tasks(json!([outer]), json!(null));
    assert_time(time, 120);
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"released": true, "note": "TIMEOUT_ERROR"}));
    assert_eq!(recorded(&outcome), [("release", None), ("note", None)]);
}

#[test]
fn finally_runs_for_elements_of_dropped_step() {
    let suppliers = Suppliers::default();
    let block = json!({"over": [1, 2], "into": "data.list", "collect": "data.x", "max_concurrency": 2});
    let each = with(held_group(json!({"ms": 900}), 5), json!({"for_each": block}));
    let note = set("note", "data.note", json!({"var": "temp_data.error.code"}));
    let outer = json!({"id": "outer", "timeout_ms": 100, "tasks": [each], "on_error": [note]});
    let (outcome, time) = suppliers.run_tasks(json!([outer]), json!(null));
    assert_time(time, 105);
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(recorded(&outcome), [("release", Some(0)), ("release", Some(1)), ("note", None)]);
    assert_eq!(outcome.message.data, json!({"note": "TIMEOUT_ERROR"}));
}

#[test]
fn finally_of_cut_group_has_five_seconds() {
    let suppliers = Suppliers::default();
    let inner = held_group(json!({"ms": 900}), 60_000);
    let outer = json!({"id": "outer", "timeout_ms": 100, "tasks": [inner]});
    let (outcome, time) = suppliers.run_tasks(json!([outer.clone()]), json!(null));
    assert_time(time, 5100);
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("outer"));
    assert_eq!(suppliers.log.lock().running, 0);
    let options = RunOptions { deadline: Some(Duration::from_millis(300)), ..RunOptions::default() };
    let (outcome, time) = suppliers.run(json!([outer]), json!(null), options);
    assert_time(time, 300);
    assert!(outcome.failure.is_some());
}

#[test]
fn time_of_the_run_is_not_caught() {
    let suppliers = Suppliers::default();
    let options = RunOptions { deadline: Some(Duration::from_millis(40)), ..RunOptions::default() };
    let group = guarded_group(json!([supply("slow", json!({"ms": 900}))]));
    let (outcome, time) = suppliers.run(json!([group]), json!(null), options);
    assert_time(time, 40);
    assert!(outcome.failure.unwrap().error.is_deadline);
    assert_eq!(outcome.message.data, json!({}), "neither handler runs");
}

#[test]
fn processor_time_is_shared_by_all_elements() {
    let limits = EngineLimits { cpu_budget: Duration::from_millis(30), ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let heavy =
        json!({"reduce": [{"var": "payload"}, {"+": [{"var": "accumulator"}, {"var": "current"}]}, 0]});
    let task = with(
        set("sum", "data.sum", heavy),
        json!({"for_each": {"over": {"var": "payload"}, "into": "data.sums", "max_concurrency": 2}}),
    );
    let flow = svc_engine::Flow::single(compile(&suppliers.engine, &json!({"tasks": [task]})).unwrap());
    let payload: Value = (0..3000).collect();
    let run = suppliers.engine.run(&flow, crate::support::message(payload), RunOptions::default());
    // The clock of the machine: a virtual one does not move while the run computes.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let outcome = runtime.block_on(run);
    let error = outcome.failure.unwrap().error;
    assert_eq!(error.code.name(), "TIMEOUT_ERROR");
    assert!(error.message.contains("engine.cpu_budget_ms"), "{}", error.message);
}

#[test]
fn many_elements_give_way_to_other_work() {
    let limits = EngineLimits { cpu_budget: Duration::from_secs(600), ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let heavy =
        json!({"reduce": [{"var": "payload"}, {"+": [{"var": "accumulator"}, {"var": "current"}]}, 0]});
    let over: Value = (0..32).collect();
    let task = with(
        set("sum", "data.sum", heavy),
        json!({"for_each": {"over": over, "into": "data.sums", "max_concurrency": 32}}),
    );
    let flow = svc_engine::Flow::single(compile(&suppliers.engine, &json!({"tasks": [task]})).unwrap());
    let payload: Value = (0..20_000).collect();
    let mut run = pin!(suppliers.engine.run(&flow, crate::support::message(payload), RunOptions::default()));
    let mut turns = 0;
    // The clock of the machine, as each turn ends after a millisecond of work.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let outcome = runtime.block_on(poll_fn(|cx| {
        turns += 1;
        run.as_mut().poll(cx)
    }));
    assert_eq!(outcome.message.data["sums"].as_array().map(Vec::len), Some(32));
    assert!(turns > 8, "{turns} turns, so that other work has waited for many elements");
}

#[test]
fn message_of_a_rule_may_be_computed() {
    let suppliers = Suppliers::default();
    let check = |message: Value| {
        let rule = json!({"logic": {">": [{"var": "payload.qty"}, 0]}, "message": message});
        json!([{"id": "rules", "function": {"name": "validation", "input": {"rules": [rule]}}}])
    };
    for (message, text) in [
        (json!("no"), "no"),
        (json!({"cat": ["qty is ", {"var": "payload.qty"}]}), "qty is -1"),
        (json!({"var": "payload.qty"}), "-1"),
        (json!({"var": "payload.none"}), "null"),
    ] {
        let (outcome, _) = suppliers.run_tasks(check(message), json!({"qty": -1}));
        let error = &outcome.errors[0];
        assert_eq!((error.code.name(), error.message.as_str()), ("VALIDATION_ERROR", text));
    }
    let payload = json!({"qty": -1, "note": "ä".repeat(9000)});
    let (outcome, _) = suppliers.run_tasks(check(json!({"var": "payload.note"})), payload);
    assert_eq!(outcome.errors[0].message, "ä".repeat(1000));
    let document = json!({"tasks": check(json!({"cats": ["a"]}))});
    let refused = compile(&suppliers.engine, &document).unwrap_err().to_string();
    assert!(refused.contains("rules[0].message"), "{refused}");
}

#[test]
fn task_halts_the_workflow_on_failure() {
    let suppliers = Suppliers::default();
    let rules = |holds: bool| {
        let rule = json!({"logic": {"==": [{"var": "payload"}, holds]}, "message": "no"});
        json!({"id": "rules", "halt_on": "failure", "function": {"name": "validation", "input": {"rules": [rule]}}})
    };
    let go = set("go", "data.go", json!(true));
    let (outcome, _) = suppliers.run_tasks(json!([rules(true), go]), json!(false));
    assert!(outcome.failure.is_none());
    assert_eq!(errors(&outcome), [("VALIDATION_ERROR", "rules".to_owned(), None)]);
    assert_eq!(outcome.audit_trail.iter().map(|entry| entry.status).collect::<Vec<_>>(), [400]);
    assert_eq!(outcome.message.data, json!({}));
    let (outcome, _) = suppliers.run_tasks(json!([rules(true), go]), json!(true));
    assert_eq!(outcome.message.data, json!({"go": true}));
}
