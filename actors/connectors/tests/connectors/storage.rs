//! Objects of a real store, which checks every signature.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use svc_connectors::{BreakerSettings, LoadState, ObjectUpload};
use svc_outbound::{Outbound, Trust};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::s3::{BUCKET, KEY, ObjectStore, SECRET};
use svc_testkit::server::free_port;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{ConnectorWorld, run, run_with};
use crate::mail::{run_error, run_function};

/// The config of a connector at a store.
fn connector_to(endpoint: &str, more: Value) -> Value {
    let mut config = json!({"endpoint": endpoint, "region": "eu-central-1", "bucket": BUCKET, "access_key": KEY,
        "secret_key": SECRET, "force_path_style": true, "allow_private_urls": true});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

async fn sign(world: &ConnectorWorld, input: Value) -> String {
    let mut input = input;
    input.as_object_mut().unwrap().entry("expires_in").or_insert(json!("15m"));
    run_function(world, "storage_presign", input).await.as_str().unwrap().to_owned()
}

async fn head(world: &ConnectorWorld, key: &str) -> Value {
    run_function(world, "storage_head", json!({"key": key})).await
}

/// Uses a URL as any client would that knows nothing but the URL.
fn call_store(
    store: &ObjectStore,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> HttpResponse {
    let target = url.strip_prefix(&store.endpoint()).unwrap();
    HttpClient::new(store.address()).send(method, target, headers, body).unwrap()
}

#[test]
fn presigned_url_works_for_every_object_key() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        let keys = [
            "plain.txt",
            "a b/c d",
            "a+b",
            "größe/☃",
            "%2e%2e/x",
            "q?x=1&y#z",
            "a\\b",
            "semi;colon,~'(x)!*",
            "..x/y..",
        ];
        for (number, key) in keys.into_iter().enumerate() {
            assert_eq!(head(world, key).await, json!({"exists": false}), "{key}");
            let put = sign(world, json!({"key": key, "method": "PUT"})).await;
            let body = format!("object {number}");
            let answer = call_store(&store, "PUT", &put, &[], body.as_bytes());
            assert_eq!(answer.status, 200, "{key}: {}", answer.text());
        }
        for (number, key) in keys.into_iter().enumerate() {
            let get = sign(world, json!({"key": key})).await;
            let answer = call_store(&store, "GET", &get, &[], b"");
            assert_eq!((answer.status, answer.text()), (200, format!("object {number}")), "{key}");
            let head = head(world, key).await;
            assert_eq!((&head["exists"], &head["size"]), (&json!(true), &json!(8)), "{key}: {head}");
            assert!(head["last_modified"].as_str().unwrap().ends_with("GMT"), "{head}");
            let members: Vec<_> = head.as_object().unwrap().keys().collect();
            assert_eq!(members, ["exists", "size", "etag", "last_modified", "content_type"]);
            assert_eq!(
                call_store(&store, "PUT", &get, &[], b"x").status,
                403,
                "a URL to read does not write"
            );
        }
    });
}

#[test]
fn object_in_parts_is_whole_or_absent() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        world.put("other", "http", true, json!({"url": "https://a.example"})).await;
        let (directory, outbound) =
            (world.connectors.directory(), Outbound::new(&Trust::Only(String::new())).unwrap());
        let parts = [vec![1; ObjectUpload::PART_BYTES], vec![2; 1000]];
        let mut upload = ObjectUpload::begin(directory, "c", "whole.db", &outbound).await.unwrap();
        for part in &parts {
            upload.send_part(part.clone()).await.unwrap();
            assert_eq!(store.object("whole.db"), None, "it is not complete");
        }
        upload.complete().await.unwrap();
        assert!(store.object("whole.db").unwrap() == parts.concat(), "the object is its parts");
        let mut upload = ObjectUpload::begin(directory, "c", "given-up.db", &outbound).await.unwrap();
        upload.send_part(vec![3; 10]).await.unwrap();
        upload.abort().await.unwrap();
        assert_eq!(store.object("given-up.db"), None);
        for (connector, word) in [("none", "does not exist"), ("other", "of type storage")] {
            let refused = ObjectUpload::begin(directory, connector, "a.db", &outbound).await.err().unwrap();
            assert!(refused.contains(word), "{refused}");
        }
    });
}

