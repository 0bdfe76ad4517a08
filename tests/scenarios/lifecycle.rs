//! Versions that come and go: canaries, rollbacks, conditions on what was read, deletion of what is used, dry
//! runs.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::rollout;

use crate::support::{channel, echo, echo_workflow, error, launch, start};

const ADMIN: &str = "/api/v1/admin";

/// A workflow that answers its version.
fn numbered_workflow(id: &str, version: i64) -> Value {
    json!({"workflow_id": id, "name": id, "tasks": [{"id": "v", "name": "", "function":
        {"name": "map", "input": {"mappings": [{"path": "data.version", "logic": version}]}}}]})
}

/// Serves version 1 of a workflow and a channel of the same id.
fn serve_first(client: &mut HttpClient, id: &str) {
    create_and_activate(client, "workflows", "workflow_id", &numbered_workflow(id, 1)).unwrap();
    create_and_activate(client, "channels", "channel_id", &channel(id, id, json!({}))).unwrap();
}

/// Makes a draft that answers another version.
fn draft(client: &mut HttpClient, id: &str, version: i64) {
    let path = format!("{ADMIN}/workflows/{id}");
    assert_eq!(client.send("POST", &format!("{path}/versions"), &[], b"").unwrap().status, 201);
    let tasks = json!({"tasks": numbered_workflow(id, version)["tasks"]});
    assert_eq!(client.json("PUT", &path, &tasks).unwrap().status, 200);
}

fn activate(client: &mut HttpClient, id: &str, body: Value) -> HttpResponse {
    client.json("PATCH", &format!("{ADMIN}/workflows/{id}/status"), &body).unwrap()
}

fn rollback(client: &mut HttpClient, path: &str, body: Value) -> HttpResponse {
    client.json("POST", &format!("{ADMIN}/{path}"), &body).unwrap()
}

/// The active versions and their shares, newest first.
fn shares(client: &mut HttpClient, id: &str) -> Vec<(i64, i64)> {
    let rows = client.get(&format!("{ADMIN}/workflows/{id}/versions")).unwrap().json();
    let active = rows["data"].as_array().unwrap().iter().filter(|row| row["status"] == "active");
    active
        .map(|row| (row["version"].as_i64().unwrap(), row["rollout_percentage"].as_i64().unwrap()))
        .collect()
}

fn answered_version(client: &mut HttpClient, id: &str) -> Value {
    client.json("POST", &format!("/api/v1/data/{id}"), &json!({})).unwrap().json()["data"]["version"].clone()
}

#[test]
fn second_canary_is_refused_and_may_replace_the_first() {
    let server = start();
    let mut client = server.client();
    serve_first(&mut client, "w");
    draft(&mut client, "w", 2);
    let tenth = json!({"status": "active", "rollout_percentage": 10});
    assert_eq!(activate(&mut client, "w", tenth.clone()).status, 200);
    draft(&mut client, "w", 3);
    let refused = error(&activate(&mut client, "w", tenth), 409, "CONFLICT");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("2 at 10 percent and 1 at 90"), "{message}");
    assert_eq!(shares(&mut client, "w"), [(2, 10), (1, 90)]);
    let replacing = json!({"status": "active", "rollout_percentage": 20, "replace_canary": true});
    assert_eq!(activate(&mut client, "w", replacing).status, 200);
    assert_eq!(shares(&mut client, "w"), [(3, 20), (1, 80)]);
    let rollout = format!("{ADMIN}/workflows/w/rollout");
    let answer = client.json("PATCH", &rollout, &json!({"rollout_percentage": 0})).unwrap();
    assert_eq!((answer.status, &answer.json()["data"]["version"]), (200, &json!(1)), "{}", answer.text());
    assert_eq!(shares(&mut client, "w"), [(1, 100)]);
    for _ in 0..20 {
        assert_eq!(answered_version(&mut client, "w"), 1);
    }
    let single = client.json("PATCH", &rollout, &json!({"rollout_percentage": 10})).unwrap();
    let message = error(&single, 400, "VALIDATION_ERROR")["message"].clone();
    assert!(message.as_str().unwrap().contains("POST /api/v1/admin/workflows/w/versions"), "{message}");
}

