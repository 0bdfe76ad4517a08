use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::source::{SourceFile, SourceFormat};

fn source(name: &str, value: &Value) -> Arc<SourceFile> {
    Arc::new(SourceFile::parse(name, SourceFormat::Json, value.to_string()).unwrap())
}

fn collect(documents: &[Value]) -> (SharedDefinitions, Vec<(&'static str, String)>) {
    let sources: Vec<_> =
        documents.iter().enumerate().map(|(n, document)| source(&format!("s{n}.json"), document)).collect();
    let (shared, findings) = SharedDefinitions::collect(&sources);
    (shared, summarize(findings))
}

fn summarize(findings: Vec<Finding>) -> Vec<(&'static str, String)> {
    findings
        .into_iter()
        .map(|finding| (finding.check, finding.message.split(": ").next().unwrap_or_default().to_owned()))
        .collect()
}

fn parse_shared() -> SharedDefinitions {
    let (shared, findings) = collect(&[json!({
        "constants": {"db": {"connector": "orders", "database": "app"}, "limit": 30, "tags": ["a", "b"]},
        "errors": {"gone": {"status": 410, "body": {"why": "gone"}}},
        "fragments": {"session": {
            "params": {"realm": {}, "why": {"default": "late"}},
            "tasks": [
                {"id": "check", "name": "c", "function": {"name": "map", "input": {"mappings": [
                    {"path": "data.why", "logic": {"$param": "why"}},
                    {"path": "data.realm", "logic": {"cat": ["r-", {"$param": "realm"}]}}]}}},
                {"id": "refused", "condition": {"!": [{"var": "data.s"}]}, "terminal": true, "tasks": [
                    {"id": "deny", "name": "d", "function": {"name": "map", "input": {"mappings": [
                        {"path": "data.e", "logic": {"$from": "errors.gone"}}]}}}]}]}}})]);
    assert!(findings.is_empty(), "{findings:?}");
    shared
}

fn expand(document: &mut Value) -> Expansion {
    let root = Origin::root(source("w.json", document));
    parse_shared().expand_entity(EntityKind::Workflow, "workflow 'w'", root, document)
}

fn refusals(document: Value) -> Vec<(&'static str, String)> {
    let mut document = document;
    summarize(expand(&mut document).findings)
}

#[test]
fn fragment_tasks_are_flat_under_call_ids() {
    let mut document = json!({"tasks": [
        {"id": "a", "function": {"name": "log", "input": {}}},
        {"id": "_session", "use": "session", "with": {"realm": "eu"}, "ignored": 1},
        {"use": "session", "with": {"realm": {"var": "data.r"}, "why": null}},
        {"id": "z", "function": {"name": "log", "input": {}}}]});
    let expansion = expand(&mut document);
    assert!(expansion.findings.is_empty(), "{:?}", expansion.findings);
    assert_eq!(expansion.passes, ExpansionPass::ALL);
    let tasks = &document["tasks"];
    let ids: Vec<_> = (0..6).map(|n| tasks[n]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "_session.check", "_session.refused", "session.check", "session.refused", "z"]);
    assert_eq!(tasks[2]["tasks"][0]["id"], "_session.deny");
    let mapping = |task: usize, n: usize| tasks[task]["function"]["input"]["mappings"][n]["logic"].clone();
    assert_eq!((mapping(1, 0), mapping(1, 1)), (json!("late"), json!({"cat": ["r-", "eu"]})));
    assert_eq!((mapping(3, 0), mapping(3, 1)), (Value::Null, json!({"cat": ["r-", {"var": "data.r"}]})));
    let denied = &tasks[2]["tasks"][0]["function"]["input"]["mappings"][0]["logic"];
    assert_eq!(denied, &json!({"status": 410, "body": {"why": "gone"}}));
}

