//! The profile of a run: measured figures that fit each other.

use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::cron::{held_upstream, pass};
use crate::support::{launch, serve};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[expect(clippy::disallowed_methods, reason = "the server under test goes by the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn slow_task_time_stays_within_the_total() {
    let server = launch()
        .env("SVC_TRACING__DEBUG_PROFILE_ENABLED", "true")
        .env("SVC_TRACE_STORAGE__MODE", "sync")
        .start()
        .unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let copy = |id: &str| {
        json!({"id": id, "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": format!("data.{id}"), "logic": {"var": "payload"}}]}}})
    };
    let call = json!({"id": "slow", "name": "", "function": {"name": "http_call", "input": {
        "connector": "api", "path": "/", "output": "data.slow"}}});
    serve(&mut client, "timed", json!([copy("before"), call, copy("after")]));

    let began = now();
    let caller =
        thread::spawn(move || client.json("POST", "/api/v1/data/timed?profile=true", &json!({"n": 1})));
    upstream.wait_for(1);
    let begin = now();
    pass(1);
    let held_ms = begin.elapsed().as_secs_f64() * 1000.0;
    upstream.open();
    let answer = caller.join().unwrap().unwrap();
    let whole_ms = began.elapsed().as_secs_f64() * 1000.0;
    assert_eq!(answer.status, 200, "{}", answer.text());

    let body = answer.json();
    let profile = &body["_svc"]["profile"];
    let handlers = profile["handlers"].as_array().unwrap();
    let functions: Vec<_> = handlers.iter().map(|handler| handler["function"].as_str().unwrap()).collect();
    assert_eq!(functions, ["map", "http_call", "map"], "{profile}");
    let times: Vec<_> = handlers.iter().map(|handler| number(&handler["duration_ms"])).collect();
    assert!(times[1] >= held_ms, "{held_ms}: {profile}");
    assert!(times.iter().all(|time| *time > 0.0), "{profile}");

    let figure = |key: &str| number(&profile[key]);
    let (total, workflow, sum) =
        (figure("request_total_ms"), figure("workflow_total_ms"), figure("handlers_total_ms"));
    let is_same = |left: f64, right: f64| (left - right).abs() < 1e-6 * left.abs().max(1.0);
    assert!(is_same(times.iter().sum(), sum), "{profile}");
    assert!(is_same(figure("workflow_overhead_ms"), workflow - sum), "{profile}");
    assert!(sum <= workflow && workflow <= total && total <= whole_ms, "{whole_ms}: {profile}");
    let stored = figure("trace_store_ms");
    assert!(stored > 0.0 && workflow + stored <= total, "the answer waited for its trace: {profile}");

    let by = |kind: &str, name: &str| {
        (profile[kind][name]["count"].clone(), number(&profile[kind][name]["total_ms"]))
    };
    let (maps, mapped) = by("by_function", "map");
    assert!(maps == 2 && is_same(mapped, times[0] + times[2]), "{profile}");
    let (calls, called) = by("by_connector", "api");
    assert!(calls == 1 && is_same(called, times[1]), "{profile}");
    let shares = &profile["breakdown_pct"];
    assert!(is_same(number(&shares["external_io"]), called / total * 100.0), "{profile}");
    let parts: f64 = shares.as_object().unwrap().values().map(number).sum();
    assert!(parts > 0.0 && parts <= 100.0 + 1e-6, "{profile}");
}
