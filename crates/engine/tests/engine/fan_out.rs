//! `for_each` and groups whose members run at once.

use std::time::Duration;

use serde_json::{Value, json};
use svc_engine::{EngineLimits, RunOptions, StepResult, TraceOptions};
use svc_model::{FieldCode, WorkflowChecks as _};

use crate::suppliers::{Suppliers, assert_time, errors, set, supply, with};
use crate::support::{compile, workflow};

/// A task that asks a supplier for each element of the payload.
fn ask_each(more: Value) -> Value {
    let var = |path: &str| json!({"var": format!("temp_data.item.{path}")});
    let input = json!({"ms": var("ms"), "answer": var("answer"), "fails": var("fails"), "code": var("code"),
        "output": "data.answer"});
    let mut block = json!({"over": {"var": "payload"}, "into": "data.answers"});
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    with(supply("ask", input), json!({"for_each": block}))
}

#[test]
fn list_that_calls_no_operator_is_refused() {
    let engine = Suppliers::default().engine;
    let write = with(set("write", "data.x", json!(1)), json!({"name": "Write"}));
    let block = |over: Value| json!({"over": over, "into": "data.list", "collect": "data.x"});
    let each = |over: Value| json!({"tasks": [with(write.clone(), json!({"for_each": block(over)}))]});
    let unknown = json!({"mapp": [[1], {"var": ""}]});
    for (document, refused) in [
        (each(unknown.clone()), Some("tasks[0].for_each.over.mapp")),
        (json!({"tasks": [write], "loop": {"over": unknown}}), Some("loop.over.mapp")),
        (each(json!({"map": [[{"name": "a"}], {"name": {"var": "name"}}]})), None),
        (each(json!([{"name": "a"}])), None),
    ] {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        engine.check(&workflow(&document).content, &mut errors, &mut warnings);
        let found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.code)).collect();
        let expected: Vec<_> = refused.map(|path| (path, FieldCode::UnknownOperator)).into_iter().collect();
        assert_eq!(found, expected, "{document}");
    }
}

fn after(ms: u64, answer: &str) -> Value {
    json!({"ms": ms, "answer": answer})
}

fn failing(ms: u64) -> Value {
    json!({"ms": ms, "fails": 99})
}

#[test]
fn three_suppliers_take_the_time_of_one() {
    let suppliers = Suppliers::default();
    let payload = json!([after(300, "a"), after(300, "b"), after(300, "c")]);
    let (outcome, time) =
        suppliers.run_tasks(json!([ask_each(json!({"max_concurrency": 3}))]), payload.clone());
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"answers": ["a", "b", "c"]}));
    assert!(time < Duration::from_millis(320), "{time:?}");
    let (outcome, time) = suppliers.run_tasks(json!([ask_each(json!({}))]), payload);
    assert_eq!(outcome.message.data["answers"], json!(["a", "b", "c"]));
    assert!(time >= Duration::from_millis(900), "{time:?}");
}

#[test]
fn results_keep_the_order_of_the_list() {
    let suppliers = Suppliers::default();
    let payload: Vec<_> = (0..40u64).map(|n| after(1 + (n * 37) % 50, &n.to_string())).collect();
    let tasks = json!([ask_each(json!({"max_concurrency": 7}))]);
    let (outcome, _) = suppliers.run_tasks(tasks, Value::Array(payload));
    let expected: Vec<_> = (0..40).map(|n| n.to_string()).collect();
    assert_eq!(outcome.message.data["answers"], json!(expected));
    assert_eq!(suppliers.log.lock().most_running, 7);
    let tasks: Vec<_> = outcome.audit_trail.iter().map(|entry| (&*entry.task_id, entry.index)).collect();
    assert_eq!(tasks, (0..40).map(|n| ("ask", Some(n))).collect::<Vec<_>>());
    assert_eq!(outcome.timings.tasks.len(), 40);
}

#[test]
fn failed_elements_are_null_among_the_others() {
    let suppliers = Suppliers::default();
    let block = json!({"max_concurrency": 2, "continue_on_error": true});
    let payload = json!([after(5, "a"), failing(1), after(2, "c"), failing(9)]);
    let (outcome, _) = suppliers.run_tasks(json!([ask_each(block)]), payload);
    assert!(outcome.failure.is_none());
    assert!(!outcome.has_failed(), "each is tolerated");
    assert_eq!(outcome.message.data["answers"], json!(["a", null, "c", null]));
    let expected = [1, 3].map(|n| ("IO_ERROR", "ask".to_owned(), Some(n)));
    assert_eq!(errors(&outcome), expected);
    let records = &outcome.message.metadata["_svc_errors"];
    assert_eq!([&records[0]["index"], &records[1]["index"]], [&json!(1), &json!(3)]);
}

