//! Dry runs: every mutation of the admin API can be tried, or says that it cannot.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo, echo_workflow, error, start};

const ADMIN: &str = "/api/v1/admin";
/// A request for each route that mutates, `{kind}` for what has versions.
fn dry_run_requests() -> Vec<(&'static str, &'static str, Value)> {
    let connector =
        json!({"id": "new", "name": "new", "connector_type": "http", "config": {"url": "https://a.example"}});
    vec![
        ("POST", "{kind}", Value::Null),
        ("POST", "{kind}/import", Value::Null),
        ("PUT", "{kind}/w", json!({"tags": ["x"]})),
        ("DELETE", "{kind}/w?force=true", Value::Null),
        ("PATCH", "{kind}/w/status", json!({"status": "archived"})),
        ("POST", "{kind}/w/rollback", json!({})),
        ("POST", "{kind}/w/versions", json!({})),
        ("PATCH", "workflows/w/rollout", json!({"rollout_percentage": 100})),
        ("POST", "connectors", connector.clone()),
        ("POST", "connectors/import", json!([connector])),
        ("PUT", "connectors/k", json!({"tags": ["x"]})),
        ("DELETE", "connectors/k", Value::Null),
        ("PATCH", "connectors/k/status", json!({"status": "archived"})),
        ("POST", "trace-dlq/purge", json!({"older_than_hours": 0})),
        ("POST", "trace-dlq/none/requeue", json!({})),
        ("DELETE", "recordings?channel=none", Value::Null),
        ("POST", "backups", Value::Null),
        ("POST", "webhooks", json!({"url": "https://a.invalid/", "topics": ["a"], "connector": "k"})),
        ("PATCH", "webhooks/none", json!({"topics": ["x"]})),
        ("DELETE", "webhooks/none", Value::Null),
        ("POST", "webhooks/none/rotate", json!({})),
        ("POST", "webhooks/none/replay", json!({"since": "2026-01-01T00:00:00Z"})),
        ("POST", "plugins", json!({"manifest": {}, "component": ""})),
        ("POST", "plugins/import", json!([{"manifest": {}, "component": ""}])),
        ("PUT", "plugins/none", json!({"manifest": {}, "component": ""})),
        ("PATCH", "plugins/none/status", json!({"status": "active"})),
        ("DELETE", "plugins/none", Value::Null),
        ("POST", "consumers", json!({"name": "new"})),
        ("PATCH", "consumers/none", json!({"tags": ["x"]})),
        ("DELETE", "consumers/none", Value::Null),
        ("POST", "consumers/none/keys", json!({"kind": "hmac"})),
        ("DELETE", "consumers/none/keys/none", Value::Null),
        ("POST", "channels/w/pause", json!({"reason": "repair"})),
        ("POST", "channels/w/resume", json!({})),
        ("POST", "channels/pause", json!({"filter": {"tag": "t"}, "reason": "repair"})),
        ("POST", "channels/resume", json!({"filter": {"tag": "t"}})),
        (
            "PUT",
            "packages/orders",
            json!({"version": "1", "content_hash": format!("sha256:{:064}", 0), "state": "staged"}),
        ),
    ]
}

/// A request for each route whose effect cannot be undone.
const REFUSED: [&str; 20] = [
    "workflows/w/backtest",
    "channels/w/backtest",
    "backtests/none/abort",
    "workflows/w/test",
    "channels/w/test",
    "channels/w/trigger",
    "cron/occurrences/none/retry",
    "cron/occurrences/none/cancel",
    "traces/none/cancel",
    "traces/none/rerun",
    "bulk/none/abort",
    "engine/reload",
    "cache/invalidate",
    "connectors/k/test",
    "connectors/circuit-breakers/none",
    "actors/registry/restart",
    "kafka/partitions/orders/0/skip",
    "nodes/drain",
    "webhooks/none/enable",
    "webhooks/none/test",
];
/// Routes that take a body and change nothing, and those whose dry run lists the rows that they would change.
const READS: [&str; 5] =
    ["workflows/validate", "channels/validate", "connectors/validate", "bulk", "channels/nightly/backfill"];

/// Everything that a mutation could change.
fn state(client: &mut HttpClient) -> Vec<Value> {
    let lists = [
        "workflows",
        "workflows/w/versions",
        "channels",
        "channels/w/versions",
        "connectors",
        "consumers",
        "plugins",
        "webhooks",
        "audit-logs",
    ];
    lists.map(|list| client.get(&format!("{ADMIN}/{list}")).unwrap().json()).to_vec()
}

