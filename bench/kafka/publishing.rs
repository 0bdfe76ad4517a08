//! Records a second that are published, fifty at a time: through a channel over HTTP, and by a bare producer
//! with the same properties.

use std::io;
use std::time::{Duration, Instant};

use rdkafka::producer::{FutureProducer, FutureRecord};
use serde_json::json;

use super::{client, create_channel, io_error, launch, order, start_cluster};
use crate::load::{Load, wrk};
use crate::population::expect;
use crate::{BenchContext, CONNECTIONS, ROUND, ROUNDS};

/// Measures both sides in alternating rounds.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(super) fn measure(setting: &BenchContext) -> io::Result<()> {
    let (_cluster, brokers) = start_cluster(8)?;
    let server = launch(setting, &brokers)?.start()?;
    let mut http = server.client();
    let connector = json!({"name": "bus", "connector_type": "kafka", "config": {"brokers": []}});
    expect(http.json("POST", "/api/v1/admin/connectors", &connector)?, 201)?;
    let publish = json!({"connector": "bus", "topic": "orders", "value_logic": {"var": "payload"}});
    let tasks =
        json!([{"id": "publish", "name": "P", "function": {"name": "publish_kafka", "input": publish}}]);
    create_channel(&mut http, "publish", "rest", "off", &tasks)?;
    let load = Load::post("/api/v1/data/publish", order(1));
    let (mut bare, mut service) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(produce(&brokers)?);
        service.push(wrk(server.address(), &load, CONNECTIONS, ROUND)?.clean()?.requests_per_second);
    }
    let [bare, service] = [bare, service].map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    println!("Published records, {CONNECTIONS} at a time, median of {ROUNDS} alternating rounds");
    println!("  {:<34} {:>10} {:>6}", "", "records/s", "ratio");
    println!("  {:<34} {bare:>10.0} {:>6.2}", "bare producer", 1.0);
    println!("  {:<34} {service:>10.0} {:>6.2}", "publish_kafka, over HTTP", service / bare);
    Ok(())
}

/// Publishes for the length of a round, each task its next record when the last was acknowledged.
fn produce(brokers: &str) -> io::Result<f64> {
    let mut config = client(brokers);
    config.set("enable.idempotence", "true").set("acks", "all").set("compression.type", "lz4");
    config.set("linger.ms", "5").set("batch.size", "65536");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let producer: FutureProducer = config.create().map_err(io_error)?;
        let begin = Instant::now();
        let tasks = (0..CONNECTIONS).map(|_| {
            let producer = producer.clone();
            tokio::spawn(async move {
                let (mut sent, value) = (0.0, order(1));
                while begin.elapsed() < ROUND {
                    let record = FutureRecord::<str, str>::to("orders").payload(&value);
                    let done = producer.send(record, Duration::from_secs(10)).await;
                    done.map_err(|(error, _)| io_error(error))?;
                    sent += 1.0;
                }
                io::Result::Ok(sent)
            })
        });
        let mut total = 0.0;
        for task in tasks.collect::<Vec<_>>() {
            total += task.await.map_err(io_error)??;
        }
        Ok(total / begin.elapsed().as_secs_f64())
    })
}
