//! Clients that are slow.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use svc_testkit::server::ServerProcess;

use super::{ends, hurried_command};
use crate::support::{echo, eventually, launch};

/// More than both socket buffers hold.
const LARGE: usize = 24 << 20;

/// Sends the head of a request and this much of its body.
fn begin(server: &ServerProcess, length: usize, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /api/v1/data/s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(sent).unwrap();
    stream
}

/// Opens a connection that asks for the health of the process once.
fn ask(server: &ServerProcess) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    stream
}

#[test]
fn idle_connection_ends_when_draining_begins() {
    let server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "600").start().unwrap();
    let mut idle = ask(&server);
    let mut start = [0; 12];
    idle.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    server.signal("TERM").unwrap();
    let mut rest = String::new();
    idle.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("HTTP/1.1 "), "it is closed in silence: {rest}");
    // The service still accepts. A client that has just connected gets its first request served, and no other.
    let mut answer = String::new();
    ask(&server).read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
}

#[test]
fn a_body_that_does_not_arrive_is_given_up() {
    let mut server = hurried_command().start().unwrap();
    echo(&mut server.client(), "s", json!({}));
    let mut slow = begin(&server, 100, b"{\"a\":");
    ends(&mut server, "TERM");
    let mut answer = String::new();
    // A connection that was reset is as good.
    let _ = slow.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503"), "{answer}");
}

#[test]
fn an_answer_that_is_not_read_is_given_up() {
    let mut server = hurried_command()
        .env("SVC_INGEST__MAX_PAYLOAD_SIZE", "67108864")
        .env("SVC_TRACE_QUEUE__MAX_RESULT_SIZE_BYTES", "0")
        .env("SVC_TRACE_STORAGE__MODE", "off")
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap();
    let mut client = server.client();
    echo(&mut client, "s", json!({}));
    let body = format!("\"{}\"", "x".repeat(LARGE)).into_bytes();
    let _slow = begin(&server, body.len(), &body);
    let answered = |page: &str| page.contains(r#"svc_messages_total{channel="s",status="ok"} 1"#);
    eventually(|| answered(&client.get("/metrics").unwrap().text()));
    ends(&mut server, "TERM");
}
