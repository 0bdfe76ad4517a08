//! Records that run: their message, their traces, their order, their idempotency keys.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;

#[test]
fn record_runs_with_metadata_and_is_committed() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let (mut client, sink) = (server.client(), sink());
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    cluster.send_to(
        "orders",
        0,
        Some(b"key-1"),
        Some(br#"{"data": {"a": 1}, "metadata": {"x": 1}}"#),
        &[("h", b"v")],
    );
    cluster.send_to("orders", 0, Some(&[0xff]), Some(b"[1, 2]"), &[]);
    cluster.wait_committed("orders", 0, 2);
    let runs = reported_runs(&sink);
    let (metadata, payload) = &runs[0];
    assert_eq!(payload, &json!({"data": {"a": 1}, "metadata": {"x": 1}}), "there is no envelope");
    let expected = json!({"channel": "orders", "kafka_topic": "orders", "kafka_partition": 0, "kafka_offset": 0,
        "kafka_key": "key-1", "run": {"key": "orders:0:0"}});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&metadata[name], value, "{name}");
    }
    for absent in ["headers", "http_method", "x"] {
        assert_eq!(metadata.get(absent), None);
    }
    assert_eq!((&runs[1].1, runs[1].0.get("kafka_key")), (&json!([1, 2]), None));
    let rows = traces(&mut client, "mode=kafka&status=completed");
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["channel"], &rows[0]["channel_id"]), (&json!("orders"), &json!("orders")));
    let id = rows[1]["id"].as_str().unwrap();
    let trace = client.get(&format!("{ADMIN}/traces/{id}")).unwrap().json()["data"].clone();
    assert_eq!(trace["message"]["payload"]["data"], json!({"a": 1}), "{trace}");
    assert_eq!(metric(&mut client, "svc_messages_total{channel=\"orders\",status=\"ok\"}"), Some(2.0));
    let counted = "svc_kafka_records_total{topic=\"orders\",outcome=\"completed\"}";
    assert_eq!(metric(&mut client, counted), Some(2.0));
    end(server);
}

