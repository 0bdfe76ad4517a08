//! A partition that is stuck: the budget of its record, the operator's way out, revocation.

use std::time::Instant;

use rdkafka::types::RDKafkaRespErr;
use serde_json::json;
use svc_testkit::postgres::Postgres;

use super::*;
use crate::cron::pass;
use crate::memory::stall;
use crate::support::{echo, error};

/// A server whose consumers must poll often, so that the budget of a record is short.
fn with_short_budget(launch: ServerCommand) -> ServerCommand {
    with_properties(launch, &[("max.poll.interval.ms", "6000")])
        .env("SVC_KAFKA__PROCESSING_TIMEOUT_MS", "1000")
}

fn skip(client: &mut HttpClient, place: &str) -> svc_testkit::http::HttpResponse {
    client.json("POST", &format!("{ADMIN}/kafka/partitions/{place}/skip"), &json!({})).unwrap()
}

#[test]
fn exhausted_record_blocks_only_its_own_partition() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let server = with_short_budget(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": "x"}"#);
    cluster.send("orders", r#"{"n": 1}"#);
    // Four fifths of six seconds leave room for the delays of one and two seconds and the attempts between.
    server.wait_for_log(&["a record blocks its partition and is fetched again"]).unwrap();
    cluster.send_to("orders", 1, None, Some(br#"{"n": 1}"#), &[]);
    cluster.wait_committed("orders", 1, 1);
    let mut attempts = 0;
    eventually(|| {
        let row = partitions(&mut client).into_iter().find(|row| row["partition"] == 0).unwrap();
        attempts = attempts.max(row["attempts"].as_i64().unwrap());
        attempts >= 5
    });
    assert_eq!(cluster.committed_offset("orders", 0), 0, "nothing behind it is done before it");
    assert_eq!(
        traces(&mut client, "mode=kafka&status=failed").len(),
        1,
        "fetched again, it is the same record"
    );
    let assigned = metric(&mut client, "svc_kafka_assigned_partitions");
    assert_eq!(assigned, Some(2.0), "the member stays in its group");
    end(server);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the server under test goes by the machine's clock")]
fn record_without_attempt_budget_still_waits_before_retry() {
    let cluster = Cluster::start(&[("orders", 1)]);
    // One attempt may last a minute, more than four fifths of six seconds.
    let server = with_properties(launch_at(&cluster), &[("max.poll.interval.ms", "6000")]).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    let sent_at = Instant::now();
    cluster.send("orders", r#"{"n": "x"}"#);
    eventually(|| partitions(&mut client).iter().any(|row| row["attempts"].as_i64() >= Some(4)));
    assert!(sent_at.elapsed() >= Duration::from_secs(1 + 2 + 4), "{:?}", sent_at.elapsed());
    logged_once(&server, "a record blocks its partition");
    wait_state(&mut client, 0, "blocked");
    end(server);
}

#[test]
fn partitions_in_parallel_stay_within_the_limit() {
    let cluster = Cluster::start(&[("orders", 3)]);
    let server = launch_at(&cluster).env("SVC_KAFKA__MAX_PARALLEL_PARTITIONS", "2").start().unwrap();
    let mut client = server.client();
    let sink = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    for partition in 0..3 {
        cluster.send_to("orders", partition, None, Some(b"1"), &[]);
    }
    sink.wait_for(2);
    eventually(|| partitions(&mut client).iter().filter(|row| row["waiting_records"] == 1).count() == 3);
    wait_state(&mut client, 0, "running");
    assert_eq!(sink.requests().len(), 2);
    sink.open();
    for partition in 0..3 {
        cluster.wait_committed("orders", partition, 1);
    }
    end(server);
}

#[test]
fn skipped_record_becomes_dead_letter_and_partition_continues() {
    let cluster = Cluster::start(&[("slow", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let held = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &held);
    serve_topic(&mut client, "slow", "slow", json!({"backpressure": {"max_concurrent_per_node": 1}}), tell());
    // A request takes the only permit, so that records are deferred.
    let busy = std::thread::spawn({
        let mut client = server.client();
        move || client.json("POST", "/api/v1/data/slow", &json!({})).unwrap().status
    });
    held.wait_for(1);
    eventually(|| !partitions(&mut client).is_empty());
    for place in ["slow/1", "nothing/0", "slow/x"] {
        error(&skip(&mut client, place), 404, "NOT_FOUND");
    }
    error(&skip(&mut client, "slow/0"), 409, "CONFLICT");
    cluster.send("slow", r#"{"stuck": true}"#);
    cluster.send("slow", r#"{"stuck": false}"#);
    wait_state(&mut client, 0, "deferred");
    let path = format!("{ADMIN}/kafka/partitions/slow/0/skip");
    let other = client.json("POST", &format!("{path}?offset=7"), &json!({})).unwrap();
    let message = error(&other, 409, "CONFLICT")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("offset 0"), "{message}");
    let skipped = client.json("POST", &format!("{path}?offset=0"), &json!({})).unwrap();
    assert_eq!(skipped.status, 200, "{}", skipped.text());
    assert_eq!(
        skipped.json()["data"],
        json!({"topic": "slow", "partition": 0, "skipped_offset": 0, "next_offset": 1})
    );
    let letter = &cluster.read(DEAD, 1)[0].value;
    assert_eq!(letter["original_payload"], r#"{"stuck": true}"#);
    let reason = letter["error"].as_str().unwrap();
    assert!(reason.starts_with("skipped by an operator: ") && reason.contains("capacity"), "{reason}");
    cluster.wait_committed("slow", 0, 1);
    held.open();
    assert_eq!(busy.join().unwrap(), 200);
    cluster.wait_committed("slow", 0, 2);
    let audit = client.get(&format!("{ADMIN}/audit-logs?action=skip")).unwrap().json();
    let row = &audit["data"][0];
    assert_eq!((&row["resource_type"], &row["resource_id"]), (&json!("kafka_partition"), &json!("slow/0")));
    assert_eq!(audit["data"].as_array().unwrap().len(), 1, "a refusal is not recorded: {audit}");
    let audited = "svc_admin_audit_events_total{action=\"skip\",resource_type=\"kafka_partition\"}";
    assert_eq!(metric(&mut client, audited), Some(1.0));
    let lost = "svc_messages_total{channel=\"slow\",status=\"error\"}";
    assert_eq!(metric(&mut client, lost), Some(1.0), "it never ran");
    end(server);
}

#[test]
fn range_of_failing_records_becomes_dead_letters() {
    let cluster = Cluster::start(&[("slow", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let held = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &held);
    serve_topic(&mut client, "slow", "slow", json!({"backpressure": {"max_concurrent_per_node": 1}}), tell());
    // A request takes the only permit, so that records are deferred.
    let busy = std::thread::spawn({
        let mut client = server.client();
        move || client.json("POST", "/api/v1/data/slow", &json!({})).unwrap().status
    });
    held.wait_for(1);
    for n in 0..4 {
        cluster.send("slow", &format!("{{\"n\": {n}}}"));
    }
    eventually(|| partitions(&mut client).iter().any(|row| row["waiting_records"] == 4));
    wait_state(&mut client, 0, "deferred");
    let path = format!("{ADMIN}/kafka/partitions/slow/0/skip");
    for until in [0, 1001] {
        let refused = client.json("POST", &format!("{path}?until_offset={until}"), &json!({})).unwrap();
        let message = error(&refused, 400, "VALIDATION_ERROR")["message"].as_str().unwrap().to_owned();
        assert!(message.contains("until_offset"), "{message}");
    }
    let skipped = client.json("POST", &format!("{path}?until_offset=3"), &json!({})).unwrap();
    assert_eq!(skipped.status, 200, "{}", skipped.text());
    assert_eq!(
        skipped.json()["data"],
        json!({"topic": "slow", "partition": 0, "skipped_offset": 0, "next_offset": 3, "dead_letters": 3})
    );
    let audit = client.get(&format!("{ADMIN}/audit-logs?action=skip")).unwrap().json();
    let details: serde_json::Value =
        serde_json::from_str(audit["data"][0]["details"].as_str().unwrap()).unwrap();
    assert_eq!((&details["until_offset"], details.get("offset")), (&json!(3), None), "{audit}");
    let letters = cluster.read(DEAD, 3);
    let payloads: Vec<_> = letters.iter().map(|letter| letter.value["original_payload"].clone()).collect();
    assert_eq!(payloads, [r#"{"n": 0}"#, r#"{"n": 1}"#, r#"{"n": 2}"#]);
    cluster.wait_committed("slow", 0, 3);
    held.open();
    assert_eq!(busy.join().unwrap(), 200);
    cluster.wait_committed("slow", 0, 4);
    end(server);
}

#[test]
fn paused_channel_leaves_records_until_resumed() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    let pause = format!("{ADMIN}/channels/orders/pause");
    assert_eq!(client.json("POST", &pause, &json!({"reason": "down"})).unwrap().status, 200);
    wait_state(&mut client, 0, "paused");
    for n in 2..5 {
        cluster.send("orders", &format!("{{\"n\": {n}}}"));
    }
    eventually(|| partitions(&mut client).iter().any(|row| row["waiting_records"] == 3));
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    // The partition is assigned anew, and the pause was kept.
    eventually(|| {
        let rows = partitions(&mut client);
        rows.iter().any(|row| row["state"] == "paused" && row["waiting_records"] == 3)
    });
    assert_eq!(cluster.committed_offset("orders", 0), 1);
    let resume = format!("{ADMIN}/channels/orders/resume");
    assert_eq!(client.json("POST", &resume, &json!({})).unwrap().status, 200);
    cluster.wait_committed("orders", 0, 4);
    assert_eq!(traces(&mut client, "mode=kafka&status=completed").len(), 4);
    let ran: Vec<_> = reported_runs(&sink).into_iter().map(|(_, payload)| payload["n"].clone()).collect();
    assert_eq!(ran, [1, 2, 3, 4], "each once, in their order");
    end(server);
}

#[test]
fn record_rests_until_called_channel_resumes() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "callee", json!({}));
    let call = json!([{"id": "ask", "name": "", "function": {"name": "channel_call", "input": {"channel": "callee"}}}]);
    serve_topic(&mut client, "orders", "orders", json!({}), call);
    let order = |client: &mut HttpClient, path: &str| {
        let path = format!("{ADMIN}/channels/callee/{path}");
        assert_eq!(client.json("POST", &path, &json!({"reason": "down"})).unwrap().status, 200);
    };
    order(&mut client, "pause");
    cluster.send("orders", r#"{"n": 1}"#);
    wait_state(&mut client, 0, "deferred");
    pass(3);
    let held = partitions(&mut client).remove(0);
    assert_eq!((&held["state"], &held["attempts"]), (&json!("deferred"), &json!(1)), "{held}");
    assert!(held["last_error"].as_str().unwrap().contains("'callee'"), "{held}");
    order(&mut client, "resume");
    cluster.wait_committed("orders", 0, 1);
    end(server);
}

#[test]
fn unacknowledged_skip_leaves_the_dead_letter_pending() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.mock.topic_error(DEAD, refused).unwrap();
    // One attempt may last a minute, more than four fifths of six seconds.
    let launch = with_properties(launch_at(&cluster), &[("max.poll.interval.ms", "6000")]);
    let (server, sink) = (with_dead_letters(launch).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    let mut tasks = tell().as_array().unwrap().clone();
    tasks.extend(multiply().as_array().unwrap().clone());
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "sync"}}), json!(tasks));
    cluster.send("orders", r#"{"n": "x"}"#);
    wait_state(&mut client, 0, "blocked");
    for _ in 0..2 {
        error(&skip(&mut client, "orders/0"), 503, "SERVICE_UNAVAILABLE");
    }
    let blocked = wait_state(&mut client, 0, "blocked");
    let last_error = blocked["last_error"].as_str().unwrap();
    assert!(last_error.starts_with("boom"), "{blocked}");
    assert_eq!(last_error.matches("the dead letter was not written").count(), 1, "{blocked}");
    assert_eq!(cluster.committed_offset("orders", 0), 0);

    cluster.mock.topic_error(DEAD, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    cluster.wait_committed("orders", 0, 1);
    let letter = &cluster.read(DEAD, 1)[0];
    assert!(letter.value["error"].as_str().unwrap().starts_with("boom"), "{letter:?}");
    assert_eq!(sink.requests().len(), 1, "the run is not repeated");
    let failed = traces(&mut client, "mode=kafka&status=failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    let trace_id = letter.headers.iter().find(|(name, _)| name == "trace_id").unwrap();
    assert_eq!(failed[0]["id"], trace_id.1, "it is the letter of that run");
    for (series, expected) in [
        ("svc_kafka_records_total{topic=\"orders\",outcome=\"dead_letter\"}", Some(1.0)),
        ("svc_kafka_records_total{topic=\"orders\",outcome=\"skipped\"}", Some(0.0)),
        ("svc_messages_total{channel=\"orders\",status=\"error\"}", Some(1.0)),
    ] {
        assert_eq!(metric(&mut client, series), expected, "{series}");
    }
    end(server);
}

#[test]
fn skip_is_refused_without_a_topic_of_dead_letters() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": "x"}"#);
    wait_state(&mut client, 0, "retrying");
    let message =
        error(&skip(&mut client, "orders/0"), 409, "CONFLICT")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("kafka.dlq.enabled"), "{message}");
    assert_eq!(cluster.committed_offset("orders", 0), 0);
    end(server);
}

#[test]
fn traces_awaiting_database_block_no_other_topic() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database().unwrap();
    let cluster = Cluster::start(&[("orders", 4), ("free", 1)]);
    let server = launch_at(&cluster)
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_KAFKA__MAX_PARALLEL_PARTITIONS", "1")
        .start()
        .unwrap();
    let (mut client, sink) = (server.client(), sink());
    connect_sink(&mut client, &sink);
    for (topic, mode) in [("orders", "sync"), ("free", "off")] {
        // A run that waits for an answer leaves its results one by one.
        serve_topic(&mut client, topic, topic, json!({"tracing": {"mode": mode}}), tell());
        cluster.send(topic, r#"{"n": 1}"#);
        cluster.wait_committed(topic, 0, 1);
    }
    let release = stall(&database);
    for number in 0..2_000 {
        let record: BaseRecord<'_, [u8], str> = BaseRecord::to("orders").partition(number % 4);
        cluster.producer.send(record.payload(r#"{"n": 1}"#)).map_err(|(error, _)| error).unwrap();
    }
    cluster.producer.flush(PATIENCE).unwrap();
    let completed = "svc_kafka_records_total{topic=\"orders\",outcome=\"completed\"}";
    eventually(|| metric(&mut client, completed).unwrap() >= 1_100.0);
    cluster.send("free", r#"{"n": 2}"#);
    cluster.wait_committed("free", 0, 2);
    assert_eq!(cluster.committed_offset("orders", 0), 1, "none is committed before its trace is stored");
    release();
    for (partition, expected) in [(0, 501), (1, 500), (2, 500), (3, 500)] {
        cluster.wait_committed("orders", partition, expected);
    }
    end(server);
}

#[test]
fn running_record_ends_before_its_partition_leaves() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let first = launch_at(&cluster).start().unwrap();
    let mut client = first.client();
    let sink = Upstream::start(|request| {
        let is_slow = request.text().contains("slow");
        if is_slow { UpstreamReply::Held } else { UpstreamReply::new(200, "{}") }
    })
    .unwrap();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    eventually(|| partitions(&mut client).len() == 2);
    for partition in 0..2 {
        cluster.send_to("orders", partition, None, Some(br#"{"slow": 1}"#), &[]);
        cluster.send_to("orders", partition, None, Some(br#"{"next": 1}"#), &[]);
    }
    sink.wait_for(2);
    let second = launch_at(&cluster).start().unwrap();
    let mut other = second.client();
    connect_sink(&mut other, &sink);
    serve_topic(&mut other, "orders", "orders", json!({}), tell());
    // The group rebalances while both records are in progress: nobody else gets their partitions before they
    // have ended.
    eventually(|| partitions(&mut client).iter().any(|row| row["state"] == "stopping"));
    assert!(partitions(&mut other).is_empty());
    assert_eq!(sink.requests().len(), 2);
    sink.open();
    eventually(|| (partitions(&mut client).len(), partitions(&mut other).len()) == (1, 1));
    for partition in 0..2 {
        cluster.wait_committed("orders", partition, 2);
    }
    // Other than a real broker, this one takes no commit of a member that it waits for, so that a record may
    // run again.
    let mut keys = run_keys(&sink);
    keys.sort();
    keys.dedup();
    assert_eq!(keys, ["orders:0:0", "orders:0:1", "orders:1:0", "orders:1:1"]);
    end(first);
    eventually(|| partitions(&mut other).len() == 2);
    end(second);
}

#[test]
fn shutdown_ends_and_commits_the_running_record() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let mut server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    let sink = Upstream::start(|_| UpstreamReply::Held).unwrap();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    cluster.send("orders", "1");
    cluster.send("orders", "2");
    sink.wait_for(1);
    server.signal("TERM").unwrap();
    server.wait_for_log(&["kafka partitions are given up"]).unwrap();
    sink.open();
    assert!(server.wait(PATIENCE).unwrap().success());
    assert_eq!(
        (cluster.committed_offset("orders", 0), sink.requests().len()),
        (1, 1),
        "no further one began"
    );
}
