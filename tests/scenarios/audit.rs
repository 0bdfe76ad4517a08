//! The audit log: every mutation has its row, read back with filters.

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo_workflow, error, launch, open_database};

const ADMIN: &str = "/api/v1/admin";
const KEY: &str = "an-admin-key-of-more-than-32-characters";

/// Returns the details of a row.
fn details(row: &Value) -> Value {
    serde_json::from_str(row["details"].as_str().unwrap()).unwrap()
}

#[test]
fn change_context_in_any_language_is_kept() {
    let server = launch().start().unwrap();
    let context = "M\u{fc}ller: \u{8a02}\u{6b63}";
    let mut client = server.client().with_header("x-svc-change-context", context);
    client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    let log = client.get(&format!("{ADMIN}/audit-logs")).unwrap().json();
    assert_eq!(details(&log["data"][0])["change_context"], context);
}

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
    assert_eq!(row["principal"], hex::encode(Sha256::digest(KEY))[..12]);
    let details = details(row);
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
fn import_counts_one_audit_event_per_row() {
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
fn reload_counts_in_audit_once_row_exists() {
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

/// Returns action, version, and content hashes before and after of every change of an entity, the oldest first.
fn changes(client: &mut HttpClient, resource_type: &str, id: &str) -> Vec<(String, Value, Value, Value)> {
    let path = format!("{ADMIN}/audit-logs?resource_type={resource_type}&resource_id={id}");
    let rows = client.get(&path).unwrap().json()["data"].as_array().unwrap().clone();
    let change = |row: &Value| {
        let details = details(row);
        let hashes = &details["content_hash"];
        let action = row["action"].as_str().unwrap().to_owned();
        (action, details["version"].clone(), hashes["before"].clone(), hashes["after"].clone())
    };
    rows.iter().rev().map(change).collect()
}

#[test]
fn audited_change_has_version_and_both_contents() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    let mut hashes = Vec::new();
    let mut send = |method: &str, path: &str, body: Value| {
        let path = format!("{ADMIN}{path}");
        let answer = match method {
            "DELETE" => client.send(method, &path, &[], b"").unwrap(),
            _ => client.json(method, &path, &body).unwrap(),
        };
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
        if answer.status != 204 {
            hashes.push(answer.json()["data"]["content_hash"].clone());
        }
    };
    send("POST", "/workflows", echo_workflow("w"));
    send("PUT", "/workflows/w", json!({"priority": 1}));
    send("PATCH", "/workflows/w/status", json!({"status": "active"}));
    send("POST", "/workflows/w/versions", json!({}));
    send("PUT", "/workflows/w", json!({"priority": 2}));
    send("PATCH", "/workflows/w/status", json!({"status": "active", "rollout_percentage": 10}));
    send("PATCH", "/workflows/w/rollout", json!({"rollout_percentage": 100}));
    send("PATCH", "/workflows/w/status", json!({"status": "archived"}));
    send("DELETE", "/workflows/w", Value::Null);
    send(
        "POST",
        "/connectors",
        json!({"id": "c", "name": "c", "connector_type": "http", "config": {"url": "https://a.example"}}),
    );
    send("PATCH", "/connectors/c/status", json!({"status": "archived"}));
    let [first, edited, third] = [0, 1, 4].map(|index| hashes[index].clone());
    let none = Value::Null;
    let change = |action: &str, version: i64, before: &Value, after: &Value| {
        (action.to_owned(), json!(version), before.clone(), after.clone())
    };
    let expected = [
        change("create", 1, &none, &first),
        change("update", 1, &first, &edited),
        change("status_active", 1, &none, &edited),
        change("create_version", 2, &edited, &edited),
        change("update", 2, &edited, &third),
        change("status_active", 2, &edited, &third),
        change("update_rollout", 2, &third, &third),
        change("status_archived", 2, &third, &none),
        change("delete", 2, &third, &none),
    ];
    assert_eq!(changes(&mut client, "workflow", "w"), expected);
    let connector = changes(&mut client, "connector", "c");
    assert_eq!((&connector[0].2, &connector[0].3), (&none, &hashes[8]), "{connector:?}");
    assert_eq!((&connector[1].2, &connector[1].1), (&connector[0].3, &none), "connectors have no versions");
    let log = client.get(&format!("{ADMIN}/audit-logs?action=update_rollout")).unwrap().json();
    assert_eq!(details(&log["data"][0])["rollout_percentage"], 100);
}

#[test]
fn changes_carry_the_id_of_their_row() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    let batch = json!([echo_workflow("one"), echo_workflow("two")]);
    let mut ids = Vec::new();
    for (method, path, body) in [
        ("POST", "/workflows", echo_workflow("w")),
        ("PATCH", "/workflows/w/status", json!({"status": "active"})),
        ("POST", "/channels", channel("c", "w", json!({}))),
        ("PATCH", "/channels/c/status", json!({"status": "active"})),
        ("POST", "/channels/c/pause", json!({"reason": "a test"})),
        ("POST", "/workflows/w/test", json!({"data": {}})),
        ("POST", "/engine/reload", json!({})),
        ("POST", "/workflows/import", batch),
        ("DELETE", "/workflows/one", Value::Null),
    ] {
        let mut send = |path: &str| match method {
            "DELETE" => client.send(method, path, &[], b"").unwrap(),
            _ => client.json(method, path, &body).unwrap(),
        };
        let dry_run = send(&format!("{ADMIN}{path}?dry_run=true"));
        assert_eq!(dry_run.header("x-audit-id"), None, "{path}: {}", dry_run.text());
        let answer = send(&format!("{ADMIN}{path}"));
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
        let newest = client.get(&format!("{ADMIN}/audit-logs?limit=1")).unwrap().json()["data"][0].clone();
        assert_eq!(answer.header("x-audit-id"), newest["id"].as_str(), "{method} {path}: {newest}");
        ids.push(newest["id"].as_str().unwrap().to_owned());
    }
    ids.dedup();
    assert_eq!(ids.len(), 9, "{ids:?}");
    let read = client.get(&format!("{ADMIN}/workflows/w")).unwrap();
    assert_eq!(read.header("x-audit-id"), None);
    let refused = client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    assert_eq!((refused.status, refused.header("x-audit-id")), (409, None));
}

