//! The data plane: resolution, bodies, envelopes, errors.

use serde_json::{Value, json};
use svc_testkit::example;

use crate::support::{channel, echo, echo_workflow, error, launch, serve, start};

#[test]
fn the_quickstart_order_is_answered_in_the_envelope() {
    let server = start();
    let mut client = server.client();
    let quickstart = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    example::load(&mut client, &quickstart).unwrap();
    let order = json!({"order_id": "A-1001", "qty": 3, "price": 50});
    let answer = client.json("POST", "/api/v1/data/orders", &order).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json();
    assert_eq!(body["status"], "ok");
    assert_eq!(body["errors"], json!([]));
    assert_eq!(body["data"], json!({"order": order, "total": 150, "tier": "gold"}));
    let id = body["id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "a UUID v7: {id}");
    assert!(body.get("request_id").is_none());
}

#[test]
fn task_errors_are_in_envelope_with_request_id() {
    let server = start();
    let mut client = server.client();
    serve(
        &mut client,
        "checked",
        json!([{"id": "check", "name": "", "function": {"name": "validate", "input": {"rules": [
            {"logic": {"==": [{"var": "payload.a"}, 1]}, "message": "a must be 1"}]}}}]),
    );
    let answer = client.json("POST", "/api/v1/data/checked", &json!({"a": 2})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["errors"][0]["code"], "VALIDATION_ERROR");
    assert_eq!(body["errors"][0]["task_id"], "check");
    assert_eq!(body["errors"][0]["message"], "a must be 1", "verbose outside production");
    assert_eq!(body["request_id"].as_str(), answer.header("x-request-id"));
}

#[test]
fn failing_task_stops_run_with_engine_error() {
    let server = start();
    let mut client = server.client();
    serve(
        &mut client,
        "broken",
        json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"throw": "no"}}]}}}]),
    );
    let answer = client.json("POST", "/api/v1/data/broken", &json!({})).unwrap();
    let error = error(&answer, 500, "ENGINE_ERROR");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("Task 'boom' failed with "), "{message}");
    assert!(message.contains("data.x: Thrown: "), "the cause, outside production: {message}");
}

#[test]
fn bad_bodies_get_their_contract_errors() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    let json_type = [("content-type", "application/json")];
    let broken = client.send("POST", "/api/v1/data/e", &json_type, b"{\"a\":").unwrap();
    let message = error(&broken, 400, "VALIDATION_ERROR")["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Invalid JSON body:"), "{message}");
    let text = client.send("POST", "/api/v1/data/e", &[("content-type", "text/plain")], b"{}").unwrap();
    error(&text, 415, "UNSUPPORTED_MEDIA_TYPE");
    let untyped = client.send("POST", "/api/v1/data/e", &[], b"{}").unwrap();
    error(&untyped, 415, "UNSUPPORTED_MEDIA_TYPE");
    let huge = vec![b' '; 1_048_577];
    error(&client.send("POST", "/api/v1/data/e", &json_type, &huge).unwrap(), 413, "PAYLOAD_TOO_LARGE");
    let suffix = [("content-type", "application/problem+json")];
    assert_eq!(client.send("POST", "/api/v1/data/e", &suffix, b"{}").unwrap().status, 200);
    let empty = client.send("POST", "/api/v1/data/e", &[], b"").unwrap();
    assert_eq!((empty.status, &empty.json()["data"]["input"]), (200, &json!({})), "{}", empty.text());
}

#[test]
fn unknown_channels_paths_and_methods() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    error(&client.json("POST", "/api/v1/data/nobody", &json!({})).unwrap(), 404, "NOT_FOUND");
    error(&client.json("POST", "/api/v1/data/no/such/route", &json!({})).unwrap(), 404, "NOT_FOUND");
    error(&client.json("POST", "/api/v1/data/", &json!({})).unwrap(), 400, "VALIDATION_ERROR");
    error(&client.json("POST", "/api/v1/data/%zz", &json!({})).unwrap(), 400, "VALIDATION_ERROR");
    error(&client.get("/nothing/here").unwrap(), 404, "NOT_FOUND");
    error(&client.send("DELETE", "/healthz", &[], b"").unwrap(), 405, "METHOD_NOT_ALLOWED");
    error(&client.get("/api/v1/data/e").unwrap(), 405, "METHOD_NOT_ALLOWED");
}