#[test]
fn large_object_has_its_size_and_type() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        let put = sign(world, json!({"key": "large", "method": "PUT", "content_type": "image/png"})).await;
        let denied = call_store(&store, "PUT", &put, &[("content-type", "text/plain")], b"x");
        assert_eq!(denied.status, 403, "another type than the one that was signed");
        let answer = call_store(&store, "PUT", &put, &[("content-type", "image/png")], &vec![7; 1_000_000]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let head = head(world, "large").await;
        assert_eq!((&head["size"], &head["content_type"]), (&json!(1_000_000), &json!("image/png")));
        assert!(head["etag"].is_string(), "{head}");
        let named = json!({"key": "large", "response_content_type": "x/y", "response_content_disposition": "attachment; filename=\"a b.png\""});
        assert_eq!(
            call_store(&store, "GET", &sign(world, named).await, &[], b"").status,
            200,
            "all of the query is signed"
        );
    });
}

#[test]
fn signed_length_is_exact() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        let put = sign(world, json!({"key": "seven", "method": "PUT", "content_length": 7})).await;
        for (body, status) in [("123456", 403), ("12345678", 403), ("1234567", 200)] {
            let answer = call_store(&store, "PUT", &put, &[], body.as_bytes());
            assert_eq!(answer.status, status, "{body}: {}", answer.text());
        }
        assert_eq!(store.object("seven").as_deref(), Some(&b"1234567"[..]));
        for (length, expected) in
            [(json!(0), "INVALID"), (json!(1.5), "INVALID"), (json!("7"), "TYPE_MISMATCH")]
        {
            let input = json!({"key": "k", "expires_in": 9, "method": "PUT", "content_length": length});
            assert_eq!(world.problems("storage_presign", input), [format!("content_length {expected}")]);
        }
        let get = json!({"key": "k", "expires_in": 9, "content_length": 7});
        assert_eq!(world.problems("storage_presign", get), ["content_length INVALID"]);
    });
}

#[test]
fn written_object_is_read_in_each_form() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        let read = async |key: &str, format: &str| {
            run_function(world, "storage_read", json!({"key": key, "body_format": format})).await
        };
        assert_eq!(read("a b.txt", "text").await, json!({"exists": false}));
        for (key, format, body, bytes, content_type) in [
            ("a b.txt", "text", json!("größe"), "größe".as_bytes(), "text/plain; charset=utf-8"),
            ("b.json", "json", json!({"a": [1, null]}), &b"{\"a\":[1,null]}"[..], "application/json"),
            ("c.bin", "base64", json!("AP8="), &[0, 255][..], "application/octet-stream"),
        ] {
            let input = json!({"key": key, "body": body, "body_format": format});
            let written = run_function(world, "storage_write", input).await;
            assert_eq!(written["size"], bytes.len(), "{key}");
            assert_eq!(store.object(key).as_deref(), Some(bytes), "{key}");
            let object = read(key, format).await;
            assert_eq!((&object["body"], &object["size"]), (&body, &json!(bytes.len())), "{key}: {object}");
            assert_eq!((&object["content_type"], &object["etag"]), (&json!(content_type), &written["etag"]));
        }
        let input = json!({"key": "d", "body": {"var": "payload"}, "content_type": "text/csv"});
        assert_eq!(
            world.run_task("storage_write", input, json!("a,b")).await,
            json!({}),
            "it writes no data"
        );
        assert_eq!(head(world, "d").await["content_type"], "text/csv");
        for (key, format) in [("c.bin", "text"), ("a b.txt", "json")] {
            let error = run_error(world, "storage_read", json!({"key": key, "body_format": format})).await;
            assert_eq!(error.code.name(), "DESERIALIZATION_ERROR", "{}", error.message);
        }
    });
}

#[test]
fn objects_beyond_one_mebibyte_are_refused() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        let largest = "x".repeat(1 << 20);
        run_function(world, "storage_write", json!({"key": "largest", "body": largest})).await;
        assert_eq!(
            run_function(world, "storage_read", json!({"key": "largest"})).await["body"],
            largest.as_str()
        );
        let larger = format!("{largest}x");
        let input = json!({"key": "larger", "body": {"var": "payload"}});
        let error = world.task_error("storage_write", input, json!(larger)).await;
        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{}", error.message);
        assert_eq!(store.object("larger"), None);
        let put = sign(world, json!({"key": "larger", "method": "PUT"})).await;
        assert_eq!(call_store(&store, "PUT", &put, &[], larger.as_bytes()).status, 200);
        let error = run_error(world, "storage_read", json!({"key": "larger"})).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false), "{}", error.message);
    });
}

