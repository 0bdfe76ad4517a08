//! Spans and W3C trace context: what a caller began goes on in the service, in what it calls, and in a real collector.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::collector::{CollectedSpan, Collector};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::{ServerCommand, ServerProcess, free_port};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{echo, eventually, launch, serve, start_guarded};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
/// Longest time of an end.
const END: Duration = Duration::from_secs(20);

/// A `traceparent` of the caller's trace.
fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// A server that exports its spans, not yet started.
fn exporting(endpoint: &str, sample_rate: &str) -> ServerCommand {
    launch()
        .env("SVC_TRACING__ENABLED", "true")
        .env("SVC_TRACING__OTLP_ENDPOINT", endpoint)
        .env("SVC_TRACING__SERVICE_NAME", "orders-service")
        .env("SVC_TRACING__SAMPLE_RATE", sample_rate)
        .env("SVC_METRICS__ENABLED", "true")
}

/// A task that posts the payload to an upstream.
fn call() -> Value {
    json!([{"id": "ask", "name": "Ask", "function": {"name": "http_call", "input": {"connector": "shop",
        "method": "POST", "path": "/stock?key=swordfish", "body_logic": {"var": "payload"}}}}])
}

fn connect(client: &mut HttpClient, upstream: &Upstream) {
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "shop", "name": "shop", "connector_type": "http", "config": config});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn shop() -> Upstream {
    Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap()
}

fn post(client: &mut HttpClient, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    let headers: Vec<_> = headers.iter().chain(&[("content-type", "application/json")]).copied().collect();
    client.send("POST", path, &headers, br#"{"card": "swordfish"}"#).unwrap()
}

/// Returns trace id, span id and flags of the `traceparent` that an upstream received last.
fn received(upstream: &Upstream) -> (String, String, String) {
    let requests = upstream.requests();
    let header = requests.last().unwrap().header("traceparent").expect("a traceparent").to_owned();
    let parts: Vec<_> = header.split('-').map(str::to_owned).collect();
    let [version, trace, span, flags] = parts.try_into().unwrap();
    assert_eq!(version, "00", "{header}");
    (trace, span, flags)
}

fn ends(mut server: ServerProcess) {
    server.signal("TERM").unwrap();
    assert!(server.wait(END).unwrap().success());
}

fn metric(client: &mut HttpClient, series: &str) -> f64 {
    let text = client.get("/metrics").unwrap().text();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    value.unwrap_or(0.0)
}

#[test]
fn request_passes_its_trace_to_the_upstream() {
    let Some(collector) = Collector::start() else { return };
    let server = exporting(&collector.endpoint(), "0").start().unwrap();
    let (mut client, upstream) = (server.client(), shop());
    connect(&mut client, &upstream);
    serve(&mut client, "orders", call());
    let headers =
        [("traceparent", &*parent("01")), ("tracestate", "vendor=1"), ("baggage", "user=swordfish")];
    assert_eq!(post(&mut client, "/api/v1/data/orders", &headers).status, 200);
    let (trace, span, flags) = received(&upstream);
    assert_eq!((trace.as_str(), flags.as_str()), (TRACE, "01"));
    let asked = upstream.requests().pop().unwrap();
    assert_eq!((asked.header("tracestate"), asked.header("baggage")), (Some("vendor=1"), None));
    let request = collector.span("POST /orders", "http.response.status_code");
    assert_eq!((&*request.service, &*request.kind, request.is_error), ("orders-service", "SERVER", false));
    assert_eq!((&*request.trace_id, &*request.parent_id), (TRACE, CALLER));
    assert_eq!(request.attribute("http.response.status_code"), Some("200"));
    assert_eq!(request.attribute("svc.channel"), Some("orders"));
    let task = collector.span("task http_call", "svc.connector");
    assert_eq!((&task.parent_id, &*task.kind), (&request.id, "INTERNAL"));
    assert_eq!((task.attribute("svc.task.id"), task.attribute("svc.connector")), (Some("ask"), Some("shop")));
    let call = collector.span("POST", "http.response.status_code");
    assert_eq!((&call.parent_id, &call.id, &*call.kind), (&task.id, &span, "CLIENT"));
    assert_eq!(call.attribute("server.address"), Some("127.0.0.1"));
    let everything = format!("{:?}", collector.spans());
    assert!(!everything.contains("swordfish"), "a body or a query string in a span: {everything}");
    eventually(|| metric(&mut client, "svc_spans_exported_total") == 3.0);
    let accept = [("accept", "application/openmetrics-text")];
    let text = client.send("GET", "/metrics", &accept, b"").unwrap().text();
    assert!(text.contains(&format!(" # {{trace_id=\"{TRACE}\"")), "{text}");
    ends(server);
}

#[test]
fn caller_decides_sampling_and_rate_decides_new_traces() {
    let Some(collector) = Collector::start() else { return };
    for (rate, header, flags) in [
        ("0", None, "00"),
        ("0", Some("00-not-a-parent-01".to_owned()), "00"),
        ("1", None, "01"),
        ("1", Some(parent("00")), "00"),
    ] {
        let server = exporting(&collector.endpoint(), rate).start().unwrap();
        let (mut client, upstream) = (server.client(), shop());
        connect(&mut client, &upstream);
        serve(&mut client, "orders", call());
        let headers: Vec<_> = header.iter().map(|value| ("traceparent", value.as_str())).collect();
        assert_eq!(post(&mut client, "/api/v1/data/orders", &headers).status, 200);
        let (trace, _, sent_flags) = received(&upstream);
        assert_eq!(sent_flags, flags, "rate {rate}, {header:?}");
        assert_eq!(trace == TRACE, header.is_some_and(|header| header.contains(TRACE)));
        ends(server);
    }
    // Each server has exported its last spans when it ended: only one of them had any.
    let request = collector.span("POST", "http.response.status_code");
    let names: Vec<_> = collector.spans().into_iter().map(|span| (span.trace_id, span.name)).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|(trace, _)| *trace == request.trace_id && trace != TRACE), "{names:?}");
}