#[test]
fn elements_lead_back_to_where_they_were_written() {
    let mut document = json!({"tasks": [
        {"id": "s", "use": "session", "with": {"realm": "eu"}},
        {"id": "z", "function": {"name": "db_read", "input": {"$from": "constants.db", "database": "b"}}}]});
    let origins = expand(&mut document).origins;
    for (path, file, expected) in [
        ("tasks[0].function.name", "s0.json", "fragments.session.tasks[0].function.name"),
        ("tasks[1].tasks[0].id", "s0.json", "fragments.session.tasks[1].tasks[0].id"),
        ("tasks[0].function.input.mappings[0].logic", "s0.json", "fragments.session.params.why.default"),
        ("tasks[0].function.input.mappings[1].logic.cat[1]", "w.json", "tasks[0].with.realm"),
        ("tasks[1].tasks[0].function.input.mappings[0].logic.body.why", "s0.json", "errors.gone.body.why"),
        ("tasks[2].function.input.connector", "s0.json", "constants.db.connector"),
        ("tasks[2].function.input.database", "w.json", "tasks[1].function.input.database"),
        ("tasks[2].id", "w.json", "tasks[1].id"),
        ("name", "w.json", "name"),
    ] {
        let origin = origins.trace(path);
        assert_eq!((origin.source.unwrap().name.as_str(), origin.path.as_str()), (file, expected), "{path}");
    }
    assert_eq!(origins.call("tasks[1].id").unwrap().path, "tasks[0]");
}

#[test]
fn reference_siblings_win_over_referenced_members() {
    let splice = |node: Value| {
        let mut document = json!({"config": {"x": [node]}});
        let findings = parse_shared().expand(EntityKind::Connector, &mut document);
        assert!(findings.is_empty(), "{findings:?}");
        document["config"]["x"][0].clone()
    };
    let merged = json!({"database": "mine", "connector": "orders"});
    assert_eq!(splice(json!({"$from": "constants.db", "database": "mine"})), merged);
    assert_eq!(splice(json!({"$from": "constants.limit"})), json!(30));
    assert_eq!(splice(json!({"$from": "constants.tags"})), json!(["a", "b"]));
    assert_eq!(
        splice(json!({"$from": "constants.limit", "a": {"$from": "constants.limit"}})),
        json!({"a": 30})
    );
}

#[test]
fn a_second_expansion_changes_nothing() {
    let mut document = json!({"$from": "constants.db", "tasks": [
        {"id": "s", "use": "session", "with": {"realm": {"$from": "constants.tags"}}}]});
    expand(&mut document);
    let once = document.clone();
    let again = expand(&mut document);
    assert_eq!((document, again.passes, again.findings.len()), (once, vec![], 0));
}

#[test]
fn unexpandable_calls_are_refused_at_their_place() {
    let call = |call: Value| refusals(json!({"tasks": [call]}));
    let at = |check, path: &str| vec![(check, path.to_owned())];
    assert_eq!(call(json!({"use": "sesion"})), at("closure.fragment", "tasks[0].use"));
    assert_eq!(call(json!({"use": 5})), at("closure.fragment", "tasks[0].use"));
    assert_eq!(call(json!({"use": "session"})), at("shared.fragment_param", "tasks[0]"));
    assert_eq!(call(json!({"use": "session", "with": []})), at("shared.fragment_param", "tasks[0].with"));
    let unknown = json!({"use": "session", "with": {"realm": 1, "relm": 2}});
    assert_eq!(call(unknown), at("shared.fragment_param", "tasks[0].with.relm"));
    let nested = json!({"id": "g", "tasks": [{"id": "h", "tasks": [{"use": "session"}]}]});
    assert_eq!(call(nested), at("shared.fragment_nested", "tasks[0].tasks[0].tasks[0]"));
    assert_eq!(call(json!({"id": {"$param": "x"}})), at("shared.fragment_param", "tasks[0].id"));
    for target in [json!("constants.dbb"), json!("constants"), json!(7), json!("constants.db.connector")] {
        let node = json!({"function": {"input": {"$from": target}}});
        assert_eq!(call(node), at("closure.shared_value", "tasks[0].function.input.$from"));
    }
}

#[test]
fn consequences_of_refused_call_are_marked() {
    let mut document =
        json!({"tasks": [{"id": "a"}, {"use": "gone"}, {"function": {"input": {"$from": "a.b"}}}]});
    let expansion = expand(&mut document);
    assert!(expansion.is_broken("tasks[1]") && expansion.is_broken("tasks[2].function.input.connector"));
    assert!(!expansion.is_broken("tasks[0].name") && !expansion.is_broken("tasks[2].function.inputs"));
}