#[test]
fn rollback_serves_the_version_before_under_a_new_number() {
    let server = start();
    let mut client = server.client();
    serve_first(&mut client, "w");
    error(&rollback(&mut client, "workflows/w/rollback", json!({})), 404, "NOT_FOUND");
    for version in [2, 3] {
        draft(&mut client, "w", version);
        assert_eq!(activate(&mut client, "w", json!({"status": "active"})).status, 200);
    }
    let answer = rollback(&mut client, "workflows/w/rollback?dry_run=true", json!({"to_version": 1}));
    assert_eq!((answer.status, &answer.json()["data"]["valid"]), (200, &json!(true)), "{}", answer.text());
    assert_eq!(answered_version(&mut client, "w"), 3);
    let deferred = rollback(&mut client, "workflows/w/rollback?reload=defer", json!({}));
    let row = deferred.json()["data"].clone();
    assert_eq!(
        (deferred.status, &row["version"], &row["status"]),
        (200, &json!(4), &json!("active")),
        "{row}"
    );
    assert_eq!(answered_version(&mut client, "w"), 3, "until the next reload");
    let back = rollback(&mut client, "workflows/w/rollback", json!({"to_version": 1}));
    assert_eq!((back.status, &back.json()["data"]["version"]), (200, &json!(5)), "{}", back.text());
    assert_eq!(answered_version(&mut client, "w"), 1);
    error(&rollback(&mut client, "workflows/w/rollback", json!({"to_versoin": 1})), 400, "VALIDATION_ERROR");
    error(&rollback(&mut client, "workflows/w/rollback", json!({"to_version": 77})), 404, "NOT_FOUND");
    error(&rollback(&mut client, "workflows/w/rollback", json!({"to_version": 5})), 409, "CONFLICT");
    let copy =
        client.json("POST", &format!("{ADMIN}/workflows/w/versions"), &json!({"from_version": 2})).unwrap();
    assert_eq!((copy.status, &copy.json()["data"]["tasks"]), (201, &numbered_workflow("w", 2)["tasks"]));
    error(&rollback(&mut client, "workflows/w/rollback", json!({})), 409, "CONFLICT");
    let audit = client.get(&format!("{ADMIN}/audit-logs?action=rollback")).unwrap().json();
    assert_eq!((&audit["total"], &audit["data"][0]["resource_id"]), (&json!(2), &json!("w")));
}

#[test]
fn rolled_back_channel_serves_its_former_settings() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "c", json!({}));
    let path = format!("{ADMIN}/channels/c");
    client.json("POST", &format!("{path}/versions"), &json!({})).unwrap();
    let closed = json!({"config": {"validation_logic": {"==": [1, 2]}}});
    assert_eq!(client.json("PUT", &path, &closed).unwrap().status, 200);
    client.json("PATCH", &format!("{path}/status"), &json!({"status": "active"})).unwrap();
    error(&client.json("POST", "/api/v1/data/c", &json!({})).unwrap(), 400, "VALIDATION_ERROR");
    let back = rollback(&mut client, "channels/c/rollback", json!({}));
    assert_eq!(back.status, 200, "{}", back.text());
    assert_eq!(client.json("POST", "/api/v1/data/c", &json!({})).unwrap().status, 200);
    // The workflow it names must be active by then.
    client.json("PATCH", &format!("{path}/status"), &json!({"status": "archived"})).unwrap();
    client.json("PATCH", &format!("{ADMIN}/workflows/c/status"), &json!({"status": "archived"})).unwrap();
    let refused = rollback(&mut client, "channels/c/rollback?dry_run=true", json!({})).json();
    assert_eq!(refused["data"]["errors"][0]["code"], "NOT_FOUND", "{refused}");
}

