//! Connectors: written over the admin API, used by tasks.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::tls::issue_certificate;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{details, error, launch, serve, start};

const CONNECTORS: &str = "/api/v1/admin/connectors";

#[test]
fn connector_lifecycle_shows_no_secret() {
    let server = start();
    let mut client = server.client();
    let config = json!({"type": "es", "url": "https://api.example.com/v1", "headers": {"X-Key": "swordfish"},
        "auth": {"type": "basic", "username": "bob", "password": "swordfish"}});
    let body = json!({"id": "c1", "name": "api", "connector_type": "HTTP", "config": config, "tags": ["t"]});
    let creation = client.json("POST", CONNECTORS, &body).unwrap();
    assert_eq!(creation.status, 201, "{}", creation.text());
    let connector = creation.json()["data"].clone();
    assert_eq!((&connector["connector_type"], &connector["enabled"]), (&json!("http"), &json!(true)));
    assert_eq!(connector["config"]["url"], "https://api.example.com/v1");
    assert_eq!(
        connector["config"]["auth"],
        json!({"type": "basic", "username": "bob", "password": "******"})
    );
    assert_eq!(connector["config"]["type"], "http");
    let shown: Value = serde_json::from_str(connector["config_json"].as_str().unwrap()).unwrap();
    assert_eq!(shown, connector["config"]);
    assert!(connector["content_hash"].as_str().unwrap().starts_with("sha256:"));
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
fn unworkable_connector_is_refused_by_each_path() {
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
        let expected = (path.to_owned(), code.to_owned());
        assert!(details(&refused).contains(&expected), "{body}: {refused}");
    }
}

/// A connector at a loopback server.
fn connect(client: &mut HttpClient, name: &str, upstream: &Upstream, more: Value) -> Value {
    let mut config =
        json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"retry_delay_ms": 1}});
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    let body = json!({"id": name, "name": name, "connector_type": "http", "config": config});
    let answer = client.json("POST", CONNECTORS, &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"].clone()
}

fn call(input: Value) -> Value {
    json!([{"id": "call", "name": "Call", "function": {"name": "http_call", "input": input}}])
}

#[test]
fn task_calls_api_with_connector_credentials() {
    let upstream = Upstream::start(|asked| {
        UpstreamReply::new(200, json!({"said": asked.text(), "at": asked.target}).to_string())
    })
    .unwrap();
    let server = launch().env("API_TOKEN", "swordfish").start().unwrap();
    let mut client = server.client();
    let connector = connect(
        &mut client,
        "api",
        &upstream,
        json!({"auth": {"type": "bearer", "token": "env://API_TOKEN"}, "query_params": {"k": "v"}}),
    );
    assert_eq!(connector["load_status"], "loaded", "{connector}");
    assert_eq!(connector["config"]["auth"]["token"], "env://API_TOKEN");
    serve(
        &mut client,
        "order",
        call(
            json!({"connector": "api", "method": "POST", "path_logic": {"cat": ["/orders/", {"var": "payload.id"}]},
            "headers": {"X-Own": "1", "X-Id": "none"}, "headers_logic": {"x-id": {"var": "payload.id"}, "x-gone": {"var": "payload.gone"}},
            "body_logic": {"var": "payload"}, "output": "data.api"}),
        ),
    );
    let answer = client.json("POST", "/api/v1/data/order", &json!({"id": 7})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["data"]["api"], json!({"said": "{\"id\":7}", "at": "/orders/7?k=v"}));
    let request = upstream.requests().remove(0);
    assert_eq!(
        (request.method.as_str(), request.header("authorization")),
        ("POST", Some("Bearer swordfish"))
    );
    assert_eq!(
        (request.header("x-own"), request.header("content-type")),
        (Some("1"), Some("application/json"))
    );
    assert_eq!((request.header("x-id"), request.header("x-gone")), (Some("7"), None));
    assert!(!server.log_text().contains("swordfish"));
}

