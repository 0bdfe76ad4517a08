//! Consumer groups: assignors, static members, and the compressions of the records they read.

use serde_json::json;

use super::*;

/// Starts a process of the group, which tells the sink of every record.
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

/// Checks that each of the partitions told of its records in order, and of none twice.
fn check_once_in_order(sink: &Upstream, partitions: i32, count: i64) {
    let told = reported_runs(sink);
    for partition in 0..partitions {
        let of = told.iter().filter(|(metadata, _)| metadata["kafka_partition"] == partition);
        let offsets: Vec<_> = of.map(|(metadata, _)| metadata["kafka_offset"].as_i64().unwrap()).collect();
        assert_eq!(offsets, (0..count).collect::<Vec<_>>(), "partition {partition}");
    }
}

#[test]
fn cooperative_group_moves_only_the_partitions_that_change_their_owner() {
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
    let given_up = first.log_text().lines().filter(|line| line.contains("are given up")).count();
    assert_eq!(given_up, 1, "two of four, once");
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

#[test]
fn static_member_goes_on_where_it_ended() {
    let cluster = Cluster::start(&[("orders", 2)]);
    let sink = sink();
    let member = start_member(&cluster, &sink, &[("group.instance.id", "node-1")]);
    send_to_each(&cluster, 2, 5);
    for partition in 0..2 {
        cluster.wait_committed("orders", partition, 5);
    }
    end(member);
    send_to_each(&cluster, 2, 5);
    let member = start_member(&cluster, &sink, &[("group.instance.id", "node-1")]);
    for partition in 0..2 {
        cluster.wait_committed("orders", partition, 10);
    }
    check_once_in_order(&sink, 2, 10);
    end(member);
}

#[test]
fn records_of_every_compression_are_read() {
    let cluster = Cluster::start(&[("orders", 1)]);
    let (server, sink) = (launch_at(&cluster).start().unwrap(), sink());
    let mut client = server.client();
    connect_sink(&mut client, &sink);
    serve_topic(&mut client, "orders", "orders", json!({}), tell());
    let codecs = ["none", "gzip", "snappy", "lz4"];
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
    cluster.wait_committed("orders", 0, 4);
    let payloads: Vec<_> =
        reported_runs(&sink).into_iter().map(|(_, payload)| payload["codec"].clone()).collect();
    assert_eq!(payloads, codecs.map(|codec| json!(codec)));
    end(server);
}
