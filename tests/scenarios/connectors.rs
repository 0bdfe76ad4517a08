//! Connectors: written over the admin API, used by tasks.

use serde_json::{Value, json};

use crate::support::{details, error, start};

const CONNECTORS: &str = "/api/v1/admin/connectors";

#[test]
fn a_connector_is_created_read_changed_and_deleted_and_shows_no_secret() {
    let server = start();
    let mut client = server.client();
    let config = json!({"type": "es", "url": "https://api.example.com/v1", "headers": {"X-Key": "swordfish"},
        "auth": {"type": "basic", "username": "bob", "password": "swordfish"}});
    let body = json!({"id": "c1", "name": "api", "connector_type": "HTTP", "config": config, "tags": ["t"]});
    let made = client.json("POST", CONNECTORS, &body).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json()["data"].clone();
    assert_eq!((&made["connector_type"], &made["enabled"]), (&json!("http"), &json!(true)));
    assert_eq!(made["config"]["url"], "https://api.example.com/v1");
    assert_eq!(made["config"]["auth"], json!({"type": "basic", "username": "bob", "password": "******"}));
    assert_eq!(made["config"]["type"], "http");
    let shown: Value = serde_json::from_str(made["config_json"].as_str().unwrap()).unwrap();
    assert_eq!(shown, made["config"]);
    assert!(made["content_hash"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(error(&client.json("POST", CONNECTORS, &body).unwrap(), 409, "CONFLICT")["code"], "CONFLICT");
    let one = format!("{CONNECTORS}/c1");
    let config = json!({"config": {"url": "http://127.0.0.1:1", "allow_private_urls": true}});
    let changed = client.json("PUT", &one, &config).unwrap().json()["data"].clone();
    assert_eq!((&changed["name"], &changed["config"]["allow_private_urls"]), (&json!("api"), &json!(true)));
    let off = client.json("PATCH", &format!("{one}/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!(off.json()["data"]["enabled"], false, "{}", off.text());
    let listed = client.get(CONNECTORS).unwrap().json();
    assert_eq!((&listed["total"], &listed["data"][0]["name"]), (&json!(1), &json!("api")));
    for answer in [client.get(CONNECTORS).unwrap(), client.get("/api/v1/admin/audit-logs").unwrap()] {
        assert!(!answer.text().contains("swordfish"));
    }
    assert_eq!(client.send("DELETE", &one, &[], b"").unwrap().status, 204);
    error(&client.get(&one).unwrap(), 404, "NOT_FOUND");
    let actions: Vec<_> =
        client.get("/api/v1/admin/audit-logs?resource_type=connector").unwrap().json()["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["action"].as_str().unwrap().to_owned())
            .collect();
    assert_eq!(actions, ["delete", "status_archived", "update", "create"]);
    assert!(!server.log_text().contains("swordfish"));
}

#[test]
fn a_connector_that_could_never_work_is_refused_with_the_place_of_each_problem() {
    let server = start();
    let mut client = server.client();
    for (body, path, code) in [
        (json!({"connector_type": "http"}), "connector.name", "REQUIRED"),
        (json!({"name": "x"}), "connector.connector_type", "REQUIRED"),
        (json!({"name": "x", "connector_type": "ftp"}), "connector.connector_type", "INVALID"),
        (json!({"name": "x", "connector_type": "http"}), "connector.config.url", "REQUIRED"),
        (
            json!({"name": "x", "connector_type": "http", "config": {"url": "http://169.254.169.254/"}}),
            "connector.config.url",
            "INVALID",
        ),
        (
            json!({"name": "x", "connector_type": "http", "config": {"url": "https://a.example", "auth": {"type": "bearer", "token": "******"}}}),
            "connector.config.auth.token",
            "INVALID",
        ),
    ] {
        let refused = error(&client.json("POST", CONNECTORS, &body).unwrap(), 400, "VALIDATION_ERROR");
        let due = (path.to_owned(), code.to_owned());
        assert!(details(&refused).contains(&due), "{body}: {refused}");
    }
}