#[test]
fn first_failure_cancels_the_others() {
    let suppliers = Suppliers::default();
    let payload = json!([after(1000, "a"), failing(10), after(1, "c"), after(1, "d")]);
    let (outcome, time) = suppliers.run_tasks(json!([ask_each(json!({"max_concurrency": 2}))]), payload);
    assert_time(time, 10);
    assert_eq!(errors(&outcome)[0], ("IO_ERROR", "ask".to_owned(), Some(1)));
    assert_eq!(outcome.failure.unwrap().error.index.unwrap().get(), 1);
    assert_eq!(outcome.message.data, json!({}));
    let log = suppliers.log.lock();
    assert_eq!((log.keys.len(), log.running), (2, 0), "no element began after it, none goes on");
}

#[test]
fn tolerated_step_leaves_no_mark_of_a_stop() {
    let suppliers = Suppliers::default();
    let task = with(ask_each(json!({})), json!({"continue_on_error": true}));
    let tasks = json!([task, set("last", "data.last", json!(1))]);
    let (outcome, _) = suppliers.run_tasks(tasks, json!([failing(1)]));
    assert!(outcome.failure.is_none() && !outcome.has_failed());
    assert_eq!(errors(&outcome), [("IO_ERROR", "ask".to_owned(), Some(0))]);
    assert_eq!(outcome.message.data, json!({"last": 1}));
}

#[test]
fn task_halts_after_its_elements() {
    let suppliers = Suppliers::default();
    let rules = json!({"id": "rules", "halt_on": "failure",
        "for_each": {"over": {"var": "payload"}, "into": "data.checked", "collect": "temp_data.item"},
        "function": {"name": "validation", "input": {"rules": [
            {"logic": {">": [{"var": "temp_data.item"}, 0]}, "message": "no"}]}}});
    let go = set("go", "data.go", json!(true));
    for (payload, goes_on) in [(json!([1, 2]), true), (json!([0, 1]), false)] {
        let (outcome, _) = suppliers.run_tasks(json!([rules, go]), payload.clone());
        assert!(outcome.failure.is_none());
        assert_eq!(outcome.message.data["checked"], payload);
        assert_eq!(outcome.message.data["go"] == true, goes_on, "{payload}");
    }
}

#[test]
fn skipped_elements_change_no_earlier_record() {
    let suppliers = Suppliers::default();
    let skipped = with(set("never", "temp_data.x", json!(1)), json!({"condition": false}));
    let each = json!({"id": "each", "tasks": [skipped], "for_each": {"over": [1, 2], "into": "data.list",
        "collect": "temp_data.x"}});
    let options = RunOptions { capture_changes: true, ..RunOptions::default() };
    let tasks = json!([set("first", "data.first", json!(1)), each]);
    let (outcome, _) = suppliers.run(tasks, json!(null), options);
    assert_eq!(outcome.message.data, json!({"first": 1, "list": [null, null]}));
    let [first] = outcome.audit_trail.as_slice() else { panic!("{:?}", outcome.audit_trail) };
    assert_eq!(first.changes.iter().map(|change| &*change.path).collect::<Vec<_>>(), ["data.first"]);
}

#[test]
fn deadline_of_the_run_ends_every_element() {
    let suppliers = Suppliers::default();
    let options = RunOptions { deadline: Some(Duration::from_millis(500)), ..RunOptions::default() };
    let tasks = json!([ask_each(json!({"max_concurrency": 2, "continue_on_error": true}))]);
    let (outcome, time) = suppliers.run(tasks, json!([after(9000, "a"), after(9000, "b")]), options);
    assert_time(time, 500);
    assert!(outcome.failure.unwrap().error.is_deadline);
    assert_eq!(suppliers.log.lock().running, 0);
}

