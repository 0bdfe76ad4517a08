//! `doctor`: each trouble is found, named and weighed.

use std::process::Output;

use serde_json::{Value, json};
use svc_testkit::postgres::Postgres;
use svc_testkit::redis::Redis;
use svc_testkit::tls::issue_expired_certificate;
use tempfile::TempDir;

use super::{Database, on_both, stderr, stdout};
use crate::support::{echo, launch};

on_both!(sound_service_has_no_errors, schema_that_lags_is_found, stored_trouble_is_found);

/// Returns the findings of a JSON document.
fn findings(output: &Output) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}\n{}", stdout(output), stderr(output));
    });
    let list = document["findings"].as_array().unwrap().clone();
    let errors = list.iter().filter(|finding| finding["severity"] == "error").count();
    assert_eq!(document["errors"], errors);
    assert_eq!(output.status.code(), Some(i32::from(errors > 0)), "{document}");
    list
}

/// Returns the finding of a check about a setting.
fn find<'f>(findings: &'f [Value], check: &str, setting: &str) -> &'f Value {
    let found = findings.iter().find(|finding| finding["check"] == check && finding["entity"] == setting);
    found.unwrap_or_else(|| panic!("no {check} of {setting}: {findings:#?}"))
}

fn sound_service_has_no_errors(database: &Database) {
    let server = database.start();
    echo(&mut server.client(), "orders", json!({}));
    let list = findings(&database.run(&["doctor", "--json"]));
    assert_eq!(find(&list, "migrations", "storage.url")["severity"], "note");
    assert_eq!(find(&list, "database", "storage.url")["severity"], "note");
    assert_eq!(find(&list, "configuration", "admin_auth.enabled")["severity"], "warning");
    let output = database.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("0 error(s), "), "{}", stdout(&output));
    assert!(stderr(&output).contains("note: [migrations] storage.url: "), "{}", stderr(&output));
    // The server goes on.
    echo(&mut server.client(), "later", json!({}));
}

fn schema_that_lags_is_found(database: &Database) {
    let run =
        |automatic: &str| database.run_with(&["doctor", "--json"], ("SVC_STORAGE__AUTO_MIGRATE", automatic));
    let is_absent = database.postgres.is_none();
    if is_absent {
        let list = findings(&run("true"));
        let text = find(&list, "database", "storage.url")["message"].as_str().unwrap().to_owned();
        assert!(text.contains("made by the first start"), "{text}");
        assert_eq!(database.files(), 0, "no file is made");
        return;
    }
    assert_eq!(find(&findings(&run("true")), "migrations", "storage.url")["severity"], "warning");
    let list = findings(&run("false"));
    let pending = find(&list, "migrations", "storage.auto_migrate");
    assert_eq!(pending["severity"], "error");
    assert_eq!(pending["fix"], "run `svc-server migrate`");
}

fn stored_trouble_is_found(database: &Database) {
    let server = database.start();
    let connector = |name: &str, config: Value| {
        let body = json!({"name": name, "connector_type": "http", "config": config});
        let answer = server.client().json("POST", "/api/v1/admin/connectors", &body).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    };
    connector("lost", json!({"url": "https://no-such-host.invalid/v1"}));
    connector(
        "bare",
        json!({"url": "https://127.0.0.1/v1", "allow_private_urls": true,
        "auth": {"type": "bearer", "token": "env://DOCTOR_HAS_NO_SUCH_VARIABLE"}}),
    );
    let list = findings(&database.run(&["doctor", "--json"]));
    assert_eq!(find(&list, "dns", "connector 'lost'")["severity"], "error");
    assert_eq!(find(&list, "secrets", "connector 'bare'")["severity"], "error");
    assert_eq!(find(&list, "encryption-key", "storage.connector_encryption_key")["severity"], "warning");
    let key = ("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", "ab".repeat(32));
    let list = findings(&database.run_with(&["doctor", "--json"], (key.0, key.1.as_str())));
    let plain = find(&list, "encryption-key", "storage.connector_encryption_key");
    assert_eq!(plain["severity"], "warning", "{plain}");
    assert!(
        plain["message"].as_str().unwrap().contains("2 connector(s) are still stored in plain"),
        "{plain}"
    );
}

#[test]
fn troubles_of_settings_and_peers_are_found() {
    let (database, files) = (Database::sqlite(), TempDir::new().unwrap());
    let [certificate, key] = issue_expired_certificate().unwrap().write(files.path()).unwrap();
    let output = launch()
        .env("SVC_STORAGE__URL", &database.url)
        .env("SVC_KAFKA__ENABLED", "true")
        .env("SVC_KAFKA__BROKERS", "127.0.0.1:1")
        .env("SVC_SERVER__TLS__ENABLED", "true")
        .env("SVC_SERVER__TLS__CERT_PATH", certificate.to_str().unwrap())
        .env("SVC_SERVER__TLS__KEY_PATH", key.to_str().unwrap())
        .env("SVC_TRACING__ENABLED", "true")
        .env("SVC_TRACING__OTLP_ENDPOINT", "http://no-such-host.invalid:4317")
        .env("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", "env://DOCTOR_HAS_NO_SUCH_VARIABLE")
        .args(&["doctor", "--json"])
        .run_to_end()
        .unwrap();
    let list = findings(&output);
    for (check, setting) in [
        ("kafka", "kafka.brokers"),
        ("certificates", "server.tls.cert_path"),
        ("dns", "tracing.otlp_endpoint"),
        ("encryption-key", "storage.connector_encryption_key"),
    ] {
        let finding = find(&list, check, setting);
        assert_eq!(finding["severity"], "error", "{finding}");
        assert!(finding["fix"].is_string(), "{finding}");
    }
}

#[test]
fn database_that_is_away_is_an_error() {
    let url = "postgres://svc:hunter2@127.0.0.1:1/svc";
    let output = launch().env("SVC_STORAGE__URL", url).args(&["doctor", "--json"]).run_to_end().unwrap();
    let list = findings(&output);
    assert_eq!(find(&list, "database", "storage.url")["severity"], "error");
    assert!(!stdout(&output).contains("hunter2"), "{}", stdout(&output));
}

#[test]
fn redis_of_a_cluster_runs_the_scripts() {
    let (Some(postgres), Some(redis)) = (Postgres::shared(), Redis::own()) else { return };
    let database = postgres.database().unwrap();
    let run = || {
        launch()
            .env("SVC_STORAGE__URL", database.url())
            .env("SVC_STORAGE__AUTO_MIGRATE", "false")
            .env("SVC_CLUSTER__ENABLED", "true")
            .env("SVC_CLUSTER__REDIS_URL", redis.url())
            .args(&["doctor", "--json"])
            .run_to_end()
            .unwrap()
    };
    let list = findings(&run());
    assert_eq!(find(&list, "redis", "cluster.redis_url")["severity"], "note");
    assert_eq!(find(&list, "clock", "cluster.redis_url")["severity"], "note");
    redis.stop().unwrap();
    assert_eq!(find(&findings(&run()), "redis", "cluster.redis_url")["severity"], "error");
}
