//! `vault://` references, against a stand-in that speaks the contract of the real servers.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerCommand;
use svc_testkit::upstream::{Upstream, UpstreamReply};
use svc_testkit::vault::{FakeVault, Health};

use crate::support::{details, echo, error, eventually, launch, serve};

const ADMIN: &str = "/api/v1/admin";
const TOKEN: &str = "hvs.the-token";
const KEY: &str = "vault://secret/data/app#key";

fn store(key: &str) -> FakeVault {
    let store = FakeVault::start(TOKEN).unwrap();
    store.put_v2("app", json!({"key": key}));
    store
}

fn launch_with(store: &FakeVault) -> ServerCommand {
    launch().env("VAULT_ADDR", &store.url()).env("VAULT_TOKEN", TOKEN)
}

/// With a declared secret `key`.
fn launch_declaring(store: &FakeVault) -> ServerCommand {
    let launch = launch_with(store);
    let file = launch.directory().join("svc.toml");
    std::fs::write(&file, format!("[secrets]\nkey = \"{KEY}\"\n")).unwrap();
    launch.args(&["-c", file.to_str().unwrap()])
}

fn locked_connector() -> Value {
    json!({"auth": {"mode": "api_key", "header": "x-key", "keys": [KEY]}})
}

fn call(client: &mut HttpClient, channel: &str, key: &str) -> u16 {
    let headers = [("content-type", "application/json"), ("x-key", key)];
    client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}").unwrap().status
}

fn reload(client: &mut HttpClient) {
    let answer = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn quarantined_channel(client: &mut HttpClient) -> Value {
    client.get("/health").unwrap().json()["channels"]["quarantined"].clone()
}

/// A task that signs the text `data` with a key.
fn sign(key: &Value) -> Value {
    json!([{"id": "sign", "name": "Sign", "function": {"name": "crypto",
        "input": {"op": "hmac", "key": key, "data": "data", "output": "data.code"}}}])
}

fn code(client: &mut HttpClient, channel: &str) -> Value {
    client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap().json()["data"]["code"]
        .clone()
}

#[test]
fn rotated_key_counts_after_reload_without_changed_row() {
    let store = store("key-one");
    let server = launch_with(&store).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", locked_connector());
    assert_eq!((call(&mut client, "orders", "key-one"), call(&mut client, "orders", "key-two")), (200, 401));
    store.put_v2("app", json!({"key": "key-two"}));
    assert_eq!(call(&mut client, "orders", "key-one"), 200, "nothing is read between loads");
    reload(&mut client);
    assert_eq!((call(&mut client, "orders", "key-one"), call(&mut client, "orders", "key-two")), (401, 200));
    let shown = client.get(&format!("{ADMIN}/channels/orders")).unwrap().json();
    assert_eq!(shown["data"]["config"]["auth"]["keys"], json!([KEY]), "a reference stays readable");
}

#[test]
fn rotated_secret_counts_after_reload_in_workflows() {
    let store = store("key-one");
    let server = launch_declaring(&store).start().unwrap();
    let mut client = server.client();
    serve(&mut client, "referring", sign(&json!(KEY)));
    serve(&mut client, "declared", sign(&json!({"secret": "key"})));
    let same = json!([{"id": "same", "name": "Same",
        "condition": {"==": [{"secret": "key"}, "key-two"]},
        "function": {"name": "map", "input": {"mappings": [{"path": "data.code", "logic": "yes"}]}}}]);
    serve(&mut client, "expression", same);
    let before = ["referring", "declared", "expression"].map(|channel| code(&mut client, channel));
    assert!(before[0].is_string() && before[0] == before[1] && before[2].is_null(), "{before:?}");
    store.put_v2("app", json!({"key": "key-two"}));
    reload(&mut client);
    let after = ["referring", "declared", "expression"].map(|channel| code(&mut client, channel));
    assert!(after[0] != before[0] && after[0] == after[1] && after[2] == "yes", "{after:?}");
}

#[test]
fn store_down_at_start_affects_only_its_channels() {
    let store = store("key-one");
    let server = launch_with(&store).start().unwrap();
    echo(&mut server.client(), "locked", locked_connector());
    echo(&mut server.client(), "open", json!({}));
    serve(&mut server.client(), "signing", sign(&json!(KEY)));
    store.set_health(Health::Down);
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    let refused = client.json("POST", "/api/v1/data/locked", &json!({})).unwrap();
    error(&refused, 503, "SERVICE_UNAVAILABLE");
    let shown = quarantined_channel(&mut client).to_string();
    assert!(shown.contains("auth.keys[0]") && shown.contains(KEY), "{shown}");
    assert_eq!(call(&mut client, "open", ""), 200);
    let failed = client.json("POST", "/api/v1/data/signing", &json!({})).unwrap();
    assert!(
        failed.status >= 400 && failed.text().contains("key"),
        "the task fails by name: {}",
        failed.text()
    );
    store.set_health(Health::Unsealed);
    reload(&mut client);
    assert_eq!((call(&mut client, "locked", "key-one"), call(&mut client, "locked", "x")), (200, 401));
    assert!(code(&mut client, "signing").is_string());
}

#[test]
fn store_down_at_reload_quarantines_until_back() {
    let store = store("key-one");
    let server = launch_declaring(&store).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "locked", locked_connector());
    serve(&mut client, "declared", sign(&json!({"secret": "key"})));
    let before = code(&mut client, "declared");
    store.set_health(Health::Sealed);
    echo(&mut client, "other", json!({}));
    assert_eq!(call(&mut client, "locked", "key-one"), 200, "a change of something else reads nothing");
    reload(&mut client);
    assert_eq!(call(&mut client, "locked", "key-one"), 503);
    let shown = quarantined_channel(&mut client).to_string();
    assert!(shown.contains("locked") && shown.contains("503 Service Unavailable"), "{shown}");
    assert_eq!(call(&mut client, "other", ""), 200);
    assert_eq!(code(&mut client, "declared"), before, "what was declared keeps its value");
    server.wait_for_log(&["a declared secret keeps its value"]).unwrap();
    store.set_health(Health::Unsealed);
    reload(&mut client);
    assert_eq!(call(&mut client, "locked", "key-one"), 200);
}

