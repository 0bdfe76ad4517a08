//! Consumer groups: assignors, static members, and the compressions of the records they read.

use serde_json::json;
use svc_testkit::redis::Redis;
use svc_testkit::server::wait_until;

use super::*;
use crate::cluster::database;

/// Starts a process of the group, which notifies the sink of every record.
fn start_member(cluster: &Cluster, sink: &Upstream, properties: &[(&str, &str)]) -> ServerProcess {
    let server = with_properties(launch_at(cluster), properties).start().unwrap();
    let mut client = server.client();
    connect_sink(&mut client, sink);
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "off"}}), tell());
    server
}

/// Writes `count` records to each of the partitions.
fn send_to_each(cluster: &Cluster, partitions: i32, count: usize) {
    for _ in 0..count {
        for partition in 0..partitions {
            cluster.send_to("orders", partition, None, Some(b"1"), &[]);
        }
    }
}

/// Checks that each of the partitions reported its records in order, and of none twice.
fn check_once_in_order(sink: &Upstream, partitions: i32, count: i64) {
    let runs = reported_runs(sink);
    for partition in 0..partitions {
        let of = runs.iter().filter(|(metadata, _)| metadata["kafka_partition"] == partition);
        let offsets: Vec<_> = of.map(|(metadata, _)| metadata["kafka_offset"].as_i64().unwrap()).collect();
        assert_eq!(offsets, (0..count).collect::<Vec<_>>(), "partition {partition}");
    }
}

#[test]
fn cooperative_group_moves_only_reassigned_partitions() {
    const COOPERATIVE: [(&str, &str); 1] = [("partition.assignment.strategy", "cooperative-sticky")];
    let cluster = Cluster::start(&[("orders", 4)]);
    let sink = sink();
    let first = start_member(&cluster, &sink, &COOPERATIVE);
    let mut client = first.client();
    eventually(|| partitions(&mut client).len() == 4);
    send_to_each(&cluster, 4, 5);
    for partition in 0..4 {
        cluster.wait_committed("orders", partition, 5);
    }
    let second = start_member(&cluster, &sink, &COOPERATIVE);
    let mut other = second.client();
    eventually(|| (partitions(&mut client).len(), partitions(&mut other).len()) == (2, 2));
    let log = first.wait_for_log(&["are given up"]).unwrap();
    assert_eq!(log.matches("are given up").count(), 1, "two of four, once");
    send_to_each(&cluster, 4, 5);
    for partition in 0..4 {
        cluster.wait_committed("orders", partition, 10);
    }
    check_once_in_order(&sink, 4, 10);
    end(second);
    eventually(|| partitions(&mut client).len() == 4);
    send_to_each(&cluster, 4, 5);
    for partition in 0..4 {
        cluster.wait_committed("orders", partition, 15);
    }
    check_once_in_order(&sink, 4, 15);
    end(first);
}

/// Returns the number of times that a process was given partitions, or gave them up.
fn rebalances(server: &ServerProcess) -> usize {
    let is_rebalance = |line: &&str| line.contains("are given up") || line.contains("partitions assigned");
    server.log_text().lines().filter(is_rebalance).count()
}

#[test]
fn restarted_node_keeps_its_partitions() {
    let Some((_postgres, database)) = database() else { return };
    let Some(redis) = Redis::own() else { return };
    let node = |cluster: &Cluster, name: &str| {
        let launch = launch_at(cluster)
            .env("SVC_STORAGE__URL", database.url())
            .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
            .env("SVC_CLUSTER__ENABLED", "true")
            .env("SVC_CLUSTER__REDIS_URL", redis.url())
            .env("SVC_CLUSTER__INSTANCE_ID", name);
        // Of the two protocols of groups, the mock cluster knows static members of this one alone.
        with_properties(launch, &[("group.protocol", "consumer")]).start().unwrap()
    };
    let cluster = Cluster::start(&[("orders", 4)]);
    let sink = sink();
    let first = node(&cluster, "node-1");
    let mut client = first.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({"tracing": {"mode": "off"}}), tell());
    eventually(|| partitions(&mut first.client()).len() == 4);
    let second = node(&cluster, "node-2");
    eventually(|| partitions(&mut first.client()).len() == 2 && partitions(&mut second.client()).len() == 2);
    send_to_each(&cluster, 4, 5);
    for partition in 0..4 {
        cluster.wait_committed("orders", partition, 5);
    }
    let numbers = |server: &ServerProcess| {
        let rows = partitions(&mut server.client());
        rows.iter().map(|row| row["partition"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let (own, others, noticed) = (numbers(&second), numbers(&first), rebalances(&first));
    end(second);
    send_to_each(&cluster, 4, 5);
    for partition in &others {
        cluster.wait_committed("orders", i32::try_from(*partition).unwrap(), 10);
    }
    for partition in &own {
        let waiting = cluster.committed_offset("orders", i32::try_from(*partition).unwrap());
        assert_eq!(waiting, 5, "nobody else reads them");
    }
    let second = node(&cluster, "node-2");
    for partition in 0..4 {
        cluster.wait_committed("orders", partition, 10);
    }
    assert_eq!((numbers(&second), numbers(&first)), (own, others));
    assert_eq!(rebalances(&first), noticed);
    check_once_in_order(&sink, 4, 10);
    end(second);
    end(first);
}

/// Longest wait for a partition that was left. The mock cluster gives a silent member up after 30 seconds.
const LEFT: Duration = Duration::from_secs(25);

#[test]
fn ending_process_leaves_group_while_asking_brokers() {
    // With this protocol the mock cluster does not wait for a member that has left.
    const PROTOCOL: [(&str, &str); 1] = [("group.protocol", "consumer")];
    let cluster = Cluster::start(&[("orders", 2)]);
    let sink = sink();
    let (first, second) =
        (start_member(&cluster, &sink, &PROTOCOL), start_member(&cluster, &sink, &PROTOCOL));
    let mut client = second.client();
    eventually(|| partitions(&mut first.client()).len() == 1 && partitions(&mut client).len() == 1);
    // A measurement takes longer than the time from one to the next, so that one is always in progress.
    cluster.mock.broker_round_trip_time(-1, Duration::from_millis(500)).unwrap();
    // Committed offsets travel the same way: one round trip has passed.
    assert_eq!(cluster.committed_offset("orders", 0), 0);
    end(first);
    let is_left = wait_until(LEFT, || Ok(partitions(&mut client).len() == 2)).unwrap();
    assert!(is_left, "the other process waits for the end of the session");
    end(second);
}

#[test]
fn records_of_every_compression_are_read() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    let codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
    for codec in codecs {
        let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
            .set("bootstrap.servers", cluster.mock.bootstrap_servers())
            .set("compression.type", codec)
            .create()
            .unwrap();
        let value = json!({"codec": codec, "padding": "x".repeat(4096)}).to_string();
        let record: BaseRecord<'_, [u8], str> = BaseRecord::to("orders").partition(0).payload(&value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
        producer.flush(PATIENCE).unwrap();
    }
    cluster.wait_committed("orders", 0, 5);
    let payloads: Vec<_> =
        reported_runs(&sink).into_iter().map(|(_, payload)| payload["codec"].clone()).collect();
    assert_eq!(payloads, codecs.map(|codec| json!(codec)));
    end(server);
}
