//! Canaries that move by themselves: judged by the runs that the server counted, steered by operators.

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;

use crate::support::{echo, error, eventually, open_database, start};

const WORKFLOW: &str = "/api/v1/admin/workflows/w";
/// The step has lasted beyond its interval, and not beyond the time that it may wait for runs.
const AGED: &str =
    "UPDATE canary_rollouts SET step_since = strftime('%Y-%m-%d %H:%M:%f', 'now', '-15 seconds')";

/// Serves a workflow, and a second version of it by a plan; the second one has these tasks, if there are some.
fn begin(client: &mut HttpClient, tasks: Option<Value>) {
    echo(client, "w", json!({}));
    echo(client, "alarm", json!({}));
    draft(client, tasks);
    let plan = json!({"status": "active", "steps": [50], "interval_secs": 10, "on_rollback": "alarm",
        "gate": {"min_runs": 30, "max_p99_ratio": 1000}});
    let answer = client.json("PATCH", &format!("{WORKFLOW}/status"), &plan).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn draft(client: &mut HttpClient, tasks: Option<Value>) {
    assert_eq!(client.json("POST", &format!("{WORKFLOW}/versions"), &json!({})).unwrap().status, 201);
    let changed = tasks.map_or_else(|| json!({"description": "second"}), |tasks| json!({"tasks": tasks}));
    assert_eq!(client.json("PUT", WORKFLOW, &changed).unwrap().status, 200);
}

fn rollout(client: &mut HttpClient) -> Value {
    client.get(&format!("{WORKFLOW}/rollout")).unwrap().json()["data"].clone()
}

fn order(client: &mut HttpClient, body: &Value) -> HttpResponse {
    client.json("PATCH", &format!("{WORKFLOW}/rollout"), body).unwrap()
}

/// Sends messages until the rollout, whose step has lasted long enough, has this state.
fn send_until(server: &ServerProcess, client: &mut HttpClient, state: &str) -> Value {
    let file = server.directory().join("svc.db");
    eventually(|| {
        for n in 0..100 {
            client.json("POST", "/api/v1/data/w", &json!({"n": n})).unwrap();
        }
        open_database(&file).batch_execute(AGED).unwrap();
        rollout(client)["canary"]["state"] == state
    });
    rollout(client)
}

fn decision(client: &mut HttpClient) -> Value {
    let log = client.get("/api/v1/admin/audit-logs").unwrap().json();
    let rows = log["data"].as_array().unwrap();
    let details = &rows.iter().find(|row| row["principal"] == "gate").unwrap()["details"];
    serde_json::from_str(details.as_str().unwrap()).unwrap()
}

#[test]
fn good_canary_takes_all_traffic_by_itself() {
    let server = start();
    let mut client = server.client();
    begin(&mut client, None);
    let shown = send_until(&server, &mut client, "promoted");
    assert_eq!(shown["versions"], json!([{"version": 2, "rollout_percentage": 100}]), "{shown}");
    let facts = decision(&mut client);
    assert_eq!(
        (&facts["decision"], &facts["rollout_percentage"]),
        (&json!("promote"), &json!(100)),
        "{facts}"
    );
    assert!(facts["figures"]["canary"]["runs"].as_u64().unwrap() >= 30, "{facts}");
}

#[test]
fn failing_canary_is_rolled_back_and_reported() {
    let server = start();
    let mut client = server.client();
    let throws = json!({"path": "data.x", "logic": {"throw": "no"}});
    let tasks =
        json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [throws]}}}]);
    begin(&mut client, Some(tasks));
    let shown = send_until(&server, &mut client, "rolled_back");
    assert_eq!(shown["versions"], json!([{"version": 1, "rollout_percentage": 100}]), "{shown}");
    assert!(shown["canary"]["reason"].as_str().unwrap().contains("failed runs"), "{shown}");
    assert_eq!(decision(&mut client)["decision"], "roll_back");
    let reports = "/api/v1/admin/traces?channel=alarm&status=completed";
    eventually(|| client.get(reports).unwrap().json()["data"].as_array().is_some_and(|rows| rows.len() == 1));
    assert_eq!(client.json("POST", "/api/v1/data/w", &json!({})).unwrap().status, 200);
}

#[test]
fn gate_refuses_shares_and_takes_orders() {
    let server = start();
    let mut client = server.client();
    begin(&mut client, None);
    let share = json!({"rollout_percentage": 30});
    let refused = error(&order(&mut client, &share), 409, "CONFLICT");
    assert!(refused["message"].as_str().unwrap().contains("override"), "{refused}");
    assert_eq!(order(&mut client, &json!({"state": "paused"})).status, 200);
    let noted = "rollouts of workflows are paused: w";
    eventually(|| client.get("/health").unwrap().json()["notes"].to_string().contains(noted));
    for state in ["paused", "watching"] {
        assert_eq!(order(&mut client, &json!({"state": state})).status, 200);
        assert_eq!(rollout(&mut client)["canary"]["state"], state);
    }
    assert_eq!(order(&mut client, &json!({"rollout_percentage": 30, "override": true})).status, 200);
    let shown = rollout(&mut client);
    assert_eq!(
        (&shown["canary"]["state"], &shown["versions"][0]["rollout_percentage"]),
        (&json!("aborted"), &json!(30))
    );
    error(&order(&mut client, &json!({"state": "promoted"})), 409, "CONFLICT");
    for (body, path) in [
        (json!({"shadow": true}), "body.shadow"),
        (json!({"steps": [10], "gate": {"compare": 0.1}}), "body.gate.compare"),
        (json!({"steps": [10], "gate": {"max_difference_ratio": 0.1}}), "body.gate.max_difference_ratio"),
        (json!({"steps": [10], "interval_secs": 5}), "body.interval_secs"),
        (json!({"state": "rolled_back"}), "body.state"),
        (json!({"state": "paused", "rollout_percentage": 5}), "body.state"),
        (json!({"override": "yes", "rollout_percentage": 5}), "body.override"),
    ] {
        let refused = error(&order(&mut client, &body), 400, "VALIDATION_ERROR");
        assert_eq!(refused["details"][0]["path"], path, "{refused}");
    }
}