#[test]
fn elements_begin_with_the_message_before_the_step() {
    let suppliers = Suppliers::default();
    let group = json!({"id": "each", "for_each": {"over": [1, 2, 3], "index_as": "n", "into": "data.seen",
        "collect": "temp_data.seen"}, "tasks": [
        set("see", "temp_data.seen", json!({"cat": [{"var": ["data.mark", "-"]}, {"var": "temp_data.item"},
            {"var": "temp_data.n"}, {"var": "metadata.progress.task_id"}]})),
        set("mark", "data.mark", json!("x")),
        set("more", "data.more.list.1", json!(1))]});
    let tasks =
        json!([set("first", "temp_data.kept", json!(true)), group, set("last", "data.last", json!(1))]);
    let (outcome, _) = suppliers.run_tasks(tasks, json!(null));
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"seen": ["-10first", "-21first", "-32first"], "last": 1}));
    assert_eq!(outcome.message.temp_data, json!({"kept": true}));
}

/// A list and a value, and a task that writes, removes and appends.
fn changed_list() -> [Value; 3] {
    let change = json!({"id": "change", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.list.2", "logic": "z"}, {"path": "data.list.0", "unset": true},
        {"path": "data.list", "mode": "append", "logic": "d"}, {"path": "data.first", "unset": true},
        {"path": "temp_data.seen", "logic": {"var": "data"}}]}}});
    [set("first", "data.first", json!(1)), set("list", "data.list", json!(["a", "b", "c"])), change]
}

#[test]
fn removals_of_elements_are_undone() {
    let suppliers = Suppliers::default();
    let [first, list, change] = changed_list();
    let group = json!({"id": "each", "tasks": [change], "for_each": {"over": [1, 2, 3],
        "collect": "temp_data.seen", "into": "data.seen", "max_concurrency": 2}});
    let (outcome, _) = suppliers.run_tasks(json!([first, list, group]), json!(null));
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    let seen = json!({"list": ["b", "z", "d"]});
    let expected = json!({"first": 1, "list": ["a", "b", "c"], "seen": [seen, seen, seen]});
    assert_eq!(outcome.message.data.to_string(), expected.to_string(), "members keep their order");
}

#[test]
fn removals_of_members_are_repeated() {
    let suppliers = Suppliers::default();
    let [first, list, change] = changed_list();
    let group =
        json!({"id": "both", "parallel": true, "tasks": [change, set("more", "data.more", json!(true))]});
    let (outcome, _) = suppliers.run_tasks(json!([first, list, group]), json!(null));
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"list": ["b", "z", "d"], "more": true}));
}

#[test]
fn values_kept_for_undoing_count_for_the_bound() {
    let limits = EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let write = json!({"path": "data.text", "logic": {"var": "payload"}});
    let unset = json!({"path": "data.text", "unset": true});
    for (pair, count, has_failed) in
        [(vec![&write, &unset], 3, false), (vec![&write, &unset], 9, true), (vec![&write], 9, false)]
    {
        let mappings = pair.repeat(count);
        let task = json!({"id": "each", "function": {"name": "map", "input": {"mappings": mappings}},
            "for_each": {"over": [1], "into": "temp_data.done", "collect": "temp_data.none"}});
        let (outcome, _) = suppliers.run_tasks(json!([task]), json!("x".repeat(200 << 10)));
        assert_eq!(outcome.failure.is_some(), has_failed, "{} {count}", pair.len());
    }
}

