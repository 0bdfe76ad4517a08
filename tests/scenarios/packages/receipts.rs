//! Receipts of packages over HTTP.

use std::thread;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{details, error, start};

const PACKAGES: &str = "/api/v1/admin/packages";

fn put(client: &mut HttpClient, body: &Value) -> svc_testkit::http::HttpResponse {
    client.json("PUT", &format!("{PACKAGES}/orders"), body).unwrap()
}

fn receipt(version: &str, hash: &str, state: &str) -> Value {
    json!({"version": version, "content_hash": hash, "state": state})
}

#[test]
fn receipt_of_an_applied_version_keeps_its_content() {
    let server = start();
    let mut client = server.client();
    error(&client.get(&format!("{PACKAGES}/orders")).unwrap(), 404, "NOT_FOUND");
    for (body, status) in [
        (receipt("1.0", "sha256:a", "staged"), 200),
        (receipt("1.0", "sha256:b", "staged"), 200),
        (receipt("1.0", "sha256:b", "applied"), 200),
        (receipt("1.0", "sha256:b", "applied"), 200),
        (receipt("1.0", "sha256:b", "staged"), 409),
        (receipt("1.0", "sha256:a", "applied"), 409),
        (receipt("1.0", "sha256:a", "staged"), 409),
    ] {
        let answer = put(&mut client, &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    let detail = client.get(&format!("{PACKAGES}/orders")).unwrap().json()["data"].clone();
    assert_eq!(detail["name"], "orders");
    assert_eq!(detail["versions"], json!([detail["current"]]));
    let keys: Vec<_> = detail["current"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys,
        ["name", "version", "content_hash", "state", "principal", "created_at", "updated_at"],
        "what an apply did not tell is absent"
    );
}

#[test]
fn staged_package_has_no_current_version() {
    let server = start();
    let mut client = server.client();
    put(&mut client, &receipt("2", "h", "staged"));
    let detail = client.get(&format!("{PACKAGES}/orders")).unwrap().json()["data"].clone();
    assert_eq!((&detail["current"], &detail["versions"][0]["state"]), (&Value::Null, &json!("staged")));
    let page = client.get(&format!("{PACKAGES}?limit=5")).unwrap().json();
    assert_eq!((&page["total"], &page["limit"], &page["offset"]), (&json!(1), &json!(5), &json!(0)));
    assert_eq!(page["data"][0]["version"], "2");
}

#[test]
fn wrong_receipt_is_refused_with_every_place() {
    let server = start();
    let mut client = server.client();
    let refused =
        error(&put(&mut client, &json!({"version": "a b", "states": "x"})), 400, "VALIDATION_ERROR");
    let mut places: Vec<_> = details(&refused).into_iter().map(|(path, _)| path).collect();
    places.sort();
    assert_eq!(places, ["body.content_hash", "body.state", "body.states", "body.version"]);
    let long = format!("{PACKAGES}/{}", "n".repeat(129));
    error(&client.json("PUT", &long, &receipt("1", "h", "staged")).unwrap(), 400, "VALIDATION_ERROR");
    error(&client.get(&format!("{PACKAGES}?current=true")).unwrap(), 400, "VALIDATION_ERROR");
    assert_eq!(client.get(PACKAGES).unwrap().json()["total"], 0);
}

#[test]
fn dry_run_of_receipt_predicts_the_request() {
    let server = start();
    let mut client = server.client();
    let path = format!("{PACKAGES}/orders?dry_run=true");
    let mut attempt = |body: &Value| client.json("PUT", &path, body).unwrap().json()["data"].clone();
    assert_eq!(attempt(&receipt("1", "h", "staged"))["valid"], true);
    assert_eq!(attempt(&receipt("1", "h h", "staged"))["errors"][0]["field"], "body.content_hash");
    let mut client = server.client();
    put(&mut client, &receipt("1", "h", "applied"));
    let refused = client.json("PUT", &path, &receipt("1", "other", "applied")).unwrap();
    assert_eq!((refused.status, &refused.json()["data"]["valid"]), (200, &json!(false)));
    assert_eq!(client.get(PACKAGES).unwrap().json()["total"], 1);
}

#[test]
fn audit_names_package_state_and_context() {
    let server = start();
    let mut client = server.client().with_header("x-svc-change-context", "package=orders@1.0");
    put(&mut client, &receipt("1.0", "h", "staged"));
    put(&mut client, &receipt("1.0", "h", "applied"));
    put(&mut client, &receipt("1.0", "h", "staged"));
    let rows = client.get("/api/v1/admin/audit-logs?resource_type=package").unwrap().json()["data"].clone();
    let rows: Vec<_> = rows.as_array().unwrap().iter().collect();
    let actions: Vec<_> = rows.iter().map(|row| row["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["package_applied", "package_staged"], "a refusal leaves no record");
    for row in rows {
        assert_eq!(row["resource_id"], "orders@1.0");
        assert!(row["details"].as_str().unwrap().contains("package=orders@1.0"), "{row}");
    }
}

#[test]
fn one_of_many_simultaneous_applies_wins() {
    let server = start();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let attempts: Vec<_> = (0..8)
            .map(|index| {
                let mut client = server.client();
                scope.spawn(move || put(&mut client, &receipt("1", &format!("h{index}"), "applied")).status)
            })
            .collect();
        attempts.into_iter().map(|attempt| attempt.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
}
