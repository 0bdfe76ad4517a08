//! The formats of bodies: JSON, forms, text, rows, XML, files and raw bytes; compressed bodies.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{channel, details, echo, error, launch, start, wait_until_stable};

const FORM: &str = "application/x-www-form-urlencoded";
/// A field and a file.
const PARTS: &[u8] =
    b"--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\ngood day\r\n--b\r\nContent-Disposition: \
    form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--b--\r\n";
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
    let refused = error(&post_signed(&mut client, "image/png", b"a,b"), 415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(
        refused["message"],
        "The content type must be application/json, application/x-www-form-urlencoded, multipart/form-data, \
         text/plain, text/csv or application/xml"
    );
    error(&post_signed(&mut client, FORM, b"a=%zz"), 400, "VALIDATION_ERROR");
    error(&post(&mut client, "slack", FORM, SLASH_COMMAND), 401, "UNAUTHORIZED");
}

#[test]
fn channel_says_which_bodies_it_takes() {
    let server = start();
    let mut client = server.client();
    for format in ["json", "form", "text", "csv", "xml", "multipart", "raw", "auto"] {
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
    let rows = json!([{"sku": "A", "qty": "2"}, {"sku": "B", "qty": ""}]);
    assert_eq!(input("csv", "text/csv", b"sku,qty\r\nA,2\r\nB,\r\n"), (200, rows.clone()));
    assert_eq!(input("auto", "text/csv; charset=utf-8", b"sku,qty\nA,2\nB,\n"), (200, rows));
    assert_eq!(input("csv", "text/csv", b"sku,qty\nA\n"), (400, Value::Null));
    let order = json!({"@id": "7", "line": [{"$text": "A"}, {"$text": "B"}]});
    let xml = b"<order id=\"7\"><line>A</line><line>B</line></order>";
    assert_eq!(input("xml", "application/xml", xml), (200, order.clone()));
    assert_eq!(input("auto", "application/soap+xml", xml), (200, order));
    assert_eq!(input("xml", "text/xml", b"<order>"), (400, Value::Null));
    let file = json!({"filename": "a.txt", "content_type": "text/plain", "size": 2, "base64": "aGk="});
    for name in ["multipart", "auto"] {
        let parts = input(name, "multipart/form-data; boundary=b", PARTS);
        assert_eq!(parts, (200, json!({"note": "good day", "file": file})), "{name}");
    }
    assert_eq!(input("multipart", "multipart/form-data", PARTS), (400, Value::Null));
    assert_eq!(input("multipart", "multipart/form-data; boundary=c", PARTS), (400, Value::Null));
    assert_eq!(input("auto", "", b"{\"a\":1}"), (200, json!({"a": 1})));
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
fn topic_records_are_not_read_as_forms() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    for (format, status) in [
        ("form", 400),
        ("multipart", 400),
        ("text", 201),
        ("csv", 201),
        ("xml", 201),
        ("auto", 201),
        ("raw", 201),
    ] {
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

/// `{"sku":"A","qty":2}`, compressed by other programs, in base64.
const COMPRESSED: [(&str, &str); 4] = [
    ("gzip", "H4sIAAAAAAACA6tWKs4uVbJSclTSUSosqVSyMqoFAJxMf5kTAAAA"),
    ("deflate", "eJyrVirOLlWyUnJU0lEqLKlUsjKqBQA4KgWJ"),
    ("br", "CwmAeyJza3UiOiJBIiwicXR5IjoyfQM="),
    ("zstd", "KLUv/QRYmQAAeyJza3UiOiJBIiwicXR5IjoyfVMIQyE="),
];

/// `{}` behind 200,000 blanks, compressed by gzip, in base64.
const BOMB: &str = "H4sIAAAAAAACA+3BQREAAAwCoCr29Oy+DPsDCQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADw1R1d+U5fQg0DAA\
    ==";

fn unpack(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap()
}

fn post_encoded(client: &mut HttpClient, path: &str, encoding: &str, body: &[u8]) -> HttpResponse {
    let headers = [("content-type", "application/json"), ("content-encoding", encoding)];
    client.send("POST", &format!("/api/v1/data/{path}"), &headers, body).unwrap()
}

#[test]
fn channel_decodes_the_encodings_it_names() {
    let server = launch().env("SVC_INGEST__MAX_PAYLOAD_SIZE", "100000").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "all", json!({"request": {"decompress": true}}));
    echo(&mut client, "some", json!({"request": {"decompress": ["gzip", "br"]}}));
    let order = json!({"sku": "A", "qty": 2});
    for (encoding, body) in COMPRESSED {
        let answer = post_encoded(&mut client, "all", encoding, &unpack(body));
        assert_eq!((answer.status, &answer.json()["data"]["input"]), (200, &order), "{encoding}");
    }
    let refused = post_encoded(&mut client, "some", "zstd", &unpack(COMPRESSED[3].1));
    assert_eq!(
        error(&refused, 415, "UNSUPPORTED_MEDIA_TYPE")["message"],
        "The body has the content encoding zstd; the channel takes gzip, br or none"
    );
    let refused = post_encoded(&mut client, "some", "gzip", &unpack(BOMB));
    assert_eq!(
        error(&refused, 413, "PAYLOAD_TOO_LARGE")["message"],
        "The body is larger than 100000 bytes once it is decoded (ingest.max_payload_size)"
    );
    error(&post_encoded(&mut client, "some", "gzip", b"{}"), 400, "VALIDATION_ERROR");
    assert_eq!(post(&mut client, "some", "application/json", b"{}").status, 200);
}

#[test]
fn signature_covers_the_compressed_bytes() {
    let server = start();
    let mut client = server.client();
    let auth = json!({"mode": "hmac", "secret": "s3cret", "header": "x-signature"});
    echo(&mut client, "signed", json!({"auth": auth, "request": {"decompress": ["gzip"]}}));
    let body = unpack(COMPRESSED[0].1);
    let mut send = |signed: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
        mac.update(signed);
        let signature = hex::encode(mac.finalize().into_bytes());
        let headers = [
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
            ("x-signature", signature.as_str()),
        ];
        client.send("POST", "/api/v1/data/signed", &headers, &body).unwrap()
    };
    let answer = send(&body);
    assert_eq!(
        (answer.status, &answer.json()["data"]["input"]["sku"]),
        (200, &json!("A")),
        "{}",
        answer.text()
    );
    error(&send(br#"{"sku":"A","qty":2}"#), 401, "UNAUTHORIZED");
}

#[test]
fn accepted_work_has_the_decoded_payload() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "rows", json!({"request": {"body": "csv"}}));
    echo(&mut client, "later", json!({"request": {"body": "auto", "mode": "accept", "decompress": true}}));
    let rows = client.send("POST", "/api/v1/data/rows/async", &[("content-type", "text/csv")], b"a,b\n1,2\n");
    let later = post_encoded(&mut client, "later", "gzip", &unpack(COMPRESSED[0].1));
    for (accepted, payload) in
        [(rows.unwrap(), json!([{"a": "1", "b": "2"}])), (later, json!({"sku": "A", "qty": 2}))]
    {
        assert_eq!(accepted.status, 202, "{}", accepted.text());
        let (place, token) = (accepted.header("location").unwrap(), accepted.json()["trace_token"].clone());
        let token = [("x-trace-token", token.as_str().unwrap())];
        let done =
            wait_until_stable(|| client.send("GET", place, &token, b"").unwrap().json()["data"].clone());
        assert_eq!(done["data"]["input"], payload, "{done}");
    }
}

#[test]
fn trial_reads_bodies_like_a_real_request() {
    let server = start();
    let mut client = server.client();
    echo(
        &mut client,
        "trial",
        json!({
            "request": {"body": "csv", "decompress": ["gzip"]},
            "validation_logic": {"==": [{"var": "data.0.qty"}, "2"]},
        }),
    );
    // The rows `sku,qty` and `A,2`, compressed by gzip.
    let packed = "H4sIAAAAAAACAyvOLtUpLKnkctQx4gIAUadLLgwAAAA=";
    let csv = json!({"content-type": "text/csv"});
    let gzip = json!({"content-type": "text/csv", "content-encoding": "gzip"});
    let brotli = json!({"content-type": "text/csv", "content-encoding": "br"});
    for (request, reason) in [
        (json!({"headers": csv, "body": "sku,qty\nA,2\n"}), Value::Null),
        (json!({"headers": gzip, "body_base64": packed}), Value::Null),
        (json!({"headers": csv, "body": "sku,qty\nA,3\n"}), json!("not_valid")),
        (json!({"headers": csv, "body": "sku,qty\nA\n"}), json!("malformed")),
        (json!({"headers": brotli, "body": "sku"}), json!("content_type")),
        (json!({"headers": {"content-type": "text/xml"}, "body": "<a/>"}), json!("content_type")),
    ] {
        let answer = client.json("POST", "/api/v1/admin/channels/trial/test", &request).unwrap().json();
        assert_eq!(answer["data"]["refusal"]["reason"], reason, "{request}: {answer}");
    }
    let bare = client.send("POST", "/api/v1/admin/channels/trial/test", &[], b"").unwrap();
    let explicit = client.json("POST", "/api/v1/admin/channels/trial/test", &json!({})).unwrap();
    assert_eq!((bare.status, bare.json()["data"].clone()), (200, explicit.json()["data"].clone()));
}