#[test]
fn change_based_on_older_state_is_refused() {
    let server = start();
    let mut client = server.client();
    client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    client.json("POST", &format!("{ADMIN}/channels"), &channel("c", "w", json!({}))).unwrap();
    let connector =
        json!({"id": "k", "name": "k", "connector_type": "http", "config": {"url": "https://a.example"}});
    client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    for path in ["workflows/w", "channels/c", "connectors/k"].map(|path| format!("{ADMIN}/{path}")) {
        let read = client.get(&path).unwrap();
        let (tag, data) = (read.header("etag").unwrap().to_owned(), read.json()["data"].clone());
        let hash = data["content_hash"].as_str().unwrap();
        match data["version"].as_i64() {
            Some(version) => assert_eq!(tag, format!("\"{version}-{hash}\"")),
            None => assert_eq!(tag, format!("\"{hash}\"")),
        }
        let mut conditional = |method: &str, tag: &str, body: Value| {
            let headers = [("content-type", "application/json"), ("if-match", tag)];
            client.send(method, &path, &headers, body.to_string().as_bytes()).unwrap()
        };
        let changed = conditional("PUT", &format!("\"other\", {tag}"), json!({"tags": ["a"]}));
        assert_eq!(changed.status, 200, "{path}: {}", changed.text());
        for stale in [tag.clone(), format!("W/{tag}"), "\"x\"".to_owned()] {
            error(&conditional("PUT", &stale, json!({"tags": ["b"]})), 412, "PRECONDITION_FAILED");
        }
        error(&conditional("DELETE", &tag, json!({})), 412, "PRECONDITION_FAILED");
        let wrong = conditional("PUT", "\"x\"", json!({"tags": [1]}));
        error(&wrong, 400, "VALIDATION_ERROR");
        error(&conditional("PUT", "no tag", json!({"tags": ["b"]})), 400, "VALIDATION_ERROR");
        assert_eq!(conditional("PUT", "*", json!({"tags": ["c"]})).status, 200);
        let read = client.get(&path).unwrap();
        assert_eq!(read.json()["data"]["tags"], json!(["c"]));
        let headers = [("content-type", "application/json"), ("if-match", tag.as_str())];
        let active = json!({"status": "active"}).to_string();
        let status = format!("{path}/status");
        error(
            &client.send("PATCH", &status, &headers, active.as_bytes()).unwrap(),
            412,
            "PRECONDITION_FAILED",
        );
        let trial = format!("{status}?dry_run=true");
        let report = client.send("PATCH", &trial, &headers, active.as_bytes()).unwrap().json();
        assert_eq!(report["data"]["errors"][0]["code"], "PRECONDITION_FAILED", "{report}");
        let current = [("content-type", "application/json"), ("if-match", read.header("etag").unwrap())];
        let active = client.send("PATCH", &status, &current, active.as_bytes()).unwrap();
        assert_eq!(active.status, 200, "{path}: {}", active.text());
    }
    let absent = client.send("DELETE", &format!("{ADMIN}/workflows/x"), &[("if-match", "*")], b"").unwrap();
    error(&absent, 404, "NOT_FOUND");
}

#[test]
fn used_definition_is_deleted_only_by_force() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "callee", json!({}));
    let connector =
        json!({"id": "crm", "name": "crm", "connector_type": "http", "config": {"url": "https://a.example"}});
    client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    let caller = json!({"workflow_id": "caller", "name": "caller", "tasks": [
        {"id": "a", "name": "A", "function": {"name": "http_call", "input": {"connector": "crm", "path": "/a"}}},
        {"id": "b", "name": "B", "function": {"name": "channel_call", "input": {"channel": "callee"}}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &caller).unwrap();
    echo(&mut client, "alarm", json!({}));
    echo(&mut client, "watched", json!({"on_failure": "alarm"}));
    for (path, user) in [
        ("channels/alarm", "channel 'watched'"),
        ("workflows/callee", "channel 'callee'"),
        ("channels/callee", "workflow 'caller'"),
        ("connectors/crm", "workflow 'caller'"),
    ] {
        let path = format!("{ADMIN}/{path}");
        let refused = error(&client.send("DELETE", &path, &[], b"").unwrap(), 409, "CONFLICT");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(user) && message.contains("?force=true"), "{message}");
        let trial = client.send("DELETE", &format!("{path}?dry_run=true"), &[], b"").unwrap();
        assert_eq!(trial.json()["data"]["errors"][0]["code"], "CONFLICT", "{}", trial.text());
        let trial = client.send("DELETE", &format!("{path}?dry_run=true&force=true"), &[], b"").unwrap();
        assert_eq!((trial.status, &trial.json()["data"]["valid"]), (200, &json!(true)));
    }
    assert_eq!(client.json("POST", "/api/v1/data/callee", &json!({})).unwrap().status, 200);
    assert_eq!(
        client.send("DELETE", &format!("{ADMIN}/connectors/crm?force=true"), &[], b"").unwrap().status,
        204
    );
    client
        .json("PATCH", &format!("{ADMIN}/workflows/caller/status"), &json!({"status": "archived"}))
        .unwrap();
    assert_eq!(client.send("DELETE", &format!("{ADMIN}/channels/callee"), &[], b"").unwrap().status, 204);
    assert_eq!(client.send("DELETE", &format!("{ADMIN}/workflows/callee"), &[], b"").unwrap().status, 204);
}

#[test]
fn simultaneous_activations_leave_one_winner_and_conflicts() {
    let server = start();
    let mut client = server.client();
    let address = server.address();
    for round in 0..5 {
        let id = format!("w{round}");
        client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow(&id)).unwrap();
        let path = format!("{ADMIN}/workflows/{id}/status");
        let start_line = std::sync::Barrier::new(6);
        let mut statuses: Vec<u16> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = HttpClient::new(address).keep_alive();
                        client.get("/healthz").unwrap();
                        start_line.wait();
                        client.json("PATCH", &path, &json!({"status": "active"})).unwrap().status
                    })
                })
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).collect()
        });
        statuses.sort_unstable();
        // One that is sent late enough comes after the winner's answer, which is not told apart here: it is
        // no conflict.
        assert_eq!(statuses[0], 200, "{statuses:?}");
        assert!(statuses[1..].iter().all(|status| matches!(status, 409 | 404)), "{statuses:?}");
        assert!(statuses.iter().filter(|status| **status == 409).count() >= 1, "{statuses:?}");
    }
}

