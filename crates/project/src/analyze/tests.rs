use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::finding::Severity;
use crate::source::SourceFile;

/// A project of files with these values.
fn project(files: &[(&str, Value)]) -> Project {
    let directory = tempfile::tempdir().unwrap();
    let read = |(name, value): &(&str, Value)| {
        let path = directory.path().join(name);
        std::fs::write(&path, format!("{value:#}\n")).unwrap();
        Arc::new(SourceFile::read(name, &path).unwrap())
    };
    Project::read(files.iter().map(read).collect())
}

fn findings(files: &[(&str, Value)]) -> Vec<AnalysisFinding> {
    let (engine, declared) = (Engine::builder().build(), BTreeSet::from(["known".to_owned()]));
    analyze(&project(files), &engine, &AnalysisLevels::default(), Some(&declared))
}

/// Returns the rules that fire over a workflow of these tasks, each with its place.
fn fired(tasks: Value) -> Vec<(&'static str, String)> {
    let workflow = json!({"workflow_id": "w", "name": "W", "tasks": tasks});
    let place = |found: AnalysisFinding| {
        let (path, _) = found.finding.message.split_once(": ").unwrap();
        (found.finding.check.strip_prefix("analyze.").unwrap(), path.to_owned())
    };
    findings(&[("w.json", workflow)]).into_iter().map(place).collect()
}

fn fired_at(rule: &'static str, path: &str) -> (&'static str, String) {
    (rule, path.to_owned())
}

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

fn map(id: &str, mappings: Value) -> Value {
    task(id, "map", json!({"mappings": mappings}))
}

#[test]
fn steps_behind_an_end_are_unreachable() {
    let end = json!({"id": "end", "name": "End", "terminal": true, "tasks": [map("a", json!([]))]});
    assert_eq!(fired(json!([end, map("b", json!([]))])), [fired_at("unreachable_step", "tasks[1]")]);
    assert_eq!(fired(json!([map("b", json!([])), end])), []);
    let group = json!({"id": "g", "name": "G", "tasks": [map("a", json!([]))], "finally": [end]});
    assert_eq!(fired(json!([group, map("b", json!([]))])), [fired_at("unreachable_step", "tasks[1]")]);
    let mut under = end;
    under["condition"] = json!({"var": "data.x"});
    assert_eq!(fired(json!([under, map("b", json!([]))])), []);
}

#[test]
fn constant_conditions_are_named() {
    let mut tasks = [json!(true), json!(false), json!({"==": [1, 2]}), json!({"==": [1, {"var": "data.x"}]})]
        .map(|condition| {
            let mut task = map("a", json!([]));
            task["condition"] = condition;
            task
        });
    let expected = [
        fired_at("redundant_condition", "tasks[0].condition"),
        fired_at("task_never_runs", "tasks[1].condition"),
        fired_at("task_never_runs", "tasks[2].condition"),
    ];
    assert_eq!(fired(json!(tasks)), expected);
    let group =
        json!({"id": "g", "name": "G", "condition": tasks[3]["condition"], "tasks": [tasks[3].take()]});
    assert_eq!(fired(json!([group])), [fired_at("redundant_condition", "tasks[0].tasks[0].condition")]);
}

#[test]
fn mappings_without_effect_are_named() {
    let mappings = json!([
        {"path": "data.a", "logic": null},
        {"path": "data.b", "logic": null, "on_null": "set"},
        {"path": "data.c", "logic": 1},
        {"path": "data.d", "logic": {"var": "data.c"}},
        {"path": "data.c", "logic": 2},
        {"path": "data.e", "logic": 1},
        {"path": "data.e", "logic": {"cat": ["x"]}},
        {"path": "data.f", "logic": 1},
        {"path": "data.f", "logic": {"var": "data.g"}},
    ]);
    let at_mapping = |n: usize, key: &str| format!("tasks[0].function.input.mappings[{n}].{key}");
    assert_eq!(
        fired(json!([map("m", mappings)])),
        [("mapping_always_null", at_mapping(0, "logic")), ("mapping_overwritten", at_mapping(5, "path"))]
    );
}

#[test]
fn queries_are_judged_by_order_and_placeholders() {
    let query = |query: Value| task("q", "data_query", json!({"connector": "d", "query": query}));
    let sql = |sql: &str, params: Value| {
        task("s", "db_read", json!({"connector": "d", "query": sql, "params": params}))
    };
    let tasks = json!([
        query(json!({"source": "t", "limit": 10})),
        query(json!({"source": "t", "limit": 10, "sort": [{"id": "asc"}]})),
        query(json!({"source": "t", "limit": 1})),
        sql("SELECT $1", json!([1])),
        sql("SELECT $1, $2", json!([1])),
        sql("SELECT $1, $2", json!({"var": "data.all"})),
    ]);
    assert_eq!(
        fired(tasks),
        [
            fired_at("unordered_page", "tasks[0].function.input.query"),
            fired_at("sql_bind_count", "tasks[4].function.input.query")
        ]
    );
}

