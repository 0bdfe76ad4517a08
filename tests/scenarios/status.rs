//! Status changes: requirements, dry runs, deferred reloads, rollouts.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;

use crate::support::{channel, echo, echo_workflow, error, start};

const ADMIN: &str = "/api/v1/admin";

#[test]
fn channel_needs_active_workflow_and_free_route() {
    let server = start();
    let mut client = server.client();
    client.json("POST", &format!("{ADMIN}/channels"), &channel("c", "w", json!({}))).unwrap();
    let path = format!("{ADMIN}/channels/c/status");
    error(&client.json("PATCH", &path, &json!({"status": "active"})).unwrap(), 400, "VALIDATION_ERROR");
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    assert_eq!(client.json("PATCH", &path, &json!({"status": "active"})).unwrap().status, 200);
    let mut rival = channel("d", "w", json!({}));
    rival["route_pattern"] = json!("/c");
    client.json("POST", &format!("{ADMIN}/channels"), &rival).unwrap();
    let refused =
        client.json("PATCH", &format!("{ADMIN}/channels/d/status"), &json!({"status": "active"})).unwrap();
    error(&refused, 400, "VALIDATION_ERROR");
    error(&client.json("PATCH", &path, &json!({"status": "draft"})).unwrap(), 400, "VALIDATION_ERROR");
    error(&client.json("PATCH", &path, &json!({"status": "active"})).unwrap(), 404, "NOT_FOUND");
}

#[test]
fn every_rival_of_a_route_is_named() {
    let server = start();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    let routed = |id: &str, methods: &[&str]| {
        let mut document = channel(id, "w", json!({}));
        (document["methods"], document["route_pattern"]) = (json!(methods), json!("/shared"));
        document
    };
    for (id, method) in [("getter", "GET"), ("poster", "POST")] {
        create_and_activate(&mut client, "channels", "channel_id", &routed(id, &[method])).unwrap();
    }
    let both = routed("both", &["GET", "POST"]);
    let rivals = |entries: &Value| {
        let rivals = entries.as_array().unwrap().iter().filter_map(|entry| entry["rival"].as_str());
        rivals.map(str::to_owned).collect::<Vec<_>>()
    };
    let validated = client.json("POST", &format!("{ADMIN}/channels/validate"), &both).unwrap().json();
    assert_eq!(rivals(&validated["data"]["warnings"]), ["getter", "poster"], "{validated}");
    client.json("POST", &format!("{ADMIN}/channels"), &both).unwrap();
    let dry = format!("{ADMIN}/channels/both/status?dry_run=true");
    let tried = client.json("PATCH", &dry, &json!({"status": "active"})).unwrap().json();
    assert_eq!(rivals(&tried["data"]["errors"]), ["getter", "poster"], "{tried}");
}

#[test]
fn dry_run_checks_every_requirement_and_writes_nothing() {
    let server = start();
    let mut client = server.client();
    client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    let dry = format!("{ADMIN}/workflows/w/status?dry_run=true");
    let valid = client.json("PATCH", &dry, &json!({"status": "active"})).unwrap();
    assert_eq!((valid.status, &valid.json()["data"]["valid"]), (200, &json!(true)), "{}", valid.text());
    assert_eq!(client.get(&format!("{ADMIN}/workflows/w")).unwrap().json()["data"]["status"], "draft");
    let missing = format!("{ADMIN}/workflows/nobody/status?dry_run=true");
    let invalid = client.json("PATCH", &missing, &json!({"status": "active"})).unwrap();
    assert_eq!((invalid.status, &invalid.json()["data"]["valid"]), (200, &json!(false)));
    assert_eq!(invalid.json()["data"]["errors"].as_array().unwrap().len(), 1);
    let odd = client.json(
        "PATCH",
        &format!("{ADMIN}/workflows/w/status?reload=soon"),
        &json!({"status": "active"}),
    );
    error(&odd.unwrap(), 400, "VALIDATION_ERROR");
    let audit = client.get(&format!("{ADMIN}/audit-logs?action=status_active")).unwrap().json();
    assert_eq!(audit["total"], 0, "a dry run is no change");
}

