//! The bounds of each request, and the end of connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http2::{
    CANCEL, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, NO_ERROR, OK, PING, REFUSED_STREAM, RST_STREAM,
    RawClient, WINDOW, field, frame, get, post,
};
use svc_testkit::peer;
use svc_testkit::server::wait_until;
use svc_testkit::tls::issue_certificate;

use super::{count_refusals, curl, open, start};
use crate::support::{echo, eventually, launch};

#[test]
fn slow_body_is_refused_alone() {
    if !peer::is_installed("curl", "curl") {
        return;
    }
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__BODY_TIMEOUT_SECS", "2")]);
    let payload = server.directory().join("payload.json");
    std::fs::write(&payload, format!("{{\"text\": \"{}\"}}", "x".repeat(900_000))).unwrap();
    let (data, address) =
        (format!("@{}", payload.display()), format!("https://{}/api/v1/data/e", server.address()));
    let slow =
        ["--limit-rate", "1k", "-o", "/dev/null", "-H", "content-type: application/json", "--data-binary"];
    let answered = curl(&server, &[&slow[..], &[&data, &address]].concat());
    assert!(answered.ends_with("2 408\n"), "{answered}");
    eventually(|| count_refusals(&server, "slow_body") == 1);
}

#[test]
fn untaken_response_is_dropped_and_connection_continues() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__TRANSFER_WINDOW_SECS", "1")]);
    let mut client = open(&server, &issued, &[(WINDOW, 0)]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    let reset = client.receive_kind(RST_STREAM).expect("the connection goes on");
    assert_eq!((reset.stream, reset.code()), (1, CANCEL));
    assert!(client.sync());
    eventually(|| count_refusals(&server, "slow_reader") == 1);
}

#[test]
fn requests_beyond_bound_are_refused_others_served() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    let mut client = open(&server, &issued, &[]);
    for number in 0..=100 {
        client.send(&frame(HEADERS, END_HEADERS, 2 * number + 1, &post()));
    }
    let reset = client.receive_kind(RST_STREAM).expect("the connection goes on");
    assert_eq!((reset.stream, reset.code()), (201, REFUSED_STREAM));
    for number in 0..100 {
        client.send(&frame(DATA, END_STREAM, 2 * number + 1, b"{}"));
    }
    for _ in 0..100 {
        let head = client.receive_kind(HEADERS).expect("every request is answered");
        assert_eq!(head.payload[0], OK);
    }
}

#[test]
fn head_above_the_bound_gets_431() {
    if !peer::is_installed("curl", "curl") {
        return;
    }
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    let address = format!("https://{}/healthz", server.address());
    let ask = |bytes: usize| {
        let header = format!("x-large: {}", "x".repeat(bytes));
        curl(&server, &["-i", "-H", &header, &address])
    };
    assert!(ask(30_000).ends_with("2 200\n"));
    let answered = ask(40_000);
    assert!(answered.ends_with("2 431\n"), "{answered}");
    let body = answered.lines().rev().nth(1).unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["code"], "REQUEST_HEADER_FIELDS_TOO_LARGE");
    let id = body["error"]["request_id"].as_str().unwrap();
    let id = format!("x-request-id: {id}");
    for header in ["content-type: application/json", id.as_str(), "strict-transport-security"] {
        assert!(answered.contains(header), "{header}: {answered}");
    }
    eventually(|| count_refusals(&server, "head_too_large") == 1);
}

#[test]
fn too_many_head_fields_get_431() {
    if !peer::is_installed("curl", "curl") {
        return;
    }
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    let address = format!("https://{}/healthz", server.address());
    let ask = |protocol: &str, count: usize| {
        let fields: Vec<String> = (0..count).map(|number| format!("x{number}: a")).collect();
        let fields = fields.iter().flat_map(|field| ["-H", field.as_str()]);
        let arguments: Vec<&str> = ["-o", "/dev/null", protocol].into_iter().chain(fields).collect();
        curl(&server, &[&arguments[..], &[&address]].concat())
    };
    // curl adds user-agent and accept.
    for (protocol, version, most) in [("--http1.1", "1.1", 90), ("--http2", "2", 98)] {
        assert!(ask(protocol, most).ends_with(&format!("{version} 200\n")), "{version}");
        assert!(ask(protocol, 99).ends_with(&format!("{version} 431\n")), "{version}");
    }
    eventually(|| count_refusals(&server, "head_too_large") == 2);
}

