//! The audit log: every mutation has its row, read back with filters.

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo_workflow, error, launch, open_database};

const ADMIN: &str = "/api/v1/admin";
const KEY: &str = "an-admin-key-of-more-than-32-characters";

#[test]
fn every_mutation_has_its_row_with_principal_and_details() {
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", KEY).start().unwrap();
    let mut client = server
        .client()
        .with_header("x-api-key", KEY)
        .with_header("x-svc-change-context", "package=p@1")
        .with_header("x-request-id", "req-7");
    client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    client.json("PUT", &format!("{ADMIN}/workflows/w"), &json!({"priority": 1})).unwrap();
    client.json("PATCH", &format!("{ADMIN}/workflows/w/status"), &json!({"status": "active"})).unwrap();
    client.json("POST", &format!("{ADMIN}/workflows/w/versions"), &json!({})).unwrap();
    client.json("POST", &format!("{ADMIN}/channels"), &channel("c", "w", json!({}))).unwrap();
    client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
    client.send("DELETE", &format!("{ADMIN}/workflows/w"), &[], b"").unwrap();
    client.json("POST", &format!("{ADMIN}/workflows"), &json!({"name": "refused", "tasks": []})).unwrap();
    let log = client.get(&format!("{ADMIN}/audit-logs")).unwrap().json();
    let rows: Vec<(String, String, String)> = log["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            (text("action"), text("resource_type"), text("resource_id"))
        })
        .collect();
    let expected = [
        ("delete", "workflow", "w"),
        ("reload", "engine", "manual"),
        ("create", "channel", "c"),
        ("create_version", "workflow", "w"),
        ("status_active", "workflow", "w"),
        ("update", "workflow", "w"),
        ("create", "workflow", "w"),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect();
    assert_eq!(rows, expected, "newest first, refused requests not at all");
    let row = &log["data"][0];
    let principal = row["principal"].as_str().unwrap();
    assert!(principal.starts_with("key-") && principal.len() == 20, "{principal}");
    let details: Value = serde_json::from_str(row["details"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&details["request_id"], &details["change_context"]),
        (&json!("req-7"), &json!("package=p@1"))
    );
    assert!(!log.to_string().contains(KEY));
    let created =
        client.get(&format!("{ADMIN}/audit-logs?action=create&resource_type=workflow")).unwrap().json();
    assert_eq!(created["total"], 1);
    error(&client.get(&format!("{ADMIN}/audit-logs?who=me")).unwrap(), 400, "VALIDATION_ERROR");
    error(&client.get(&format!("{ADMIN}/audit-logs?start_time=yesterday")).unwrap(), 400, "VALIDATION_ERROR");
}

/// Returns the number of audit rows of a kind, and the counter of them.
fn rows_and_count(client: &mut HttpClient, action: &str, resource_type: &str) -> (i64, i64) {
    let query = format!("action={action}&resource_type={resource_type}");
    let rows = client.get(&format!("{ADMIN}/audit-logs?{query}")).unwrap().json()["total"].as_i64().unwrap();
    let labels = format!("action=\"{action}\",resource_type=\"{resource_type}\"");
    let series = format!("svc_admin_audit_events_total{{{labels}}} ");
    let metrics = client.get("/metrics").unwrap().text();
    let count = metrics.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok());
    (rows, count.unwrap_or(0))
}

#[test]
fn import_counts_as_many_audit_events_as_it_writes_rows() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let batch = json!([echo_workflow("one"), {"name": "refused", "tasks": []}, echo_workflow("two")]);
    let expected = [("?dry_run=true", 2, 0), ("", 2, 3), ("?on_conflict=new_version", 0, 3)];
    for (query, imported, rows) in expected {
        let answer = client.json("POST", &format!("{ADMIN}/workflows/import{query}"), &batch).unwrap();
        assert_eq!(answer.json()["data"]["imported"], imported, "{query}: {}", answer.text());
        assert_eq!(rows_and_count(&mut client, "import", "workflow"), (rows, rows), "{query}");
    }
}

#[test]
fn reload_counts_as_an_audit_event_once_its_row_is_written() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let mut database = open_database(&server.directory().join("svc.db"));
    let refuse =
        "CREATE TRIGGER refuse BEFORE INSERT ON audit_logs BEGIN SELECT RAISE(ABORT, 'planned'); END";
    database.batch_execute(refuse).unwrap();
    let refused = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
    assert!(refused.status >= 500, "{}", refused.text());
    assert_eq!(rows_and_count(&mut client, "reload", "engine"), (0, 0));
    database.batch_execute("DROP TRIGGER refuse").unwrap();
    let reloaded = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
    assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    assert_eq!(rows_and_count(&mut client, "reload", "engine"), (1, 1));
}