#[test]
fn unreadable_declared_secret_stops_start_by_name() {
    let sealed = store("key-one");
    sealed.set_health(Health::Sealed);
    let unset = || {
        let launch = launch();
        let file = launch.directory().join("svc.toml");
        std::fs::write(&file, format!("[secrets]\nkey = \"{KEY}\"\n")).unwrap();
        launch.args(&["-c", file.to_str().unwrap()])
    };
    for (launch, cause) in [
        (launch_declaring(&sealed), "the secret store answered 503 Service Unavailable"),
        (unset(), "not usable here: VAULT_ADDR and VAULT_TOKEN are not both set"),
    ] {
        let output = launch.run_to_end().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(said.contains(&format!("secret key: {KEY}: {cause}")) && !said.contains(TOKEN), "{said}");
    }
}

#[test]
fn hanging_store_delays_no_unrelated_load() {
    let store = store("key-one");
    let server = launch_with(&store).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "locked", locked_connector());
    store.take_requested_paths();
    store.set_health(Health::Hanging);
    echo(&mut client, "other", json!({}));
    // The workflow behind the locked channel: its actors are replaced, its credentials are not read again.
    let answer = client.json("POST", &format!("{ADMIN}/workflows/locked/versions"), &json!({})).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let path = format!("{ADMIN}/workflows/locked/status");
    assert_eq!(client.json("PATCH", &path, &json!({"status": "active"})).unwrap().status, 200);
    assert_eq!((call(&mut client, "other", ""), call(&mut client, "locked", "key-one")), (200, 200));
    assert_eq!(store.take_requested_paths(), Vec::<String>::new());
}

#[test]
fn each_document_is_read_once_in_a_load() {
    let store = store("key-one");
    let server = launch_declaring(&store).start().unwrap();
    let mut client = server.client();
    for id in ["a", "b", "c"] {
        echo(&mut client, id, locked_connector());
    }
    serve(&mut client, "signing", sign(&json!(KEY)));
    store.take_requested_paths();
    reload(&mut client);
    assert_eq!(store.take_requested_paths(), ["secret/data/app"]);
}

#[test]
fn a_reference_is_refused_where_nothing_resolves_it() {
    let server = launch().start().unwrap();
    let task = json!({"id": "t", "name": "T", "function": {"name": "map",
        "input": {"mappings": [{"path": "data.x", "logic": KEY}]}}});
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [task]});
    let refused = server.client().json("POST", &format!("{ADMIN}/workflows"), &workflow).unwrap();
    let refused = details(&error(&refused, 400, "VALIDATION_ERROR"));
    let expected = ("tasks[0].function.input.mappings[0].logic", "UNRESOLVED_SECRET_REF");
    assert!(refused.contains(&(expected.0.to_owned(), expected.1.to_owned())), "{refused:?}");
}