#[test]
fn audit_change_is_an_object_beside_textual_details() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    client.json("POST", &format!("{ADMIN}/workflows/w/test"), &json!({"data": {}})).unwrap();
    let log = client.get(&format!("{ADMIN}/audit-logs")).unwrap().json();
    let [tested, created] = [0, 1].map(|index| log["data"][index].clone());
    let change = &created["change"];
    assert_eq!(change["version"], 1, "{created}");
    assert!(change["content_hash"]["before"].is_null() && change["content_hash"]["after"].is_string());
    let details = details(&created);
    assert_eq!((&details["version"], &details["content_hash"]), (&json!(1), &change["content_hash"]));
    assert!(details["request_id"].is_string() && change.get("request_id").is_none(), "{created}");
    assert_eq!((&tested["action"], &tested["change"]), (&json!("test"), &Value::Null), "{tested}");
}

#[test]
fn misspelt_audit_filters_are_refused_with_known_words() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    for (name, wrong, known) in [("action", "creat", "create"), ("resource_type", "workflows", "workflow")] {
        let refused = client.get(&format!("{ADMIN}/audit-logs?{name}={wrong}")).unwrap();
        let refused = error(&refused, 400, "VALIDATION_ERROR");
        let detail = &refused["details"][0];
        assert_eq!((&detail["path"], &detail["got"]), (&json!(format!("query.{name}")), &json!(wrong)));
        assert!(detail["expected"].as_array().unwrap().contains(&json!(known)), "{refused}");
        let answer = client.get(&format!("{ADMIN}/audit-logs?{name}={known}")).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[test]
fn caller_is_recorded_by_key_name_or_id() {
    let launch = launch();
    let (file, reader) = (launch.directory().join("svc.toml"), "a-reading-key-of-more-than-32-characters");
    let digest = hex::encode(Sha256::digest(reader));
    let text = format!(
        "[admin_auth]\nenabled = true\napi_keys = [{{ name = \"ci\", key = \"{KEY}\" }}]\n\
         read_only_api_keys = [\"sha256:{digest}\"]\n"
    );
    std::fs::write(&file, text).unwrap();
    let server = launch.args(&["-c", file.to_str().unwrap()]).start().unwrap();
    let mut client = server.client().with_header("x-api-key", KEY);
    client.json("POST", &format!("{ADMIN}/workflows"), &echo_workflow("w")).unwrap();
    let log = client.get(&format!("{ADMIN}/audit-logs?principal=ci")).unwrap().json();
    assert_eq!((&log["total"], &log["data"][0]["action"]), (&json!(1), &json!("create")));
    let id = |key: &str| {
        let output = crate::support::launch().args(&["key-id", key]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(id(reader), id(&format!("sha256:{digest}")));
    let caller = client.get(&format!("{ADMIN}/whoami")).unwrap().json()["data"].clone();
    assert_eq!(caller, json!({"principal": "ci", "key_id": id(KEY), "access": "full"}));
    let mut client = server.client().with_header("authorization", &format!("Bearer {reader}"));
    let caller = client.get(&format!("{ADMIN}/whoami")).unwrap().json()["data"].clone();
    assert_eq!(caller, json!({"principal": id(reader), "key_id": id(reader), "access": "read_only"}));
    error(&server.client().get(&format!("{ADMIN}/whoami")).unwrap(), 401, "UNAUTHORIZED");
    let open = crate::support::start();
    let caller = open.client().get(&format!("{ADMIN}/whoami")).unwrap().json()["data"].clone();
    assert_eq!(caller, json!({"principal": "anonymous", "key_id": null, "access": "full"}));
}
