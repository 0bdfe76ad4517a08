//! Values that grow with every step meet a bound and fail with its name.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use svc_engine::{Engine, EngineLimits, Flow, RunOptions, RunOutcome, TraceOptions};
use tokio::time::Instant;

use crate::support::{compile, message};

/// More than any of these may take, even on a busy machine.
const BOUND: Duration = Duration::from_secs(60);
/// Processor time that is no bound.
const UNLIMITED: Duration = Duration::from_secs(3600);

fn map(mappings: Value) -> Value {
    json!({"id": "m", "function": {"name": "map", "input": {"mappings": mappings}}})
}

/// Runs over real time, with a small message allowed.
fn run_within(cpu_budget: Duration, options: RunOptions, document: &Value, payload: Value) -> RunOutcome {
    let limits = EngineLimits { max_message_bytes: 4 << 20, cpu_budget, ..EngineLimits::default() };
    let engine = Engine::builder().limits(limits).build();
    let flow = Flow::single(compile(&engine, document).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let started = Instant::now();
    let outcome = runtime.block_on(engine.run(&flow, message(payload), options));
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    outcome
}

fn run_with(options: RunOptions, document: &Value, payload: Value) -> RunOutcome {
    run_within(UNLIMITED, options, document, payload)
}

fn run(document: &Value, payload: Value) -> RunOutcome {
    run_with(RunOptions::default(), document, payload)
}

/// Runs with the processor time a run has by default.
fn run_limited(document: &Value, payload: Value) -> RunOutcome {
    run_within(EngineLimits::default().cpu_budget, RunOptions::default(), document, payload)
}

/// Returns the processor time that this thread has used.
fn read_processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

#[track_caller]
fn fails_with(outcome: &RunOutcome, words: &[&str]) {
    let message = &outcome.failure.as_ref().unwrap().error.message;
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
}

#[test]
fn doubling_text_ends_as_task_error_by_path() {
    let doubled = json!({"cat": [{"var": ["data.s", "x"]}, {"var": ["data.s", "x"]}]});
    let document =
        json!({"loop": {"max": 10_000}, "tasks": [map(json!([{"path": "data.s", "logic": doubled}]))]});
    let outcome = run(&document, json!(null));
    fails_with(&outcome, &["data.s", "4 MiB"]);
    assert!(outcome.message.data["s"].as_str().unwrap().len() < 4 << 20);
}

#[test]
fn self_copying_message_ends_as_task_error() {
    let mappings: Value =
        (0..24).map(|n| json!({"path": format!("data.k{n}"), "logic": {"var": "data"}})).collect();
    let mut first = vec![json!({"path": "data.x", "logic": "x"})];
    first.extend(mappings.as_array().unwrap().clone());
    fails_with(&run(&json!({"tasks": [map(first.into())]}), json!(null)), &["data.k", "4 MiB"]);
}

#[test]
fn many_values_that_each_fit_do_not_fit_together() {
    let mappings: Value =
        (0..64).map(|n| json!({"path": format!("data.k{n}"), "logic": {"var": "payload"}})).collect();
    let outcome = run(&json!({"tasks": [map(mappings)]}), json!("x".repeat(1 << 20)));
    fails_with(&outcome, &["data.k3", "4 MiB"]);
    assert_eq!(outcome.message.data.as_object().unwrap().len(), 3);
}

#[test]
fn a_value_that_is_replaced_counts_once() {
    let mappings: Value = (0..64).map(|_| json!({"path": "data.k", "logic": {"var": "payload"}})).collect();
    assert!(run(&json!({"tasks": [map(mappings)]}), json!("x".repeat(1 << 20))).failure.is_none());
}

#[test]
fn value_doubled_within_expression_is_an_error() {
    let bodies = [
        json!({"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}),
        json!({"merge": [{"var": "accumulator"}, {"var": "accumulator"}]}),
        json!([{"var": "accumulator"}, {"var": "accumulator"}]),
        json!({"a": {"var": "accumulator"}, "b": {"var": "accumulator"}}),
    ];
    for body in bodies {
        let logic = json!({"reduce": [{"var": "payload"}, body, "xx"]});
        let rules = json!([{"logic": {"==": [logic, 1]}, "message": "m"}]);
        for task in [
            map(json!([{"path": "data.x", "logic": logic}])),
            json!({"id": "v", "function": {"name": "validation", "input": {"rules": rules}}}),
        ] {
            let outcome = run(&json!({"tasks": [task]}), vec![1; 100].into());
            let message = &outcome.errors[0].message;
            assert!(message.contains("MiB"), "{body}: {message}");
        }
    }
}

#[test]
fn large_array_is_refused_before_copying() {
    let payload = json!({"many": vec![1; 10_000], "large": "x".repeat(100_000)});
    for body in
        [json!({"val": [[2], "payload", "large"]}), json!({"cat": [{"val": [[2], "payload", "large"]}, "y"]})]
    {
        let logic = json!({"map": [{"var": "payload.many"}, body]});
        let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": logic}]))]});
        fails_with(&run(&document, payload.clone()), &["data.x", "MiB"]);
    }
    let joined = json!({"join": [{"var": "payload.many"}, {"var": "payload.large"}]});
    fails_with(
        &run(&json!({"tasks": [map(json!([{"path": "data.x", "logic": joined}]))]}), payload),
        &["MiB"],
    );
}

#[test]
fn loops_inside_loops_end_when_their_time_is_over() {
    let all = json!({"var": "payload"});
    let outer = |body: Value| json!({"all": [{"val": [[9], "payload"]}, body]});
    let nested = outer(outer(outer(json!({">=": [{"var": ""}, 0]}))));
    let looked_up = json!({"filter": [all, {"in": [{"var": ""}, {"val": [[9], "payload"]}]}]});
    let document =
        |logic: &Value| json!({"tasks": [map(json!([{"path": "data.x", "logic": {"cat": [logic]}}]))]});
    fails_with(&run_limited(&document(&nested), (0..1500).collect()), &["processor time"]);
    let outcome = run(&document(&looked_up), (0..3).collect());
    assert_eq!(outcome.message.data, json!({"x": "012"}), "what is quick is left alone");
}

#[test]
fn run_executes_so_many_tasks_and_no_more() {
    let tasks: Value = (0..101)
        .map(|n| json!({"id": n.to_string(), "function": {"name": "map", "input": {"mappings": []}}}))
        .collect();
    let document = json!({"loop": {"max": 10_000}, "continue_on_error": true, "tasks": tasks});
    fails_with(&run(&document, json!(null)), &["1000000 tasks"]);
}

#[test]
fn traced_loop_stays_within_its_snapshot_budget() {
    let mappings =
        json!([{"path": "data.x", "logic": {"cat": [{"var": "payload"}, {"var": "temp_data.n"}]}}]);
    let document = json!({"loop": {"counter": "n", "max": 2000}, "tasks": [map(mappings)]});
    let trace = Some(TraceOptions { snapshot_bytes: 1 << 18, input: true });
    let options = RunOptions { trace, capture_changes: true, ..RunOptions::default() };
    let outcome = run_with(options, &document, json!("x".repeat(10_000)));
    let recorded = outcome.trace.unwrap();
    assert!(recorded.truncated);
    assert!(recorded.steps.iter().any(|step| !step.changes.is_empty()));
    let bytes = serde_json::to_string(&recorded.steps).unwrap().len();
    assert!(bytes < 2 << 20, "{bytes} bytes of steps");
    assert_eq!(outcome.audit_trail.len(), 2000);
    let bytes = serde_json::to_string(&outcome.audit_trail).unwrap().len();
    assert!(bytes < 2 << 20, "{bytes} bytes of audit");
}

#[test]
fn loops_over_large_operands_end_in_time() {
    let payload = json!({"many": (0..50_000).collect::<Vec<_>>(), "text": "é".repeat(200_000),
        "same": "x".repeat(1 << 20)});
    let large = json!({"val": [[2], "payload", "text"]});
    let same = json!({"val": [[2], "payload", "same"]});
    for body in [
        json!({"==": [{"upper": large}, ""]}),
        json!({"==": [{"lower": large}, ""]}),
        json!({"==": [{"substr": [large, -1]}, ""]}),
        json!({"==": [{"length": large}, 1]}),
        json!({"==": [same, {"cat": [same]}]}),
        json!({"<": [{"max": {"val": [[2], "payload", "many"]}}, 1]}),
    ] {
        let logic = json!({"length": {"map": [{"var": "payload.many"}, body]}});
        let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": logic}]))]});
        let outcome = run_limited(&document, payload.clone());
        // A fast machine may be through before its time is over.
        if let Some(failure) = &outcome.failure {
            let message = &failure.error.message;
            assert!(message.contains("processor time") || message.contains("MiB"), "{body}: {message}");
        }
    }
}

#[test]
fn distinct_and_group_by_take_linear_time() {
    for logic in [
        json!({"length": {"distinct": {"var": "payload"}}}),
        json!({"length": {"distinct": [{"var": "payload"}, {"var": ""}]}}),
        json!({"length": {"group_by": [{"var": "payload"}, {"cat": ["k", {"var": ""}]}]}}),
    ] {
        let outcome =
            run(&json!({"tasks": [map(json!([{"path": "data.x", "logic": logic}]))]}), (0..60_000).collect());
        assert_eq!(outcome.message.data, json!({"x": 60_000}), "{logic}: {:?}", outcome.failure);
    }
}

#[test]
fn late_last_task_times_the_run_out() {
    let busy = json!({"length": {"map": [{"var": "payload"}, {"cat": [{"var": ""}, "x"]}]}});
    let options = RunOptions { deadline: Some(Duration::from_millis(5)), ..RunOptions::default() };
    let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": busy}]))]});
    let outcome = run_with(options, &document, (0..100_000).collect());
    assert_eq!(outcome.failure.unwrap().to_service_error(false).status(), 504);
}

#[test]
fn catastrophic_patterns_stay_within_the_budget() {
    let payload = json!({"text": "x".repeat(60_000), "many": (0..50).collect::<Vec<_>>()});
    let text = json!({"val": [[2], "payload", "text"]});
    for pattern in [
        "^(x+x+)+y$",
        "^(x|x)*y$",
        "^(x|xx|xxx)*y$",
        "(.*x){20}y",
        "^(x?){50}x{50}y",
        "(x*)*y",
        "(?:x?){64}x{64}y",
        "(((x{1,9}){1,9}){1,9})y",
        r"^(\w*\w*)*\W$",
        r"\w{9}\W",
    ] {
        for operator in ["matches", "capture"] {
            let once = json!({ operator: [{"var": "payload.text"}, pattern] });
            let each = json!({"map": [{"var": "payload.many"}, { operator: [text, pattern] }]});
            for logic in [once, json!({ "length": each })] {
                let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": logic}]))]});
                let before = read_processor_time();
                let outcome = run_limited(&document, payload.clone());
                // One match is not interrupted, and this build is not optimised.
                let used = read_processor_time().saturating_sub(before);
                assert!(used < 3 * EngineLimits::default().cpu_budget, "{logic}: {used:?}");
                // A fast machine may be through before its time is over; a large pattern takes short texts only.
                if let Some(failure) = &outcome.failure {
                    let message = &failure.error.message;
                    let is_bound =
                        ["processor time", "texts of up to"].iter().any(|part| message.contains(part));
                    assert!(is_bound, "{logic}: {message}");
                } else {
                    assert_ne!(outcome.message.data["x"], json!(true), "{logic}");
                }
            }
        }
    }
}

#[test]
fn replaced_text_and_decimal_number_are_bounded() {
    let bomb = json!({"replace": [{"var": "payload"}, "x", {"var": "payload"}]});
    let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": bomb}]))]});
    fails_with(&run(&document, json!("x".repeat(100_000))), &["data.x", "MiB"]);
    let squared = json!({"decimal_mul": [{"var": "accumulator"}, {"var": "accumulator"}]});
    let power = json!({"reduce": [{"var": "payload"}, squared, "1234567890.123456789"]});
    let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": power}]))]});
    fails_with(&run(&document, (0..100_000).collect()), &["data.x", "1000 digits"]);
    let digits = json!({"decimal_add": [{"var": "payload"}, 1]});
    let document = json!({"tasks": [map(json!([{"path": "data.x", "logic": digits}]))]});
    fails_with(&run(&document, json!("9".repeat(1 << 20))), &["data.x", "1000 digits"]);
}
