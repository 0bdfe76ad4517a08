//! Webhooks to customers: endpoints that echo, fail and leave, what operators and consumers see, and a restart.

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;
use svc_testkit::standard_webhooks;
use svc_testkit::tls::issue_certificate;
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

use crate::support::{echo, error, eventually, launch, serve, start};

const ADMIN: &str = "/api/v1/admin/webhooks";
const OWN: &str = "/api/v1/data/webhooks";
const TOPIC: &str = "order.paid";

/// Echoes challenges; answers events as their paths say.
fn answer(request: &ReceivedRequest) -> UpstreamReply {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if body["type"] == "webhook.challenge" && request.target != "/mute" {
        return UpstreamReply::new(200, json!({"challenge": body["data"]["challenge"]}).to_string());
    }
    let status = match request.target.as_str() {
        "/gone" => 410,
        "/dead" => 500,
        _ => 200,
    };
    UpstreamReply::new(status, "{}")
}

/// Starts a server that may call the receiver, with a channel `pay` that sends its payload as an event.
fn start_with(customers: &Upstream, authority: &[u8]) -> ServerProcess {
    let launch = launch();
    let file = launch.directory().join("authority.pem");
    std::fs::write(&file, authority).unwrap();
    let server = launch
        .env("SSL_CERT_FILE", &file.display().to_string())
        .env("SVC_WEBHOOKS__RETRY_SCHEDULE", "1s")
        .env("SVC_WEBHOOKS__ON_DISABLED", "alerts")
        .env("SVC_SERVER__DATA_MOUNTS", "/shop,/webhooks")
        .start()
        .unwrap();
    let mut client = server.client();
    let connector = json!({"id": "customers", "name": "customers", "connector_type": "http", "config": {
        "url": customers.url(""), "allow_private_urls": true, "headers": {"x-own": "swordfish"},
        "allow_urls": [format!("https:{}", customers.address().port())]}});
    let created = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    echo(&mut client, "alerts", json!({}));
    let send = json!([{"id": "send", "name": "Send", "function": {"name": "send_webhook", "input": {
        "topic": TOPIC, "data_logic": {"var": "payload"}, "output": "data.webhook"}}}]);
    serve(&mut client, "pay", send);
    server
}

fn register(client: &mut HttpClient, url: String, consumer: Option<&str>) -> Value {
    let body = json!({"url": url, "topics": [TOPIC], "connector": "customers", "consumer": consumer});
    let created = client.json("POST", ADMIN, &body).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    created.json()["data"].clone()
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("{value}"))
}