#[test]
fn reader_of_a_parallel_write_is_named() {
    let writer = map("writer", json!([{"path": "data.total.net", "logic": 1}]));
    let reader = map("reader", json!([{"path": "data.r", "logic": {"var": "data.total"}}]));
    let mut group = json!({"id": "g", "name": "G", "parallel": true, "tasks": [writer, reader]});
    let expected = fired_at("race_in_parallel", "tasks[0].tasks[1].function.input.mappings[0].logic");
    assert_eq!(fired(json!([group])), [expected]);
    group["parallel"] = json!(false);
    assert_eq!(fired(json!([group])), []);
}

#[test]
fn race_of_elements_and_handlers_is_named() {
    let parallel = |reader: Value| {
        let writer = map("writer", json!([{"path": "data.total", "logic": 1}]));
        json!([{"id": "g", "name": "G", "parallel": true, "tasks": [writer, reader]}])
    };
    let race = |place: &str| vec![fired_at("race_in_parallel", &format!("tasks[0].tasks[1].{place}"))];
    let parse = task("parse", "parse_json", json!({"source": "data.total", "target": "x"}));
    for key in ["on_error", "finally"] {
        let mut guarded = json!({"id": "r", "name": "R", "tasks": [map("a", json!([]))]});
        guarded[key] = json!([parse]);
        assert_eq!(fired(parallel(guarded)), race(&format!("{key}[0].function.input.source")));
    }
    let each = |over: Value, path: &str, collect: &str| {
        let logic = json!({"var": "temp_data.item"});
        let mut task = map("each", json!([{"path": path, "logic": logic}]));
        task["for_each"] = json!({"over": over, "into": "data.list", "collect": collect});
        task
    };
    let over = json!({"var": "data.total"});
    assert_eq!(fired(parallel(each(over, "data.x", "data.x"))), race("for_each.over"));
    assert_eq!(fired(parallel(each(json!([1]), "data.x", "data.total"))), race("for_each.collect"));
    // The elements write on their own views, and read there what they wrote.
    assert_eq!(fired(parallel(each(json!([1]), "data.total", "data.total"))), []);
    let reader = map("reader", json!([{"path": "data.r", "logic": {"var": "data.x"}}]));
    let group = json!({"id": "g", "name": "G", "parallel": true,
        "tasks": [each(json!([1]), "data.x", "data.x"), reader]});
    assert_eq!(fired(json!([group])), []);
}

#[test]
fn workflow_that_never_runs_is_named() {
    let workflow =
        |condition: Value| json!({"workflow_id": "w", "name": "W", "condition": condition, "tasks": []});
    for (condition, rule) in [
        (json!({"==": [1, 2]}), Some("analyze.task_never_runs")),
        (json!(false), Some("analyze.task_never_runs")),
        (json!(true), Some("analyze.redundant_condition")),
        (json!({"==": [1, {"var": "data.x"}]}), None),
        (Value::Null, None),
    ] {
        let found = findings(&[("w.json", workflow(condition.clone()))]);
        let checks: Vec<_> = found.iter().map(|found| found.finding.check).collect();
        assert_eq!(checks, Vec::from_iter(rule), "{condition}");
    }
}

#[test]
fn secrets_and_references_are_followed() {
    let secret = |name: &str| task("f", "filter", json!({"condition": {"==": [{"secret": name}, 1]}}));
    let undeclared = fired_at("secret_undeclared", "tasks[1].function.input.condition.==[0]");
    assert_eq!(fired(json!([secret("known"), secret("other")])), [undeclared]);
    let config = json!({"url": "https://api.example", "headers": {"authorization": "Bearer env://TOKEN"}});
    let connector = json!({"name": "c", "connector_type": "http", "config": config});
    let found = findings(&[("c.json", connector)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].finding.message.starts_with("config.headers.authorization: env://"), "{found:?}");
    assert!(found[0].finding.place.is_some());
}

#[test]
fn certain_circle_of_calls_is_an_error() {
    let files = |condition: Value| {
        let channel =
            |name: &str| json!({"channel_id": name, "name": name, "protocol": "rest", "workflow_id": name});
        let workflow = |name: &str, callee: &str, condition: &Value| {
            let mut call = task("call", "channel_call", json!({"channel": callee}));
            call["condition"] = condition.clone();
            json!({"workflow_id": name, "name": name, "tasks": [call]})
        };
        let always = json!(null);
        [
            ("ca.json", channel("a")),
            ("cb.json", channel("b")),
            ("wa.json", workflow("a", "b", &always)),
            ("wb.json", workflow("b", "a", &condition)),
        ]
    };
    let found = findings(&files(json!(null)));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].finding.severity, Severity::Error);
    assert!(found[0].finding.message.contains("a → b → a"), "{found:?}");
    assert_eq!(findings(&files(json!({"var": "data.x"}))), []);
}

#[test]
fn rule_that_is_off_finds_nothing() {
    let mut tasks = json!([map("a", json!([]))]);
    tasks[0]["condition"] = json!(true);
    let project = project(&[("w.json", json!({"workflow_id": "w", "name": "W", "tasks": tasks}))]);
    let (engine, mut levels) = (Engine::builder().build(), AnalysisLevels::default());
    let found = analyze(&project, &engine, &levels, None);
    let removal = found[0].removal.as_ref().unwrap();
    assert_eq!((removal.file.as_str(), removal.path.as_str()), ("w.json", "tasks[0].condition"));
    levels.set("redundant_condition", "off").unwrap();
    assert_eq!(analyze(&project, &engine, &levels, None), []);
}
