//! Workflows from outside: rollout shares, loops, results of failed tasks, secrets that would be recorded.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::rollout::bucket;

use crate::support::{channel, echo, error, launch, start};

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": "", "function": {"name": function, "input": input}})
}

fn map(id: &str, mappings: &[(&str, Value)]) -> Value {
    let mappings: Value =
        mappings.iter().map(|(path, logic)| json!({"path": path, "logic": logic})).collect();
    task(id, "map", json!({"mappings": mappings}))
}

/// Puts a workflow in service behind a channel of the same id.
fn put(client: &mut HttpClient, id: &str, mut workflow: Value) {
    workflow["workflow_id"] = json!(id);
    workflow["name"] = json!(id);
    create_and_activate(client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(client, "channels", "channel_id", &channel(id, id, json!({}))).unwrap();
}

#[test]
fn newest_version_takes_lowest_rollout_buckets() {
    let server = launch().env("SVC_ENGINE__ROLLOUT_STICKY_HEADER", "x-user").start().unwrap();
    let mut client = server.client();
    put(&mut client, "split", json!({"tasks": [map("m", &[("data.version", json!(1))])]}));
    let path = "/api/v1/admin/workflows/split";
    assert_eq!(client.json("POST", &format!("{path}/versions"), &json!({})).unwrap().status, 201);
    let changed = json!({"tasks": [map("m", &[("data.version", json!(2)), ("data.as", json!({"var": "metadata.progress"}))])]});
    assert_eq!(client.json("PUT", path, &changed).unwrap().status, 200);
    let share = json!({"status": "active", "rollout_percentage": 30});
    assert_eq!(client.json("PATCH", &format!("{path}/status"), &share).unwrap().status, 200);
    let mut newer = 0;
    for n in 0..100 {
        let user = format!("user-{n}");
        let mut as_user = server.client().with_header("x-user", &user);
        let expected = if bucket("split", &user) < 30 { 2 } else { 1 };
        newer += u32::from(expected == 2);
        for _ in 0..2 {
            let data = as_user.json("POST", "/api/v1/data/split", &json!({})).unwrap().json()["data"].clone();
            assert_eq!(data["version"], expected, "{user}");
        }
    }
    assert!((15..50).contains(&newer), "{newer} of 100");
}

#[test]
fn loop_counter_follows_settings_until_condition_fails() {
    let server = start();
    let mut client = server.client();
    let view = json!({"merge": [{"var": "data.seen"}, [{"var": "temp_data.at.n"}]]});
    let workflow = json!({"loop": {"counter": "at.n", "init": 2, "increment": 3, "max": 100},
        "condition": {"<": [{"var": "temp_data.at.n"}, 10]}, "tasks": [map("m", &[("data.seen", view)])]});
    put(&mut client, "loop", workflow);
    let data = client.json("POST", "/api/v1/data/loop", &json!({})).unwrap().json()["data"].clone();
    assert_eq!(data, json!({"seen": [2, 5, 8]}));
}

#[test]
fn failed_task_is_recorded_declared_values_keep_types() {
    let server = launch();
    std::fs::write(server.directory().join("vars.toml"), "[vars]\nlimit = 12\nopen = true\n").unwrap();
    let server = server.args(&["-c", "vars.toml"]).start().unwrap();
    let mut client = server.client();
    let mut fails =
        map("fails", &[("data.x", json!({"+": [{"var": "payload.word"}, 1]})), ("data.y", json!(5))]);
    fails["continue_on_error"] = json!(true);
    let rules = json!({"rules": [{"logic": false, "message": "never"}]});
    let look = map(
        "look",
        &[
            ("data.errors", json!({"var": "metadata._svc_errors"})),
            ("data.progress", json!({"var": "metadata.progress"})),
            ("data.vars", json!({"var": "metadata.vars"})),
        ],
    );
    put(&mut client, "fails", json!({"tasks": [task("rule", "validation", rules), fails, look]}));
    let answer = client.json("POST", "/api/v1/data/fails", &json!({"word": "two"})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        answer.json()["data"],
        json!({
            "y": 5,
            "errors": [
                {"workflow_id": "fails", "task_id": "rule", "code": "VALIDATION_ERROR", "status": 400},
                {"workflow_id": "fails", "task_id": "fails", "code": "TASK_STATUS_ERROR", "status": 500},
            ],
            "progress": {"workflow_id": "fails", "task_id": "fails", "status_code": 500},
            "vars": {"limit": 12, "open": true},
        })
    );
}

#[test]
fn recorded_or_undeclared_secret_quarantines_its_channel() {
    let server = launch();
    std::fs::write(server.directory().join("secrets.toml"), "[secrets]\ntoken = \"env://TOKEN_VALUE\"\n")
        .unwrap();
    let server = server.args(&["-c", "secrets.toml"]).env("TOKEN_VALUE", "canary-value").start().unwrap();
    let mut client = server.client();
    let read = json!({"secret": "token"});
    let mut guarded = map("m", &[("data.ok", json!(true))]);
    guarded["condition"] = json!({"==": [read, "canary-value"]});
    let mut undeclared = guarded.clone();
    undeclared["condition"] = json!({"==": [{"secret": "other"}, 1]});
    for (id, refused, place) in [
        ("mapped", map("m", &[("data.x", read.clone())]), "tasks[0].function.input.mappings[0].logic"),
        ("logged", task("l", "log", json!({"fields": {"f": read}})), "tasks[0].function.input.fields.f"),
        ("undeclared", undeclared, "tasks[0].condition"),
    ] {
        put(&mut client, id, json!({"tasks": [refused]}));
        let answer = client.json("POST", &format!("/api/v1/data/{id}"), &json!({})).unwrap();
        error(&answer, 503, "SERVICE_UNAVAILABLE");
        let health = client.get("/health").unwrap().json();
        let quarantined = health["channels"]["quarantined"].as_array().unwrap();
        let shown = quarantined.iter().find(|shown| shown["channel"] == id).unwrap();
        assert!(shown["reason"].as_str().unwrap().contains(place), "{shown}");
        assert!(!answer.text().contains("canary"), "{}", answer.text());
    }
    put(&mut client, "guarded", json!({"tasks": [guarded]}));
    let answer = client.json("POST", "/api/v1/data/guarded", &json!({})).unwrap();
    assert_eq!(answer.json()["data"], json!({"ok": true}));
    echo(&mut client, "echo", json!({}));
    assert_eq!(client.json("POST", "/api/v1/data/echo", &json!({"n": 1})).unwrap().status, 200);
}