fn read(client: &mut HttpClient, path: &str) -> Value {
    let answer = client.get(&format!("{ADMIN}/{path}")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn events(customers: &Upstream, path: &str) -> Vec<ReceivedRequest> {
    let is_event = |request: &ReceivedRequest| request.target == path && request.text().contains(TOPIC);
    customers.requests().into_iter().filter(is_event).collect()
}

#[test]
fn event_reaches_endpoints_and_outlives_failing_ones() {
    let certificate = issue_certificate().unwrap();
    let customers = Upstream::start_tls(&certificate, answer).unwrap();
    let server = start_with(&customers, certificate.authority.as_bytes());
    let mut client = server.client();
    let [sound, dead, gone, mute] =
        ["/in", "/dead", "/gone", "/mute"].map(|path| register(&mut client, customers.url(path), None));
    for endpoint in [&sound, &dead, &gone] {
        assert_eq!(
            (&endpoint["state"], &endpoint["reason"]),
            (&json!("enabled"), &Value::Null),
            "{endpoint}"
        );
    }
    assert_eq!(mute["state"], "unverified");
    assert!(text(&mute, "reason").contains("does not echo"), "{mute}");
    let paid = client.json("POST", "/api/v1/data/pay", &json!({"id": "a-1"})).unwrap();
    assert_eq!(paid.json()["data"]["webhook"]["endpoints"], 3, "{}", paid.text());
    let (dead, gone) = (text(&dead, "id").to_owned(), text(&gone, "id").to_owned());
    eventually(|| events(&customers, "/in").len() == 1);
    eventually(|| read(&mut client, &gone)["state"] == "disabled");
    eventually(|| read(&mut client, &format!("{dead}/deliveries"))[0]["state"] == "failed");
    assert_eq!(events(&customers, "/dead").len(), 2, "one delay, two attempts");
    assert!(events(&customers, "/mute").is_empty());
    let request = events(&customers, "/in").remove(0);
    assert!(request.header("x-own").is_none(), "{request:?}");
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["data"], json!({"id": "a-1"}));
    assert_eq!(request.header("webhook-id"), paid.json()["data"]["webhook"]["webhook_id"].as_str());
    if let Some(verdicts) = standard_webhooks::verify(&[request], text(&sound, "secret")) {
        assert_eq!(verdicts, ["accepted"]);
    }
    let alerts = "/api/v1/admin/traces?channel=alerts";
    eventually(|| client.get(alerts).unwrap().json()["data"].as_array().is_some_and(|rows| rows.len() == 1));
    let since = json!({"since": "2000-01-01T00:00:00Z", "failed_only": true});
    let replayed = client.json("POST", &format!("{ADMIN}/{dead}/replay"), &since).unwrap();
    assert_eq!(replayed.json()["data"]["replayed"], 1, "{}", replayed.text());
    error(&client.json("POST", &format!("{ADMIN}/{gone}/replay"), &since).unwrap(), 409, "CONFLICT");
    eventually(|| events(&customers, "/dead").len() == 4);
    let attempts = read(&mut client, &format!("{dead}/attempts"));
    assert_eq!((&attempts[0]["status"], &attempts[0]["topic"]), (&json!(500), &json!(TOPIC)), "{attempts}");
    let ids = events(&customers, "/dead")
        .into_iter()
        .filter_map(|seen| seen.header("webhook-id").map(str::to_owned));
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 1, "the same id at every attempt");
    let audit = client.get("/api/v1/admin/audit-logs?resource_type=webhook").unwrap().text();
    assert!(audit.contains("\"disable\"") && !audit.contains(text(&sound, "secret")), "{audit}");
}

#[test]
fn rotated_secret_and_pending_event_survive_a_crash() {
    let certificate = issue_certificate().unwrap();
    let customers = Upstream::start_tls(&certificate, answer).unwrap();
    let server = start_with(&customers, certificate.authority.as_bytes());
    let mut client = server.client();
    let mute = register(&mut client, customers.url("/mute"), None);
    let id = text(&mute, "id").to_owned();
    let refused = client.json("POST", &format!("{ADMIN}/{id}/enable"), &json!({})).unwrap();
    error(&refused, 409, "CONFLICT");
    let enabled = client.json("POST", &format!("{ADMIN}/{id}/enable"), &json!({"verify": false})).unwrap();
    assert_eq!(enabled.json()["data"]["state"], "enabled", "{}", enabled.text());
    let rotated = client.json("POST", &format!("{ADMIN}/{id}/rotate"), &json!({})).unwrap().json();
    let (old, new) = (text(&mute, "secret"), text(&rotated["data"], "secret"));
    assert_ne!(old, new);
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    assert_eq!(client.json("POST", "/api/v1/data/pay", &json!({"id": "a-1"})).unwrap().status, 200);
    eventually(|| events(&customers, "/mute").len() == 1);
    let request = events(&customers, "/mute").remove(0);
    let signatures = request.header("webhook-signature").unwrap();
    assert_eq!(signatures.split(' ').filter(|one| one.starts_with("v1,")).count(), 2, "{signatures}");
    eventually(|| read(&mut client, &format!("{id}/deliveries"))[0]["state"] == "delivered");
}

fn own(client: &mut HttpClient, method: &str, path: &str, key: &str, body: &str) -> HttpResponse {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    client.send(method, &format!("{OWN}{path}"), &headers, body.as_bytes()).unwrap()
}

