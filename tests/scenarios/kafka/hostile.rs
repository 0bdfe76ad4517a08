//! Kafka ingress under bad conditions: commits that fail, topics that vanish or may not be
//! read, offsets that are gone, records of ten mebibytes, headers that are no text, a store of idempotency
//! keys that is away.

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use serde_json::json;
use svc_testkit::redis::Redis;

use super::wire::{self, GZIP, UNKNOWN_CODEC};
use super::*;

/// Writes `count` records to partition 0.
fn send_many(cluster: &Cluster, topic: &str, count: usize) {
    for n in 0..count {
        let value = format!("{{\"n\": {n}}}");
        let record: BaseRecord<'_, [u8], str> = BaseRecord::to(topic).partition(0).payload(&value);
        cluster.producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    cluster.producer.flush(PATIENCE).unwrap();
}

/// Returns the trouble of ingress that `/health` shows.
fn ingest_trouble(client: &mut HttpClient) -> String {
    client.get("/health").unwrap().json()["kafka"]["ingest"].to_string()
}

#[test]
fn partition_waits_for_commits_before_more_records() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    let refused = vec![RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED; 10_000];
    cluster.mock.request_errors(RDKafkaApiKey::OffsetCommit, &refused);
    send_many(&cluster, "orders", 1_500);
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "off"}}), multiply());
    let waiting = wait_state(&mut client, 0, "committing");
    assert!(waiting["waiting_records"].as_i64().unwrap() > 0, "{waiting}");
    let completed = "svc_kafka_records_total{topic=\"orders\",outcome=\"completed\"}";
    let run = metric(&mut client, completed).unwrap();
    assert_eq!(run.to_string(), "512");
    assert_eq!(cluster.committed_offset("orders", 0), 0);
    cluster.mock.clear_request_errors(RDKafkaApiKey::OffsetCommit);
    cluster.wait_committed("orders", 0, 1_500);
    assert_eq!(metric(&mut client, completed), Some(1_500.0), "none ran twice");
    end(server);
}

#[test]
fn commit_of_revoked_partition_survives_transient_error() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "off"}}), multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    let refused = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED; 4];
    cluster.mock.request_errors(RDKafkaApiKey::OffsetCommit, &refused);
    cluster.send("orders", r#"{"n": 2}"#);
    let completed = "svc_kafka_records_total{topic=\"orders\",outcome=\"completed\"}";
    eventually(|| metric(&mut client, completed) == Some(2.0));
    end(server);
    assert_eq!(cluster.committed_offset("orders", 0), 2);
}

#[test]
fn ten_mebibyte_record_runs_or_becomes_dead_letter() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "off"}}), multiply());
    let padding = "x".repeat(10 * 1024 * 1024);
    let completing = format!(r#"{{"n": 1, "padding": "{padding}"}}"#);
    let failing = format!(r#"{{"n": "three", "padding": "{padding}"}}"#);
    // This cluster keeps 5 MiB of a partition, or one record; what follows a larger one is lost with it.
    for (partition, large) in [(0, &completing), (1, &failing)] {
        cluster.send_to("orders", partition, None, Some(large.as_bytes()), &[]);
        cluster.wait_committed("orders", partition, 1);
    }
    let letters = cluster.read(DEAD, 1);
    assert!(letters[0].value["original_payload"] == failing.as_str(), "it is whole");
    let completed = "svc_kafka_records_total{topic=\"orders\",outcome=\"completed\"}";
    assert_eq!(metric(&mut client, completed), Some(1.0));
    end(server);
}

#[test]
fn record_runs_without_its_non_text_headers() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    let config = json!({"deduplication": {"header": "Idempotency-Key", "window_secs": 600}});
    serve_topic(&mut client, "orders", "orders", config, tell());
    let headers: [wire::RawHeader<'_>; 4] = [
        (b"\xff\xfe", Some(b"name")),
        (b"value", Some(b"\xff\xfe")),
        (b"none", None),
        (b"Idempotency-Key", Some(b"a")),
    ];
    for value in ["1", "2"] {
        let batch = wire::batch(0, &wire::record(value.as_bytes(), &headers));
        wire::produce(&cluster.mock.bootstrap_servers(), "orders", 0, &batch);
    }
    cluster.wait_committed("orders", 0, 2);
    let payloads: Vec<_> = reported_runs(&sink).into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, [1], "the header beside them is read: the second one is a duplicate");
    assert_eq!(client.get("/health").unwrap().json()["components"]["kafka"], "ok");
    end(server);
}

