//! The topic map, reloads, brokers that go away, settings.

use serde_json::json;

use super::*;

#[test]
fn topics_follow_the_channels_as_they_change() {
    let cluster = Cluster::start(&[("orders", 1), ("refunds", 1), ("parcels", 1)]);
    let (server, sink) =
        (launch_at(&cluster).env("SVC_KAFKA__TOPICS", "parcels:second").start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "first", "orders", json!({}), tell());
    cluster.send("orders", "1");
    cluster.wait_committed("orders", 0, 1);

    // Another topic joins the subscription; a channel over HTTP takes records too when it is asynchronous.
    let second = json!({"channel_id": "second", "name": "second", "channel_type": "async", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/second", "topic": "refunds", "workflow_id": "first"});
    activate(&mut client, "channels", "channel_id", &second);
    cluster.send("refunds", "2");
    cluster.send("parcels", "3");
    cluster.wait_committed("refunds", 0, 1);
    cluster.wait_committed("parcels", 0, 1);
    let channels: Vec<_> =
        reported_runs(&sink).iter().map(|(metadata, _)| metadata["channel"].clone()).collect();
    assert_eq!(channels[0], "first");
    assert_eq!(
        channels[1..],
        ["second", "second"],
        "by its own topic and by the mapping of the configuration"
    );

    // The higher priority gets the topic, at once and without another subscription.
    let mut eager = topic_channel("eager", "orders", "first", json!({}));
    eager["priority"] = 5.into();
    activate(&mut client, "channels", "channel_id", &eager);
    server.wait_for_log(&["a channel does not get the records of its topic", "winner"]).unwrap();
    cluster.send("orders", "4");
    cluster.wait_committed("orders", 0, 2);
    assert_eq!(reported_runs(&sink).last().unwrap().0["channel"], "eager");

    // A topic that nobody takes is given up, and nothing of it is lost.
    for id in ["eager", "first"] {
        let path = format!("{ADMIN}/channels/{id}/status");
        let archived = client.json("PATCH", &path, &json!({"status": "archived"})).unwrap();
        assert_eq!(archived.status, 200, "{}", archived.text());
    }
    eventually(|| partitions(&mut client).iter().all(|row| row["topic"] != "orders"));
    cluster.send("orders", "5");
    cluster.send("refunds", "6");
    cluster.wait_committed("refunds", 0, 2);
    assert_eq!(cluster.committed_offset("orders", 0), 2);
    activate(&mut client, "channels", "channel_id", &topic_channel("third", "orders", "first", json!({})));
    cluster.wait_committed("orders", 0, 3);
    end(server);
}

#[test]
fn channel_names_the_group_that_reads_its_topic() {
    let cluster = Cluster::start(&[("orders", 1), ("refunds", 1)]);
    let server = launch_at(&cluster).env("SVC_KAFKA__GROUP_ID", "house").start().unwrap();
    let mut client = server.client();
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": multiply()});
    activate(&mut client, "workflows", "workflow_id", &workflow);
    let mut own = topic_channel("own", "orders", "w", json!({}));
    own["consumer_group"] = "team/orders".into();
    activate(&mut client, "channels", "channel_id", &own);
    activate(&mut client, "channels", "channel_id", &topic_channel("other", "refunds", "w", json!({})));
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.send("refunds", r#"{"n": 1}"#);
    eventually(|| cluster.committed_by("team/orders", "orders", 0) == 1);
    eventually(|| cluster.committed_by("house", "refunds", 0) == 1);
    let mut groups: Vec<_> = partitions(&mut client)
        .iter()
        .map(|row| {
            (row["topic"].as_str().unwrap().to_owned(), row["consumer_group"].as_str().unwrap().to_owned())
        })
        .collect();
    groups.sort();
    assert_eq!(groups, [("orders".into(), "team/orders".into()), ("refunds".into(), "house".to_owned())]);
    let actors = client.get(&format!("{ADMIN}/actors")).unwrap().text();
    for path in ["kafka/groups/team%2Forders/orders.0", "kafka/groups/house/consumer", "kafka/reconciler"] {
        assert!(actors.contains(path), "{path}");
    }
    end(server);
}

#[test]
fn lag_is_measured_from_the_end_of_the_partition() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    for n in ["\"x\"", "1", "2"] {
        cluster.send("orders", &format!("{{\"n\": {n}}}"));
    }
    let series = "svc_kafka_consumer_lag_messages{topic=\"orders\",partition=\"0\"}";
    eventually(|| metric(&mut client, series) == Some(3.0));
    assert_eq!(partitions(&mut client)[0]["lag"], 3);
    let job = "svc_job_last_success_timestamp_seconds{job=\"kafka_lag\"}";
    assert!(metric(&mut client, job).is_some());
    end(server);
}

#[test]
fn missing_topic_is_trouble_until_created() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    activate(&mut client, "channels", "channel_id", &topic_channel("late", "missing", "orders", json!({})));
    let mut ingest = serde_json::Value::Null;
    eventually(|| {
        ingest = client.get("/health").unwrap().json()["kafka"]["ingest"].clone();
        ingest.as_array().is_some_and(|list| !list.is_empty())
    });
    assert!(ingest[0].as_str().unwrap().contains("topic 'missing': it does not exist"), "{ingest}");
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    cluster.mock.create_topic("missing", 1, 1).unwrap();
    cluster.send("missing", r#"{"n": 1}"#);
    cluster.wait_committed("missing", 0, 1);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    end(server);
}

#[test]
fn consumer_restarted_by_order_joins_its_group_again() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    let restart = format!("{ADMIN}/actors/kafka/groups/svc/consumer/restart");
    let ordered = client.json("POST", &restart, &json!({})).unwrap();
    assert!(matches!(ordered.status, 200 | 202), "{}", ordered.text());
    eventually(|| lines_with(&server, "kafka topics subscribed") == 2);
    cluster.send("orders", r#"{"n": 2}"#);
    cluster.wait_committed("orders", 0, 2);
    assert_eq!(partitions(&mut client).len(), 1);
    end(server);
}

#[test]
fn consuming_goes_on_when_brokers_come_back() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).env("SVC_ENGINE__HEALTH_CHECK_TIMEOUT_SECS", "1").start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    cluster.mock.broker_down(-1).unwrap();
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "degraded");
    let ready = client.get("/readyz").unwrap();
    assert_eq!((ready.status, &ready.json()["components"]["kafka"]), (200, &json!("degraded")));
    cluster.mock.broker_up(-1).unwrap();
    cluster.send("orders", r#"{"n": 2}"#);
    cluster.wait_committed("orders", 0, 2);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    end(server);
}