#[test]
fn unfit_body_or_closed_operation_writes_nothing() {
    run(async |world| {
        let closed = json!({"operations": {"read": false, "write": false}});
        world.put("c", "storage", true, connector_to("http://127.0.0.1:1", closed)).await;
        for (body, format) in [(json!({"a": 1}), "text"), (json!(1), "base64"), (json!("%%"), "base64")] {
            let input = json!({"key": "k", "body": {"var": "payload"}, "body_format": format});
            let error = world.task_error("storage_write", input, body).await;
            assert_eq!(error.code.name(), "VALIDATION_ERROR");
            assert!(error.message.starts_with("body: "), "{}", error.message);
        }
        for (function, input) in
            [("storage_read", json!({"key": "k"})), ("storage_write", json!({"key": "k", "body": "b"}))]
        {
            assert_eq!(run_error(world, function, input).await.code.name(), "connector_detail", "{function}");
        }
    });
}

#[test]
fn a_url_ends_with_its_time() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.endpoint(), json!({}))).await;
        let url = sign(world, json!({"key": "k", "expires_in": 1})).await;
        assert_eq!(call_store(&store, "GET", &url, &[], b"").status, 404);
        let denied = loop {
            let answer = call_store(&store, "GET", &url, &[], b"");
            if answer.status != 404 {
                break answer;
            }
        };
        assert!(denied.status == 403 && denied.text().contains("expired"), "{}", denied.text());
        let longer = url.replace("X-Amz-Expires=1&", "X-Amz-Expires=1000&");
        assert!(call_store(&store, "GET", &longer, &[], b"").text().contains("SignatureDoesNotMatch"));
    });
}

#[test]
fn wrong_key_is_refused_and_in_no_error() {
    let Some(store) = ObjectStore::start() else { return };
    run(async |world| {
        world
            .put(
                "c",
                "storage",
                true,
                connector_to(&store.endpoint(), json!({"secret_key": "swordfish-wrong"})),
            )
            .await;
        let url = sign(world, json!({"key": "k"})).await;
        let answer = call_store(&store, "GET", &url, &[], b"");
        assert!(answer.status == 403 && answer.text().contains("SignatureDoesNotMatch"), "{}", answer.text());
        let error = run_error(world, "storage_head", json!({"key": "k"})).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
        assert!(
            error.message.contains("status 403") && !format!("{error:?}").contains("swordfish"),
            "{error:?}"
        );
        // It is there, and says so.
        assert!(world.probe("c").await.reachable);
    });
}

#[test]
fn invalid_key_or_forbidden_operation_is_not_signed() {
    run(async |world| {
        world.put("c", "storage", true, connector_to("http://127.0.0.1:1", json!({}))).await;
        let payload =
            json!({"up": "../x", "in": "a/./b", "empty": "", "week": "8d", "lines": "a\r\nb", "number": 7});
        for (function, field, from) in [
            ("storage_presign", "key", "up"),
            ("storage_presign", "key", "in"),
            ("storage_presign", "key", "empty"),
            ("storage_presign", "key", "number"),
            ("storage_presign", "expires_in", "week"),
            ("storage_presign", "expires_in", "gone"),
            ("storage_presign", "response_content_type", "lines"),
            ("storage_head", "key", "up"),
            ("storage_head", "key", "gone"),
        ] {
            let mut input = json!({"key": "k"});
            if function == "storage_presign" {
                input["expires_in"] = 60.into();
            }
            input[field] = json!({"var": format!("payload.{from}")});
            let error = world.task(function, input, payload.clone()).await.failure.unwrap().error;
            assert_eq!(error.code.name(), "VALIDATION_ERROR", "{field} {from}");
            assert!(error.message.starts_with(field), "{field} {from}: {}", error.message);
        }
        let closed = json!({"operations": {"presign_get": false, "presign_put": true, "head": false}});
        world.put("c", "storage", true, connector_to("http://127.0.0.1:1", closed)).await;
        for (function, input) in [
            ("storage_presign", json!({"key": "k", "expires_in": 60})),
            ("storage_head", json!({"key": "k"})),
        ] {
            assert_eq!(run_error(world, function, input).await.code.name(), "connector_detail", "{function}");
        }
        sign(world, json!({"key": "k", "method": "PUT"})).await;
        world.put("c", "http", true, json!({"url": "http://a.example"})).await;
        assert_eq!(
            run_error(world, "storage_head", json!({"key": "k"})).await.code.name(),
            "connector_detail"
        );
    });
}