#[test]
fn consumer_sees_and_replays_its_own_endpoints() {
    let certificate = issue_certificate().unwrap();
    let customers = Upstream::start_tls(&certificate, answer).unwrap();
    let server = start_with(&customers, certificate.authority.as_bytes());
    let mut client = server.client();
    error(&client.get(OWN).unwrap(), 404, "NOT_FOUND");
    let mut keys = Vec::new();
    for name in ["acme", "brand"] {
        client.json("POST", "/api/v1/admin/consumers", &json!({"name": name})).unwrap();
        let path = format!("/api/v1/admin/consumers/{name}/keys");
        let key = client.json("POST", &path, &json!({"kind": "api_key"})).unwrap().json();
        keys.push(text(&key["data"], "secret").to_owned());
    }
    let acme = register(&mut client, customers.url("/in"), Some("acme"));
    let brand = register(&mut client, customers.url("/dead"), Some("brand"));
    let (acme, brand) = (text(&acme, "id").to_owned(), text(&brand, "id").to_owned());
    let answered = own(&mut client, "GET", "", &keys[0], "");
    assert_eq!(
        answered.header("cache-control"),
        Some("no-store"),
        "a cache on the way may not know x-api-key"
    );
    let listed = answered.json();
    assert_eq!((&listed["total"], &listed["data"][0]["id"]), (&json!(1), &json!(acme)), "{listed}");
    assert!(!listed.to_string().contains("whsec_") && !listed.to_string().contains("customers"), "{listed}");
    let mounted = client.send("GET", "/shop/webhooks", &[("x-api-key", keys[0].as_str())], b"").unwrap();
    assert_eq!(mounted.json(), listed, "below each mount");
    let deleted = own(&mut client, "DELETE", &format!("/{acme}/attempts"), &keys[0], "");
    error(&deleted, 405, "METHOD_NOT_ALLOWED");
    assert_eq!(deleted.header("allow"), Some("GET, HEAD"));
    let tested = own(&mut client, "POST", &format!("/{acme}/test"), &keys[0], "").json();
    assert_eq!(tested["data"]["delivered"], true, "{tested}");
    let failed = own(&mut client, "POST", &format!("/{brand}/test"), &keys[1], "").json();
    assert_eq!(failed["data"]["error"], "the endpoint answered 500", "{failed}");
    let attempts = own(&mut client, "GET", &format!("/{acme}/attempts?limit=5"), &keys[0], "").json();
    assert_eq!(attempts["data"][0]["topic"], "webhook.test", "{attempts}");
    let since = r#"{"since": "2000-01-01T00:00:00Z"}"#;
    let replayed = own(&mut client, "POST", &format!("/{acme}/replay"), &keys[0], since).json();
    assert_eq!(replayed["data"]["replayed"], 0, "{replayed}");
    for (method, act) in [("GET", "attempts"), ("POST", "test"), ("POST", "replay")] {
        let path = format!("/{brand}/{act}");
        error(&own(&mut client, method, &path, &keys[0], since), 404, "NOT_FOUND");
        error(&own(&mut client, method, &path, "svck_nobody", since), 401, "UNAUTHORIZED");
    }
    error(&own(&mut client, "GET", "?state=x", &keys[0], ""), 400, "VALIDATION_ERROR");
    let audit = client.get("/api/v1/admin/audit-logs?resource_type=webhook&action=test").unwrap().json();
    assert_eq!(audit["data"][1]["principal"], "acme", "{audit}");
}