#[test]
fn absent_brokers_are_awaited_at_the_start() {
    let cluster = Cluster::start(&[("orders", 1)]);
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.mock.broker_down(-1).unwrap();
    let server = launch_at(&cluster).env("SVC_ENGINE__HEALTH_CHECK_TIMEOUT_SECS", "1").start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    eventually(|| lines_with(&server, "kafka brokers unreachable") == 1);
    assert_eq!(client.get("/readyz").unwrap().status, 200);
    cluster.mock.broker_up(-1).unwrap();
    cluster.wait_committed("orders", 0, 1);
    eventually(|| client.get("/health").unwrap().json()["components"]["kafka"] == "ok");
    logged_once(&server, "kafka brokers unreachable");
    end(server);
}

#[test]
fn lag_is_not_measured_where_that_is_off() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).env("SVC_KAFKA__LAG_POLL_INTERVAL_SECS", "0").start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.wait_committed("orders", 0, 1);
    activate(&mut client, "channels", "channel_id", &topic_channel("late", "missing", "orders", json!({})));
    // Topics are looked at nevertheless.
    eventually(|| client.get("/health").unwrap().text().contains("topic 'missing': it does not exist"));
    eventually(|| partitions(&mut client).iter().any(|row| row["topic"] == "orders" && row["lag"].is_null()));
    for series in
        ["svc_kafka_consumer_lag_messages{", "svc_job_last_success_timestamp_seconds{job=\"kafka_lag\"}"]
    {
        assert!(!client.get("/metrics").unwrap().text().contains(series), "{series}");
    }
    end(server);
}

#[test]
fn settings_that_make_no_consumer_stop_the_start() {
    let launch = launch().env("SVC_KAFKA__ENABLED", "true").env("SVC_KAFKA__SESSION_TIMEOUT_MS", "999999999");
    let output = launch.run_to_end().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("session.timeout.ms"), "{said}");
}

#[test]
fn disabled_kafka_loads_channels_and_consumes_nothing() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    serve_topic(&mut client, "orders", "orders", json!({}), multiply());
    let health = client.get("/health").unwrap().json();
    assert_eq!((&health["status"], health["components"].get("kafka")), (&json!("ok"), None));
    assert!(partitions(&mut client).is_empty());
    let answered = client.json("POST", "/api/v1/data/orders", &json!({"n": 2})).unwrap();
    assert_eq!(
        (answered.status, &answered.json()["data"]["n"]),
        (200, &json!(4)),
        "it is reached by its name"
    );
}