#[test]
fn malformed_reference_is_never_used_as_key() {
    let server = launch_with(&store("key-one")).start().unwrap();
    let mut client = server.client();
    for (id, key, reason) in [
        ("aws", "aws-sm://app", "aws-sm:// is reserved"),
        ("gcp", "gcp-sm://app", "gcp-sm:// is reserved"),
        ("azure", "azure-kv://app", "azure-kv:// is reserved"),
        ("fieldless", "vault://secret/data/app", "malformed vault:// reference"),
        ("pathless", "vault://#key", "malformed vault:// reference"),
    ] {
        echo(&mut client, id, json!({"auth": {"mode": "api_key", "header": "x-key", "keys": [key]}}));
        let headers = [("content-type", "application/json"), ("x-key", key)];
        let answer = client.send("POST", &format!("/api/v1/data/{id}"), &headers, b"{}").unwrap();
        error(&answer, 503, "SERVICE_UNAVAILABLE");
        let shown = quarantined_channel(&mut client);
        let shown = shown.as_array().unwrap().iter().find(|shown| shown["channel"] == id).unwrap();
        assert!(shown["reason"].as_str().unwrap().contains(reason), "{shown}");
    }
}

#[test]
fn hanging_store_delays_only_its_connector() {
    let store = store("key-one");
    let server = launch_with(&store).start().unwrap();
    let connector = |id: &str, key: &str| {
        json!({"id": id, "name": id, "connector_type": "http", "config": {"url": "https://api.example.com",
            "headers": {"x-key": key}}})
    };
    let create = |client: &mut HttpClient, body: &Value| {
        client.json("POST", &format!("{ADMIN}/connectors"), body).unwrap().json()["data"]["load_status"]
            .clone()
    };
    // A wait ends by itself after some seconds, which a busy machine may need for the rest.
    let held = (0..5).any(|round| {
        store.set_health(Health::Hanging);
        store.take_requested_paths();
        let (mut client, mut other) = (server.client(), server.client());
        let waits =
            std::thread::spawn(move || create(&mut other, &connector(&format!("waits-{round}"), KEY)));
        eventually(|| !store.take_requested_paths().is_empty());
        let quick = format!("quick-{round}");
        assert_eq!(create(&mut client, &connector(&quick, "literal")), "loaded");
        let changed = json!({"config": {"url": "https://api.example.com/v2"}});
        let put = client.json("PUT", &format!("{ADMIN}/connectors/{quick}"), &changed).unwrap();
        assert_eq!(put.json()["data"]["load_status"], "loaded");
        let held = !waits.is_finished();
        store.set_health(Health::Unsealed);
        assert!(["loaded", "failed"].contains(&waits.join().unwrap().as_str().unwrap()));
        held
    });
    assert!(held, "others came later than the one that waited");
}

#[test]
fn recovered_jobs_wait_for_store_without_losing_attempts() {
    let store = store("key-one");
    let upstream = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let server = launch_with(&store)
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1")
        .env("SVC_TRACE_QUEUE__DLQ_MAX_RETRIES", "1")
        .start()
        .unwrap();
    let mut client = server.client();
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "headers": {"x-key": KEY}});
    let connector = json!({"name": "api", "connector_type": "http", "config": config});
    let plain = json!({"name": "plain", "connector_type": "http",
        "config": {"url": upstream.url(""), "allow_private_urls": true}});
    for connector in [connector, plain] {
        assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    }
    serve(
        &mut client,
        "calling",
        json!([{"id": "call", "name": "Call", "function": {"name": "http_call",
            "input": {"connector": "api", "method": "POST", "timeout_ms": 60_000}}}]),
    );
    serve(&mut client, "signing", {
        let mut tasks = json!([{"id": "call", "name": "Call", "function": {"name": "http_call",
            "input": {"connector": "plain", "method": "POST", "timeout_ms": 60_000}}}]);
        tasks.as_array_mut().unwrap().extend(sign(&json!(KEY)).as_array().unwrap().clone());
        tasks
    });
    for channel in ["calling", "signing"] {
        let accepted = client.json("POST", &format!("/api/v1/data/{channel}/async"), &json!({})).unwrap();
        assert_eq!(accepted.status, 202, "{}", accepted.text());
    }
    upstream.wait_for(2);
    store.set_health(Health::Down);
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    let mut letters = || client.get(&format!("{ADMIN}/trace-dlq")).unwrap().json()["data"].clone();
    eventually(|| letters().as_array().unwrap().len() == 2);
    let waits = |letter: &Value| {
        letter["retry_count"] == 0 && letter["error_message"].as_str().unwrap().contains("waits for a secret")
    };
    assert!(letters().as_array().unwrap().iter().all(waits), "{}", letters());
    assert_eq!(upstream.requests().len(), 2, "nothing was tried");
    upstream.open();
    store.set_health(Health::Unsealed);
    reload(&mut server.client());
    for letter in letters().as_array().unwrap() {
        let path = format!("{ADMIN}/trace-dlq/{}/requeue", letter["id"].as_str().unwrap());
        assert_eq!(server.client().send("POST", &path, &[], b"").unwrap().status, 200);
    }
    eventually(|| {
        let page = server.client().get(&format!("{ADMIN}/traces?status=completed")).unwrap().json();
        page["data"].as_array().is_some_and(|rows| rows.len() == 2)
    });
}
