//! `svc-server dev`: a project directory that is served while its author works.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
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

/// Returns the name of a channel.
fn name(server: &ServerProcess, id: &str) -> Value {
    server.client().get(&format!("/api/v1/admin/channels/{id}")).unwrap().json()["data"]["name"].clone()
}

/// Changes a part of a file.
fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

#[test]
fn channel_is_unavailable_until_its_project_serves() {
    let launch = launch();
    make_project(&launch);
    let server = launch.args(&["dev", "shop"]).start().unwrap();
    let mut refusals = BTreeSet::new();
    expect(&server, "the channel answers", || {
        let status = server.client().json("POST", ORDERS, &json!({"qty": 3})).unwrap().status;
        let is_served = status == 200;
        if !is_served {
            refusals.insert(status);
        }
        is_served
    });
    // A fast machine refuses none.
    assert!(refusals.iter().all(|status| *status == 503), "{refusals:?}\n{}", server.log_text());
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
    server.wait_for_log(&[&format!("POST http://{}{ORDERS}", server.address())]).unwrap();
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
    server.wait_for_log(&["cache_raed"]).unwrap();

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
fn channel_with_another_id_keeps_its_name() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    edit(&shop.join("channels/orders.yaml"), "channel_id: orders", "channel_id: intake");
    expect(&server, "the new id serves", || {
        name(&server, "intake") == "orders" && price(&server) == Some(150)
    });
    assert_eq!(name(&server, "orders"), Value::Null);
}

/// Writes a second channel, `other` on the route `/other`, and returns the file of the first one and its own.
fn write_second_channel(shop: &Path) -> [PathBuf; 2] {
    let [file, other] = ["orders", "other"].map(|name| shop.join(format!("channels/{name}.yaml")));
    let text = fs::read_to_string(&file).unwrap();
    let second = text.replace("_id: orders\nname: orders", "_id: other\nname: other");
    fs::write(&other, second.replace("/orders", "/other")).unwrap();
    [file, other]
}

#[test]
fn two_channels_swap_their_routes() {
    let launch = launch();
    let shop = make_project(&launch);
    let [file, other] = write_second_channel(&shop);
    let server = watch(launch);
    edit(&file, "/orders\nworkflow", "/other\nworkflow");
    edit(&other, "/other\nworkflow", "/orders\nworkflow");
    expect(&server, "the routes are swapped", || {
        ["orders", "other"].into_iter().zip(["/other", "/orders"]).all(|(id, route)| {
            let read = server.client().get(&format!("/api/v1/admin/channels/{id}")).unwrap().json();
            read["data"]["route_pattern"] == route && read["data"]["status"] == "active"
        })
    });
    expect(&server, "the project serves", || project(&server)["state"] == "served");
    assert_eq!(price(&server), Some(150));
}

#[test]
fn channels_refused_over_others_go_on_serving() {
    let launch = launch();
    let shop = make_project(&launch);
    let [file, other] = write_second_channel(&shop);
    let server = watch(launch);
    for id in ["first", "second"] {
        let channel = json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": format!("/{id}"), "workflow_id": "price-order"});
        create_and_activate(&mut server.client(), "channels", "channel_id", &channel).unwrap();
    }
    let is_refused = |id: &str| {
        project(&server)["problems"].to_string().contains(&format!("channel '{id}' was not activated"))
    };
    edit(&other, "/other\nworkflow", "/second\nworkflow");
    expect(&server, "one channel is refused", || is_refused("other"));
    edit(&file, "/orders\nworkflow", "/first\nworkflow");
    // The first one of those that are refused is named.
    expect(&server, "both are refused", || is_refused("orders"));
    let reloaded = server.client().json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    assert_eq!(price(&server), Some(150));
    let answer = server.client().json("POST", "/api/v1/data/other", &json!({"qty": 3})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn two_channels_swap_their_names() {
    let launch = launch();
    let shop = make_project(&launch);
    let [file, other] = write_second_channel(&shop);
    let text = fs::read_to_string(&file).unwrap();
    let server = watch(launch);
    fs::write(&file, text.replace("\nname: orders", "\nname: other")).unwrap();
    edit(&other, "\nname: other", "\nname: orders");
    expect(&server, "the names are swapped", || {
        name(&server, "orders") == "other" && name(&server, "other") == "orders"
    });
    expect(&server, "it serves again", || price(&server) == Some(150));
    expect(&server, "the project serves", || project(&server)["state"] == "served");
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
fn change_before_a_refusal_is_served_after_it() {
    let launch = launch();
    let shop = make_project(&launch);
    let server = watch(launch);
    let mut client = server.client();
    let channel = json!({"channel_id": "own", "name": "own", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/taken", "workflow_id": "price-order"});
    let made = client.json("POST", "/api/v1/admin/channels", &channel).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    let active = json!({"status": "active"});
    let activated = client.json("PATCH", "/api/v1/admin/channels/own/status", &active).unwrap();
    assert_eq!(activated.status, 200, "{}", activated.text());

    // The workflow is activated before the server refuses the channel, whose route is taken.
    let rival = shop.join("channels/rival.yaml");
    let text = fs::read_to_string(shop.join("channels/orders.yaml")).unwrap();
    let text = text.replace("channel_id: orders", "channel_id: rival").replace("name: orders", "name: rival");
    fs::write(&rival, text.replace("/orders\nworkflow", "/taken\nworkflow")).unwrap();
    edit(&shop.join("shared/orders.yaml"), "unit_price: 50", "unit_price: 60");
    expect(&server, "the new version of the workflow is active", || {
        server.client().get("/api/v1/admin/workflows/price-order").unwrap().json()["data"]["version"] == 2
    });
    expect(&server, "the channel is refused", || {
        project(&server)["problems"].to_string().contains("channel 'rival' was not activated")
    });
    assert_eq!((&project(&server)["state"], price(&server)), (&json!("refused"), Some(150)));

    fs::remove_file(&rival).unwrap();
    expect(&server, "the new price is served", || price(&server) == Some(180));
    expect(&server, "the update has ended", || project(&server)["state"] == "served");
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
fn accepted_run_is_shown_without_its_token() {
    let launch = launch();
    make_project(&launch);
    let server = watch(launch);
    let accepted = server.client().json("POST", &format!("{ORDERS}/async"), &json!({"qty": 3})).unwrap();
    let trace = accepted.json()["trace_id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/admin/traces/{trace}");
    expect(&server, "the run ended", || {
        server.client().get(&path).unwrap().json()["data"]["status"] == "completed"
    });
    let shown = server.client().get(&path).unwrap().json()["data"].clone();
    assert!(!shown["task_trace_json"]["steps"].as_array().unwrap().is_empty(), "{shown}");
}

#[test]
fn production_is_refused_before_anything_is_written() {
    let launch = launch()
        .env("SVC_ENVIRONMENT", "production")
        .env("SVC_CORS__ALLOWED_ORIGINS", "https://shop.example")
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
