//! The bounds of each request, and the end of connections.

use std::time::Duration;

use svc_testkit::peer;
use svc_testkit::server::wait_until;
use svc_testkit::tls::issue_certificate;

use super::raw::{
    CANCEL, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, NO_ERROR, OK, PING, REFUSED_STREAM, RST_STREAM,
    RawClient, WINDOW, frame, get, post,
};
use super::{count_refusals, curl, start};

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
    assert_eq!(count_refusals(&server, "slow_body"), 1);
}

#[test]
fn response_that_is_not_taken_is_given_up_and_its_connection_goes_on() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__TRANSFER_WINDOW_SECS", "1")]);
    let mut client = RawClient::open(&server, &issued, &[(WINDOW, 0)]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    let reset = client.receive_kind(RST_STREAM).expect("the connection goes on");
    assert_eq!((reset.stream, reset.code()), (1, CANCEL));
    assert!(client.sync());
    assert_eq!(count_refusals(&server, "slow_reader"), 1);
}

#[test]
fn requests_beyond_the_bound_are_refused_and_the_others_are_served() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    let mut client = RawClient::open(&server, &issued, &[]);
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
    assert_eq!(count_refusals(&server, "head_too_large"), 1);
}

#[test]
fn connection_without_a_request_is_closed_whatever_frames_it_carries() {
    let issued = issue_certificate().unwrap();
    let server =
        start(&issued, &[("SVC_SERVER__KEEP_ALIVE_SECS", "1"), ("SVC_SERVER__HEAD_TIMEOUT_SECS", "1")]);
    let mut silent = RawClient::connect(&server, &issued);
    silent.send(b"PRI");
    assert!(silent.receive_kind(u8::MAX).is_none(), "the preface has the time of a head");
    let mut half = RawClient::open(&server, &issued, &[]);
    half.send(&frame(HEADERS, 0, 1, &post()));
    assert_eq!(half.receive_kind(GOAWAY).expect("a farewell").code(), NO_ERROR);

    let mut client = RawClient::open(&server, &issued, &[]);
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
    let mut client = RawClient::open(&server, &issued, &[]);
    client.send(&frame(HEADERS, END_HEADERS, 1, &post()));
    assert!(client.sync());
    server.signal("TERM").unwrap();
    let drains =
        wait_until(Duration::from_secs(30), || Ok(server.client().get("/readyz")?.status == 503)).unwrap();
    assert!(drains);
    client.send(&frame(DATA, END_STREAM, 1, b"{}"));
    assert_eq!(receive_answer_and_farewell(&mut client), (OK, NO_ERROR));
}

/// Returns the encoded status of the next response and the code of the next farewell, in whatever order they come.
fn receive_answer_and_farewell(client: &mut RawClient) -> (u8, u32) {
    let (mut answer, mut farewell) = (None, None);
    loop {
        if let (Some(answer), Some(farewell)) = (answer, farewell) {
            return (answer, farewell);
        }
        match client.receive().expect("an answer and a farewell") {
            frame if frame.kind == HEADERS => answer = Some(frame.payload[0]),
            frame if frame.kind == GOAWAY => farewell = Some(frame.code()),
            _ => {}
        }
    }
}

#[test]
fn idle_connection_is_told_at_the_begin_of_the_drain() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60")]);
    let mut client = RawClient::open(&server, &issued, &[]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    assert_eq!(client.receive_kind(HEADERS).expect("an answer").payload[0], OK);
    server.signal("TERM").unwrap();
    assert_eq!(client.receive_kind(GOAWAY).expect("a farewell").code(), NO_ERROR);
    // A client that has just connected gets its first request served.
    let mut late = RawClient::open(&server, &issued, &[]);
    assert!(late.sync());
    late.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/healthz")));
    assert_eq!(receive_answer_and_farewell(&mut late), (OK, NO_ERROR));
}