#[test]
fn raw_records_run_as_json_or_text_or_base64() {
    let cluster = Cluster::start(&[("lines", 1)]);
    let (server, sink) = (with_dead_letters(launch_at(&cluster)).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "lines", "lines", json!({"request": {"body": "raw"}}), tell());
    // The one without a value is passed over.
    for value in [
        Some(&br#"{"n": 1}"#[..]),
        Some(b"7;order;open"),
        None,
        Some(b"{\"n\": "),
        Some(b"\xff\x00"),
        Some(b""),
    ] {
        cluster.send_to("lines", 0, None, value, &[]);
    }
    cluster.wait_committed("lines", 0, 6);
    let encodings: Vec<_> = reported_runs(&sink)
        .into_iter()
        .map(|(metadata, payload)| (metadata["kafka_encoding"].clone(), payload))
        .collect();
    let expected = [
        (json!("json"), json!({"n": 1})),
        (json!("text"), json!("7;order;open")),
        (json!("text"), json!("{\"n\": ")),
        (json!("base64"), json!("/wA=")),
    ];
    assert_eq!(encodings, expected);
    let letter = &cluster.read(DEAD, 1)[0].value;
    assert!(letter["error"].as_str().unwrap().starts_with("the value is empty"), "{letter}");
    let posted =
        client.send("POST", "/api/v1/data/lines", &[("content-type", "application/json")], b"7;order");
    assert_eq!(posted.unwrap().status, 200, "a body over HTTP is raw, too");
    end(server);
}

#[test]
fn events_of_records_run_and_are_published() {
    let cluster = Cluster::start(&[("events", 1), ("binary", 1), ("structured", 1)]);
    let (server, sink) = (with_dead_letters(launch_at(&cluster)).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    let connector = json!({"id": "k", "name": "k", "connector_type": "kafka", "config": {"brokers": []}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    let publish = |mode: &str| {
        let event = json!({"type": "order.seen", "source": "/seen", "mode": mode,
            "subject": {"var": "metadata.cloudevent.subject"}});
        json!({"id": mode, "name": mode, "function": {"name": "publish_kafka", "input": {"connector": "k",
            "topic": mode, "value": {"var": "payload"}, "cloudevent": event}}})
    };
    let tasks = json!([tell()[0], publish("binary"), publish("structured")]);
    serve_topic(&mut client, "events", "events", json!({"request": {"body": "cloudevents"}}), tasks);
    let binary: [(&str, &[u8]); 6] = [
        ("content-type", b"application/json"),
        ("ce_specversion", b"1.0"),
        ("ce_id", b"e-1"),
        ("ce_source", b"/shop"),
        ("ce_type", b"order.placed"),
        ("ce_subject", b"50%25"),
    ];
    cluster.send_to("events", 0, None, Some(b"{\"n\":1}"), &binary);
    let structured = json!({"specversion": "1.0", "id": "e-2", "source": "/shop", "type": "order.placed",
        "subject": "two", "data": {"n": 2}});
    let content_type: [(&str, &[u8]); 1] = [("content-type", b"application/cloudevents+json; charset=UTF-8")];
    cluster.send_to("events", 0, None, Some(structured.to_string().as_bytes()), &content_type);
    cluster.send_to("events", 0, None, None, &binary);
    cluster.send_to("events", 0, None, Some(b"{\"n\":3}"), &[]);
    cluster.wait_committed("events", 0, 4);
    let runs = reported_runs(&sink);
    assert_eq!(
        runs.iter().map(|(_, payload)| payload["n"].clone()).collect::<Vec<_>>(),
        [1, 2].map(Value::from)
    );
    let expected = json!({"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.placed",
        "subject": "50%25", "datacontenttype": "application/json"});
    assert_eq!((&runs[0].0["cloudevent"], &runs[1].0["cloudevent"]["id"]), (&expected, &json!("e-2")));
    let letter = &cluster.read(DEAD, 1)[0].value;
    assert!(letter["error"].as_str().unwrap().starts_with("the record is no CloudEvent: "), "{letter}");
    let sent = &cluster.read("binary", 1)[0];
    let header =
        |name: &str| sent.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!((header("ce_type"), header("ce_subject")), (Some("order.seen"), Some("50%25")));
    assert_eq!((header("content-type"), &sent.value), (Some("application/json"), &json!({"n": 1})));
    let sent = &cluster.read("structured", 1)[0].value;
    assert_eq!((&sent["data"], &sent["source"]), (&json!({"n": 1}), &json!("/seen")));
    end(server);
}

#[test]
fn tombstones_are_skipped_or_run_and_published() {
    let cluster = Cluster::start(&[("orders", 1), ("deleted", 1), ("out", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    let connector = json!({"id": "k", "name": "k", "connector_type": "kafka",
        "config": {"brokers": [], "topic": "out"}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    let publish = |id: &str, more: Value| {
        let mut input = json!({"connector": "k", "key": {"var": "metadata.kafka_key"}});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"id": id, "name": id, "function": {"name": "publish_kafka", "input": input}})
    };
    let tasks = json!([
        tell()[0],
        publish("null", json!({"value": {"var": "payload"}})),
        publish("text", json!({"value": {"var": "payload"}, "tombstone": false})),
        publish("deletion", json!({"tombstone": true}))
    ]);
    serve_topic(&mut client, "deleted", "deleted", json!({"kafka": {"tombstones": "run"}}), tasks);
    for topic in ["orders", "deleted"] {
        cluster.send_to(topic, 0, Some(b"a"), None, &[]);
    }
    cluster.send_to("orders", 0, Some(b"a"), Some(b"1"), &[]);
    cluster.wait_committed("orders", 0, 2);
    cluster.wait_committed("deleted", 0, 1);
    let mut runs: Vec<_> = reported_runs(&sink)
        .into_iter()
        .map(|(metadata, payload)| {
            (metadata["channel"].as_str().unwrap().to_owned(), metadata["kafka"].clone(), payload)
        })
        .collect();
    runs.sort_by(|one, other| one.0.cmp(&other.0));
    let tombstone = ("deleted".to_owned(), json!({"tombstone": true}), Value::Null);
    assert_eq!(runs, [tombstone, ("orders".to_owned(), Value::Null, json!(1))]);
    let counted = |outcome| format!("svc_kafka_records_total{{topic=\"orders\",outcome=\"{outcome}\"}}");
    assert_eq!(metric(&mut client, &counted("tombstone")), Some(1.0));
    assert_eq!(metric(&mut client, &counted("completed")), Some(1.0));
    let reader = cluster.reader("test-reader");
    let mut from = TopicPartitionList::new();
    from.add_partition_offset("out", 0, Offset::Beginning).unwrap();
    reader.assign(&from).unwrap();
    for expected in [None, Some(&b"null"[..]), None] {
        let record = reader.poll(PATIENCE).expect("a record comes in time").unwrap();
        assert_eq!((record.key(), record.payload()), (Some(&b"a"[..]), expected));
    }
    end(server);
}

#[test]
fn records_of_partition_run_once_in_order() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "off"}}), tell());
    for n in 0..40 {
        cluster.send_to("orders", n % 2, None, Some(n.to_string().as_bytes()), &[]);
    }
    cluster.wait_committed("orders", 0, 20);
    cluster.wait_committed("orders", 1, 20);
    let server = server.crash_and_restart().unwrap();
    for n in 40..44 {
        cluster.send_to("orders", n % 2, None, Some(n.to_string().as_bytes()), &[]);
    }
    cluster.wait_committed("orders", 0, 22);
    cluster.wait_committed("orders", 1, 22);
    for partition in 0..2 {
        let runs = reported_runs(&sink);
        let of = runs.iter().filter(|(metadata, _)| metadata["kafka_partition"] == partition);
        let offsets: Vec<_> = of.map(|(metadata, _)| metadata["kafka_offset"].as_i64().unwrap()).collect();
        assert_eq!(offsets, (0..22).collect::<Vec<_>>(), "in order, none twice: everything was committed");
    }
    assert!(traces(&mut server.client(), "mode=kafka").is_empty(), "tracing is off");
    end(server);
}

#[test]
fn idempotency_key_of_header_or_record_is_claimed_once() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    let config = json!({"deduplication": {"header": "Idempotency-Key", "window_secs": 600}});
    serve_topic(&mut client, "orders", "orders", config, tell());
    let send = |n: &str, key: Option<&[u8]>, header: Option<&[u8]>| {
        let headers: Vec<_> = header.map(|value| ("idempotency-KEY", value)).into_iter().collect();
        cluster.send_to("orders", 0, key, Some(n.as_bytes()), &headers);
    };
    send("0", Some(b"a"), None);
    send("1", Some(b"a"), None);
    send("2", Some(b"a"), Some(b"b"));
    send("3", Some(b"c"), Some(b"b"));
    send("4", None, None);
    send("5", None, None);
    cluster.wait_committed("orders", 0, 6);
    let payloads: Vec<_> = reported_runs(&sink).into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, [0, 2, 4, 5].map(|n| json!(n)), "the header goes before the key of the record");
    let counted = "svc_kafka_records_total{topic=\"orders\",outcome=\"duplicate\"}";
    assert_eq!(metric(&mut client, counted), Some(2.0));
    assert_eq!(metric(&mut client, "svc_messages_total{channel=\"orders\",status=\"duplicate\"}"), Some(2.0));
    end(server);
}

