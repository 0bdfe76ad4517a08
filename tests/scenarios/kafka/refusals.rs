//! Records that do not succeed: dead letters, retries, deferral.

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use serde_json::json;

use super::*;

/// Sends one record after the other, each with the part of the error that its dead letter shows.
fn check_letters(cluster: &Cluster, cases: &[(Option<&[u8]>, &str)]) {
    for (value, _) in cases {
        cluster.send_to("orders", 0, Some(b"k"), *value, &[]);
    }
    let count = i64::try_from(cases.len()).unwrap();
    cluster.wait_committed("orders", 0, count);
    for (index, (letter, (value, expected))) in cluster.read(DEAD, cases.len()).iter().zip(cases).enumerate()
    {
        assert_eq!(letter.key.as_deref(), Some("orders"), "the key is the source topic");
        assert_eq!(letter.value["source_topic"], "orders");
        let error = letter.value["error"].as_str().unwrap();
        assert!(error.contains(expected), "{error} lacks {expected}");
        let payload = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        assert_eq!(letter.value["original_payload"], payload.as_str());
        assert!(letter.value["timestamp"].as_str().unwrap().ends_with('Z'));
        let offset = letter.headers.iter().find(|(name, _)| name == "source_offset").unwrap();
        assert_eq!(offset.1, index.to_string());
    }
}

#[test]
fn failed_record_becomes_a_dead_letter_and_is_committed() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let config = json!({"validation_logic": {"!=": [{"var": "data.refused"}, true]}, "timeout_ms": 60000});
    serve_topic(&mut client, "orders", "orders", config, multiply());
    check_letters(
        &cluster,
        &[
            (Some(b""), "the value is empty"),
            (Some(b"\xff\xfe"), "the value is not UTF-8"),
            (Some(b"{\"n\": "), "the value is not JSON"),
            (Some(b"{\"refused\": true}"), "Input validation failed"),
            (Some(b"{\"n\": \"three\"}"), "boom: "),
        ],
    );
    cluster.send("orders", r#"{"n": 2}"#);
    cluster.wait_committed("orders", 0, 6);
    let failed = traces(&mut client, "mode=kafka&status=failed");
    assert_eq!(failed.len(), 5, "one for each record: {failed:?}");
    assert_eq!(traces(&mut client, "mode=kafka&status=completed").len(), 1);
    let letters = client.get(&format!("{ADMIN}/trace-dlq")).unwrap().json();
    assert_eq!(letters["data"], json!([]), "no entry of the queue of accepted work");
    let counted = "svc_kafka_records_total{topic=\"orders\",outcome=\"dead_letter\"}";
    assert_eq!(metric(&mut client, counted), Some(5.0));
    assert_eq!(metric(&mut client, "svc_messages_total{channel=\"orders\",status=\"error\"}"), Some(5.0));
    end(server);
}

#[test]
fn run_over_its_time_is_a_failure() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let sink = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({"timeout_ms": 200}), tell());
    check_letters(&cluster, &[(Some(b"{}"), "timed out after 200ms")]);
    assert_eq!(metric(&mut client, "svc_messages_total{channel=\"orders\",status=\"timeout\"}"), Some(1.0));
    end(server);
}

#[test]
fn record_run_is_bounded_by_node_limit() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let launch = with_dead_letters(launch_at(&cluster)).env("SVC_KAFKA__PROCESSING_TIMEOUT_MS", "200");
    let server = launch.start().unwrap();
    let mut client = server.client();
    let sink = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({"timeout_ms": 60_000}), tell());
    check_letters(&cluster, &[(Some(b"{}"), "timed out after 200ms")]);
    end(server);
}

#[test]
fn records_for_unserved_channels_are_failures() {
    let cluster = Cluster::start(&[("orders", 1), ("lost", 1)]);
    let server =
        with_dead_letters(launch_at(&cluster)).env("SVC_KAFKA__TOPICS", "lost:nobody").start().unwrap();
    let mut client = server.client();
    // The name that its credentials come from is unset, so that the channel is quarantined at its load.
    let config = json!({"auth": {"mode": "api_key", "keys": ["env://NOT_SET_ANYWHERE"]}});
    serve_topic(&mut client, "orders", "orders", config, multiply());
    check_letters(&cluster, &[(Some(b"{\"n\": 1}"), "channel_unavailable: ")]);
    cluster.send("lost", "{}");
    cluster.wait_committed("lost", 0, 1);
    let letter = &cluster.read(DEAD, 2)[1].value;
    let error = letter["error"].as_str().unwrap();
    assert!(error.contains("kafka.topics") && error.contains("'nobody'"), "{error}");
    end(server);
}

