//! Connectors in `/health`.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{echo, launch};

const CONNECTORS: &str = "/api/v1/admin/connectors";

/// A connector at a loopback server.
fn connect(client: &mut HttpClient, upstream: &Upstream, name: &str, more: Value) {
    let mut config = json!({"url": upstream.url(""), "allow_private_urls": true});
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    let body = json!({"id": name, "name": name, "connector_type": "http", "config": config});
    assert_eq!(client.json("POST", CONNECTORS, &body).unwrap().status, 201, "{name}");
}

#[test]
fn health_tells_causes_only_to_admins() {
    const KEY: &str = "an-admin-key-of-more-than-32-characters";
    let upstream = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let server = launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("IS_SET", "swordfish")
        .start()
        .unwrap();
    let (mut client, mut stranger) = (server.client().with_header("x-api-key", KEY), server.client());
    let health = |client: &mut HttpClient| {
        let answer = client.get("/health").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(!answer.text().contains("swordfish"));
        answer.json()
    };
    assert_eq!(health(&mut client)["components"]["connectors"], "ok", "nothing is asked for");
    connect(&mut client, &upstream, "fine", json!({"headers": {"k": "env://IS_SET"}}));
    for name in ["off", "off-and-broken"] {
        connect(
            &mut client,
            &upstream,
            name,
            json!({"headers": {"k": if name == "off" { "x" } else { "env://NOT_SET" }}}),
        );
        let one = format!("{CONNECTORS}/{name}");
        client.json("PUT", &one, &json!({"enabled": false})).unwrap();
    }
    let well = health(&mut client);
    assert_eq!((&well["status"], &well["components"]["connectors"]), (&json!("ok"), &json!("ok")), "{well}");
    assert_eq!(well["connectors"]["failed_to_load"], json!([]));
    connect(&mut client, &upstream, "no-variable", json!({"headers": {"k": "${NOT_SET}"}}));
    connect(&mut client, &upstream, "no-secret", json!({"headers": {"k": "env://NOT_SET"}}));
    connect(
        &mut client,
        &upstream,
        "inside",
        json!({"url": "http://${HOME_HOST:-10.0.0.1}/", "allow_private_urls": false}),
    );
    let ill = health(&mut client);
    assert_eq!((&ill["status"], &ill["components"]["connectors"]), (&json!("degraded"), &json!("degraded")));
    let failed: Vec<_> = ill["connectors"]["failed_to_load"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["connector"].as_str().unwrap(), one["stage"].as_str().unwrap()))
        .collect();
    let expected =
        [("inside", "deserialize"), ("no-secret", "secret_resolution"), ("no-variable", "env_substitution")];
    assert_eq!(failed, expected, "{ill}");
    let reload = client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap().json();
    let status = client.get("/api/v1/admin/engine/status").unwrap().json();
    for shown in [&reload, &status] {
        assert_eq!(shown["data"]["failed_connectors"], ill["connectors"]["failed_to_load"], "{shown}");
        assert_eq!(shown["data"]["quarantined"], json!([]), "{shown}");
    }
    let shown = health(&mut stranger);
    assert_eq!(shown["components"]["connectors"], "degraded");
    assert!(shown.get("connectors").is_none(), "{shown}");
    let ready = client.get("/readyz").unwrap();
    assert_eq!(ready.status, 200, "a connector is no reason to send requests elsewhere");
    for name in ["no-variable", "no-secret"] {
        client.send("DELETE", &format!("{CONNECTORS}/{name}"), &[], b"").unwrap();
    }
    assert_eq!(health(&mut client)["components"]["connectors"], "degraded", "one is left");
    client.json("PATCH", &format!("{CONNECTORS}/inside/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!(health(&mut client)["components"]["connectors"], "ok");
    assert_eq!(
        client.json("POST", &format!("{CONNECTORS}/fine/test"), &json!({})).unwrap().json()["data"]["reachable"],
        true
    );
}

#[test]
fn definitions_read_only_allowed_variables() {
    let upstream = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let launch = launch().env("PARTNER_KEY", "fine").env("OPERATOR_KEY", "swordfish");
    let file = launch.directory().join("svc.toml");
    let settings = "[secrets]\nown = \"env://OPERATOR_KEY\"\nallowed_env = [\"PARTNER_*\"]\n";
    std::fs::write(&file, settings).unwrap();
    let server = launch.args(&["-c", file.to_str().unwrap()]).start().unwrap();
    let mut client = server.client();
    for (name, value) in [
        ("allowed", "env://PARTNER_KEY"),
        ("reference", "env://OPERATOR_KEY"),
        ("placeholder", "${OPERATOR_KEY}"),
    ] {
        connect(&mut client, &upstream, name, json!({"headers": {"x-key": value}}));
    }
    let health = client.get("/health").unwrap();
    assert!(!health.text().contains("swordfish"));
    let failed = health.json()["connectors"]["failed_to_load"].as_array().unwrap().clone();
    let mut names: Vec<_> = failed.iter().map(|one| one["connector"].as_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["placeholder", "reference"]);
    for one in &failed {
        let reason = one["reason"].as_str().unwrap();
        assert!(reason.contains("OPERATOR_KEY") && reason.contains("[secrets] allowed_env"), "{reason}");
    }
    // A channel that names the variable itself is quarantined, though the operator has declared it.
    let locked = json!({"auth": {"mode": "api_key", "header": "x-key", "keys": ["env://OPERATOR_KEY"]}});
    echo(&mut client, "locked", locked);
    let answer = client.json("POST", "/api/v1/data/locked", &json!({})).unwrap();
    assert_eq!(answer.status, 503, "{}", answer.text());
    let validated = json!({"name": "x", "connector_type": "http",
        "config": {"url": "https://a.example", "headers": {"k": "${OPERATOR_KEY}"}}});
    let report = client.json("POST", &format!("{CONNECTORS}/validate"), &validated).unwrap().json();
    let warning = report["data"]["warnings"][0].to_string();
    assert!(warning.contains("allowed_env"), "{report}");
}
