//! Idempotency keys and answers that two processes keep in one Redis.

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::redis::Redis;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{echo, error, eventually, launch, serve_with, start};

const ADMIN: &str = "/api/v1/admin";
const PATH: &str = "/api/v1/data/orders";

fn connect(client: &mut HttpClient, config: Value) {
    let body = json!({"id": "shared", "name": "shared", "connector_type": "cache", "config": config});
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn redis(server: &Redis) -> Value {
    json!({"backend": "redis", "url": server.url(), "allow_private_urls": true})
}

fn post_with_key(client: &mut HttpClient, key: &str) -> HttpResponse {
    keyed_at(client, PATH, key)
}

fn keyed_at(client: &mut HttpClient, path: &str, key: &str) -> HttpResponse {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.send("POST", path, &headers, b"{}").unwrap()
}

fn deduplicating(more: Value) -> Value {
    let mut block = json!({"header": "Idempotency-Key", "connector": "shared"});
    for (name, value) in more.as_object().unwrap() {
        block[name] = value.clone();
    }
    json!({"deduplication": block})
}

#[test]
fn idempotency_key_is_duplicate_in_other_process() {
    let Some(store) = Redis::own() else { return };
    let servers = [start(), start()];
    let mut clients = servers.each_ref().map(|server| server.client());
    for client in &mut clients {
        connect(client, redis(&store));
        echo(client, "orders", deduplicating(json!({})));
        echo(client, "brief", deduplicating(json!({"window_secs": 1})));
    }
    let [one, other] = &mut clients;
    assert_eq!(post_with_key(one, "k").status, 200);
    for client in [&mut *one, &mut *other] {
        let refused = error(&post_with_key(client, "k"), 409, "CONFLICT");
        assert_eq!(refused["message"], "Duplicate request: idempotency key 'k' already seen");
    }
    assert_eq!(post_with_key(other, "other").status, 200);
    assert_eq!(keyed_at(one, "/api/v1/data/brief", "k").status, 200, "keys are those of a channel");
    eventually(|| keyed_at(other, "/api/v1/data/brief", "k").status == 200);
    // Every process has its own memory, and this is not in it.
    let [server, _] = servers;
    let again = server.crash_and_restart().unwrap();
    error(&post_with_key(&mut again.client(), "k"), 409, "CONFLICT");
}

#[test]
fn request_without_capacity_releases_its_key() {
    let Some(store) = Redis::own() else { return };
    let held = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let server = start();
    let mut client = server.client();
    connect(&mut client, redis(&store));
    let api = json!({"id": "api", "name": "api", "connector_type": "http",
        "config": {"url": held.url(""), "allow_private_urls": true}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &api).unwrap().status, 201);
    let mut config = deduplicating(json!({}));
    config["backpressure"] = json!({"max_concurrent_per_node": 1});
    let call =
        json!([{"id": "t", "name": "T", "function": {"name": "http_call", "input": {"connector": "api"}}}]);
    serve_with(&mut client, "orders", config, call);
    let address = server.address();
    let busy = std::thread::spawn(move || post_with_key(&mut HttpClient::new(address), "first").status);
    eventually(|| held.requests().len() == 1);
    error(&post_with_key(&mut client, "k"), 503, "SERVICE_UNAVAILABLE");
    error(&post_with_key(&mut client, "first"), 409, "CONFLICT");
    held.open();
    assert_eq!(busy.join().unwrap(), 200);
    assert_eq!(post_with_key(&mut client, "k").status, 200);
    error(&post_with_key(&mut client, "k"), 409, "CONFLICT");
}

#[test]
fn cached_response_is_reused_by_another_process() {
    let Some(store) = Redis::own() else { return };
    let servers = [start(), start()];
    let mut clients = servers.each_ref().map(|server| server.client());
    let config = json!({"cache": {"enabled": true, "connector": "shared"},
        "response": {"mode": "shaped"}});
    for client in &mut clients {
        connect(client, redis(&store));
        echo(client, "orders", config.clone());
    }
    let ask = |client: &mut HttpClient, body: Value| client.json("POST", PATH, &body).unwrap();
    let [one, other] = &mut clients;
    let first = ask(one, json!({"a": "ü", "b": 2}));
    let again = ask(other, json!({"b": 2, "a": "ü"}));
    assert_eq!((first.status, again.status, again.text()), (200, 200, first.text()));
    assert_eq!(again.header("content-type"), first.header("content-type"));
    assert_ne!(ask(other, json!({"a": "u", "b": 2})).text(), first.text());
    let channel = format!("{ADMIN}/channels/orders");
    assert_eq!(other.json("POST", &format!("{channel}/versions"), &json!({})).unwrap().status, 201);
    let changed =
        json!({"config": {"cache": config["cache"], "response": config["response"], "timeout_ms": 9000}});
    assert_eq!(other.json("PUT", &channel, &changed).unwrap().status, 200);
    let active = json!({"status": "active"});
    assert_eq!(other.json("PATCH", &format!("{channel}/status"), &active).unwrap().status, 200);
    assert_ne!(ask(other, json!({"a": "ü", "b": 2})).text(), first.text());
    assert_eq!(ask(one, json!({"a": "ü", "b": 2})).text(), first.text(), "which serves the former version");
}

#[test]
fn redis_outage_passes_or_refuses_as_configured() {
    let Some(store) = Redis::own() else { return };
    for (word, status) in [("allow", 200), ("deny", 503)] {
        let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
        let mut client = server.client();
        connect(&mut client, redis(&store));
        let mut config = deduplicating(json!({"on_backend_error": word}));
        config["cache"] = json!({"enabled": true, "connector": "shared"});
        echo(&mut client, "orders", config);
        let unkeyed = |client: &mut HttpClient| client.json("POST", PATH, &json!({})).unwrap();
        let text = unkeyed(&mut client).text();
        assert_eq!(unkeyed(&mut client).text(), text);
        assert_eq!(post_with_key(&mut client, word).status, 200);
        store.stop().unwrap();
        for _ in 0..2 {
            let answer = post_with_key(&mut client, "k");
            assert_eq!(answer.status, status, "{}", answer.text());
            assert_eq!(answer.header("retry-after"), (status == 503).then_some("5"));
        }
        let page = client.get("/metrics").unwrap().text();
        assert!(page.contains("svc_errors_total{reason=\"dedup_backend\"} 2"), "{page}");
        let fresh = unkeyed(&mut client);
        assert!(fresh.status == 200 && fresh.text() != text);
        store.restart().unwrap();
        eventually(|| post_with_key(&mut client, "back").status == 409);
    }
}

#[test]
fn unusable_cache_falls_back_to_the_process() {
    let gated =
        json!({"backend": "redis", "url": "redis://cache.example.com", "operations": {"write": false}});
    for config in [None, Some(json!({"backend": "memory"})), Some(gated)] {
        let server = launch().start().unwrap();
        let mut client = server.client();
        if let Some(config) = config {
            connect(&mut client, config);
        }
        let mut config = deduplicating(json!({"on_backend_error": "deny"}));
        config["cache"] = json!({"enabled": true, "connector": "shared"});
        echo(&mut client, "orders", config);
        assert_eq!(post_with_key(&mut client, "k").status, 200);
        error(&post_with_key(&mut client, "k"), 409, "CONFLICT");
        let text = client.json("POST", PATH, &json!({})).unwrap().text();
        assert_eq!(client.json("POST", PATH, &json!({})).unwrap().text(), text);
        let warned = "this process keeps in its own memory what a connector was to keep";
        eventually(|| server.log_text().matches(warned).count() == 2);
    }
}

#[test]
fn hanging_cache_costs_bounded_time_and_recovers() {
    let Some(store) = Redis::own() else { return };
    let server = start();
    let mut client = server.client();
    connect(&mut client, redis(&store));
    echo(&mut client, "orders", deduplicating(json!({"on_backend_error": "deny"})));
    assert_eq!(post_with_key(&mut client, "before").status, 200);
    store.hang().unwrap();
    error(&post_with_key(&mut client, "meanwhile"), 503, "SERVICE_UNAVAILABLE");
    store.resume().unwrap();
    eventually(|| post_with_key(&mut client, "after").status == 200);
    for key in ["before", "after"] {
        error(&post_with_key(&mut client, key), 409, "CONFLICT");
    }
}

#[test]
fn workflows_that_differ_share_no_answers_whatever_their_ids() {
    let Some(store) = Redis::own() else { return };
    let answers = [1, 2].map(|value| {
        let server = start();
        let mut client = server.client();
        connect(&mut client, redis(&store));
        let task = json!({"name": "map", "input": {"mappings": [{"path": "data.v", "logic": value}]}});
        let tasks = json!([{"id": "t", "name": "T", "function": task}]);
        let config = json!({"cache": {"enabled": true, "connector": "shared"}});
        serve_with(&mut client, "orders", config, tasks);
        client.json("POST", PATH, &json!({})).unwrap().json()["data"]["v"].clone()
    });
    assert_eq!(answers, [1, 2]);
}