#[test]
fn version_change_under_load_fails_no_request() {
    let server = launch().env("SVC_ENGINE__ROLLOUT_STICKY_HEADER", rollout::STICKY_HEADER).start().unwrap();
    let report = rollout::run(server.address(), 4, 3).unwrap();
    assert_eq!(report.failed, (0, Vec::new()));
    for phase in &report.phases {
        assert!(phase.deviation() <= 1.0, "{phase:?}");
    }
}

#[test]
fn lists_show_the_serving_version() {
    let server = start();
    let mut client = server.client();
    serve_first(&mut client, "w");
    let list = |client: &mut HttpClient, kind: &str, status: &str| -> Vec<Value> {
        let page = client.get(&format!("{ADMIN}/{kind}?status={status}")).unwrap().json();
        assert_eq!(page["total"], page["data"].as_array().unwrap().len(), "{page}");
        let row = |row: &Value| json!([row["version"], row["status"], row["active_version"]]);
        page["data"].as_array().unwrap().iter().map(row).collect()
    };
    draft(&mut client, "w", 2);
    assert_eq!(list(&mut client, "workflows", "active"), [json!([2, "draft", 1])]);
    assert_eq!(list(&mut client, "workflows", "draft"), [json!([2, "draft", 1])]);
    // A canary that is aborted.
    activate(&mut client, "w", json!({"status": "active", "rollout_percentage": 10}));
    assert_eq!(list(&mut client, "workflows", "active"), [json!([2, "active", 1])], "the larger share");
    let rollout = format!("{ADMIN}/workflows/w/rollout");
    let aborted = client.json("PATCH", &rollout, &json!({"rollout_percentage": 0})).unwrap();
    assert_eq!(aborted.status, 200, "{}", aborted.text());
    assert_eq!(list(&mut client, "workflows", "active"), [json!([2, "archived", 1])]);
    assert_eq!(list(&mut client, "workflows", "archived"), [Value::Null; 0]);
    let read = client.get(&format!("{ADMIN}/workflows/w")).unwrap().json();
    assert_eq!(read["data"]["active_version"], 1, "{read}");
    let exported = client.get(&format!("{ADMIN}/workflows/export?status=active")).unwrap().json();
    assert_eq!(exported["data"], json!([]), "an export has the latest versions");
    assert_eq!(list(&mut client, "channels", "active"), [json!([1, "active", 1])]);
    client.json("PATCH", &format!("{ADMIN}/channels/w/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!(list(&mut client, "channels", "archived"), [json!([1, "archived", null])]);
    assert_eq!(list(&mut client, "channels", "active"), [Value::Null; 0]);
    assert_eq!(list(&mut client, "channels", "active,archived"), [json!([1, "archived", null])]);
    assert_eq!(list(&mut client, "workflows", "draft&status=active"), [json!([2, "archived", 1])]);
    assert_eq!(list(&mut client, "workflows", "draft,archived"), [Value::Null; 0]);
    let several = client.get(&format!("{ADMIN}/workflows/export?status=active,archived")).unwrap().json();
    assert_eq!(several["data"][0]["version"], 2, "{several}");
    let refused = client.get(&format!("{ADMIN}/channels?status=active,archive")).unwrap();
    error(&refused, 400, "VALIDATION_ERROR");
}
