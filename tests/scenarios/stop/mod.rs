//! The end of the process keeps its deadline, whatever runs, and loses nothing that was accepted.

mod clients;
mod storage;
mod terminal;
mod waits;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::support::{eventually, launch};

const ADMIN: &str = "/api/v1/admin";

/// The configured force timeout of 1 s, the 2 s beyond it that are promised, and 7 s for a machine under load; the work
/// itself would be waited for ten minutes.
const PROMISE: Duration = Duration::from_secs(1 + 2 + 7);

/// A server with a force timeout of a second, and work that would be waited for much longer by itself.
fn hurried_command() -> ServerCommand {
    launch()
        .env("SVC_SERVER__SHUTDOWN_FORCE_TIMEOUT_SECS", "1")
        .env("SVC_TRACE_QUEUE__SHUTDOWN_TIMEOUT_SECS", "600")
        .env("SVC_TRACE_QUEUE__PROCESSING_TIMEOUT_MS", "600000")
        .env("SVC_CRON__SHUTDOWN_TIMEOUT_SECS", "600")
}

/// A peer that accepts every connection and stays silent.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn connect(client: &mut HttpClient, name: &str, kind: &str, config: &Value) {
    let body = json!({"name": name, "connector_type": kind, "config": config});
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn task(function: &str, input: Value) -> Value {
    json!([{"id": "wait", "name": "Wait", "function": {"name": function, "input": input}}])
}

/// Sends a request from a thread of its own.
fn request(server: &ServerProcess, channel: &str, payload: Value) -> JoinHandle<io::Result<HttpResponse>> {
    let (mut client, path) = (server.client(), format!("/api/v1/data/{channel}"));
    thread::spawn(move || client.json("POST", &path, &payload))
}

/// Submits a payload and waits until it runs; answers its trace.
fn running(client: &mut HttpClient, channel: &str, payload: &Value) -> String {
    let accepted = client.json("POST", &format!("/api/v1/data/{channel}/async"), payload).unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let id = accepted.json()["trace_id"].as_str().unwrap().to_owned();
    eventually(|| trace(client, &id)["status"] == "running");
    id
}

fn trace(client: &mut HttpClient, id: &str) -> Value {
    let page = client.get(&format!("{ADMIN}/traces?limit=100")).unwrap().json();
    let traces = page["data"].as_array().cloned().unwrap_or_default();
    traces.into_iter().find(|trace| trace["id"] == id).unwrap_or_default()
}

/// Ends the server by a signal; it must be gone in time.
fn ends(server: &mut ServerProcess, signal: &str) {
    server.signal(signal).unwrap();
    server.wait(PROMISE).unwrap_or_else(|error| panic!("{error}\n{}", server.log_text()));
}

/// Checks that a caller got the answer that the service ends, or found its connection closed.
fn is_cut(caller: JoinHandle<io::Result<HttpResponse>>) {
    if let Ok(answer) = caller.join().unwrap() {
        assert_eq!(answer.status, 503, "{}", answer.text());
    }
}

/// Checks that accepted work counts as unfinished, not as failed, for the next process.
fn is_unfinished(client: &mut HttpClient, id: &str) {
    let trace = trace(client, id);
    assert!(matches!(trace["status"].as_str(), Some("pending" | "running")), "{trace}");
    let letters = client.get(&format!("{ADMIN}/trace-dlq")).unwrap().json();
    assert_eq!(letters["data"], json!([]), "{letters}");
}

/// Ends the server while a request and a submission of `channel` run; both must be cut in time, and the
/// submission goes back to the queue. Answers the next process and the trace.
fn cut_short(mut server: ServerProcess, channel: &str, payload: &Value) -> (ServerProcess, String) {
    let caller = request(&server, channel, payload.clone());
    let id = running(&mut server.client(), channel, payload);
    ends(&mut server, "TERM");
    is_cut(caller);
    let next = server.crash_and_restart().unwrap();
    is_unfinished(&mut next.client(), &id);
    (next, id)
}