#[test]
fn disabled_tracing_passes_no_trace_context_on() {
    let server = launch().start().unwrap();
    let (mut client, upstream) = (server.client(), shop());
    connect(&mut client, &upstream);
    serve(&mut client, "orders", call());
    let headers = [("traceparent", &*parent("01")), ("tracestate", "vendor=1")];
    assert_eq!(post(&mut client, "/api/v1/data/orders", &headers).status, 200);
    let request = upstream.requests().pop().unwrap();
    assert_eq!((request.header("traceparent"), request.header("tracestate")), (None, None));
}

#[test]
fn refused_and_failed_requests_have_spans_with_their_status() {
    let Some(collector) = Collector::start() else { return };
    let server = exporting(&collector.endpoint(), "1").start().unwrap();
    let mut client = server.client();
    let upstream = Upstream::start(|_| UpstreamReply::new(503, "{}")).unwrap();
    connect(&mut client, &upstream);
    serve(&mut client, "orders", call());
    echo(&mut client, "closed", json!({"validation_logic": {"==": [1, 2]}}));
    let failed = post(&mut client, "/api/v1/data/orders", &[]).status.to_string();
    let refused = post(&mut client, "/api/v1/data/closed", &[]).status;
    assert_eq!(refused, 400);
    assert_eq!(post(&mut client, "/api/v1/data/secret-path", &[]).status, 404);
    let request = collector.span("POST /orders", "error.type");
    assert_eq!((request.is_error, request.attribute("error.type")), (true, Some(&*failed)));
    let call = collector.find("POST", |span| span.kind == "CLIENT" && span.attribute("error.type").is_some());
    assert_eq!((call.is_error, call.attribute("error.type")), (true, Some("503")));
    let closed = collector.span("POST /closed", "http.response.status_code");
    assert_eq!((closed.is_error, closed.attribute("http.response.status_code")), (false, Some("400")));
    let is_absent = |span: &CollectedSpan| span.attribute("http.response.status_code") == Some("404");
    let absent = collector.find("POST", is_absent);
    assert_eq!((&*absent.kind, absent.attribute("http.route")), ("SERVER", None));
    assert!(!format!("{:?}", collector.spans()).contains("secret-path"), "the caller chose it");
    ends(server);
}

#[test]
fn accepted_work_links_to_submission_after_crash() {
    let Some(collector) = Collector::start() else { return };
    let server = exporting(&collector.endpoint(), "0").start().unwrap();
    let (mut client, upstream) = (server.client(), Upstream::start(|_| UpstreamReply::Held).unwrap());
    connect(&mut client, &upstream);
    serve(&mut client, "orders", call());
    let headers = [("traceparent", &*parent("01"))];
    assert_eq!(post(&mut client, "/api/v1/data/orders/async", &headers).status, 202);
    let submission = collector.span("POST /orders", "http.response.status_code");
    assert_eq!((&*submission.trace_id, &*submission.parent_id), (TRACE, CALLER));
    upstream.wait_for(1);
    let (first, _, flags) = received(&upstream);
    assert!(first != TRACE && flags == "01", "a trace of its own, exported as the submission is");
    let server = server.crash_and_restart().unwrap();
    upstream.open();
    let run = collector.find("run orders", |span| !span.links.is_empty() && !span.links[0].1.is_empty());
    assert_eq!((&*run.kind, &*run.parent_id, run.is_error), ("CONSUMER", "", false));
    assert_eq!(run.links, [(TRACE.to_owned(), submission.id)]);
    assert!(run.trace_id != TRACE && run.trace_id != first);
    ends(server);
}

