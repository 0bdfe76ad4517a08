//! Cancels of what another node runs.

use serde_json::json;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{database, node, serve_jobs, settle, status, submit};
use crate::support::{error, eventually};

#[test]
fn run_of_another_node_is_cancelled_soon() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let first = node(&database).start().unwrap();
    serve_jobs(&mut first.client(), &witness);
    let second = node(&database).start().unwrap();
    let id = submit(&mut first.client(), 1);
    witness.wait_for(1);
    eventually(|| status(&mut second.client(), &id) == "running");
    let path = format!("/api/v1/admin/traces/{id}/cancel");
    let answer = second.client().send("POST", &path, &[], b"").unwrap();
    assert_eq!(
        (answer.status, &answer.json()["data"]["status"]),
        (200, &json!("cancelled")),
        "{}",
        answer.text()
    );
    error(&second.client().send("POST", &path, &[], b"").unwrap(), 409, "CONFLICT");
    witness.open();
    let next = submit(&mut first.client(), 2);
    settle(&mut second.client());
    assert_eq!(status(&mut second.client(), &next), "completed");
    assert_eq!(witness.requests().len(), 2, "the cancelled run was not begun again");
}

#[test]
fn statement_of_cancelled_run_ends_at_server() {
    let Some((postgres, database)) = database() else { return };
    let server = node(&database).start().unwrap();
    let mut client = server.client();
    let other = postgres.database().unwrap();
    let config = json!({"connection_string": other.url(), "allow_private_urls": true});
    let connector = json!({"id": "app", "name": "app", "connector_type": "db", "config": config});
    let created = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    crate::support::serve(
        &mut client,
        "jobs",
        json!([{"id": "sleep", "name": "", "function": {"name": "db_read",
        "input": {"connector": "app", "query": "SELECT pg_sleep(600)::text AS slept"}}}]),
    );
    let id = submit(&mut client, 1);
    let running = || {
        let sleeping =
            "SELECT 1::text FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'";
        other.rows(sleeping).unwrap().len()
    };
    eventually(|| running() == 1);
    let answer = client.send("POST", &format!("/api/v1/admin/traces/{id}/cancel"), &[], b"").unwrap();
    let trace = answer.json()["data"].clone();
    assert_eq!((answer.status, &trace["status"]), (200, &json!("cancelled")), "{trace}");
    assert_eq!(trace["in_flight"], json!([{"task_id": "sleep", "function": "db_read", "connector": "app"}]));
    eventually(|| running() == 0);
}