#[test]
fn dry_run_of_every_mutation_writes_nothing() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "w", json!({}));
    let connector =
        json!({"id": "k", "name": "k", "connector_type": "http", "config": {"url": "https://a.example"}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    let before = state(&mut client);
    for (method, path, body) in dry_run_requests() {
        for kind in ["workflows", "channels"] {
            let document =
                if kind == "workflows" { echo_workflow("new") } else { channel("new", "w", json!({})) };
            let body = match (path, &body) {
                ("{kind}", _) => document,
                ("{kind}/import", _) => json!([document]),
                _ => body.clone(),
            };
            let separator = if path.contains('?') { '&' } else { '?' };
            let path = format!("{ADMIN}/{}{separator}dry_run=true", path.replace("{kind}", kind));
            let answer = client.json(method, &path, &body).unwrap();
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
            let report = answer.json()["data"].clone();
            let errors = report["errors"].as_array().unwrap_or_else(|| panic!("{method} {path}: {report}"));
            assert!(report["warnings"].is_array(), "{method} {path}: {report}");
            assert_eq!(report["valid"], errors.is_empty(), "{method} {path}: {report}");
        }
    }
    for path in REFUSED {
        let answer = client.json("POST", &format!("{ADMIN}/{path}?dry_run=true"), &json!({})).unwrap();
        let refused = error(&answer, 400, "VALIDATION_ERROR");
        assert!(refused["message"].as_str().unwrap().contains("no dry run"), "{path}: {refused}");
    }
    assert_eq!(state(&mut client), before);
    assert_eq!(client.json("POST", "/api/v1/data/w", &json!({})).unwrap().status, 200);
}

#[test]
fn every_route_that_mutates_is_among_those_tried() {
    let mut listed: Vec<(&str, String)> = Vec::new();
    for (method, path, _) in dry_run_requests() {
        let path = path.split('?').next().unwrap_or_default();
        listed.extend(["workflows", "channels"].map(|kind| (method, path.replace("{kind}", kind))));
    }
    listed.extend(REFUSED.iter().chain(&READS).map(|path| ("POST", (*path).to_owned())));
    let server = start();
    let document = server.client().get("/api/v1/openapi.json").unwrap().json();
    let mut mutating = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let Some(template) = path.strip_prefix(&format!("{ADMIN}/")) else { continue };
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            if operations[method.to_lowercase()].is_object() {
                mutating += 1;
                let is_listed = listed.iter().any(|(tried, path)| *tried == method && fits(path, template));
                assert!(is_listed, "{method} {path}");
            }
        }
    }
    assert!(mutating > 20, "{mutating}");
}

/// Returns `true` if a path has the form of a template, whose parts in braces match anything.
fn fits(path: &str, template: &str) -> bool {
    let (path, template): (Vec<_>, Vec<_>) = (path.split('/').collect(), template.split('/').collect());
    path.len() == template.len()
        && path.iter().zip(template).all(|(part, expected)| expected.starts_with('{') || *part == expected)
}

#[test]
fn dry_run_reports_the_refusals_of_the_request() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "w", json!({}));
    for (method, path, body, code) in [
        ("POST", "workflows", echo_workflow("w"), json!("CONFLICT")),
        ("POST", "workflows", json!({"name": "", "tasks": []}), json!("INVALID")),
        ("PUT", "workflows/w", json!({"tags": []}), json!("NOT_FOUND")),
        ("PUT", "workflows/x", json!({"tags": []}), json!("NOT_FOUND")),
        ("DELETE", "workflows/w", Value::Null, json!("CONFLICT")),
        ("DELETE", "connectors/x", Value::Null, json!("NOT_FOUND")),
        ("PATCH", "workflows/w/status", json!({"status": "active"}), json!("NOT_FOUND")),
        ("PATCH", "channels/x/status", json!({"status": "archived"}), json!("NOT_FOUND")),
        ("PATCH", "workflows/x/rollout", json!({"rollout_percentage": 10}), json!("NOT_FOUND")),
        ("POST", "workflows/w/rollback", json!({}), json!("NOT_FOUND")),
        ("POST", "trace-dlq/x/requeue", json!({}), json!("NOT_FOUND")),
    ] {
        let answer = client.json(method, &format!("{ADMIN}/{path}?dry_run=true"), &body).unwrap();
        let report = answer.json()["data"].clone();
        assert_eq!(
            (answer.status, &report["valid"]),
            (200, &json!(false)),
            "{method} {path}: {}",
            answer.text()
        );
        assert_eq!(report["errors"][0]["code"], code, "{method} {path}: {report}");
    }
}

#[test]
fn dry_run_of_writes_has_warnings_of_validate() {
    let server = start();
    let mut client = server.client();
    let mut workflow = echo_workflow("new");
    workflow["tasks"] = json!([{"id": "call", "name": "call", "function": {"name": "http_call",
        "input": {"connector": "nowhere", "path": "/"}}}]);
    let connector = json!({"id": "new", "name": "new", "connector_type": "http",
        "config": {"url": "https://a.example", "uri": "https://b.example"}});
    for (kind, document) in [
        ("workflows", workflow),
        ("channels", channel("new", "nobody", json!({}))),
        ("connectors", connector),
    ] {
        let mut warnings = |method, path: &str, document: &Value| {
            let answer = client.json(method, &format!("{ADMIN}/{kind}{path}"), document).unwrap();
            assert!(answer.status < 300, "{method} {kind}{path}: {}", answer.text());
            let answer = answer.json();
            let report = if answer["warnings"].is_array() { &answer } else { &answer["data"] };
            report["warnings"].clone()
        };
        let expected = warnings("POST", "/validate", &document);
        assert!(expected.as_array().is_some_and(|warnings| !warnings.is_empty()), "{kind}: {expected}");
        assert_eq!(warnings("POST", "?dry_run=true", &document), expected, "{kind}");
        let mut refused = document.clone();
        refused["tags"] = json!(1);
        let of_refused = warnings("POST", "/validate", &refused);
        assert_eq!(warnings("POST", "?dry_run=true", &refused), of_refused, "{kind}");
        assert_eq!(warnings("POST", "", &document), expected, "{kind}");
        for query in ["?dry_run=true", ""] {
            let change = json!({"tags": ["x"]});
            assert_eq!(warnings("PUT", &format!("/new{query}"), &change), expected, "{kind}{query}");
        }
    }
}