#[test]
fn occurrence_and_its_channel_call_share_a_trace() {
    let Some(collector) = Collector::start() else { return };
    let server = exporting(&collector.endpoint(), "1").start().unwrap();
    let (mut client, upstream) = (server.client(), shop());
    connect(&mut client, &upstream);
    serve(&mut client, "callee", call());
    let tasks = json!([{"id": "pass", "name": "Pass", "function": {"name": "channel_call",
        "input": {"channel": "callee", "data": {"n": 1}}}}]);
    let workflow = json!({"workflow_id": "nightly", "name": "nightly", "tasks": tasks});
    let channel = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "nightly", "transport_config": {"schedule": "0 0 0 1 1 *"}});
    for (kind, key, document) in
        [("workflows", "workflow_id", &workflow), ("channels", "channel_id", &channel)]
    {
        svc_testkit::example::create_and_activate(&mut client, kind, key, document).unwrap();
    }
    let triggered = client.send("POST", "/api/v1/admin/channels/nightly/trigger", &[], b"").unwrap();
    assert_eq!(triggered.status, 202, "{}", triggered.text());
    let occurrence = triggered.json()["data"]["id"].as_str().unwrap().to_owned();
    let run = collector.span("run nightly", "svc.trace.id");
    assert_eq!((&*run.parent_id, run.attribute("svc.occurrence.id")), ("", Some(&*occurrence)));
    let call = collector.span("task channel_call", "svc.task.id");
    let task = collector.span("task http_call", "svc.connector");
    let (trace, _, _) = received(&upstream);
    assert_eq!([&run.trace_id, &call.trace_id, &task.trace_id], [&trace; 3]);
    assert_eq!((&call.parent_id, &task.parent_id), (&run.id, &call.id));
    ends(server);
}

#[test]
fn collector_that_is_away_costs_spans_and_nothing_else() {
    let port = free_port().unwrap();
    let server = exporting(&format!("http://127.0.0.1:{port}"), "1").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    let dropped =
        |client: &mut HttpClient| metric(client, r#"svc_spans_dropped_total{reason="export_failed"}"#);
    for spans in [1.0, 2.0] {
        // A request and its task.
        assert_eq!(post(&mut client, "/api/v1/data/orders", &[]).status, 200);
        eventually(|| dropped(&mut client) >= spans * 2.0);
    }
    let log = server.wait_for_log(&["spans are not exported"]).unwrap();
    assert_eq!(log.matches("spans are not exported").count(), 1, "{log}");
    let Ok(collector) = Collector::start_on(port) else { return ends(server) };
    // The spans of a request are dropped as long as the connection is not made anew.
    eventually(|| {
        assert_eq!(post(&mut client, "/api/v1/data/orders", &[]).status, 200);
        metric(&mut client, "svc_spans_exported_total") > 0.0
    });
    collector.span("POST /orders", "http.response.status_code");
    server.wait_for_log(&["spans are exported again"]).unwrap();
    ends(server);
}

#[test]
fn last_spans_are_exported_at_the_end() {
    let Some(collector) = Collector::start() else { return };
    let server = exporting(&collector.endpoint(), "1").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    assert_eq!(post(&mut client, "/api/v1/data/orders", &[]).status, 200);
    ends(server);
    collector.span("POST /orders", "http.response.status_code");
}

#[test]
fn collector_that_hangs_does_not_hold_up_the_end() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let mut server = exporting(&endpoint, "1").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    assert_eq!(post(&mut client, "/api/v1/data/orders", &[]).status, 200);
    server.signal("TERM").unwrap();
    assert!(server.wait(END).unwrap().success());
    let log = server.log_text();
    assert!(log.contains("spans dropped by the shutdown deadline"), "{log}");
}

#[test]
fn stored_run_names_its_exported_trace() {
    // Nothing listens there: the id does not wait for the export.
    let endpoint = format!("http://127.0.0.1:{}", free_port().unwrap());
    let address = "https://traces.example/t/{trace_id}?tab=spans";
    // An admin API without keys shows accepted work to the holder of its token alone.
    let (_server, mut client) = start_guarded(exporting(&endpoint, "1").env("SVC_TRACING__UI_URL", address));
    echo(&mut client, "orders", json!({"tracing": {"mode": "sync"}}));
    let mut stored = |path: &str, flags: &str| {
        let answer = post(&mut client, path, &[("traceparent", &parent(flags))]);
        let id = answer.header("x-trace-id").unwrap().to_owned();
        client.get(&format!("/api/v1/admin/traces/{id}")).unwrap().json()["data"].clone()
    };
    for path in ["/api/v1/data/orders", "/api/v1/data/orders/async"] {
        let trace = stored(path, "01");
        assert_eq!(trace["distributed_trace_id"], TRACE, "{path}");
        let url = format!("https://traces.example/t/{TRACE}?tab=spans");
        assert_eq!(trace["distributed_trace_url"], url, "{path}");
        let hidden = stored(path, "00");
        assert_eq!(hidden.get("distributed_trace_id"), None, "{path}: it is not exported");
        assert_eq!(hidden.get("distributed_trace_url"), None, "{path}");
    }
}
