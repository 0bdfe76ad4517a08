//! The report of a project with fifty faults.

use std::path::Path;

use serde_json::json;
use svc_project::{Finding, SetForm};

use super::kit::{CHANNEL, Files, channel, ids, note, read, schedule, task};

/// Returns a project with fifty faults, spread over all kinds of documents.
fn faulty() -> Files {
    let mapping = |path: &str, logic: serde_json::Value| {
        task("m", "map", json!({"mappings": [{"path": path, "logic": logic}]}))
    };
    let slots = |slots: u32| json!({"policy": "forbid", "key": "night", "slots": slots});
    Files::default()
        .file("connectors/a.json", json!({"name": "", "connector_type": "ftp", "config": []}))
        .file("connectors/b.json", json!({"name": "shop", "connector_type": "http", "tags": "x",
            "config": {"url": "http://127.0.0.1/", "auth": {"type": "bearer"}}}))
        .file("connectors/c.json", json!({"name": "bus", "connector_type": "kafka", "enabled": 1,
            "config": {"brokers": ["bus.example:9092"]}}))
        .file("connectors/d.json", json!({"name": "vault", "connector_type": "db", "nam": 1,
            "config": {"connection_string": "secret://db"}}))
        .file("shared/more.json", json!({"constants": {"shop": 1, "loop": {"$from": "constants.shop"}}, "limits": 5,
            "fragments": {"note": {"tasks": []}, "bare": {}, "outer": {"params": {"p": {}},
                "tasks": [{"id": "x", "use": "note"}, note("o", &json!({"$param": "q"}))]}}}))
        .file("workflows/a.json", json!({"workflow_id": "a b", "name": " ", "priority": "high", "conditon": true,
            "loop": {"max": 0}, "tasks": []}))
        .file("workflows/b.json", json!({"workflow_id": "orders", "name": "Twin", "condition": {"eqals": [1, 1]},
            "tasks": [read("r"), read("r"), {"id": "", "name": 1, "function": {"name": "mapp"}}, {"id": "g", "tasks": []},
                {"id": "h", "tasks": [{"id": "i", "use": "note"}]}]}))
        .file("workflows/c.json", json!({"workflow_id": "c", "name": "Calls", "tasks": [
            task("a", "channel_call", json!({"channel": "order", "output": "data.a"})),
            task("b", "channel_call", json!({"channel_logic": {"var": "data.c"}, "output": "data.b"})),
            task("c", "db_read", json!({"connector": "shpo", "query": "SELECT 1"})),
            task("d", "publish_kafka", json!({"connector": "bus", "value": 1})),
            task("e", "http_call", json!({"connector": "bus", "output": "dta.e"})),
            mapping("total", json!(1)), mapping("elsewhere.x", json!({"uper": "x"})),
            mapping("data.key", json!("env://KEY"))]}))
        .file("workflows/d.json", json!({"workflow_id": "d", "name": "Fragments", "tasks": [
            {"id": "a", "use": "nothing"}, {"id": "b", "use": "note", "with": {"wy": 1}}, {"id": "c", "use": "outer"},
            task("d", "db_read", json!({"$from": "constants.shp"})), {"id": "e", "name": {"$param": "p"}}]}))
        .file("channels/a.json", json!({"channel_id": "orders", "name": "orders", "channel_type": "both",
            "protocol": "rest", "methods": ["FETCH"], "workflow_id": "ordres"}))
        .file("channels/b.json", {
            let mut twin = channel("b");
            twin["route_pattern"] = json!("/orders");
            twin["config"] = json!({"on_failure": "alerts", "cache": {"enabled": true, "ttl_secs": 5, "connector": "kv"}});
            twin
        })
        .file("channels/c.json", {
            let mut keyless = channel("c");
            keyless["workflow_id"] = json!(null);
            keyless["config"] = json!({"atuh": {}, "timeout_ms": "1s"});
            keyless
        })
        .file("channels/d.json", schedule("d", &slots(1)))
        .file("channels/e.json", schedule("e", &slots(2)))
        .file("channels/f.json", json!({"name": "f", "channel_type": "sync", "protocol": "cron", "workflow_id": "orders",
            "transport_config": {"schedule": "never", "payload": {"k": "env://K"}}}))
}

fn report(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let place = finding.place.as_ref();
        let place = place
            .map_or_else(String::new, |place| format!("{}:{}:{}: ", place.file, place.line, place.column));
        format!("{place}{finding}\n")
    };
    findings.iter().map(line).collect()
}

#[test]
fn report_names_place_and_fix_of_every_fault() {
    let (findings, summary) = faulty().lint(SetForm::Directory);
    let report = format!("{}{summary}\n", report(&findings));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/project/faults.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &report).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == report, "differs from faults.txt; run with UPDATE_GOLDEN=1:\n{report}");
    assert!(summary.errors + summary.warnings >= 50, "{summary}");
}

#[test]
fn wrong_name_of_a_channel_is_reported_once() {
    for name in [json!(""), json!(5)] {
        let input = json!({"channel": name, "output": "data.o"});
        let calls = Files::default().tasks(json!([task("c", "channel_call", input)]));
        let reports = Files::default().set(CHANNEL, "/config", json!({"on_failure": name}));
        for files in [calls, reports] {
            let (findings, _) = files.lint(SetForm::Directory);
            assert_eq!(ids(&findings).len(), 1, "{findings:#?}");
        }
    }
}