#[test]
fn lists_are_checked_before_the_first_element() {
    let limits = EngineLimits { max_fan_out: 3, ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let one = after(0, "a");
    for (payload, code) in [
        (json!(null), None),
        (json!([]), None),
        (json!([one, one, one]), None),
        (json!([one, one, one, one]), Some("LIMIT_EXCEEDED")),
        (json!("text"), Some("VALIDATION_ERROR")),
        (json!({"a": 1}), Some("VALIDATION_ERROR")),
    ] {
        let (outcome, _) = suppliers.run_tasks(json!([ask_each(json!({}))]), payload.clone());
        assert_eq!(outcome.failure.map(|failure| failure.error.code.name()), code, "{payload}");
        let expected = payload.as_array().map_or(0, Vec::len);
        let answers = outcome.message.data["answers"].as_array().map(Vec::len);
        assert_eq!(answers, code.is_none().then_some(expected), "{payload}");
    }
}

#[test]
fn hundred_thousand_elements_stay_within_bounds() {
    let limits = EngineLimits { cpu_budget: Duration::from_secs(600), ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let task = with(
        set("copy", "data.copy", json!({"var": "temp_data.item"})),
        json!({"for_each": {"over": {"var": "payload"}, "into": "data.list", "max_concurrency": 4}}),
    );
    let payload: Value = (0..100_000).collect();
    let (outcome, _) = suppliers.run_tasks(json!([task]), payload.clone());
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors.first());
    assert_eq!(outcome.message.data["list"], payload);
}

#[test]
fn copies_beyond_the_bound_are_refused() {
    let limits = EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let payload = json!([after(0, &"x".repeat(300 << 10)), after(0, "b"), after(0, "c"), after(0, "d")]);
    for (places, code) in [(1, None), (3, None), (4, Some("LIMIT_EXCEEDED"))] {
        let task = with(
            set("one", "data.one", json!(1)),
            json!({"for_each": {"over": {"var": "payload"}, "into": "data.list", "max_concurrency": places}}),
        );
        let (outcome, _) = suppliers.run_tasks(json!([task]), payload.clone());
        assert_eq!(outcome.failure.map(|failure| failure.error.code.name()), code, "{places}");
    }
}

#[test]
fn writes_beyond_the_share_exceed_the_limit() {
    let limits = EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    let text = json!({"var": "payload"});
    let large = json!({"cat": [text, text]});
    let mapping = |mode: Value| {
        let mut mapping = json!({"path": "data.list", "logic": large});
        mapping.as_object_mut().unwrap().extend(mode.as_object().unwrap().clone());
        json!({"id": "write", "function": {"name": "map", "input": {"mappings": [mapping]}}})
    };
    let answer = supply("write", json!({"answer": {"one": text, "two": text}, "output": "data.list"}));
    let is_refused = |step: &Value, text: &str, places: usize| {
        let each = with(
            step.clone(),
            json!({"for_each": {"over": [1, 2, 3, 4], "into": "temp_data.done", "collect": "temp_data.none",
                "max_concurrency": places}}),
        );
        let (outcome, _) = suppliers.run_tasks(json!([each]), json!(text));
        outcome.failure.map(|failure| (failure.error.code.name(), failure.error.message))
    };
    // Twice the text fits the bound, and not a fourth of it, which a copy of the message does.
    let text = "x".repeat(200 << 10);
    for step in [mapping(json!({})), mapping(json!({"mode": "append"})), answer] {
        assert_eq!(is_refused(&step, &text, 1), None, "{step}");
        let (code, message) = is_refused(&step, &text, 4).unwrap();
        assert_eq!(code, "LIMIT_EXCEEDED", "{message}");
        assert!(message.contains("the copy of the message would take more than its share"), "{message}");
    }
}

#[test]
fn copies_of_copies_count_for_the_bound() {
    let limits = EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() };
    let suppliers = Suppliers::new(limits);
    for (places, code) in [(2, None), (3, Some("LIMIT_EXCEEDED"))] {
        let inner = with(
            set("one", "temp_data.one", json!(1)),
            json!({"for_each": {"over": [1, 2, 3], "into": "temp_data.list", "max_concurrency": places}}),
        );
        let outer = json!({"id": "rows", "tasks": [inner], "for_each": {"over": [1], "as": "row",
            "into": "data.rows", "collect": "temp_data.list"}});
        let (outcome, _) = suppliers.run_tasks(json!([outer]), json!("x".repeat(300 << 10)));
        assert_eq!(outcome.failure.map(|failure| failure.error.code.name()), code, "{places}");
    }
}

#[test]
fn keys_differ_by_element_not_by_attempt() {
    let suppliers = Suppliers::default();
    let task = with(ask_each(json!({})), json!({"retry": {"attempts": 2, "delay": "1ms"}}));
    let once = json!({"ms": 1, "answer": "a", "fails": 1});
    let (outcome, _) = suppliers.run_tasks(json!([task]), json!([once, once]));
    assert_eq!(outcome.message.data["answers"], json!(["a", "a"]));
    let keys = suppliers.log.lock().keys.clone();
    let run = outcome.message.id;
    let expected = [0, 0, 1, 1].map(|n| format!("{run}:ask::{n}"));
    assert_eq!(keys, expected);
}

