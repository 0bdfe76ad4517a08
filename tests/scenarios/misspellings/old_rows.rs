//! Rows stored before names were checked.

use std::path::Path;

use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::Text;
use serde_json::{Value, json};

use crate::support::{channel, echo, error, open_database, start};

#[derive(QueryableByName)]
struct Content {
    #[diesel(sql_type = Text)]
    content: String,
}

/// Stores a copy of the definition `seed` as `old`, with other values of some members.
fn copy(file: &Path, kind: &str, members: &[(&str, Value)]) {
    let mut database = open_database(file);
    let seed = format!("SELECT content FROM definitions WHERE kind = '{kind}' AND id = 'seed'");
    let Content { content } = sql_query(seed).get_result(&mut database).unwrap();
    let mut content: Value = serde_json::from_str(&content).unwrap();
    content["name"] = json!("old");
    for (name, value) in members {
        content[*name] = value.clone();
    }
    let workflow = content["workflow_id"].as_str().map_or("NULL".to_owned(), |id| format!("'{id}'"));
    let insert = format!(
        "INSERT INTO definitions (kind, id, version, status, name, content, type, protocol, workflow_id)
         SELECT kind, 'old', version, status, 'old', ?, type, protocol, {workflow}
         FROM definitions WHERE kind = '{kind}' AND id = 'seed'"
    );
    let insert = sql_query(insert).bind::<Text, _>(content.to_string());
    assert_eq!(insert.execute(&mut database).unwrap(), 1);
}

fn old_tasks() -> Value {
    json!([
        {"id": "take", "name": "Take", "conditon": false, "retrys": 3, "function": {"name": "parse_json",
            "input": {"source": "payload", "target": "input", "bogus": 1}, "extra": true}},
        {"id": "group", "continue_on_error": true, "loop": {"max": 2}, "tasks": [
            {"id": "set", "name": "Set", "function": {"name": "map", "input": {"mappings": [
                {"path": "total", "logic": 1}, {"path": "dta.x", "logic": 1}, {"path": "data.y", "logic": {"conct": ["a"]}}]}}},
            {"id": "never", "name": "Never", "condition": {"equals": [1, 1]}, "function": {"name": "map", "input": {
                "mappings": [{"path": "data.z", "logic": 1}]}}}]}
    ])
}

#[test]
fn old_rows_serve_with_a_warning() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "seed", json!({}));
    let file = server.directory().join("svc.db");
    copy(&file, "workflow", &[("tasks", old_tasks())]);
    let config = json!({"validation_logic": {"or": [{"inn": [1, [2]]}, false]}});
    let route = ("route_pattern", json!("/old"));
    copy(&file, "channel", &[route, ("workflow_id", json!("old")), ("config", config)]);
    let serves = |client: &mut svc_testkit::http::HttpClient| {
        let answer = client.json("POST", "/api/v1/data/old", &json!({"a": 1})).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(
            answer.json()["data"],
            json!({"input": {"a": 1}, "y": {"conct": ["a"]}}),
            "{}",
            answer.text()
        );
    };
    assert_eq!(client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap().status, 200);
    serves(&mut client);
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    serves(&mut client);
    let places = [
        "tasks[0].conditon",
        "tasks[0].retrys",
        "tasks[0].function.extra",
        "tasks[0].function.input.bogus",
        "tasks[1].continue_on_error",
        "tasks[1].loop",
        "tasks[1].tasks[0].function.input.mappings[0].path",
        "tasks[1].tasks[0].function.input.mappings[1].path",
        "tasks[1].tasks[1].condition.equals",
        "config.validation_logic.or[0].inn",
    ];
    server.wait_for_log(&places).unwrap();
}

#[test]
fn old_always_true_guard_is_quarantined() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "seed", json!({}));
    let two = json!({"==": [{"var": "data.scope"}, "admin"], "in": [{"var": "data.sub"}, ["boss"]]});
    let config = json!({"validation_logic": {"and": [true, two]}});
    let members = [("route_pattern", json!("/old")), ("config", config)];
    copy(&server.directory().join("svc.db"), "channel", &members);
    client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    error(&client.json("POST", "/api/v1/data/old", &json!({})).unwrap(), 503, "SERVICE_UNAVAILABLE");
    let health = client.get("/health").unwrap().text();
    assert!(health.contains("validation_logic does not compile: .and[1]: an object of several"), "{health}");
}

#[test]
fn old_row_with_unknown_key_is_quarantined() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "seed", json!({}));
    let file = server.directory().join("svc.db");
    let config = json!({"rate_limits": {}});
    copy(&file, "channel", &[("route_pattern", json!("/old")), ("config", config)]);
    client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    error(&client.json("POST", "/api/v1/data/old", &json!({})).unwrap(), 503, "SERVICE_UNAVAILABLE");
    let fresh = channel("new", "seed", json!({"x-note": "mine", "$schema": "s"}));
    assert_eq!(client.json("POST", "/api/v1/admin/channels", &fresh).unwrap().status, 201);
}
