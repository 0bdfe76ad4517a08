//! Clients that work against the service.

use svc_testkit::http2::{
    CONTINUATION, END_HEADERS, ENHANCE_YOUR_CALM, GOAWAY, HEADERS, PING, RST_STREAM, RawClient, SETTINGS,
    frame, post,
};
use svc_testkit::tls::issue_certificate;

use super::{count_refusals, open, start};
use crate::support::eventually;

/// More frames than any honest client sends, and a bound of the test.
const MANY: u32 = 20_000;

/// The length of a `RST_STREAM` and its code `CANCEL`.
const GIVEN_UP: [u8; 4] = [0, 0, 0, 8];

#[test]
fn client_resetting_requests_loses_its_connection() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    for waits in [false, true] {
        let mut client = open(&server, &issued, &[]);
        let streams = (0..MANY).map(|number| 2 * number + 1).take_while(|stream| {
            // Either the service sees both at once, or it has begun to serve the request.
            client.send(&frame(HEADERS, END_HEADERS, *stream, &post()))
                && (!waits || client.sync())
                && client.send(&frame(RST_STREAM, 0, *stream, &GIVEN_UP))
        });
        let streams = u32::try_from(streams.count()).unwrap();
        assert!(streams < MANY, "{waits}: the service closes the connection");
    }
    eventually(|| count_refusals(&server, "http2_flood") == 2);
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
}

#[test]
fn head_without_an_end_loses_its_connection() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    for part in [Vec::new(), [&[0x00, 1, b'x', 127][..], &[b'y'; 127]].concat()] {
        let mut client = open(&server, &issued, &[]);
        assert!(client.sync());
        client.send(&frame(HEADERS, 0, 1, &post()));
        let frames = (0..MANY).take_while(|_| client.send(&frame(CONTINUATION, 0, 1, &part))).count();
        assert!(frames < MANY as usize, "the service closes the connection");
    }
    // By the number of its frames, or by their bytes.
    eventually(|| count_refusals(&server, "http2_flood") + count_refusals(&server, "malformed_head") == 2);
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
}

#[test]
fn frames_that_break_the_protocol_end_the_connection() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[]);
    for broken in [
        // A stream of the server's, a continuation of nothing, a compressed head of no sense.
        frame(HEADERS, END_HEADERS, 2, &post()),
        frame(CONTINUATION, END_HEADERS, 1, &post()),
        frame(HEADERS, END_HEADERS, 1, &[0xff; 16]),
    ] {
        let mut client = open(&server, &issued, &[]);
        client.send(&broken);
        let farewell = client.receive_kind(GOAWAY).expect("the service says why");
        assert_ne!(farewell.code(), ENHANCE_YOUR_CALM);
        assert!(client.receive_kind(GOAWAY).is_none(), "and closes");
    }
    eventually(|| count_refusals(&server, "malformed_head") == 3);
    let mut client = RawClient::connect(&server, &issued).unwrap();
    client.send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(client.receive_kind(u8::MAX).is_none(), "HTTP/1.1 where HTTP/2 was agreed on");
    // The connection is closed before it is counted.
    eventually(|| count_refusals(&server, "malformed_head") == 4);
}

/// Unread answers must not be kept: the service stops reading instead.
#[test]
fn client_that_never_reads_keeps_no_memory() {
    let issued = issue_certificate().unwrap();
    let server = start(&issued, &[("SVC_SERVER__HEAD_TIMEOUT_SECS", "2")]);
    for question in [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, 0, 0, &[])] {
        let mut client = open(&server, &issued, &[]);
        let block = question.repeat(1000);
        // The service closes in the end, since no request comes.
        let frames = (0..MANY).take_while(|_| client.send(&block)).count();
        assert!(frames < MANY as usize);
    }
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
}