#[test]
fn traces_show_elements_and_their_results() {
    let suppliers = Suppliers::default();
    let options = RunOptions { trace: Some(TraceOptions::default()), ..RunOptions::default() };
    let tasks = json!([ask_each(json!({"max_concurrency": 2}))]);
    let (outcome, _) = suppliers.run(tasks, json!([after(9, "a"), after(1, "b")]), options);
    let steps = outcome.trace.unwrap().steps;
    assert_eq!(steps.iter().map(|step| step.index).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert_eq!(steps[0].changes.iter().map(|change| &*change.path).collect::<Vec<_>>(), ["data.answer"]);
    assert_eq!(steps[1].changes.last().unwrap().new_value, json!(["a", "b"]));
    assert_eq!(steps[1].message.as_ref().unwrap()["data"], json!({"answers": ["a", "b"]}));
}

#[test]
fn traces_show_steps_that_were_cut_short() {
    let suppliers = Suppliers::default();
    let slow = |id: &str| supply(id, json!({"ms": 900, "output": "data.x"}));
    let patient = with(slow("patient"), json!({"timeout_ms": 500}));
    let each = with(slow("each"), json!({"for_each": {"over": [1], "into": "data.list"}}));
    let quick = set("quick", "data.y", json!(1));
    let both = json!({"id": "both", "parallel": true, "tasks": [slow("slow"), quick.clone()]});
    let held = json!({"id": "held", "tasks": [slow("slow")], "finally": [quick.clone()]});
    let (other, close) = (json!({"ms": 900, "output": "data.z"}), json!({"ms": 300, "output": "data.end"}));
    let closed =
        json!({"id": "closed", "tasks": [supply("other", other)], "finally": [supply("close", close)]});
    let waited = json!({"id": "waited", "parallel": true, "tasks": [slow("slow"), closed]});
    let failed = |id| (Some(id), StepResult::Failed);
    let executed = |id| (Some(id), StepResult::Executed);
    for (member, expected) in [
        (slow("alone"), vec![failed("alone")]),
        (patient, vec![failed("patient")]),
        (each, vec![failed("each")]),
        (both, vec![failed("slow"), executed("quick")]),
        (held, vec![failed("slow"), executed("quick")]),
        (waited, vec![failed("slow"), failed("other"), executed("close")]),
    ] {
        let group = json!({"id": "group", "timeout_ms": 100, "tasks": [member]});
        let options = RunOptions { trace: Some(TraceOptions::default()), ..RunOptions::default() };
        let (outcome, _) = suppliers.run(json!([group]), json!(null), options);
        let steps = outcome.trace.unwrap().steps;
        let shown: Vec<_> = steps.iter().map(|step| (step.task_id.as_deref(), step.result)).collect();
        assert_eq!(shown, expected, "{member}");
        // Without the `finally` of others.
        assert!((100_000..200_000).contains(&steps[0].duration_us.unwrap()) && steps[0].started_at.is_some());
        assert_eq!(steps[0].function.as_deref(), Some("supply"));
    }
}

#[test]
fn fan_outs_nest_within_each_other() {
    let suppliers = Suppliers::default();
    let inner = with(
        set("add", "data.sum", json!({"+": [{"var": "temp_data.row"}, {"var": "temp_data.cell"}]})),
        json!({"for_each": {"over": [1, 2], "as": "cell", "into": "temp_data.cells", "max_concurrency": 2}}),
    );
    let outer = json!({"id": "rows", "tasks": [inner], "for_each": {"over": [10, 20], "as": "row",
        "into": "data.rows", "collect": "temp_data.cells", "max_concurrency": 2}});
    let (outcome, _) = suppliers.run_tasks(json!([outer]), json!(null));
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert_eq!(outcome.message.data, json!({"rows": [[11, 12], [21, 22]]}));
    assert_eq!(outcome.message.temp_data, json!({}));
}

#[test]
fn errors_of_nested_lists_name_all_indexes() {
    let suppliers = Suppliers::default();
    let block = json!({"over": [1, 2], "as": "cell", "into": "temp_data.cells", "continue_on_error": true});
    let ask = supply("ask", json!({"answer": 1, "fails": 9, "output": "data.answer"}));
    let outer = json!({"id": "rows", "tasks": [with(ask, json!({"for_each": block}))], "for_each": {
        "over": [10, 20], "as": "row", "into": "data.rows", "collect": "temp_data.cells"}});
    let (outcome, _) = suppliers.run_tasks(json!([outer]), json!(null));
    assert_eq!(outcome.message.data, json!({"rows": [[null, null], [null, null]]}));
    assert_eq!(errors(&outcome), [0, 1, 0, 1].map(|n| ("IO_ERROR", "ask".to_owned(), Some(n))));
    let expected = [[0, 0], [0, 1], [1, 0], [1, 1]];
    let indexes: Vec<_> =
        outcome.errors.iter().map(|error| error.indexes.as_ref().unwrap().as_slice().to_vec()).collect();
    assert_eq!(indexes, expected);
    let records = outcome.message.metadata["_svc_errors"].as_array().unwrap();
    let indexes: Vec<_> = records.iter().map(|record| record["indexes"].clone()).collect();
    assert_eq!(indexes, expected.map(|indexes| json!(indexes)));
}

#[test]
fn members_of_parallel_groups_run_at_once() {
    let suppliers = Suppliers::default();
    let group = json!({"id": "both", "parallel": true, "tasks": [
        supply("slow", json!({"ms": 300, "answer": 1, "output": "data.slow"})),
        {"id": "pair", "tasks": [
            supply("quick", json!({"ms": 100, "answer": {"n": 2}, "output": "data.quick"})),
            set("seen", "data.quick.slow", json!({"??": [{"var": "data.slow"}, "unseen"]}))]}]});
    let (outcome, time) =
        suppliers.run_tasks(json!([group, set("last", "data.last", json!(true))]), json!(null));
    assert!(outcome.failure.is_none(), "{:?}", outcome.errors);
    assert!(time < Duration::from_millis(320), "{time:?}");
    let expected = json!({"slow": 1, "quick": {"n": 2, "slow": "unseen"}, "last": true});
    assert_eq!(outcome.message.data, expected);
    let tasks: Vec<_> = outcome.audit_trail.iter().map(|entry| &*entry.task_id).collect();
    assert_eq!(tasks, ["slow", "quick", "seen", "last"], "in the order of the list");
}

#[test]
fn failed_member_cancels_the_others() {
    let suppliers = Suppliers::default();
    let group = json!({"id": "both", "parallel": true, "tasks": [
        supply("slow", json!({"ms": 900, "answer": 1, "output": "data.slow"})),
        supply("bad", json!({"ms": 10, "fails": 9, "output": "data.bad"}))]});
    let (outcome, time) = suppliers.run_tasks(json!([group]), json!(null));
    assert_time(time, 10);
    assert_eq!(outcome.failure.unwrap().error.task_id.as_deref(), Some("bad"));
    assert_eq!(outcome.message.data, json!({}));
    assert_eq!(suppliers.log.lock().running, 0);
}

#[test]
fn later_member_wins_where_writes_meet() {
    let suppliers = Suppliers::default();
    // Paths that only the run knows, as those of outputs, cannot be compared before.
    let group = json!({"id": "both", "parallel": true, "tasks": [
        supply("late", json!({"ms": 20, "answer": "first of the list", "output": "data.x"})),
        supply("early", json!({"ms": 1, "answer": "second of the list", "output": "data.x"}))]});
    let (outcome, _) = suppliers.run_tasks(json!([group]), json!(null));
    assert_eq!(outcome.message.data["x"], "second of the list");
}

#[test]
fn malformed_blocks_do_not_compile() {
    let engine = Suppliers::default().engine;
    let block =
        |block: Value| json!({"tasks": [with(set("t", "data.x", json!(1)), json!({"for_each": block}))]});
    for (block, at) in [
        (block(json!({"over": [1]})), "tasks[0].for_each.into"),
        (block(json!({"into": "data.x"})), "tasks[0].for_each.over"),
        (
            block(json!({"over": {"nosuch": 1, "b": [{"+": 1}]}, "into": "payload.x"})),
            "tasks[0].for_each.into",
        ),
        (
            json!({"tasks": [{"id": "g", "parallel": 1, "tasks": [set("t", "data.x", json!(1))]}]}),
            "tasks[0].parallel",
        ),
        (
            json!({"tasks": [{"id": "g", "finally": [], "tasks": [set("t", "data.x", json!(1))]}]}),
            "tasks[0].finally",
        ),
    ] {
        let error = compile(&engine, &block).unwrap_err().to_string();
        assert!(error.contains(at), "{error}");
    }
}