#[test]
fn stubbed_event_is_recorded_and_not_sent() {
    let server = start();
    let mut client = server.client();
    let send = json!([{"id": "send", "name": "Send", "function": {"name": "send_webhook", "input": {
        "topic": TOPIC, "data_logic": {"var": "payload.order"}, "output": "data.webhook"}}}]);
    serve(&mut client, "pay", send);
    let stubs = json!({"send_webhook": {TOPIC: {"endpoints": 1}}});
    let trial = json!({"data": {"order": {"id": 7}}, "stubs": stubs});
    let answer = client.json("POST", "/api/v1/admin/workflows/pay/test", &trial).unwrap();
    let data = answer.json()["data"].clone();
    let call = &data["calls"]["send_webhook"][0];
    assert_eq!((&call["stub_target"], &call["input"]["data"]), (&json!(TOPIC), &json!({"id": 7})), "{data}");
    let functions = client.get("/api/v1/admin/functions").unwrap().json()["data"].clone();
    let entry = functions.as_array().unwrap().iter().find(|entry| entry["name"] == "send_webhook").unwrap();
    assert_eq!(entry["retry_safety"], "idempotent_write");
    let bad =
        json!([{"id": "t", "name": "T", "function": {"name": "send_webhook", "input": {"topic": "a b"}}}]);
    let workflow = json!({"workflow_id": "bad", "name": "Bad", "tasks": bad});
    let refused = client.json("POST", "/api/v1/admin/workflows", &workflow).unwrap();
    error(&refused, 400, "VALIDATION_ERROR");
    assert!(refused.text().contains("function.input.topic"), "{}", refused.text());
}

#[test]
fn registration_names_place_and_remedy() {
    let server = start();
    let mut client = server.client();
    let new = json!({"url": "https://a.example/in", "topics": ["a"], "connector": "c"});
    let refused = |client: &mut HttpClient, member: &str, value: Value, hint: &str| {
        let mut body = new.clone();
        body[member] = value;
        let answer = client.json("POST", ADMIN, &body).unwrap();
        error(&answer, 400, "VALIDATION_ERROR");
        assert!(answer.text().contains(hint), "{member}: {}", answer.text());
    };
    refused(&mut client, "connector", json!("c"), "body.connector");
    echo(&mut client, "w", json!({}));
    let connector =
        json!({"id": "c", "name": "c", "connector_type": "http", "config": {"url": "https://a.example"}});
    client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    refused(&mut client, "consumer", json!("acme"), "there is no consumer 'acme'");
    refused(&mut client, "url", json!("http://a.example/"), "https alone");
    refused(&mut client, "topics", json!(["a b"]), "body.topics[0]");
    refused(&mut client, "topcis", json!(["a"]), "topics");
    for address in ["https://127.0.0.1/in", "https://0x7f.1/in", "https://[::1]/in", "https://10.0.0.1:8443/"]
    {
        refused(&mut client, "url", json!(address), "not a public address");
    }
    let created = client.json("POST", ADMIN, &new).unwrap().json();
    assert!(text(&created["data"], "reason").contains("has no allow_urls"), "{created}");
    let moved = json!({"url": "https://169.254.169.254/latest"});
    let path = format!("{ADMIN}/{}", text(&created["data"], "id"));
    error(&client.json("PATCH", &path, &moved).unwrap(), 400, "VALIDATION_ERROR");
}

#[test]
fn secret_in_an_address_is_masked() {
    let server = start();
    let mut client = server.client();
    let connector =
        json!({"id": "c", "name": "c", "connector_type": "http", "config": {"url": "https://a.example"}});
    client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    let new = json!({"url": "https://a.example/in?token=s3cret", "topics": ["a"], "connector": "c"});
    let created = client.json("POST", ADMIN, &new).unwrap().json();
    let masked = "https://a.example/in?token=******";
    assert_eq!(text(&created["data"], "url"), masked);
    let path = format!("{ADMIN}/{}", text(&created["data"], "id"));
    for path in [path.as_str(), ADMIN] {
        let shown = client.get(path).unwrap();
        assert!(shown.status == 200 && !shown.text().contains("s3cret"), "{}", shown.text());
    }
    // The second one finds the secret that the first one has left in its place.
    for _ in 0..2 {
        let kept = client.json("PATCH", &path, &json!({"url": masked})).unwrap();
        assert_eq!((kept.status, text(&kept.json()["data"], "url")), (200, masked), "{}", kept.text());
    }
    // Under another name there is no secret, and the one that is there is not for another host.
    for url in ["https://a.example/in?api_key=******", "https://b.example/in?token=******"] {
        error(&client.json("PATCH", &path, &json!({"url": url})).unwrap(), 400, "VALIDATION_ERROR");
    }
}
