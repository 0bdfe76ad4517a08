//! Consumers: keys that serve at once and side by side, signatures, quotas over channels, and what operators see.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{echo, error, serve_with, start};

const ADMIN: &str = "/api/v1/admin/consumers";

fn order(client: &mut HttpClient, method: &str, path: &str, body: &Value) -> Value {
    let answer = client.json(method, &format!("{ADMIN}{path}"), body).unwrap();
    assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    if answer.status == 204 { Value::Null } else { answer.json()["data"].clone() }
}

/// Creates a key of a consumer; returns its id and its secret.
fn create_key(client: &mut HttpClient, consumer: &str, kind: &str) -> (String, String) {
    let key = order(client, "POST", &format!("/{consumer}/keys"), &json!({ "kind": kind }));
    let text = |member: &str| key[member].as_str().unwrap().to_owned();
    (text("id"), text("secret"))
}

/// Serves a channel that answers with what its workflow sees of the caller.
fn serve_callers(client: &mut HttpClient, channel: &str, auth: Value) {
    let task = json!([{"id": "m", "name": "m", "function": {"name": "map",
        "input": {"mappings": [{"path": "data.auth", "logic": {"var": "metadata.auth"}}]}}}]);
    serve_with(client, channel, json!({ "auth": auth }), task);
}

fn call(client: &mut HttpClient, channel: &str, key: &str) -> HttpResponse {
    let bearer = format!("Bearer {key}");
    let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
    client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}").unwrap()
}

fn sign(client: &mut HttpClient, channel: &str, secret: &str) -> HttpResponse {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(b"{}");
    let signature = hex::encode(mac.finalize().into_bytes());
    let headers = [("content-type", "application/json"), ("x-signature", signature.as_str())];
    client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}").unwrap()
}

#[test]
fn keys_of_consumer_overlap_and_end_at_once() {
    let server = start();
    let mut client = server.client();
    serve_callers(&mut client, "orders", json!({"mode": "api_key", "consumers": {"names": ["acme"]}}));
    let unknown = call(&mut client, "orders", "svck_nobody");
    error(&unknown, 401, "UNAUTHORIZED");
    let health = client.get("/health").unwrap().json();
    assert_eq!(health["components"]["channels"], "ok", "the channel is not quarantined: {health}");
    assert!(health["notes"].to_string().contains("orders (acme)"), "{health}");
    order(&mut client, "POST", "", &json!({"name": "acme"}));
    order(&mut client, "POST", "", &json!({"name": "other"}));
    let (first, old) = create_key(&mut client, "acme", "api_key");
    let (_, new) = create_key(&mut client, "acme", "api_key");
    let (_, foreign) = create_key(&mut client, "other", "api_key");
    for key in [&old, &new] {
        let answer = call(&mut client, "orders", key);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let seen = answer.json()["data"]["auth"].clone();
        assert_eq!(seen, json!({"principal": "acme", "consumer": "acme"}));
    }
    let refused = call(&mut client, "orders", &foreign);
    error(&refused, 401, "UNAUTHORIZED");
    assert_eq!(refused.json()["error"]["message"], unknown.json()["error"]["message"]);
    order(&mut client, "DELETE", &format!("/acme/keys/{first}"), &Value::Null);
    error(&call(&mut client, "orders", &old), 401, "UNAUTHORIZED");
    assert_eq!(call(&mut client, "orders", &new).status, 200);
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    assert_eq!(call(&mut client, "orders", &new).status, 200);
    order(&mut client, "DELETE", "/acme", &Value::Null);
    error(&call(&mut client, "orders", &new), 401, "UNAUTHORIZED");
    let audit = client.get("/api/v1/admin/audit-logs?resource_type=consumer_key").unwrap().text();
    assert!(audit.contains(&format!("acme/{first}")), "{audit}");
    assert!(![&old, &new].iter().any(|secret| audit.contains(secret.as_str())), "{audit}");
}

