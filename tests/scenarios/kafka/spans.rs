//! Trace context of records: continued, passed on to what is published, and to dead letters.

use svc_testkit::collector::Collector;

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn exporting(launch: ServerCommand, collector: &Collector) -> ServerCommand {
    launch
        .env("SVC_TRACING__ENABLED", "true")
        .env("SVC_TRACING__OTLP_ENDPOINT", &collector.endpoint())
        .env("SVC_TRACING__SAMPLE_RATE", "0")
}

fn header<'r>(record: &'r ReadRecord, name: &str) -> Option<&'r str> {
    record.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// A task that publishes the payload.
fn publish() -> Value {
    json!([{"id": "publish", "name": "Publish", "function": {"name": "publish_kafka", "input": {
        "connector": "bus", "topic": "shipped", "value_logic": {"var": "payload"}}}}])
}

#[test]
fn record_passes_its_trace_to_published_records() {
    let Some(collector) = Collector::start() else { return };
    let cluster = Cluster::start(&[("orders", 1), ("shipped", 1)]);
    let server = exporting(launch_at(&cluster), &collector).start().unwrap();
    let mut client = server.client();
    let connector = json!({"id": "bus", "name": "bus", "connector_type": "kafka", "config": {"brokers": [cluster.mock.bootstrap_servers()], "allow_private_urls": true}});
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    serve_topic(&mut client, "orders", "orders", json!({}), publish());
    let headers = [("Traceparent", PARENT.as_bytes()), ("tracestate", b"vendor=1")];
    cluster.send_to("orders", 0, None, Some(b"{}"), &headers);
    cluster.wait_committed("orders", 0, 1);
    let shipped = &cluster.read("shipped", 1)[0];
    let process = collector.span("process orders", "svc.channel");
    assert_eq!((&*process.trace_id, &*process.parent_id), (&PARENT[3..35], &PARENT[36..52]));
    assert_eq!((&*process.kind, process.attribute("messaging.system")), ("CONSUMER", Some("kafka")));
    let task = collector.span("task publish_kafka", "svc.connector");
    let send = collector.span("send shipped", "messaging.destination.name");
    assert_eq!((&task.parent_id, &send.parent_id, &*send.kind), (&process.id, &task.id, "PRODUCER"));
    let expected = format!("00-{}-{}-01", send.trace_id, send.id);
    assert_eq!(header(shipped, "traceparent"), Some(expected.as_str()));
    assert_eq!(header(shipped, "tracestate"), Some("vendor=1"));
    end(server);
}

#[test]
fn dead_letter_carries_the_trace_of_its_record() {
    let Some(collector) = Collector::start() else { return };
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = exporting(with_dead_letters(launch_at(&cluster)), &collector).start().unwrap();
    serve_topic(&mut server.client(), "orders", "orders", json!({}), multiply());
    cluster.send_to("orders", 0, None, Some(br#"{"n": "x"}"#), &[("traceparent", PARENT.as_bytes())]);
    cluster.wait_committed("orders", 0, 1);
    let letter = &cluster.read(DEAD, 1)[0];
    let process = collector.span("process orders", "error.type");
    let send = collector.span(&format!("send {DEAD}"), "messaging.destination.name");
    assert!(process.is_error && !send.is_error);
    assert_eq!((&send.parent_id, &*send.trace_id), (&process.id, &PARENT[3..35]));
    let expected = format!("00-{}-{}-01", send.trace_id, send.id);
    assert_eq!(header(letter, "traceparent"), Some(expected.as_str()));
    end(server);
}

#[test]
fn trace_context_is_dropped_while_tracing_is_off() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    serve_topic(&mut server.client(), "orders", "orders", json!({}), multiply());
    cluster.send_to("orders", 0, None, Some(br#"{"n": "x"}"#), &[("traceparent", PARENT.as_bytes())]);
    cluster.wait_committed("orders", 0, 1);
    assert_eq!(header(&cluster.read(DEAD, 1)[0], "traceparent"), None);
    end(server);
}