#[test]
fn unserved_record_is_counted_as_dead_letter() {
    let cluster = Cluster::start(&[("orders", 1), ("lost", 1)]);
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.mock.topic_error(DEAD, refused).unwrap();
    let launch = with_dead_letters(launch_at(&cluster)).env("SVC_KAFKA__TOPICS", "lost:nobody");
    let server = launch.start().unwrap();
    let mut client = server.client();
    // The name that its credentials come from is unset, so that the channel is quarantined at its load.
    let config = json!({"auth": {"mode": "api_key", "keys": ["env://NOT_SET_ANYWHERE"]}});
    serve_topic(&mut client, "orders", "orders", config, multiply());
    for topic in ["orders", "lost"] {
        cluster.send(topic, r#"{"n": 1}"#);
    }
    eventually(|| {
        let rows = partitions(&mut client);
        rows.iter().filter(|row| row["attempts"].as_i64() >= Some(2)).count() == 2
    });
    let counted = ["orders", "_unknown"]
        .map(|name| format!("svc_messages_total{{channel=\"{name}\",status=\"error\"}}"));
    for series in &counted {
        assert_eq!(metric(&mut client, series), None, "{series}: it is not finished");
    }
    cluster.mock.topic_error(DEAD, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    for topic in ["orders", "lost"] {
        cluster.wait_committed(topic, 0, 1);
    }
    for series in &counted {
        assert_eq!(metric(&mut client, series), Some(1.0), "{series}");
    }
    end(server);
}

#[test]
fn failure_is_reported_to_its_named_channel() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let (mut client, sink) = (server.client(), sink());
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "alerts", "alerts", json!({}), tell());
    serve_topic(&mut client, "orders", "orders", json!({"on_failure": "alerts"}), multiply());
    cluster.send("orders", r#"{"n": "x"}"#);
    eventually(|| reported_runs(&sink).len() == 1);
    let (_, report) = &reported_runs(&sink)[0];
    assert_eq!((&report["channel"], &report["data"]), (&json!("orders"), &json!({"n": "x"})), "{report}");
    assert_eq!(report["trace_id"], traces(&mut client, "channel=orders")[0]["id"]);
    end(server);
}

#[test]
fn failed_record_is_retried_until_workflow_is_fixed() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": "x"}"#);
    cluster.send_to("orders", 1, None, Some(br#"{"n": 1}"#), &[]);
    cluster.wait_committed("orders", 1, 1);
    let mut held = serde_json::Value::Null;
    eventually(|| {
        held = wait_state(&mut client, 0, "retrying");
        held["attempts"].as_i64().unwrap() >= 2
    });
    assert_eq!((&held["offset"], &held["channel"]), (&json!(0), &json!("orders")), "{held}");
    assert!(held["last_error"].as_str().unwrap().contains("boom"), "{held}");
    assert!(held["retry_since"].is_string(), "{held}");
    assert_eq!(cluster.committed_offset("orders", 0), 0);
    let health = client.get("/health").unwrap().json();
    assert_eq!((&health["status"], &health["components"]["kafka"]), (&json!("degraded"), &json!("degraded")));
    let ingest = health["kafka"]["ingest"][0].as_str().unwrap();
    assert!(ingest.contains("'orders', partition 0") && ingest.contains("offset 0"), "{ingest}");
    assert_eq!(client.get("/readyz").unwrap().status, 200, "the node goes on serving");
    assert_eq!(metric(&mut client, "svc_kafka_ingest_degraded"), Some(1.0));
    assert_eq!(
        traces(&mut client, "mode=kafka&status=failed").len(),
        1,
        "one row, however often it is tried"
    );

    let path = format!("{ADMIN}/workflows/orders");
    assert_eq!(client.json("POST", &format!("{path}/versions"), &json!({})).unwrap().status, 201);
    let healed = json!({"workflow_id": "orders", "name": "orders", "tasks": [{"id": "t", "name": "",
        "function": {"name": "log", "input": {"message": "seen"}}}]});
    assert_eq!(client.json("PUT", &path, &healed).unwrap().status, 200);
    assert_eq!(
        client.json("PATCH", &format!("{path}/status"), &json!({"status": "active"})).unwrap().status,
        200
    );
    cluster.wait_committed("orders", 0, 1);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    assert_eq!(metric(&mut client, "svc_kafka_ingest_degraded"), Some(0.0));
    end(server);
}

#[test]
fn failed_dead_letter_record_is_retried_in_place() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    let letters = json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.n", "logic": {"*": [{"var": "payload.error"}, 2]}}]}}}]);
    serve_topic(&mut client, "letters", DEAD, json!({}), letters);
    cluster.send("orders", r#"{"n": "x"}"#);
    cluster.wait_committed("orders", 0, 1);
    let mut held = serde_json::Value::Null;
    eventually(|| {
        let rows = partitions(&mut client);
        held = rows.into_iter().find(|row| row["topic"] == DEAD).unwrap_or_default();
        held["attempts"].as_i64().is_some_and(|attempts| attempts >= 2) && held["lag"] == 1
    });
    assert_eq!((&held["offset"], &held["state"]), (&json!(0), &json!("retrying")), "{held}");
    let path = format!("{ADMIN}/kafka/partitions/{DEAD}/0/skip");
    let refused = client.json("POST", &path, &json!({})).unwrap();
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(cluster.committed_offset(DEAD, 0), 0);
    end(server);
}

#[test]
fn record_over_its_limits_is_deferred_and_no_failure() {
    let cluster = Cluster::start(&[("orders", 1), ("busy", 2)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let rate = json!({"rate_limit": {"requests_per_second": 5, "burst": 1}});
    serve_topic(&mut client, "orders", "orders", rate, multiply());
    for _ in 0..4 {
        cluster.send("orders", r#"{"n": 1}"#);
    }
    cluster.wait_committed("orders", 0, 4);
    let retried = "svc_kafka_record_retries_total{topic=\"orders\",reason=\"deferred\"}";
    assert!(metric(&mut client, retried).unwrap() >= 1.0);

    let sink = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "busy", "busy", json!({"backpressure": {"max_concurrent_per_node": 1}}), tell());
    cluster.send_to("busy", 0, None, Some(b"1"), &[]);
    cluster.send_to("busy", 1, None, Some(b"2"), &[]);
    eventually(|| {
        partitions(&mut client).iter().any(|row| row["topic"] == "busy" && row["state"] == "deferred")
    });
    assert_eq!(client.get("/health").unwrap().json()["components"]["kafka"], "ok", "waiting is no trouble");
    sink.open();
    cluster.wait_committed("busy", 0, 1);
    cluster.wait_committed("busy", 1, 1);
    assert!(traces(&mut client, "mode=kafka&status=failed").is_empty());
    end(server);
}

#[test]
fn rate_key_without_a_value_is_terminal() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let rate =
        json!({"rate_limit": {"requests_per_second": 100, "key_logic": {"var": "headers.x-tenant-id"}}});
    serve_topic(&mut client, "orders", "orders", rate, multiply());
    check_letters(&cluster, &[(Some(b"{\"n\": 1}"), "Too many requests")]);
    cluster.send_to("orders", 0, None, Some(b"{\"n\": 1}"), &[("X-Tenant-Id", b"acme")]);
    cluster.wait_committed("orders", 0, 2);
    assert_eq!(traces(&mut client, "mode=kafka&status=completed").len(), 1);
    end(server);
}

#[test]
fn rate_key_sees_the_topic_as_the_caller() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    // A key without a value would be terminal.
    let key = json!({"if": [{"==": [{"var": "client_ip"}, "orders"]}, {"var": "channel"}, null]});
    let rate = json!({"rate_limit": {"requests_per_second": 100, "key_logic": key}});
    serve_topic(&mut client, "taker", "orders", rate, multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    assert_eq!(traces(&mut client, "mode=kafka&status=completed").len(), 1);
    end(server);
}

#[test]
fn unacknowledged_dead_letter_is_rewritten_without_rerun() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let sink = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &sink);
    let mut tasks = tell().as_array().unwrap().clone();
    tasks.extend(multiply().as_array().unwrap().clone());
    serve_topic(&mut client, "orders", "orders", json!({}), json!(tasks));
    cluster.send("orders", r#"{"n": "x"}"#);
    sink.wait_for(1);
    let refused = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE; 2];
    cluster.mock.request_errors(RDKafkaApiKey::Produce, &refused);
    sink.open();
    cluster.wait_committed("orders", 0, 1);
    assert_eq!(cluster.read(DEAD, 1)[0].value["original_payload"], r#"{"n": "x"}"#);
    assert_eq!(sink.requests().len(), 1, "the run is not repeated");
    let retried = "svc_kafka_record_retries_total{topic=\"orders\",reason=\"dead_letter_write\"}";
    assert_eq!(metric(&mut client, retried), Some(2.0));
    end(server);
}
