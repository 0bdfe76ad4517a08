//! Packages whose definitions name values of the servers.

use serde_json::json;
use tempfile::TempDir;

use super::verbs::{Package, exit, stderr, verb};
use crate::support::{channel, launch, start};

/// Writes a package with a connector and a channel that name values.
fn package(directory: &TempDir) -> std::path::PathBuf {
    let partner =
        json!({"name": "partner", "connector_type": "http", "config": {"url": "var://partner_url"}});
    Package::new(directory.path(), "1")
        .echoing(&["orders"], "1")
        .with_document("c-timed.json", channel("timed", "orders", json!({"timeout_ms": "var://timeout"})))
        .with_document("partner.json", partner)
        .write()
}

#[test]
fn plan_names_each_value_that_is_missing() {
    let (server, directory) = (start(), TempDir::new().unwrap());
    let file = package(&directory);
    let planned = verb("plan", &server, &["-f", file.to_str().unwrap()]);
    let told = stderr(&planned);
    assert_eq!(exit(&planned), 1, "{told}");
    for name in ["var://partner_url is not declared in [vars]", "var://timeout is not declared in [vars]"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    let planned = verb("plan", &server, &["-f", file.to_str().unwrap(), "--values", "gone"]);
    let told = stderr(&planned);
    let expected = file.parent().unwrap().join("values/gone.yaml").display().to_string();
    assert!(exit(&planned) == 1 && told.contains(&format!("{expected}: cannot be read")), "{told}");
    let values = directory.path().join("prod.yaml");
    std::fs::write(&values, "vars: {partner_url: 'https://partner.example', timeout: soon}\n").unwrap();
    let arguments = ["-f", file.to_str().unwrap(), "--values", values.to_str().unwrap()];
    let planned = verb("plan", &server, &arguments);
    let told = stderr(&planned);
    assert!(exit(&planned) == 1 && told.contains("config.timeout_ms: "), "{told}");
}

#[test]
fn declared_values_serve_and_references_stay_stored() {
    let directory = TempDir::new().unwrap();
    let file = package(&directory);
    let server = launch();
    let settings = "[vars]\npartner_url = \"https://partner.example\"\ntimeout = 5000\n";
    std::fs::write(server.directory().join("vars.toml"), settings).unwrap();
    let server = server.args(&["-c", "vars.toml"]).start().unwrap();
    let applied = verb("apply", &server, &["-f", file.to_str().unwrap()]);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
    let mut client = server.client();
    let answer = client.json("POST", "/api/v1/data/timed", &json!({})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let stored = client.get("/api/v1/admin/channels/timed").unwrap().json();
    assert_eq!(stored["data"]["config"]["timeout_ms"], "var://timeout");
    let connectors = client.get("/api/v1/admin/connectors").unwrap().json();
    let partner = &connectors["data"][0];
    assert_eq!(
        (&partner["load_status"], &partner["config"]["url"]),
        (&json!("loaded"), &json!("var://partner_url"))
    );
}