#[test]
fn unreadable_batch_spares_other_partitions() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    wire::produce(&cluster.mock.bootstrap_servers(), "orders", 0, &wire::batch(GZIP, b"no gzip at all"));
    eventually(|| ingest_trouble(&mut client).contains("consumer group 'svc'"));
    for n in 1..=3 {
        cluster.send_to("orders", 1, None, Some(br#"{"n": 1}"#), &[]);
        cluster.wait_committed("orders", 1, n);
    }
    assert_eq!(cluster.committed_offset("orders", 0), 0, "it is not passed over");
    logged_once(&server, "records cannot be received");
    assert_eq!(client.get("/readyz").unwrap().status, 200);
    wait_state(&mut client, 0, "blocked");
    let path = format!("{ADMIN}/kafka/partitions/orders/0/skip");
    let refused = client.json("POST", &path, &json!({})).unwrap();
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("kafka.dlq.enabled"), "{}", refused.text());
    end(server);
}

#[test]
fn unreadable_batch_blocks_its_partition_until_skipped() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    let send = |n: &str| cluster.send("orders", &format!(r#"{{"n": {n}}}"#));
    send("1");
    cluster.wait_committed("orders", 0, 1);
    for batch in [wire::batch(GZIP, b"no gzip at all"), wire::batch(UNKNOWN_CODEC, b"?")] {
        wire::produce(&cluster.mock.bootstrap_servers(), "orders", 0, &batch);
    }
    send("2");
    send("3");
    let blocked = wait_state(&mut client, 0, "blocked");
    assert_eq!((&blocked["offset"], &blocked["attempts"]), (&json!(1), &json!(0)), "{blocked}");
    assert!(blocked["last_error"].as_str().unwrap().contains("BadCompression"), "{blocked}");
    assert!(blocked["retry_since"].is_string(), "{blocked}");
    let place = "topic 'orders', partition 0: the records at offset 1 cannot be unpacked";
    eventually(|| ingest_trouble(&mut client).contains(place));
    logged_once(&server, "records cannot be unpacked and block their partition");
    wait_state(&mut client, 1, "idle");

    let path = format!("{ADMIN}/kafka/partitions/orders/0/skip");
    let other = client.json("POST", &format!("{path}?offset=0"), &json!({})).unwrap();
    assert_eq!((other.status, cluster.committed_offset("orders", 0)), (409, 1), "{}", other.text());
    let skipped = client.json("POST", &format!("{path}?offset=1"), &json!({})).unwrap();
    assert_eq!(skipped.status, 200, "{}", skipped.text());
    let expected = json!({"topic": "orders", "partition": 0, "skipped_offset": 1, "next_offset": 3});
    assert_eq!(skipped.json()["data"], expected, "no record that can be read is passed over");
    cluster.wait_committed("orders", 0, 5);
    let letter = &cluster.read(DEAD, 1)[0];
    assert_eq!(letter.value["original_payload"], "");
    let reason = letter.value["error"].as_str().unwrap();
    assert!(reason.starts_with("skipped by an operator: the offsets 1 to 2 cannot be unpacked"), "{reason}");
    let completed = "svc_kafka_records_total{topic=\"orders\",outcome=\"completed\"}";
    assert_eq!(metric(&mut client, completed), Some(3.0));
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    assert_eq!(client.json("POST", &path, &json!({})).unwrap().status, 409);
    let audit = client.get(&format!("{ADMIN}/audit-logs?action=skip")).unwrap().json();
    assert_eq!(audit["data"].as_array().unwrap().len(), 1, "a refusal is not recorded: {audit}");
    end(server);
}

#[test]
fn forbidden_group_is_trouble_until_permitted() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let refused = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED; 3];
    cluster.mock.request_errors(RDKafkaApiKey::JoinGroup, &refused);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    eventually(|| ingest_trouble(&mut client).contains("consumer group 'svc'"));
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    logged_once(&server, "records cannot be received");
    end(server);
}

#[test]
fn member_that_is_fenced_joins_anew() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_properties(launch_at(&cluster), &[("group.instance.id", "node-1")]).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    let fenced = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID];
    cluster.mock.request_errors(RDKafkaApiKey::Heartbeat, &fenced);
    eventually(|| lines_with(&server, "a consumer failed and is made anew") == 1);
    cluster.send("orders", r#"{"n": 2}"#);
    cluster.wait_committed("orders", 0, 2);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    end(server);
}