#[test]
fn shared_document_faults_are_reported_once() {
    let (shared, findings) = collect(&[
        json!({"constants": {"a": 1, "b": {"$from": "constants.a"}, "c": [{"$param": "p"}]}, "$schema": "s", "x-note": 1,
            "limits": [], "fragments": {"f": {"tasks": [{"id": "t"}]}, "g": {}, "h": {"tasks": [], "params": []},
                "i": {"tasks": [{"id": "u", "use": "f"}, {"id": "v", "tasks": [{"use": "f"}, {"id": "w"}]}]},
                "j": {"params": {"p": 1}, "tasks": [{"id": {"$param": "q"}}]}}}),
        json!({"constants": {"a": 2}, "fragments": {"f": {"tasks": []}}}),
    ]);
    let expected = [
        ("closure.shared_value", "constants.b"),
        ("shared.fragment_param", "constants.c[0]"),
        ("shared.namespace", "limits"),
        ("shared.fragment", "fragments.g"),
        ("shared.fragment", "fragments.h.params"),
        ("shared.fragment_nested", "fragments.i.tasks[0]"),
        ("shared.fragment_nested", "fragments.i.tasks[1].tasks[0]"),
        ("shared.fragment_param", "fragments.j.params.p"),
        ("shared.fragment_param", "fragments.j.tasks[0].id"),
        ("shared.duplicate", "constants.a"),
        ("shared.duplicate", "fragments.f"),
    ];
    assert_eq!(findings, expected.map(|(check, path)| (check, path.to_owned())));
    assert_eq!((shared.value_count(), shared.fragment_count()), (3, 3));
    let mut document = json!({"tasks": [{"id": "c", "use": "i"}], "x": {"$from": "constants.a"}});
    let expansion = shared.expand_entity(EntityKind::Workflow, "w", Origin::default(), &mut document);
    assert_eq!(document["x"], 1);
    assert_eq!(document["tasks"], json!([{"id": "c.v", "tasks": [{"id": "c.w"}]}]));
    assert_eq!(expansion.origins.trace("tasks[0].id").path, "fragments.i.tasks[1].id");
}

#[test]
fn an_expansion_without_bound_is_refused() {
    let long = "x".repeat(1 << 20);
    let (shared, _) = collect(&[json!({
        "constants": {"long": long},
        "fragments": {"long": {"tasks": [{"id": "t", "name": long}]}, "pass": {"params": {"p": {}},
            "tasks": [{"id": "t", "name": [{"$param": "p"}, {"$param": "p"}]}]}}})]);
    let refused = |document: Value| {
        let mut document = document;
        let expansion = shared.expand_entity(EntityKind::Workflow, "w", Origin::default(), &mut document);
        assert!(document.to_string().len() < 40 << 20);
        expansion.is_broken("tasks[0].id")
            && summarize(expansion.findings)
                == [("schema.workflow", "expands to more than 16 MiB".to_owned())]
    };
    let calls = |count, call: Value| json!({"tasks": vec![call; count]});
    assert!(!refused(calls(10, json!({"use": "long"}))));
    assert!(refused(calls(100, json!({"use": "long"}))));
    assert!(refused(calls(100, json!({"use": "pass", "with": {"p": long}}))));
    assert!(refused(calls(100, json!({"id": {"$from": "constants.long"}}))));
}

fn nest(levels: usize, value: Value) -> Value {
    (0..levels).fold(value, |inner, _| json!([inner]))
}

#[test]
fn document_expanding_beyond_body_depth_is_refused() {
    let (shared, findings) = collect(&[json!({"constants": {"deep": nest(100, json!(1))}})]);
    assert!(findings.is_empty(), "{findings:?}");
    let expanded = |levels: usize| {
        let mut document = json!({"config": nest(levels, json!({"$from": "constants.deep"}))});
        let root = Origin::root(source("c.json", &document));
        summarize(shared.expand_entity(EntityKind::Channel, "channel 'c'", root, &mut document).findings)
    };
    // One level for the document, one for each list.
    assert_eq!(expanded(25), []);
    let message = "expands to a document that is nested deeper than 126 levels".to_owned();
    assert_eq!(expanded(26), [("schema.channel", message)]);
}