#[test]
fn routes_capture_decode_and_follow_priority() {
    let server = start();
    let mut client = server.client();
    for (id, pattern, priority) in
        [("one", "/items/{sku}", 0), ("two", "/items/fixed", 0), ("high", "/items/{any}", 5)]
    {
        let workflow = json!({"workflow_id": id, "name": id, "tasks": [{"id": "t", "name": "", "function":
            {"name": "map", "input": {"mappings": [
                {"path": "data.by", "logic": id}, {"path": "data.params", "logic": {"var": "metadata.params"}}]}}}]});
        example::create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
        let mut document = channel(id, id, json!({}));
        document["route_pattern"] = json!(pattern);
        document["priority"] = json!(priority);
        if id == "high" {
            document["methods"] = json!(["PUT"]);
        }
        example::create_and_activate(&mut client, "channels", "channel_id", &document).unwrap();
    }
    let put = client.json("PUT", "/api/v1/data/items/a%2Fb", &json!({})).unwrap().json();
    assert_eq!(put["data"], json!({"by": "high", "params": {"any": "a/b"}}));
    let post = client.json("POST", "/api/v1/data/items/x", &json!({})).unwrap().json();
    assert_eq!(post["data"], json!({"by": "one", "params": {"sku": "x"}}));
}

#[test]
fn metadata_is_stamped_and_cannot_be_supplied() {
    let server = start();
    let mut client = server.client();
    serve(
        &mut client,
        "meta",
        json!([{"id": "m", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.meta", "logic": {"var": "metadata"}}, {"path": "data.payload", "logic": {"var": "payload"}}]}}}]),
    );
    let body = json!({"data": {"x": 1}, "metadata": {"tenant": "t", "auth": {"claims": {"sub": "root"}}, "vars": {"a": 1},
        "_svc_errors": [1], "trigger": {}, "cookies": {}}});
    let headers =
        [("content-type", "application/json"), ("authorization", "Bearer s3cret"), ("x-tenant-id", "t1")];
    let answer = client
        .send("POST", "/api/v1/data/meta?a=1&a=2&b=%20x", &headers, body.to_string().as_bytes())
        .unwrap()
        .json();
    let meta = &answer["data"]["meta"];
    assert_eq!(answer["data"]["payload"], json!({"x": 1}), "the envelope's siblings are no payload");
    assert_eq!((&meta["channel"], &meta["http_method"]), (&json!("meta"), &json!("POST")));
    assert_eq!(meta["query"], json!({"a": "2", "b": " x"}));
    assert_eq!(meta["headers"]["authorization"], "******");
    assert_eq!(meta["headers"]["x-tenant-id"], "t1");
    assert_eq!(meta["tenant"], "t");
    for gone in ["auth", "vars", "_svc_errors", "trigger", "cookies"] {
        assert!(meta.get(gone).is_none(), "{gone}: {meta}");
    }
}

#[test]
fn a_channel_past_its_deadline_answers_504() {
    let server = start();
    let mut client = server.client();
    let workflow = json!({"workflow_id": "slow", "name": "slow", "loop": {"max": 10000}, "tasks": [
        {"id": "spin", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.list", "logic": {"merge": [{"var": "data.list"}, [1, 2, 3, 4, 5, 6, 7, 8]]}}]}}}]});
    example::create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let document = channel("slow", "slow", json!({"timeout_ms": 50}));
    example::create_and_activate(&mut client, "channels", "channel_id", &document).unwrap();
    error(&client.json("POST", "/api/v1/data/slow", &json!({})).unwrap(), 504, "TIMEOUT");
}

#[test]
fn known_guards_refuse_unknown_guards_quarantine() {
    let server = start();
    let mut client = server.client();
    let rule = json!({"validation_logic": {"==": [{"var": "data.ok"}, true]}, "origin_allow_list": ["https://a.example"]});
    echo(&mut client, "guarded", rule);
    let path = "/api/v1/data/guarded";
    let refused = client.json("POST", path, &json!({"ok": false})).unwrap();
    assert_eq!(error(&refused, 400, "VALIDATION_ERROR")["message"], "Input validation failed");
    assert_eq!(client.json("POST", path, &json!({"ok": true})).unwrap().status, 200);
    let headers = [("content-type", "application/json"), ("origin", "https://b.example")];
    error(&client.send("POST", path, &headers, b"{\"ok\":true}").unwrap(), 403, "FORBIDDEN");
}

#[test]
fn security_headers_and_request_ids_are_on_every_answer() {
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", "k").start().unwrap();
    let mut client = server.client();
    for path in ["/healthz", "/nothing", "/api/v1/admin/workflows", "/api/v1/data/nobody"] {
        let answer = client.send("GET", path, &[("x-request-id", "mine-1")], b"").unwrap();
        assert_eq!(answer.header("x-request-id"), Some("mine-1"), "{path}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
            ("referrer-policy", "strict-origin-when-cross-origin"),
            ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
        assert_eq!(answer.header("strict-transport-security"), None, "{path}");
    }
    let own = client.get("/healthz").unwrap();
    assert_eq!(own.header("x-request-id").map(str::len), Some(36));
}

#[test]
fn browsers_preflights_are_answered_before_everything() {
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", "k").start().unwrap();
    let headers = [
        ("origin", "https://shop.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    // By default any origin may read the data plane; the admin API asks for one that is listed.
    for (path, origin) in [("/api/v1/data/orders", Some("*")), ("/api/v1/admin/workflows", None)] {
        let answer = server.client().send("OPTIONS", path, &headers, b"").unwrap();
        assert!(matches!(answer.status, 200 | 204), "{}", answer.status);
        assert_eq!(answer.header("access-control-allow-origin"), origin, "{path}");
        let allowed = answer.header("access-control-allow-headers").unwrap_or_default().to_lowercase();
        assert!(allowed.contains("x-api-key") && allowed.contains("idempotency-key"), "{allowed}");
    }
}

#[test]
fn a_mounted_prefix_resolves_like_the_data_base() {
    let server = launch().env("SVC_SERVER__DATA_MOUNTS", "/hooks").start().unwrap();
    let mut client = server.client();
    example::create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("m")).unwrap();
    let mut document = channel("m", "m", json!({}));
    document["route_pattern"] = json!("/hooks/in");
    document["methods"] = json!(["GET", "POST"]);
    example::create_and_activate(&mut client, "channels", "channel_id", &document).unwrap();
    for path in ["/hooks/in", "/api/v1/data/hooks/in", "/api/v1/data/m"] {
        let answer = client.json("POST", path, &json!({"a": 1})).unwrap();
        assert_eq!((answer.status, &answer.json()["data"]), (200, &json!({"input": {"a": 1}})), "{path}");
    }
    let head = client.send("HEAD", "/api/v1/data/m", &[], b"").unwrap();
    assert_eq!((head.status, head.json()), (200, Value::Null));
}

#[test]
fn endless_nesting_or_padding_fails_only_the_run() {
    let server = start();
    let mut client = server.client();
    let map = |path: String, logic: Value| {
        json!({"id": "m", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": path, "logic": logic}]}}})
    };
    let long = json!({"workflow_id": "long", "name": "long", "tasks": [map(format!("data{}", ".a".repeat(3000)), json!(1))]});
    let refused = client.json("POST", "/api/v1/admin/workflows", &long).unwrap();
    assert_eq!(refused.status, 400, "{}", refused.text());
    let grown = json!({"reduce": [{"var": "payload"}, {"k": {"var": "accumulator"}, "z": 1}, 0]});
    serve(&mut client, "grows", json!([map("data.x".into(), grown)]));
    serve(&mut client, "pads", json!([map("data.x.99999".into(), json!(1))]));
    for id in ["grows", "pads"] {
        let answer = client.json("POST", &format!("/api/v1/data/{id}"), &json!(vec![1; 20_000])).unwrap();
        error(&answer, 500, "ENGINE_ERROR");
    }
}

#[test]
fn a_copied_integer_keeps_every_digit() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "digits", json!({}));
    let json_type = [("content-type", "application/json")];
    let answer =
        client.send("POST", "/api/v1/data/digits", &json_type, br#"{"a":12345678901234567890}"#).unwrap();
    assert!(answer.text().contains(r#"{"a":12345678901234567890}"#), "{}", answer.text());
}

#[test]
fn unknown_method_of_the_data_plane_is_405() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "w", json!({}));
    for method in ["TRACE", "PROPFIND", "FOO"] {
        let answer = client.send(method, "/api/v1/data/w", &[], b"").unwrap();
        error(&answer, 405, "METHOD_NOT_ALLOWED");
        assert_eq!(answer.header("allow"), Some("GET, POST, PUT, PATCH, DELETE, HEAD"));
    }
}