#[test]
fn record_waits_for_unwritable_dead_letter_topic() {
    let cluster = Cluster::start(&[("orders", 1)]);
    cluster.mock.topic_error(DEAD, RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).unwrap();
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": "x"}"#);
    eventually(|| ingest_trouble(&mut client).contains("the dead letter was not written"));
    assert_eq!(cluster.committed_offset("orders", 0), 0);
    logged_once(&server, "a record failed and is tried again");
    cluster.mock.topic_error(DEAD, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    cluster.wait_committed("orders", 0, 1);
    assert_eq!(cluster.read(DEAD, 1)[0].value["original_payload"], r#"{"n": "x"}"#);
    end(server);
}

#[test]
fn forbidden_topic_is_trouble_until_permitted() {
    let cluster = Cluster::start(&[("orders", 1), ("secret", 1)]);
    cluster.mock.topic_error("secret", RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).unwrap();
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    activate(&mut client, "channels", "channel_id", &topic_channel("other", "secret", "orders", json!({})));
    eventually(|| ingest_trouble(&mut client).contains("topic 'secret': this service may not read it"));
    logged_once(&server, "a kafka topic cannot be read");
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    cluster.mock.topic_error("secret", RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    cluster.send("secret", r#"{"n": 1}"#);
    cluster.wait_committed("secret", 0, 1);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    end(server);
}

#[test]
fn impossible_topic_name_is_trouble_no_pattern() {
    let cluster = Cluster::start(&[("orders", 1), ("private", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "^[", json!({}), multiply());
    for (id, topic) in [("all", "^p.*"), ("proper", "orders")] {
        activate(&mut client, "channels", "channel_id", &topic_channel(id, topic, "orders", json!({})));
    }
    cluster.send("private", r#"{"n": 1}"#);
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    for topic in ["^[", "^p.*"] {
        let place = format!("topic '{topic}': no topic can have this name");
        eventually(|| ingest_trouble(&mut client).contains(&place));
    }
    let topics: Vec<_> = partitions(&mut client).iter().map(|row| row["topic"].clone()).collect();
    assert_eq!(topics, ["orders"]);
    end(server);
}

#[test]
fn deleted_topic_is_trouble_and_others_go_on() {
    let cluster = Cluster::start(&[("orders", 1), ("gone", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    activate(&mut client, "channels", "channel_id", &topic_channel("other", "gone", "orders", json!({})));
    cluster.send("gone", r#"{"n": 1}"#);
    cluster.wait_committed("gone", 0, 1);
    cluster.mock.topic_error("gone", RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    eventually(|| ingest_trouble(&mut client).contains("topic 'gone': it does not exist"));
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    logged_once(&server, "a kafka topic cannot be read");
    assert_eq!(client.get("/readyz").unwrap().status, 200);
    end(server);
}

#[test]
fn out_of_range_offset_restarts_at_earliest() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    cluster.send("orders", "0");
    cluster.send("orders", "1");
    cluster.wait_committed("orders", 0, 2);
    let unknown = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
    cluster.mock.request_errors(RDKafkaApiKey::Fetch, &[unknown]);
    eventually(|| sink.requests().len() == 4);
    cluster.send("orders", "2");
    cluster.wait_committed("orders", 0, 3);
    let expected = [0, 1, 0, 1, 2].map(|offset| format!("orders:0:{offset}"));
    assert_eq!(run_keys(&sink), expected);
    logged_once(&server, "records of a partition are gone");
    end(server);
}

#[test]
fn missing_offset_blocks_partition_under_error_policy() {
    let cluster = Cluster::start(&[("orders", 2)]);
    cluster.commit("svc", "orders", 0, 100);
    cluster.commit("svc", "orders", 1, 0);
    let server = with_properties(launch_at(&cluster), &[("auto.offset.reset", "error")]).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    let blocked = wait_state(&mut client, 0, "blocked");
    assert_eq!(blocked["offset"], 100, "{blocked}");
    assert!(blocked["last_error"].as_str().unwrap().contains("AutoOffsetReset"), "{blocked}");
    eventually(|| ingest_trouble(&mut client).contains("topic 'orders', partition 0"));
    for n in 1..=3 {
        cluster.send_to("orders", 1, None, Some(br#"{"n": 1}"#), &[]);
        cluster.wait_committed("orders", 1, n);
    }
    logged_once(&server, "records cannot be received");
    end(server);
}

#[test]
fn record_waits_for_required_idempotency_store() {
    let Some(store) = Redis::own() else { return };
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let shared = json!({"id": "shared", "name": "shared", "connector_type": "cache",
        "config": {"backend": "redis", "url": store.url(), "allow_private_urls": true}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &shared).unwrap().status, 201);
    let required = json!({"deduplication": {"header": "Idempotency-Key", "connector": "shared",
        "on_backend_error": "deny"}});
    serve_topic(&mut client, "orders", "orders", required, multiply());
    let send = |key: &[u8]| cluster.send_to("orders", 0, Some(key), Some(br#"{"n": 1}"#), &[]);
    send(b"before");
    cluster.wait_committed("orders", 0, 1);
    store.stop().unwrap();
    send(b"meanwhile");
    wait_state(&mut client, 0, "deferred");
    assert_eq!(cluster.committed_offset("orders", 0), 1);
    store.restart().unwrap();
    cluster.wait_committed("orders", 0, 2);
    let counted = |outcome| format!("svc_kafka_records_total{{topic=\"orders\",outcome=\"{outcome}\"}}");
    assert_eq!(metric(&mut client, &counted("completed")), Some(2.0));
    assert_eq!(metric(&mut client, &counted("dead_letter")).unwrap_or(0.0), 0.0);
    end(server);
}