#[test]
fn signed_call_reaches_an_address_of_a_message() {
    let certificate = issue_certificate().unwrap();
    let customer = Upstream::start_tls(&certificate, |_| UpstreamReply::new(200, "7")).unwrap();
    let home = Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap();
    let launch = launch();
    let authority = launch.directory().join("authority.pem");
    std::fs::write(&authority, &certificate.authority).unwrap();
    let server = launch.env("SSL_CERT_FILE", &authority.display().to_string()).start().unwrap();
    let mut client = server.client();
    let sign = json!({"preset": "standard_webhooks", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
    let allowed = json!([format!("https:{}", customer.address().port())]);
    let more = json!({"sign": sign, "allow_urls": allowed, "headers": {"x-own": "swordfish"}});
    let connector = connect(&mut client, "hooks", &home, more);
    assert_eq!(connector["load_status"], "loaded", "{connector}");
    assert_eq!(connector["config"]["sign"], json!({"preset": "standard_webhooks", "secret": "******"}));
    let input = json!({"connector": "hooks", "method": "POST", "url_logic": {"var": "payload.hook"},
        "body_logic": {"var": "payload.event"}, "output": "data.answer"});
    serve(&mut client, "notify", call(input.clone()));
    let body = json!({"hook": customer.url("/in"), "event": {"type": "order.paid"}});
    let answer = client.json("POST", "/api/v1/data/notify", &body).unwrap();
    assert_eq!((answer.status, &answer.json()["data"]["answer"]), (200, &json!(7)), "{}", answer.text());
    let request = customer.requests().remove(0);
    assert_eq!((request.target.as_str(), request.text().as_str()), ("/in", r#"{"type":"order.paid"}"#));
    assert!(request.header("webhook-signature").unwrap().starts_with("v1,"), "{request:?}");
    assert!(request.header("webhook-id").unwrap().starts_with("msg_"), "{request:?}");
    assert!(request.header("x-own").is_none() && home.requests().is_empty(), "{request:?}");
    let refused = client.json("POST", "/api/v1/data/notify", &json!({"hook": home.url("/")})).unwrap();
    error(&refused, 500, "ENGINE_ERROR");
    let mut both = input;
    both["path"] = "/x".into();
    let workflow = json!({"workflow_id": "both", "name": "Both", "tasks": call(both)});
    let refused = client.json("POST", "/api/v1/admin/workflows", &workflow).unwrap();
    let details = details(&error(&refused, 400, "VALIDATION_ERROR"));
    assert!(details[0].0.ends_with("tasks[0].function.input.url_logic"), "{details:?}");
    connect(&mut client, "plain", &home, json!({}));
    let closed = json!({"connector": "plain", "url_logic": {"var": "payload.hook"}});
    let workflow = json!({"workflow_id": "closed", "name": "Closed", "tasks": call(closed)});
    client.json("POST", "/api/v1/admin/workflows", &workflow).unwrap();
    let status = json!({"status": "active"});
    let refused = client.json("PATCH", "/api/v1/admin/workflows/closed/status", &status).unwrap();
    assert!(refused.status == 400 && refused.text().contains("has no allow_urls"), "{}", refused.text());
    let functions = client.get("/api/v1/admin/functions").unwrap().json()["data"].clone();
    let entry = functions.as_array().unwrap().iter().find(|entry| entry["name"] == "http_call").unwrap();
    assert!(entry["input_fields"].as_array().unwrap().iter().any(|field| field["name"] == "url_logic"));
}

#[test]
fn unloadable_connector_is_named_others_serve() {
    let upstream = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let server = start();
    let mut client = server.client();
    let broken =
        connect(&mut client, "broken", &upstream, json!({"headers": {"k": "env://NOT_SET_ANYWHERE"}}));
    assert_eq!(
        (&broken["load_status"], &broken["load_error_stage"]),
        (&json!("failed"), &json!("secret_resolution"))
    );
    assert_eq!(broken["load_error"], "env://NOT_SET_ANYWHERE: the variable is not set");
    connect(&mut client, "fine", &upstream, json!({}));
    for name in ["broken", "fine"] {
        serve(&mut client, name, call(json!({"connector": name})));
    }
    error(&client.json("POST", "/api/v1/data/broken", &json!({})).unwrap(), 500, "ENGINE_ERROR");
    assert_eq!(client.json("POST", "/api/v1/data/fine", &json!({})).unwrap().status, 200);
    let health = client.get("/health").unwrap();
    assert_eq!(health.status, 200);
    let health = health.json();
    assert_eq!(
        (&health["status"], &health["components"]["connectors"]),
        (&json!("degraded"), &json!("degraded"))
    );
    let failed = &health["connectors"]["failed_to_load"];
    assert_eq!(
        (&failed[0]["connector"], &failed[0]["stage"]),
        (&json!("broken"), &json!("secret_resolution"))
    );
    let rows = client.get(CONNECTORS).unwrap().json();
    let states: Vec<_> =
        rows["data"].as_array().unwrap().iter().map(|row| row["load_status"].clone()).collect();
    assert_eq!(states, ["failed", "loaded"]);
    let off =
        client.json("PATCH", &format!("{CONNECTORS}/broken/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!(off.json()["data"]["load_status"], "disabled");
    assert_eq!(client.get("/health").unwrap().json()["components"]["connectors"], "ok");
}

#[test]
fn open_breaker_spares_backend_until_operator_closes() {
    let upstream = Upstream::start(|_| UpstreamReply::new(500, "")).unwrap();
    let server = launch()
        .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "2")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap();
    let mut client = server.client();
    connect(&mut client, "api", &upstream, json!({"retry": {"max_retries": 0}}));
    serve(&mut client, "w", call(json!({"connector": "api"})));
    for _ in 0..2 {
        error(&client.json("POST", "/api/v1/data/w", &json!({})).unwrap(), 500, "ENGINE_ERROR");
    }
    let refused = client.json("POST", "/api/v1/data/w", &json!({})).unwrap();
    let refusal = error(&refused, 503, "CIRCUIT_OPEN");
    let message = refusal["message"].as_str().unwrap();
    assert!(message.contains("'api'") && message.contains("'w'"), "{message}");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(upstream.requests().len(), 2);
    let breakers = format!("{CONNECTORS}/circuit-breakers");
    let map = client.get(&breakers).unwrap().json()["data"].clone();
    assert_eq!((&map["enabled"], &map["scope"]), (&json!(true), &json!("node")));
    assert_eq!(
        map["instance_id"].as_str().map(str::len),
        Some(36),
        "made up where none is configured: {map}"
    );
    assert_eq!(map["breakers"], json!({"w:api": "open"}));
    let health = client.get("/health").unwrap().json();
    assert_eq!(health["connectors"]["circuit_breakers"], json!({"w:api": "open"}));
    let metrics = client.get("/metrics").unwrap().text();
    for line in [
        "svc_connector_requests_total{connector=\"api\",channel=\"w\",status=\"error\"} 2",
        "svc_circuit_breaker_open{connector=\"api\",channel=\"w\"} 1",
        "svc_circuit_breaker_trips_total{connector=\"api\",channel=\"w\"} 1",
        "svc_circuit_breaker_rejections_total{connector=\"api\",channel=\"w\"} 1",
        "svc_connector_request_duration_seconds_count{connector=\"api\",channel=\"w\"} 2",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    error(&client.json("POST", &format!("{breakers}/w:gone"), &json!({})).unwrap(), 404, "NOT_FOUND");
    let reset = client.json("POST", &format!("{breakers}/w:api"), &json!({})).unwrap().json();
    assert_eq!(reset["data"], json!({"reset": true, "key": "w:api", "found_on_this_node": true}));
    assert_eq!(client.get(&breakers).unwrap().json()["data"]["breakers"], json!({"w:api": "closed"}));
    let audited = client.get("/api/v1/admin/audit-logs?resource_type=circuit_breaker").unwrap().json();
    assert_eq!((&audited["total"], &audited["data"][0]["resource_id"]), (&json!(1), &json!("w:api")));
}

#[test]
fn breakers_of_removed_definitions_are_dropped() {
    let upstream = Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap();
    let dead = json!({"url": "http://127.0.0.1:1", "retry": {"max_retries": 0}});
    let server = launch()
        .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "1")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
        .start()
        .unwrap();
    let mut client = server.client();
    connect(&mut client, "api", &upstream, dead.clone());
    connect(&mut client, "other", &upstream, dead);
    serve(&mut client, "w", call(json!({"connector": "api"})));
    serve(&mut client, "v", call(json!({"connector": "other"})));
    for (channel, status) in [("w", 500), ("w", 503), ("v", 500), ("v", 503)] {
        let answer = client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap();
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let one = format!("{CONNECTORS}/api?force=true");
    assert_eq!(client.send("DELETE", &one, &[], b"").unwrap().status, 204);
    connect(&mut client, "api", &upstream, json!({}));
    assert_eq!(client.json("POST", "/api/v1/data/w", &json!({})).unwrap().status, 200);
    let list = format!("{CONNECTORS}/circuit-breakers");
    let breakers = client.get(&list).unwrap().json()["data"]["breakers"].clone();
    assert_eq!(breakers, json!({"w:api": "closed", "v:other": "open"}));
    let archived = json!({"status": "archived"});
    assert_eq!(client.json("PATCH", "/api/v1/admin/channels/v/status", &archived).unwrap().status, 200);
    let breakers = client.get(&list).unwrap().json()["data"]["breakers"].clone();
    assert_eq!(breakers, json!({"w:api": "closed"}));
}

#[test]
fn broken_connector_refuses_start_only_if_configured() {
    let upstream = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let server = start();
    let mut client = server.client();
    connect(&mut client, "broken", &upstream, json!({"headers": {"k": "env://NOT_SET_ANYWHERE"}}));
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": call(json!({"connector": "broken"}))});
    assert_eq!(client.json("POST", "/api/v1/admin/workflows", &workflow).unwrap().status, 201);
    let dry = "/api/v1/admin/workflows/w/status?dry_run=true";
    let report = client.json("PATCH", dry, &json!({"status": "active"})).unwrap().json()["data"].clone();
    assert_eq!(report["valid"], true, "{report}");
    let warned = &report["warnings"][0];
    assert_eq!(warned["field"], "tasks[0].function.input.connector");
    assert!(warned["message"].as_str().unwrap().contains("NOT_SET_ANYWHERE"), "{report}");
    let mut server = server.crash_and_restart().unwrap();
    assert_eq!(server.client().get("/health").unwrap().json()["components"]["connectors"], "degraded");
    server.signal("KILL").unwrap();
    server.wait(Duration::from_secs(30)).unwrap();
    let database = format!("sqlite:{}", server.directory().join("svc.db").display());
    let output = launch()
        .env("SVC_STORAGE__URL", &database)
        .env("SVC_ENGINE__FAIL_ON_CONNECTOR_LOAD_ERROR", "true")
        .run_to_end()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("connector 'broken': secret_resolution: env://NOT_SET_ANYWHERE"), "{said}");
}

#[test]
fn http_timeout_setting_bounds_task() {
    let upstream = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let server = launch().env("SVC_ENGINE__GLOBAL_HTTP_TIMEOUT_SECS", "1").start().unwrap();
    let mut client = server.client();
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "held", "name": "held", "connector_type": "http", "config": config});
    assert_eq!(client.json("POST", CONNECTORS, &connector).unwrap().status, 201);
    let input = json!({"connector": "held", "timeout_ms": 3_600_000});
    serve(
        &mut client,
        "held",
        json!([{"id": "t", "name": "", "function": {"name": "http_call", "input": input}}]),
    );
    let refused = error(&client.json("POST", "/api/v1/data/held", &json!({})).unwrap(), 500, "ENGINE_ERROR");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("TIMEOUT_ERROR") && message.contains("within 1000 ms"), "{message}");
}

#[test]
fn refused_connection_is_plain_for_every_type() {
    let server = start();
    let mut client = server.client();
    let place = "127.0.0.1:1";
    for (kind, config) in [
        ("http", json!({"url": format!("http://{place}")})),
        ("es", json!({"url": format!("https://{place}")})),
        ("db", json!({"connection_string": format!("postgres://u:p@{place}/d")})),
        ("db", json!({"connection_string": format!("mysql://u:p@{place}/d")})),
        ("cache", json!({"backend": "redis", "url": format!("redis://{place}")})),
        ("smtp", json!({"host": "127.0.0.1", "port": 1, "from": "a@example.com", "tls": "none"})),
    ] {
        let mut config = config;
        config["allow_private_urls"] = json!(true);
        let connector = json!({"name": config.to_string(), "connector_type": kind, "config": config});
        let answer = client.json("POST", CONNECTORS, &connector).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
        let id = answer.json()["data"]["id"].as_str().unwrap().to_owned();
        let probed = client.json("POST", &format!("{CONNECTORS}/{id}/test"), &json!({})).unwrap().json();
        let message = probed["data"]["error"].as_str().unwrap_or_else(|| panic!("{probed}"));
        let remedy = "connection refused; check that the system runs, and its host and port";
        assert!(message.contains(remedy) && !message.contains("os error"), "{connector}: {message}");
    }
}