#[test]
fn heads_of_one_connection_share_a_budget() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    let fields: Vec<u8> = (0..90).flat_map(|number| field(&format!("x{number}"), "a")).collect();
    let head = [post(), fields].concat();
    let mut client = open(&server, &issued, &[]);
    for number in 0..60 {
        client.send(&frame(HEADERS, END_HEADERS, 2 * number + 1, &head));
    }
    let first = client.receive_kind(RST_STREAM).expect("the connection goes on");
    assert_eq!(first.code(), REFUSED_STREAM);
    assert!((21..80).contains(&first.stream), "20 requests of this size fit: {}", first.stream);
    assert!(client.sync());
    eventually(|| count_refusals(&server, "too_many_heads") > 20);
    // The others are served, and their end makes room.
    client.send(&frame(DATA, END_STREAM, 1, b"{}"));
    assert_eq!(client.receive_kind(HEADERS).expect("an answer").payload[0], OK);
    client.send(&frame(HEADERS, END_HEADERS, 201, &head));
    client.send(&frame(DATA, END_STREAM, 201, b"{}"));
    assert_eq!(client.receive_kind(HEADERS).expect("an answer").payload[0], OK);
}

#[test]
fn waiting_heads_count_among_the_bytes_in_flight() {
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_SERVER__MAX_IN_FLIGHT_BYTES", "100000")
        .start()
        .unwrap();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    let fields: String = (0..90).map(|number| format!("x{number}: a\r\n")).collect();
    let head = format!(
        "POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n{fields}\r\n"
    );
    let mut held: Vec<TcpStream> = Vec::new();
    let is_refused =
        wait_until(Duration::from_secs(30), || {
            let mut stream = TcpStream::connect(server.address())?;
            stream.write_all(head.as_bytes())?;
            held.push(stream);
            Ok(client.get("/metrics")?.text().lines().any(|line| {
                line.strip_prefix("svc_in_flight_rejected_total ").is_some_and(|count| count != "0")
            }))
        });
    assert!(is_refused.unwrap(), "heads alone fill the bound");
    let mut answer = [0; 13];
    held.pop().unwrap().read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503 ");
    drop(held);
    let is_served = wait_until(Duration::from_secs(30), || {
        Ok(client.json("POST", "/api/v1/data/e", &json!({}))?.status == 200)
    });
    assert!(is_served.unwrap(), "everything is given back");
}

#[test]
fn connection_without_request_is_closed_despite_frames() {
    let issued = issue_certificate().unwrap();
    let server =
        start(&issued, &[("SVC_SERVER__KEEP_ALIVE_SECS", "1"), ("SVC_SERVER__HEAD_TIMEOUT_SECS", "1")]);
    let mut silent = RawClient::connect(&server, &issued).unwrap();
    silent.send(b"PRI");
    assert!(silent.receive_kind(u8::MAX).is_none(), "the preface has the time of a head");
    let mut half = open(&server, &issued, &[]);
    half.send(&frame(HEADERS, 0, 1, &post()));
    assert_eq!(half.receive_kind(GOAWAY).expect("a farewell").code(), NO_ERROR);

    let mut client = open(&server, &issued, &[]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    assert_eq!(client.receive_kind(HEADERS).expect("an answer").payload[0], OK);
    let farewell = loop {
        client.send(&frame(PING, 0, 0, &[0; 8]));
        match client.receive().expect("a farewell comes first") {
            farewell if farewell.kind == GOAWAY => break farewell,
            _ => {}
        }
    };
    assert_eq!(farewell.code(), NO_ERROR);
    // A request that was on its way is served.
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &get("/healthz")));
    assert_eq!(client.receive_kind(HEADERS).expect("an answer").payload[0], OK);
}

#[test]
fn draining_service_answers_and_says_goodbye() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60")]);
    let mut client = open(&server, &issued, &[]);
    client.send(&frame(HEADERS, END_HEADERS, 1, &post()));
    assert!(client.sync());
    server.signal("TERM").unwrap();
    let drains =
        wait_until(Duration::from_secs(30), || Ok(server.client().get("/readyz")?.status == 503)).unwrap();
    assert!(drains);
    client.send(&frame(DATA, END_STREAM, 1, b"{}"));
    assert_eq!(client.receive_answer_and_farewell().unwrap(), (OK, NO_ERROR));
}

#[test]
fn idle_connection_gets_goaway_when_draining_begins() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60")]);
    let mut client = open(&server, &issued, &[]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    assert_eq!(client.receive_kind(HEADERS).expect("an answer").payload[0], OK);
    server.signal("TERM").unwrap();
    assert_eq!(client.receive_kind(GOAWAY).expect("a farewell").code(), NO_ERROR);
    // A client that has just connected gets its first request served.
    let mut late = open(&server, &issued, &[]);
    assert!(late.sync());
    late.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    assert_eq!(late.receive_answer_and_farewell().unwrap(), (OK, NO_ERROR));
}
