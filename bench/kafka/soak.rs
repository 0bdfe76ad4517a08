//! Ten minutes of records for a slow downstream, more than it takes, with the growth of memory.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::producer::{BaseRecord, Producer};
use serde_json::json;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{CommitWatcher, PATIENCE, create_channel, io_error, launch, producer, start_cluster};
use crate::BenchContext;
use crate::population::expect;
use crate::process::{let_run, resident_mib};

const PARTITIONS: i32 = 8;
/// Time that the downstream takes for a record.
const SLOWNESS: Duration = Duration::from_millis(20);
/// Records that wait at the beginning, and those that are sent each second: the downstream takes no more than
/// 400. The mock cluster holds 5 MB of a partition.
const BACKLOG: i32 = 64_000;
const RATE: f64 = 400.0;
/// Length of one slice; memory is read after each.
const SLICE: Duration = Duration::from_secs(30);
const SLICES: usize = 20;
/// Slices after which memory should not grow any more.
const WARM: usize = 4;

/// Runs the service and prints its memory.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let downstream = Upstream::start(|_| {
        let_run(SLOWNESS);
        UpstreamReply::new(200, "{}")
    })?;
    let (_cluster, brokers) = start_cluster(PARTITIONS)?;
    let tasks = json!([{"id": "tell", "name": "Tell", "function": {"name": "http_call", "input":
        {"connector": "sink", "method": "POST", "body_logic": {"var": "payload"}}}}]);
    let server = launch(setting, &brokers)?.start()?;
    let config = json!({"url": downstream.url(""), "allow_private_urls": true});
    let connector = json!({"name": "sink", "connector_type": "http", "config": config});
    expect(server.client().json("POST", "/api/v1/admin/connectors", &connector)?, 201)?;
    create_channel(&mut server.client(), "orders", "kafka", "sync", &tasks)?;
    let producer = producer(&brokers, "5")?;
    let value = json!({"order_id": "A-1", "note": "x".repeat(300)}).to_string();
    let send = |number: i32| -> io::Result<()> {
        let record: BaseRecord<'_, (), str> =
            BaseRecord::to("orders").partition(number % PARTITIONS).payload(&value);
        producer.send(record).map_err(|(error, _)| io_error(error))
    };
    (0..BACKLOG).try_for_each(send)?;
    producer.flush(PATIENCE).map_err(io_error)?;
    let watcher = CommitWatcher::new(&brokers, PARTITIONS)?;
    println!(
        "Ten minutes of records for a downstream that takes {} ms: resident memory in MiB after each slice",
        SLOWNESS.as_millis()
    );
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sending = scope.spawn(|| -> io::Result<()> {
            let (begin, mut sent) = (Instant::now(), 0);
            while !is_over.load(Ordering::Acquire) {
                while f64::from(sent) < begin.elapsed().as_secs_f64() * RATE {
                    send(sent)?;
                    sent += 1;
                }
                let_run(Duration::from_millis(10));
            }
            Ok(())
        });
        let (mut before, mut warm) = (0, 0.0);
        for slice in 0..SLICES {
            let_run(SLICE);
            let (resident, committed) = (resident_mib(server.pid())?, watcher.total()?);
            let done = i32::try_from(committed - before).map_or(0.0, f64::from) / SLICE.as_secs_f64();
            println!("  {slice:>2}  {resident:>8.1} MiB   {done:>8.0} records/s");
            before = committed;
            if slice + 1 == WARM {
                warm = resident;
            }
            if slice + 1 == SLICES {
                println!("  growth from slice {} on: {:+.1} MiB", WARM - 1, resident - warm);
            }
        }
        is_over.store(true, Ordering::Release);
        sending.join().map_err(|_| io_error("the sender panicked"))?
    })
}
