//! `svc-server dev`: a project directory that is served while its author works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};

use crate::support::{launch, server_binary, start};

/// Longest wait for a state.
const LIMIT: Duration = Duration::from_secs(60);

const ORDERS: &str = "/api/v1/data/orders";
const DEV: &str = "/api/v1/admin/dev";

/// Makes the project `shop` in the directory of a server that is to watch it, and returns its path.
fn make_project(launch: &ServerCommand) -> PathBuf {
    let made = Command::new(server_binary()).args(["new", "shop"]).current_dir(launch.directory()).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{made:?}");
    launch.directory().join("shop")
}

/// Starts a server that watches the project `shop`, and waits until its channel answers.
fn watch(launch: ServerCommand) -> ServerProcess {
    let server = launch.args(&["dev", "shop"]).start().unwrap();
    expect(&server, "the channel answers", || price(&server) == Some(150));
    server
}

/// Waits for a state; a server that does not reach it is shown with its log.
fn expect(server: &ServerProcess, state: &str, mut is_reached: impl FnMut() -> bool) {
    let reached = wait_until(LIMIT, || Ok(is_reached())).unwrap();
    assert!(reached, "not reached: {state}\n{}", server.log_text());
}

/// Returns the price of three pieces; `None` if the channel does not answer.
fn price(server: &ServerProcess) -> Option<u64> {
    let answer = server.client().json("POST", ORDERS, &json!({"qty": 3})).unwrap();
    answer.json()["data"]["total"].as_u64().filter(|_| answer.status == 200)
}

fn project(server: &ServerProcess) -> Value {
    server.client().get(DEV).unwrap().json()["data"].clone()
}

/// Changes a part of a file.
fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

#[test]
fn saved_change_is_served() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    edit(&shop.join("shared/orders.yaml"), "unit_price: 50", "unit_price: 60");
    expect(&server, "the new price is served", || price(&server) == Some(180));
    let served = project(&server);
    assert_eq!((&served["state"], &served["findings"]), (&json!("served"), &json!([])));
    assert!(shop.join(".svc/dev.db").is_file() && shop.join(".svc/.gitignore").is_file());
    let log = server.log_text();
    assert!(log.contains(&format!("POST http://{}{ORDERS}", server.address())), "{log}");
}

#[test]
fn broken_save_leaves_what_served() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    let workflow = shop.join("workflows/price-order.yaml");
    edit(&workflow, "name: cache_read", "name: cache_raed");
    expect(&server, "the save is refused", || project(&server)["state"] == "refused");
    let refused = project(&server);
    let finding = &refused["findings"][0];
    assert_eq!(
        (&finding["severity"], &finding["file"]),
        (&json!("error"), &json!("workflows/price-order.yaml"))
    );
    assert!(finding["line"].is_u64() && finding["message"].to_string().contains("cache_raed"), "{refused}");
    assert_eq!(price(&server), Some(150));
    assert!(server.log_text().contains("cache_raed"), "{}", server.log_text());

    edit(&workflow, "name: cache_raed", "name: cache_read");
    expect(&server, "the repair is served", || project(&server)["state"] == "served");
    assert_eq!(price(&server), Some(150));
}

#[test]
fn definition_without_a_file_is_archived() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    let channel = shop.join("channels/orders.yaml");
    let text = fs::read_to_string(&channel).unwrap();
    fs::remove_file(&channel).unwrap();
    fs::remove_file(shop.join("workflows/price-order.yaml")).unwrap();
    fs::remove_file(shop.join("connectors/memory.yaml")).unwrap();
    expect(&server, "the channel is gone", || {
        server.client().json("POST", ORDERS, &json!({"qty": 3})).unwrap().status == 404
    });
    expect(&server, "the update has ended", || server.log_text().contains("gone: connector 'memory'"));
    let read = |path: &str| server.client().get(&format!("/api/v1/admin/{path}")).unwrap().json();
    assert_eq!(read("channels/orders")["data"]["status"], "archived");
    assert_eq!(read("workflows/price-order")["data"]["status"], "archived");
    assert_eq!(read("connectors")["data"], json!([]));

    // A channel that comes back names its workflow, which does not yet.
    fs::write(&channel, text).unwrap();
    expect(&server, "the channel is refused", || project(&server)["state"] == "refused");
}

#[test]
fn archived_definition_serves_again_with_its_file() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    let channel = shop.join("channels/orders.yaml");
    let aside = shop.join("orders.txt");
    fs::rename(&channel, &aside).unwrap();
    expect(&server, "the channel is gone", || price(&server).is_none());
    fs::rename(&aside, &channel).unwrap();
    expect(&server, "the channel is back", || price(&server) == Some(150));
}

#[test]
fn connector_without_variable_fails_alone() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    let connector = "name: crm\nconnector_type: http\nconfig:\n  url: env://ABSENT_CRM_URL\n";
    fs::write(shop.join("connectors/crm.yaml"), connector).unwrap();
    edit(&shop.join("shared/orders.yaml"), "unit_price: 50", "unit_price: 60");
    expect(&server, "the connector is shown as failed", || {
        project(&server)["problems"].to_string().contains("connector 'crm' is not loaded")
    });
    assert_eq!(project(&server)["state"], "served");
    assert_eq!(price(&server), Some(180));
}

#[test]
fn every_run_is_recorded_with_its_details() {
    let launch = launch();
    let shop = make_project(&launch);
    edit(
        &shop.join("channels/orders.yaml"),
        "  timeout_ms: 5000",
        "  timeout_ms: 5000\n  tracing:\n    mode: \"off\"",
    );
    let server = watch(launch);
    let mut client = server.client();
    let list = client.get("/api/v1/admin/traces").unwrap().json();
    let id = list["data"][0]["id"].as_str().unwrap_or_else(|| panic!("{list}")).to_owned();
    let trace = client.get(&format!("/api/v1/admin/traces/{id}")).unwrap().json();
    assert!(!trace["data"]["task_trace_json"].is_null(), "{trace}");
    let rerun = client.json("POST", &format!("/api/v1/admin/traces/{id}/rerun"), &json!({"version": "same"}));
    let rerun = rerun.unwrap();
    assert_eq!(rerun.status, 202, "{}", rerun.text());
}

#[test]
fn production_is_refused_before_anything_is_written() {
    let launch = launch()
        .env("SVC_ENVIRONMENT", "production")
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", "0123456789abcdef0123456789abcdef");
    let shop = make_project(&launch);
    let output = launch.args(&["dev", "shop"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{err}");
    assert!(err.contains("environment: 'production' is production"), "{err}");
    assert!(!shop.join(".svc").exists());
}

#[test]
fn other_servers_watch_no_project() {
    let answer = start().client().get(DEV).unwrap();
    assert_eq!(answer.status, 404, "{}", answer.text());
    assert!(answer.text().contains("svc-server dev"), "{}", answer.text());
}