#[test]
fn idempotency_key_is_free_between_record_attempts() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    let config = json!({"deduplication": {"header": "Idempotency-Key"}});
    serve_topic(&mut client, "orders", "orders", config, multiply());
    let send = |partition, value: &[u8]| cluster.send_to("orders", partition, Some(b"a"), Some(value), &[]);
    send(0, br#"{"n": "x"}"#);
    wait_state(&mut client, 0, "retrying");
    send(1, br#"{"n": 1}"#);
    cluster.wait_committed("orders", 1, 1);
    // The other record has settled the key.
    cluster.wait_committed("orders", 0, 1);
    for outcome in ["completed", "duplicate"] {
        let series = format!("svc_kafka_records_total{{topic=\"orders\",outcome=\"{outcome}\"}}");
        assert_eq!(metric(&mut client, &series), Some(1.0), "{outcome}");
    }
    end(server);
}

#[test]
fn trace_of_record_follows_tracing_of_channel() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = with_dead_letters(launch_at(&cluster)).start().unwrap();
    let mut client = server.client();
    let tracing = json!({"tracing": {"mode": "sync", "errors_only": true, "task_details": true}});
    serve_topic(&mut client, "orders", "orders", tracing, multiply());
    cluster.send("orders", r#"{"n": 1}"#);
    cluster.send("orders", r#"{"n": "x"}"#);
    cluster.wait_committed("orders", 0, 2);
    let rows = traces(&mut client, "channel=orders");
    assert_eq!((rows.len(), &rows[0]["status"]), (1, &json!("failed")), "{rows:?}");
    let id = rows[0]["id"].as_str().unwrap();
    let trace = client.get(&format!("{ADMIN}/traces/{id}")).unwrap().json();
    assert!(!trace["data"]["task_trace_json"].is_null(), "{trace}");
    end(server);
}

#[test]
fn redelivered_record_meets_the_same_version_of_its_workflow() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let mut client = server.client();
    let tasks = |version: i64| {
        json!([{"id": "mark", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.version", "logic": version}]}}}])
    };
    serve_topic(&mut client, "orders", "orders", json!({}), tasks(1));
    let path = format!("{ADMIN}/workflows/orders");
    assert_eq!(client.json("POST", &format!("{path}/versions"), &json!({})).unwrap().status, 201);
    let second = json!({"workflow_id": "orders", "name": "orders", "tasks": tasks(2)});
    assert_eq!(client.json("PUT", &path, &second).unwrap().status, 200);
    let rollout = json!({"status": "active", "rollout_percentage": 50});
    let status = client.json("PATCH", &format!("{path}/status"), &rollout).unwrap();
    assert_eq!(status.status, 200, "{}", status.text());
    for _ in 0..20 {
        cluster.send("orders", "{}");
    }
    cluster.wait_committed("orders", 0, 20);
    let rows = traces(&mut client, "mode=kafka&limit=100");
    for row in &rows {
        let trace = client.get(&format!("{ADMIN}/traces/{}", row["id"].as_str().unwrap())).unwrap().json();
        assert_eq!(trace["data"]["message"]["context"]["data"]["version"], trace["data"]["workflow_version"]);
    }
    // The bucket follows from topic, partition and offset.
    let newer = (0..20).filter(|offset| bucket(&format!("orders:0:{offset}")) < 50).count();
    let second = rows.iter().filter(|row| row["workflow_version"] == 2).count();
    assert_eq!((rows.len(), second), (20, newer));
    end(server);
}

/// The 64-bit FNV-1a hash modulo 100.
fn bucket(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash % 100
}

#[test]
fn record_attempts_send_the_same_idempotency_key() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let server = launch_at(&cluster).start().unwrap();
    let attempts = AtomicUsize::new(0);
    let api = Upstream::start(move |_| match attempts.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => UpstreamReply::new(500, "{}"),
        _ => UpstreamReply::new(200, "{}"),
    })
    .unwrap();
    let mut client = server.client();
    connect_sink(&mut client, &api);
    let charge = json!([{"id": "charge", "name": "Charge", "function": {"name": "http_call", "input": {
        "connector": "sink", "method": "POST", "idempotency_key": true}}}]);
    serve_topic(&mut client, "orders", "orders", json!({}), charge);
    cluster.send("orders", "{}");
    cluster.wait_committed("orders", 0, 1);
    let keys: Vec<_> =
        api.requests().iter().map(|sent| sent.header("idempotency-key").map(str::to_owned)).collect();
    assert_eq!(keys, vec![Some("orders:0:0:charge".to_owned()); 3]);
    end(server);
}
