//! The audit log: every mutation has its row, read back with filters.

use serde_json::{Value, json};

use crate::support::{channel, echo_workflow, error, launch};

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