#[test]
fn a_deferred_change_is_served_after_the_reload() {
    let server = start();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    client.json("POST", &format!("{ADMIN}/channels"), &channel("c", "w", json!({}))).unwrap();
    let path = format!("{ADMIN}/channels/c/status?reload=defer");
    let deferred = client.json("PATCH", &path, &json!({"status": "active"})).unwrap();
    assert_eq!((deferred.status, &deferred.json()["data"]["status"]), (200, &json!("active")));
    error(&client.json("POST", "/api/v1/data/c", &json!({})).unwrap(), 404, "NOT_FOUND");
    let reload = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
    assert_eq!((reload.status, &reload.json()["data"]["reloaded"]), (200, &json!(true)), "{}", reload.text());
    assert_eq!(client.json("POST", "/api/v1/data/c", &json!({})).unwrap().status, 200);
    let status = client.get(&format!("{ADMIN}/engine/status")).unwrap().json()["data"].clone();
    assert_eq!((&status["active_workflows"], &status["channels"]), (&json!(1), &json!(["c"])));
}

#[test]
fn archiving_takes_a_channel_out_of_service() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "a", json!({}));
    let archived =
        client.json("PATCH", &format!("{ADMIN}/channels/a/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!((archived.status, &archived.json()["data"]["status"]), (200, &json!("archived")));
    error(&client.json("POST", "/api/v1/data/a", &json!({})).unwrap(), 404, "NOT_FOUND");
    let again =
        client.json("PATCH", &format!("{ADMIN}/channels/a/status"), &json!({"status": "archived"})).unwrap();
    error(&again, 404, "NOT_FOUND");
}

#[test]
fn a_rollout_splits_the_traffic_by_the_callers_identity() {
    let server = start();
    let mut client = server.client();
    let version = |n: i64| {
        json!({"workflow_id": "r", "name": "r", "tasks": [{"id": "v", "name": "", "function":
            {"name": "map", "input": {"mappings": [{"path": "data.version", "logic": n}]}}}]})
    };
    create_and_activate(&mut client, "workflows", "workflow_id", &version(1)).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("r", "r", json!({}))).unwrap();
    let workflow = format!("{ADMIN}/workflows/r");
    client.json("POST", &format!("{workflow}/versions"), &json!({})).unwrap();
    client.json("PUT", &workflow, &json!({"tasks": version(2)["tasks"]})).unwrap();
    let half = json!({"status": "active", "rollout_percentage": 50});
    let active = client.json("PATCH", &format!("{workflow}/status"), &half).unwrap();
    assert_eq!(
        (active.status, &active.json()["data"]["rollout_percentage"]),
        (200, &json!(50)),
        "{}",
        active.text()
    );
    let mut counts = [0, 0];
    for _ in 0..100 {
        let answer = client.json("POST", "/api/v1/data/r", &json!({})).unwrap().json();
        counts[answer["data"]["version"].as_u64().unwrap() as usize - 1] += 1;
    }
    assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
    let moved =
        client.json("PATCH", &format!("{workflow}/rollout"), &json!({"rollout_percentage": 100})).unwrap();
    assert_eq!(
        (moved.status, &moved.json()["data"]["rollout_percentage"]),
        (200, &json!(100)),
        "{}",
        moved.text()
    );
    for _ in 0..20 {
        let answer = client.json("POST", "/api/v1/data/r", &json!({})).unwrap().json();
        assert_eq!(answer["data"]["version"], 2);
    }
    let low =
        client.json("PATCH", &format!("{workflow}/rollout"), &json!({"rollout_percentage": 30})).unwrap();
    error(&low, 400, "VALIDATION_ERROR");
    let unknown = format!("{ADMIN}/workflows/unknown/rollout");
    let unknown = client.json("PATCH", &unknown, &json!({"rollout_percentage": 30})).unwrap();
    error(&unknown, 404, "NOT_FOUND");
}

#[test]
fn of_two_activations_of_one_route_exactly_one_wins() {
    let server = start();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    for id in ["x", "y"] {
        let mut document = channel(id, "w", json!({}));
        document["route_pattern"] = json!("/same");
        client.json("POST", &format!("{ADMIN}/channels"), &document).unwrap();
    }
    let address = server.address();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let tries: Vec<_> = ["x", "y"]
            .map(|id| {
                scope.spawn(move || {
                    let path = format!("{ADMIN}/channels/{id}/status");
                    let mut client = svc_testkit::http::HttpClient::new(address);
                    client.json("PATCH", &path, &json!({"status": "active"})).unwrap().status
                })
            })
            .into_iter()
            .collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
}
