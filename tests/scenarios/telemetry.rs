//! Metrics and the log over OTLP: they arrive at a real collector by either protocol, and one that is away costs nothing.

use std::time::Duration;

use serde_json::json;
use svc_testkit::collector::Collector;
use svc_testkit::server::{ServerCommand, ServerProcess, free_port};

use crate::support::{echo, eventually, launch};

/// Longest time of an end.
const END: Duration = Duration::from_secs(20);

/// A server that exports its metrics and its log, not yet started.
fn exporting(protocol: &str, endpoint: &str) -> ServerCommand {
    launch()
        .env("SVC_TELEMETRY__ENDPOINT", endpoint)
        .env("SVC_TELEMETRY__PROTOCOL", protocol)
        .env("SVC_TELEMETRY__METRICS", "true")
        .env("SVC_TELEMETRY__METRICS_INTERVAL_SECS", "1")
        .env("SVC_TELEMETRY__LOGS", "true")
        .env("SVC_TRACING__SERVICE_NAME", "orders-service")
        .env("SVC_METRICS__ENABLED", "true")
}

fn metric(server: &ServerProcess, series: &str) -> f64 {
    let text = server.client().get("/metrics").unwrap().text();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    value.unwrap_or(0.0)
}

fn assert_signals_arrive(collector: &Collector, protocol: &str, endpoint: &str) {
    let mut server = exporting(protocol, endpoint).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "m", json!({}));
    assert_eq!(client.json("POST", "/api/v1/data/m", &json!({})).unwrap().status, 200);
    let resource = "-> service.name: Str(orders-service)";
    let counter = ["-> Name: svc_messages", "-> DataType: Sum", "-> IsMonotonic: true"];
    collector
        .wait_for_lines(&[&[resource][..], &counter[..], &["-> channel: Str(m)", "Value: 1"][..]].concat());
    let histogram = ["-> Name: svc_message_duration_seconds", "-> Unit: s", "-> DataType: Histogram"];
    collector.wait_for_lines(&[&histogram[..], &["-> channel: Str(m)", "Count: 1"][..]].concat());
    collector.wait_for_lines(&["-> Name: process_cpu_seconds", "-> DataType: Sum"]);
    let level = "SeverityNumber: SEVERITY_NUMBER_INFO(9)";
    collector.wait_for_lines(&["ResourceLog #0", resource, level, "Body: Str(service started)"]);
    for signal in ["metrics", "logs"] {
        let series = format!("svc_telemetry_exported_total{{signal=\"{signal}\"}}");
        eventually(|| metric(&server, &series) > 0.0);
    }
    server.signal("TERM").unwrap();
    assert!(server.wait(END).unwrap().success(), "{}", server.log_text());
}

#[test]
fn metrics_and_log_arrive_over_grpc() {
    let Some(collector) = Collector::start() else { return };
    assert_signals_arrive(&collector, "grpc", &collector.endpoint());
}

#[test]
fn metrics_and_log_arrive_over_http() {
    let Some(collector) = Collector::start() else { return };
    assert_signals_arrive(&collector, "http/protobuf", &collector.http_endpoint());
}

#[test]
fn absent_collector_costs_requests_and_end_nothing() {
    for protocol in ["grpc", "http/protobuf"] {
        let endpoint = format!("http://127.0.0.1:{}", free_port().unwrap());
        let mut server = exporting(protocol, &endpoint).start().unwrap();
        let mut client = server.client();
        echo(&mut client, "m", json!({}));
        for signal in ["metrics", "logs"] {
            let series = format!("svc_telemetry_dropped_total{{signal=\"{signal}\"}}");
            eventually(|| metric(&server, &series) > 0.0);
        }
        assert_eq!(client.json("POST", "/api/v1/data/m", &json!({})).unwrap().status, 200);
        server.signal("TERM").unwrap();
        assert!(server.wait(END).unwrap().success(), "{}", server.log_text());
        let said = server.log_text();
        assert_eq!(said.matches("telemetry is not exported").count(), 2, "once for each signal: {said}");
    }
}
