//! `backtest`: a changed workflow over recorded runs.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{command, write};

/// Runs that are recorded, with quantities from 0.
const RUNS: u64 = 40;

/// A workflow that asks for a price and sums up; from `rebate_from` pieces on the sum is 1 less.
fn workflow(rebate_from: u64) -> Value {
    let sum = json!({"*": [{"var": "data.price.amount"}, {"var": "payload.quantity"}]});
    let rebate = json!({">=": [{"var": "payload.quantity"}, rebate_from]});
    json!({"workflow_id": "price", "name": "Price", "tasks": [
        {"id": "ask", "name": "Ask", "function": {"name": "http_call", "input": {
            "connector": "shop", "method": "POST", "body_logic": {"item": {"var": "payload.item"}},
            "output": "data.price"}}},
        {"id": "sum", "name": "Sum", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.sum", "logic": {"if": [rebate, {"-": [sum.clone(), 1]}, sum]}}]}}},
    ]})
}

/// Returns the recording of a run of the workflow with a rebate from 30 pieces on.
fn recording(quantity: u64) -> Value {
    let sum = 7 * quantity - u64::from(quantity >= 30);
    json!({
        "id": format!("r{quantity}"), "run_key": format!("k{quantity}"), "workflow_id": "price",
        "recording": {
            "started_at": "2026-01-02T03:04:05.000000Z",
            "payload": {"item": "book", "quantity": quantity}, "metadata": {}, "drawn": [],
            "calls": [{"task": "ask", "attempt": 1, "function": "http_call", "target": "shop",
                "input": {"connector": "shop", "method": "POST", "body": {"item": "book"}},
                "answer": {"amount": 7}, "ms": 1.5}],
            "end": {"matched": true, "tasks": ["ask", "sum"], "data": {"price": {"amount": 7}, "sum": sum}},
        },
    })
}

fn project(rebate_from: u64) -> TempDir {
    let project = TempDir::new().unwrap();
    write(project.path(), "workflows/price.json", &workflow(rebate_from));
    let lines: String = (0..RUNS).map(|quantity| format!("{}\n", recording(quantity))).collect();
    std::fs::write(project.path().join("runs.jsonl"), lines).unwrap();
    project
}

const BACKTEST: [&str; 5] = ["backtest", "--traces", "runs.jsonl", "-w", "workflows/price.json"];

#[test]
fn unchanged_workflow_has_no_difference() {
    let project = project(30);
    let run = command(project.path(), &[&BACKTEST[..], &["--fail-on", "different-answer,new-call"]].concat());
    assert_eq!((run.code(), run.err()), (Some(0), String::new()), "{}", run.stdout_text());
    assert_eq!(run.stdout_text(), "40 recorded runs\n       40  same\n");
}

#[test]
fn changed_rule_is_found_in_its_runs_alone() {
    let project = project(25);
    let root = project.path();
    let json = command(root, &[&BACKTEST[..], &["--format", "json"]].concat());
    assert_eq!((json.code(), json.err()), (Some(0), String::new()), "{}", json.stdout_text());
    let report = json.json();
    assert_eq!((&report["kinds"]["same"], &report["kinds"]["different-answer"]), (&json!(35), &json!(5)));
    let group = &report["groups"][0];
    assert_eq!((&group["subject"], &group["runs"]), (&json!("data.sum"), &json!(5)));
    let sample = json!({"id": "r25", "run_key": "k25", "lines": ["data.sum: expected 175, got 174"]});
    assert_eq!(group["samples"][0], sample);
    let failing = ["--fail-on", "different-answer", "--format", "junit", "--cases", "found"];
    let junit = command(root, &[&BACKTEST[..], &failing].concat());
    assert_eq!(junit.code(), Some(1), "{}", junit.err());
    assert!(junit.stdout_text().contains("data.sum: expected 175, got 174"), "{}", junit.stdout_text());
    let cases = command(root, &["test", "found"]);
    assert_eq!(cases.code(), Some(1));
    assert!(cases.stdout_text().contains("data.sum: expected 175, got 174"), "{}", cases.stdout_text());
}

#[test]
fn ignored_path_may_have_an_index() {
    let project = project(30);
    let root = project.path();
    let mut changed = workflow(30);
    let items = json!([{"var": "payload.item"}, {"now": []}]);
    changed["tasks"][0]["function"]["input"]["body_logic"] = json!({"items": items});
    write(root, "workflows/price.json", &changed);
    let recorded = |quantity: u64| {
        let mut line = recording(quantity);
        let body = json!({"items": ["book", "2026-01-02T03:04:05Z"]});
        line["recording"]["calls"][0]["input"]["body"] = body;
        line
    };
    let lines: String = (0..RUNS).map(|quantity| format!("{}\n", recorded(quantity))).collect();
    std::fs::write(root.join("runs.jsonl"), lines).unwrap();
    let with = |path: &str| {
        let run = command(root, &[&BACKTEST[..], &["--format", "json", "--ignore", path]].concat());
        (run.code(), run.err(), run.stdout_text())
    };
    for (path, expected) in [("input.body.items[1]", 0), ("input.body.items[0]", RUNS)] {
        let (code, err, out) = with(path);
        assert_eq!(code, Some(0), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["kinds"]["changed-input"], expected, "{path}");
    }
    let (code, err, _) = with("input.body.items[");
    assert_eq!(code, Some(2));
    assert!(err.contains("'input.body.items[' is no path from '[' on"), "{err}");
}

#[test]
fn calls_without_recorded_answer_are_named() {
    let project = project(30);
    let root = project.path();
    let mut changed = workflow(30);
    changed["tasks"][0]["function"]["input"]["connector"] = "market".into();
    write(root, "workflows/price.json", &changed);
    let report = command(root, &[&BACKTEST[..], &["--format", "json"]].concat()).json();
    assert_eq!((&report["kinds"]["new-call"], &report["kinds"]["missing-call"]), (&json!(40), &json!(40)));
    assert_eq!(report["kinds"]["new-error"], 0, "it follows from the call");
}

#[test]
fn masked_token_is_not_comparable() {
    let project = TempDir::new().unwrap();
    let root = project.path();
    let verify = json!({"token": {"var": "metadata.headers.authorization"}, "algorithms": ["RS256"],
        "jwks_url": "https://login.example.com/keys", "output": "data.claims"});
    let task = json!({"id": "check", "name": "Check", "function": {"name": "jwt_verify", "input": verify}});
    write(root, "workflows/price.json", &json!({"workflow_id": "price", "name": "Price", "tasks": [task]}));
    let line = |end: Value| {
        json!({"id": "r", "run_key": "k", "workflow_id": "price", "recording": {
            "started_at": "2026-01-02T03:04:05.000000Z", "payload": {}, "drawn": [], "calls": [],
            "metadata": {"headers": {"authorization": "******"}}, "end": end}})
    };
    let admitted =
        json!({"matched": true, "tasks": ["check"], "data": {"claims": {"sub": "u"}}, "errors": []});
    let errors = json!([{"code": "FUNCTION_ERROR", "task_id": "check"}, {"code": "WORKFLOW_ERROR"}]);
    let refused = json!({"matched": true, "error": "FUNCTION_ERROR", "tasks": ["check"], "data": {},
        "errors": errors});
    std::fs::write(root.join("runs.jsonl"), format!("{}\n{}\n", line(admitted), line(refused))).unwrap();
    let run = command(root, &[&BACKTEST[..], &["--format", "json"]].concat());
    assert_eq!(run.code(), Some(0), "{}", run.err());
    let kinds = run.json()["kinds"].clone();
    assert_eq!((&kinds["not-comparable"], &kinds["same"]), (&json!(1), &json!(1)), "{kinds}");
}

#[test]
fn compared_mask_is_not_comparable() {
    let project = TempDir::new().unwrap();
    let root = project.path();
    let token = json!({"var": "metadata.headers.x-api-token"});
    let mappings = json!([
        {"path": "data.kind", "logic": {"if": [{"==": [token, "gold"]}, "vip", "plain"]}},
        {"path": "data.sum", "logic": {"var": "payload.sum"}},
    ]);
    let task =
        json!({"id": "mark", "name": "Mark", "function": {"name": "map", "input": {"mappings": mappings}}});
    write(root, "workflows/price.json", &json!({"workflow_id": "price", "name": "Price", "tasks": [task]}));
    let line = |headers: Value, data: Value| {
        json!({"id": "r", "run_key": "k", "workflow_id": "price", "recording": {
            "started_at": "2026-01-02T03:04:05.000000Z", "payload": {"sum": 1}, "drawn": [], "calls": [],
            "metadata": {"headers": headers},
            "end": {"matched": true, "tasks": ["mark"], "data": data, "errors": []}}})
    };
    let masked = json!({"x-api-token": "******"});
    let lines = [
        line(masked.clone(), json!({"kind": "vip", "sum": 1})),
        line(masked.clone(), json!({"kind": "plain", "sum": 1})),
        line(masked, json!({"kind": "vip", "sum": 2})),
        line(json!({}), json!({"kind": "plain", "sum": 2})),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(root.join("runs.jsonl"), lines).unwrap();
    let run = command(root, &[&BACKTEST[..], &["--format", "json"]].concat());
    assert_eq!(run.code(), Some(0), "{}", run.err());
    let report = run.json();
    let kinds = &report["kinds"];
    for (kind, expected) in [("not-comparable", 1), ("same", 1), ("different-answer", 2)] {
        assert_eq!(kinds[kind], expected, "{kind}: {kinds}");
    }
    assert_eq!(report["groups"][0]["subject"], "data.sum", "the compared mask does not explain it: {report}");
    let reason = "the workflow compares metadata.headers.x-api-token, which recordings mask";
    assert!(report.to_string().contains(reason), "{report}");
}

#[test]
fn backtest_that_cannot_be_made_exits_with_two() {
    let project = project(30);
    let root = project.path();
    let gone = command(root, &["backtest", "--traces", "gone.jsonl", "-w", "workflows/price.json"]);
    assert_eq!(gone.code(), Some(2));
    assert!(gone.err().contains("gone.jsonl"), "{}", gone.err());
    std::fs::write(root.join("runs.jsonl"), "{\"id\": \"x\"}\n").unwrap();
    let other = command(root, &BACKTEST);
    assert_eq!(other.code(), Some(2));
    assert!(other.err().contains("runs.jsonl:1: this is no recorded run"), "{}", other.err());
    assert_eq!(command(root, &[&BACKTEST[..], &["--fail-on", "new-eror"]].concat()).code(), Some(2));
}

#[test]
fn project_is_run_over_runs_of_its_workflows() {
    let project = project(25);
    let root = project.path();
    let rule = json!({">": [{"var": "data.quantity"}, 1]});
    let config = json!({"validation_logic": rule, "rate_limit": {"requests_per_second": 9}});
    let channel = json!({"channel_id": "price", "name": "price", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/price", "workflow_id": "price", "config": config});
    write(root, "channels/price.json", &channel);
    let recorded = |quantity: u64| {
        let mut line = recording(quantity);
        line["channel"] = "price".into();
        line["source"] = "sync".into();
        line
    };
    let mut lines: String = (0..RUNS).map(|quantity| format!("{}\n", recorded(quantity))).collect();
    let mut stray = recorded(0);
    stray["workflow_id"] = "other".into();
    lines.push_str(&format!("{stray}\n"));
    std::fs::write(root.join("runs.jsonl"), lines).unwrap();
    let arguments = ["package", "backtest", "-f", ".", "--traces", "runs.jsonl", "--format", "json"];
    let run = command(root, &[&arguments[..], &["--fail-on", "new-error"]].concat());
    assert_eq!(run.code(), Some(1), "{}", run.err());
    assert!(run.err().contains("1 recorded runs of other workflows were left out"), "{}", run.err());
    let report = run.json();
    let counts = ["same", "different-answer", "new-error"].map(|kind| report["kinds"][kind].clone());
    assert_eq!(counts, [33, 5, 2].map(Value::from));
    let subjects: Vec<_> =
        report["groups"].as_array().unwrap().iter().map(|group| &group["subject"]).collect();
    assert_eq!(subjects, ["price: data.sum", "price: refused by validation_logic"]);
    let expected: Vec<String> = [0, 1, 25, 26, 27, 28, 29].map(|quantity| format!("r{quantity}")).to_vec();
    assert_eq!(report["differing"], json!(expected));
}