#[test]
fn signing_needs_no_store_and_minds_no_breaker() {
    let gone = format!("127.0.0.1:{}", free_port().unwrap());
    let settings =
        BreakerSettings { failure_threshold: 1, recovery: Duration::from_secs(3600), max_breakers: 9 };
    run_with(Some(settings), async |world| {
        world.put("c", "storage", true, connector_to(&format!("http://{gone}"), json!({}))).await;
        let error = run_error(world, "storage_head", json!({"key": "k"})).await;
        assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true));
        assert_eq!(run_error(world, "storage_head", json!({"key": "k"})).await.code.name(), "circuit_open");
        assert!(sign(world, json!({"key": "k"})).await.starts_with(&format!("http://{gone}/bucket/k?")));
        let probe = world.probe("c").await;
        assert!(probe.supported && !probe.reachable);
    });
}

#[test]
fn failing_store_is_distinguished_from_a_refusing_one() {
    let store = Upstream::start(|asked| match asked.target.split('?').next().unwrap_or_default() {
        "/bucket/held" => UpstreamReply::Held,
        "/bucket/cut" => UpstreamReply::Cut,
        "/bucket/broken" => UpstreamReply::new(500, ""),
        "/bucket/" => UpstreamReply::new(503, ""),
        "/bucket/here" => UpstreamReply::new(200, ""),
        _ => UpstreamReply::redirect(301, "/bucket/here"),
    })
    .unwrap();
    run(async |world| {
        world.put("c", "storage", true, connector_to(&store.url(""), json!({"timeout_ms": 2000}))).await;
        for (key, code) in [
            ("held", "TIMEOUT_ERROR"),
            ("cut", "IO_ERROR"),
            ("broken", "FUNCTION_ERROR"),
            ("elsewhere", "FUNCTION_ERROR"),
        ] {
            let error = run_error(world, "storage_head", json!({"key": key})).await;
            assert_eq!(error.code.name(), code, "{key}: {}", error.message);
            assert!(!error.message.contains("X-Amz"), "{}", error.message);
        }
        let probe = world.probe("c").await;
        assert_eq!(probe.error.as_deref(), Some("it answered with status 503"));
        let requests = store.requests();
        assert!(requests.iter().all(|asked| asked.method == "HEAD"));
        assert!(!requests.iter().any(|asked| asked.target.contains("/here")), "no redirect is followed");
    });
}

#[test]
fn private_store_is_refused_written_and_dialled() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    run(async |world| {
        let private =
            |host: &str| connector_to(&format!("http://{host}:{port}"), json!({"allow_private_urls": false}));
        world.put("c", "storage", true, private("127.0.0.1")).await;
        let state = world.connectors.status("c").unwrap().state;
        assert!(
            matches!(&state, LoadState::Failed(error) if error.reason.contains("SSRF protection:")),
            "{state:?}"
        );
        world.put("c", "storage", true, private("localhost")).await;
        let error = run_error(world, "storage_head", json!({"key": "k"})).await;
        assert_eq!(error.code.name(), "FUNCTION_ERROR");
        assert!(error.message.starts_with("SSRF protection: 'localhost'"), "{}", error.message);
        assert!(trap.accept().is_err());
    });
}

#[test]
fn mistyped_and_too_long_lifetimes_are_distinguished() {
    run(async |world| {
        for (value, due) in [
            (json!(true), "TYPE_MISMATCH"),
            (json!([]), "TYPE_MISMATCH"),
            (json!({"a": 1}), "TYPE_MISMATCH"),
            (json!(0), "INVALID"),
            (json!("8d"), "INVALID"),
        ] {
            let problems = world.problems("storage_presign", json!({"key": "k", "expires_in": value}));
            assert_eq!(problems, [format!("expires_in {due}")], "{value}");
        }
    });
}
