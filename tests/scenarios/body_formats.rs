//! The formats of bodies: JSON, forms, text and raw bytes; compressed bodies.

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{channel, details, echo, error, start};

const FORM: &str = "application/x-www-form-urlencoded";
const SLASH_COMMAND: &[u8] = b"command=%2Fdeploy&text=prod+now&arg=a&arg=b";

fn post(client: &mut HttpClient, name: &str, content_type: &str, body: &[u8]) -> HttpResponse {
    client.send("POST", &format!("/api/v1/data/{name}"), &[("content-type", content_type)], body).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the server under test goes by the machine's clock")]
fn post_signed(client: &mut HttpClient, content_type: &str, body: &[u8]) -> HttpResponse {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
    mac.update(&[b"v0:", now.as_bytes(), b":", body].concat());
    let signature = format!("v0={}", hex::encode(mac.finalize().into_bytes()));
    let headers = [
        ("content-type", content_type),
        ("x-slack-request-timestamp", &now),
        ("x-slack-signature", &signature),
    ];
    client.send("POST", "/api/v1/data/slack", &headers, body).unwrap()
}

#[test]
fn preset_channel_takes_forms_and_json_text() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "slack", json!({"auth": {"mode": "hmac", "preset": "slack", "secret": "s3cret"}}));
    let command = json!({"command": "/deploy", "text": "prod now", "arg": ["a", "b"]});
    for (content_type, body, expected) in [
        (FORM, SLASH_COMMAND, command),
        ("text/plain; charset=UTF-8", br#"{"Type":"Notification"}"#, json!({"Type": "Notification"})),
        ("application/json", br#"{"a":1}"#, json!({"a": 1})),
        ("application/json", br#"{"data":{"a":1}}"#, json!({"a": 1})),
        ("text/plain", br#"{"data":{"a":1}}"#, json!({"data": {"a": 1}})),
        (FORM, b"data=1&metadata=2", json!({"data": "1", "metadata": "2"})),
    ] {
        let answer = post_signed(&mut client, content_type, body);
        assert_eq!((answer.status, &answer.json()["data"]["input"]), (200, &expected), "{}", answer.text());
    }
    let refused = error(&post_signed(&mut client, "text/csv", b"a,b"), 415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(
        refused["message"],
        "The content type must be application/json, application/x-www-form-urlencoded or text/plain"
    );
    error(&post_signed(&mut client, FORM, b"a=%zz"), 400, "VALIDATION_ERROR");
    error(&post(&mut client, "slack", FORM, SLASH_COMMAND), 401, "UNAUTHORIZED");
}

#[test]
fn channel_says_which_bodies_it_takes() {
    let server = start();
    let mut client = server.client();
    for format in ["json", "form", "text", "raw"] {
        echo(&mut client, format, json!({"request": {"body": format}}));
    }
    let mut input = |name: &str, content_type: &str, body: &[u8]| {
        let answer = post(&mut client, name, content_type, body);
        (answer.status, answer.json()["data"]["input"].clone())
    };
    assert_eq!(input("json", FORM, b"a=1"), (415, Value::Null));
    assert_eq!(input("form", FORM, b"a=1"), (200, json!({"a": "1"})));
    assert_eq!(input("form", "application/json", b"{}"), (415, Value::Null));
    assert_eq!(input("text", "text/plain", b"good day"), (200, json!("good day")));
    assert_eq!(input("text", "text/plain", b"\xff"), (400, Value::Null));
    assert_eq!(input("raw", FORM, b"a=1"), (200, json!("a=1")));
    assert_eq!(input("raw", "image/png", b"\x89PNG\xff"), (200, json!("iVBOR/8=")));
    assert_eq!(input("raw", "image/png", b""), (200, json!({})));
}

#[test]
fn workflow_is_told_the_encoding_of_raw_bytes() {
    let server = start();
    let mut client = server.client();
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [{"id": "t", "name": "", "function":
        {"name": "map", "input": {"mappings": [
            {"path": "data.encoding", "logic": {"var": "metadata.body_encoding"}}]}}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    for (name, format) in [("bytes", "raw"), ("plain", "json")] {
        let document = channel(name, "w", json!({"request": {"body": format}}));
        create_and_activate(&mut client, "channels", "channel_id", &document).unwrap();
    }
    let mut encoding = |name: &str, content_type: &str, body: &[u8]| {
        post(&mut client, name, content_type, body).json()["data"]["encoding"].clone()
    };
    assert_eq!(encoding("bytes", "text/plain", b"a"), json!("text"));
    assert_eq!(encoding("bytes", "image/png", b"\xff"), json!("base64"));
    let claimed = br#"{"data": {}, "metadata": {"body_encoding": "base64"}}"#;
    assert_eq!(encoding("plain", "application/json", claimed), Value::Null);
}

#[test]
fn compressed_body_is_refused_with_its_encoding() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    let mut send = |path: &str, encoding: &str| {
        let headers = [("content-type", "application/json"), ("content-encoding", encoding)];
        client.send("POST", path, &headers, b"{}").unwrap()
    };
    for path in ["/api/v1/data/e", "/api/v1/data/e/async", "/api/v1/admin/workflows/validate"] {
        let refused = error(&send(path, "gzip"), 415, "UNSUPPORTED_MEDIA_TYPE");
        assert_eq!(refused["message"], "The body has the content encoding gzip; send it without one");
        assert_ne!(send(path, "identity").status, 415);
    }
}

#[test]
fn topic_records_are_read_as_json_or_raw() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    for (format, status) in [("form", 400), ("text", 400), ("auto", 400), ("xml", 400), ("raw", 201)] {
        let document = json!({"channel_id": format, "name": format, "channel_type": "async", "protocol": "kafka",
            "topic": format, "workflow_id": "e", "config": {"request": {"body": format}}});
        let answer = client.json("POST", "/api/v1/admin/channels", &document).unwrap();
        assert_eq!(answer.status, status, "{format}: {}", answer.text());
        if format == "form" {
            let details = details(&error(&answer, 400, "VALIDATION_ERROR"));
            assert_eq!(details[0].0, "channel.config.request.body");
        }
    }
}
