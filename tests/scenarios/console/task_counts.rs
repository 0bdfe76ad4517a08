//! The runs and failures of tasks, by version of their workflow.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{error, serve, start};

const WORKFLOWS: &str = "/api/v1/admin/workflows";

fn stats(client: &mut HttpClient, query: &str) -> Value {
    let answer = client.get(&format!("{WORKFLOWS}/counted/stats{query}")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Returns id, runs and errors of each task, in their order.
fn counts(stats: &Value) -> Vec<(String, u64, u64)> {
    let tasks = stats["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| {
            let number = |key: &str| task[key].as_u64().unwrap();
            assert_eq!(task["total_ms"].as_f64().unwrap() > 0.0, number("runs") > 0, "{task}");
            (task["task"].as_str().unwrap().to_owned(), number("runs"), number("errors"))
        })
        .collect()
}

fn count(task: &str, runs: u64, errors: u64) -> (String, u64, u64) {
    (task.to_owned(), runs, errors)
}

#[test]
fn tasks_are_counted_by_version() {
    let server = start();
    let mut client = server.client();
    let rules = json!([{"logic": {"!!": [{"var": "payload.n"}]}, "message": "n is missing"},
        {"logic": {">": [{"var": "payload.n"}, 0]}, "message": "n is too small"}]);
    let tasks = json!([
        {"id": "check", "name": "Check", "function": {"name": "validation", "input": {"rules": rules}}},
        {"id": "rare", "name": "Rare", "condition": {"==": [{"var": "payload.n"}, 2]},
            "function": {"name": "map", "input": {"mappings": [{"path": "data.n", "logic": 2}]}}},
    ]);
    serve(&mut client, "counted", tasks);
    for body in [json!({"n": 2}), json!({"n": 1}), json!({})] {
        client.json("POST", "/api/v1/data/counted", &body).unwrap();
    }
    let shown = stats(&mut client, "");
    let expected = [count("check", 3, 1), count("rare", 1, 0)];
    assert_eq!(counts(&shown), expected, "a failure counts once, whatever the number of its errors");
    assert_eq!((&shown["version"], &shown["served"], &shown["runs"]), (&json!(1), &json!(true), &json!(3)));
    assert_eq!((&shown["failed"], &shown["tasks"][1]["function"]), (&json!(0), &json!("map")));
    let nodes = client.get("/api/v1/admin/nodes").unwrap().json();
    assert_eq!(shown["node"], nodes["data"][0]["id"]);
    client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    assert_eq!(counts(&stats(&mut client, "?version=1")), expected, "a reload goes on counting");

    let path = format!("{WORKFLOWS}/counted");
    assert_eq!(client.json("POST", &format!("{path}/versions"), &json!({})).unwrap().status, 201);
    let activated = client.json("PATCH", &format!("{path}/status"), &json!({"status": "active"})).unwrap();
    assert_eq!(activated.status, 200, "{}", activated.text());
    let shown = stats(&mut client, "");
    assert_eq!((&shown["version"], &shown["runs"]), (&json!(2), &json!(0)), "a version counts from 0");
    assert_eq!(counts(&shown), [count("check", 0, 0), count("rare", 0, 0)]);
    let former = stats(&mut client, "?version=1");
    assert_eq!(
        (&former["served"], &former["since"], &former["tasks"]),
        (&json!(false), &Value::Null, &json!([]))
    );
    error(&client.get(&format!("{path}/stats?version=9")).unwrap(), 404, "NOT_FOUND");
    error(&client.get(&format!("{WORKFLOWS}/absent/stats")).unwrap(), 404, "NOT_FOUND");
}