#[test]
fn later_consumer_of_a_name_is_another() {
    let server = start();
    let mut client = server.client();
    let accepts = json!({"mode": "api_key", "consumers": {"names": ["acme"]}});
    let replay = json!({"header": "idempotency-key", "on_duplicate": "replay"});
    echo(&mut client, "replayed", json!({"auth": accepts, "deduplication": replay}));
    let cache = json!({"enabled": true, "ttl_secs": 600, "per_principal": true});
    echo(&mut client, "cached", json!({"auth": accepts, "cache": cache}));
    for _ in 0..2 {
        order(&mut client, "POST", "", &json!({"name": "acme"}));
        let (_, key) = create_key(&mut client, "acme", "api_key");
        let bearer = format!("Bearer {key}");
        let headers = [
            ("content-type", "application/json"),
            ("authorization", bearer.as_str()),
            ("idempotency-key", "k-1"),
        ];
        let mut ask =
            |channel: &str| client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}").unwrap();
        for (channel, mark, value) in
            [("replayed", "idempotent-replayed", "true"), ("cached", "x-cache", "hit")]
        {
            let [first, repeat] = [ask(channel), ask(channel)];
            assert_eq!((first.status, repeat.status), (200, 200), "{}", first.text());
            assert_ne!(first.header(mark), Some(value), "{channel}: the answer of another consumer");
            assert_eq!(repeat.header(mark), Some(value), "{channel}");
        }
        order(&mut client, "DELETE", "/acme", &Value::Null);
    }
}

#[test]
fn signing_consumer_is_found_by_tag() {
    let server = start();
    let mut client = server.client();
    serve_callers(&mut client, "events", json!({"mode": "hmac", "consumers": {"tags": ["gold"]}}));
    order(&mut client, "POST", "", &json!({"name": "acme", "tags": ["gold"]}));
    order(&mut client, "POST", "", &json!({"name": "brand", "tags": ["gold", "eu"]}));
    let (_, acme) = create_key(&mut client, "acme", "hmac");
    let (_, brand) = create_key(&mut client, "brand", "hmac");
    for (secret, name) in [(&acme, "acme"), (&brand, "brand")] {
        let answer = sign(&mut client, "events", secret);
        assert_eq!(answer.json()["data"]["auth"]["consumer"], name, "{}", answer.text());
    }
    error(&sign(&mut client, "events", "whsec_bm9ib2R5"), 401, "UNAUTHORIZED");
    order(&mut client, "PATCH", "/brand", &json!({"tags": ["eu"]}));
    error(&sign(&mut client, "events", &brand), 401, "UNAUTHORIZED");
    assert_eq!(sign(&mut client, "events", &acme).status, 200);
}

#[test]
fn quota_of_consumer_counts_over_channels() {
    let server = start();
    let mut client = server.client();
    let auth = json!({"auth": {"mode": "api_key", "consumers": {"tags": ["gold"]}}});
    for channel in ["a", "b"] {
        echo(&mut client, channel, auth.clone());
    }
    let quota = json!({"limit": 3, "per": "month"});
    order(&mut client, "POST", "", &json!({"name": "acme", "tags": ["gold"], "quota": quota}));
    order(&mut client, "POST", "", &json!({"name": "free", "tags": ["gold"]}));
    let (_, acme) = create_key(&mut client, "acme", "api_key");
    let (_, again) = create_key(&mut client, "acme", "api_key");
    let (_, free) = create_key(&mut client, "free", "api_key");
    for (channel, key) in [("a", &acme), ("b", &acme), ("a", &again)] {
        assert_eq!(call(&mut client, channel, key).status, 200);
    }
    let refused = call(&mut client, "b", &again);
    error(&refused, 429, "QUOTA_EXCEEDED");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(call(&mut client, "b", &free).status, 200);
    let shown = client.get(&format!("{ADMIN}/acme")).unwrap().json();
    assert_eq!(shown["data"]["used"], 3, "{shown}");
    order(&mut client, "PATCH", "/acme", &json!({"quota": null}));
    assert_eq!(call(&mut client, "b", &acme).status, 200);
}

#[test]
fn channel_of_unknown_consumer_is_warned_of() {
    let server = start();
    let mut client = server.client();
    let auth = json!({"mode": "api_key", "consumers": {"names": ["acme"]}});
    let channel = json!({"name": "c", "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": "/c", "config": {"auth": auth}});
    let validated = client.json("POST", "/api/v1/admin/channels/validate", &channel).unwrap().json();
    assert_eq!(validated["data"]["valid"], true, "{validated}");
    assert!(validated["data"]["warnings"].to_string().contains("no consumer is named acme"), "{validated}");
    order(&mut client, "POST", "", &json!({"name": "acme"}));
    let validated = client.json("POST", "/api/v1/admin/channels/validate", &channel).unwrap().json();
    assert!(!validated["data"]["warnings"].to_string().contains("no consumer"), "{validated}");
}
