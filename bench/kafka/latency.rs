//! The time from the sending of a record to its committed offset, at half of what a side runs.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::CommitMode;
use rdkafka::message::Message;
use rdkafka::producer::{BaseRecord, Producer};
use serde_json::Value;

use super::{COMMIT_EVERY, CommitWatcher, PATIENCE, SIDES, Side};
use super::{bare_consumer, commit, io_error, order, producer, serve, start_cluster};
use crate::BenchContext;
use crate::process::let_run;

/// Length of a measurement.
const LENGTH: Duration = Duration::from_secs(5);
/// Most records of a partition: as many as the mock cluster holds.
const RECORDS: f64 = 40_000.0;
/// Time between two looks at what is committed, which the latencies include.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A look at what is committed, by partition.
type Look = (Instant, Vec<i64>);

/// Measures every side at half of its rate.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(super) fn measure(setting: &BenchContext, partitions: i32, rates: &[f64]) -> io::Result<()> {
    println!("Latency up to the committed offset at half load, {partitions} partitions");
    println!("  {:<34} {:>10} {:>11} {:>11}", "", "records/s", "p50", "p99");
    for ((name, side, _), rate) in SIDES.iter().zip(rates) {
        let rate = (rate / 2.0).min(RECORDS * f64::from(partitions) / LENGTH.as_secs_f64());
        let (_cluster, brokers) = start_cluster(partitions)?;
        let mut latencies = match side {
            Side::Bare => consume(&brokers, partitions, rate)?,
            Side::Service(traces) => {
                let _server = serve(setting, &brokers, traces)?;
                send_and_watch(&brokers, partitions, rate)?
            }
        };
        latencies.sort_by(f64::total_cmp);
        let at = |share: usize| latencies.get(latencies.len() * share / 100).copied().unwrap_or_default();
        println!("  {name:<34} {rate:>10.0} {:>8.2} ms {:>8.2} ms", at(50), at(99));
    }
    Ok(())
}

/// Measures a bare consumer, which commits what it has when there is nothing more at hand.
fn consume(brokers: &str, partitions: i32, rate: f64) -> io::Result<Vec<f64>> {
    let consumer = bare_consumer(brokers)?;
    let is_over = AtomicBool::new(false);
    let poll = || -> io::Result<()> {
        let mut uncommitted = 0;
        while !is_over.load(Ordering::Acquire) {
            let record = consumer.poll(Duration::ZERO);
            if let Some(record) = &record {
                let record = record.as_ref().map_err(io_error)?;
                let value: Value = serde_json::from_slice(record.payload().unwrap_or_default())?;
                std::hint::black_box(value);
                uncommitted += 1;
            }
            if uncommitted >= COMMIT_EVERY || (record.is_none() && uncommitted > 0) {
                commit(&consumer, CommitMode::Async)?;
                uncommitted = 0;
            }
            if record.is_none() {
                let_run(Duration::from_micros(200));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let polling = scope.spawn(poll);
        let latencies = send_and_watch(brokers, partitions, rate);
        is_over.store(true, Ordering::Release);
        polling.join().map_err(|_| io_error("the consumer panicked"))??;
        latencies
    })
}

/// Sends records at a fixed rate, and returns the milliseconds that each took to be committed.
fn send_and_watch(brokers: &str, partitions: i32, rate: f64) -> io::Result<Vec<f64>> {
    let watcher = CommitWatcher::new(brokers, partitions)?;
    // The group has come together when a first record of each partition is committed.
    let producer = producer(brokers, "0")?;
    let send = |number: i32| -> io::Result<()> {
        let value = order(number);
        let record: BaseRecord<'_, (), str> =
            BaseRecord::to("orders").partition(number % partitions).payload(&value);
        producer.send(record).map_err(|(error, _)| io_error(error))
    };
    (0..partitions).try_for_each(send)?;
    producer.flush(PATIENCE).map_err(io_error)?;
    let begin = Instant::now();
    while watcher.total()? < i64::from(partitions) {
        if begin.elapsed() > PATIENCE {
            return Err(io_error("the group does not come together"));
        }
        let_run(LOOK_EVERY);
    }
    let begin = Instant::now();
    let (sent, looks) = thread::scope(|scope| {
        let sending = scope.spawn(|| -> io::Result<Vec<Instant>> {
            let mut sent = Vec::new();
            while begin.elapsed() < LENGTH {
                while sent.len() as f64 <= begin.elapsed().as_secs_f64() * rate {
                    let number = partitions + i32::try_from(sent.len()).map_err(io_error)?;
                    sent.push(Instant::now());
                    send(number)?;
                }
                let_run(LOOK_EVERY);
            }
            Ok(sent)
        });
        let mut looks: Vec<Look> = Vec::new();
        loop {
            looks.push((Instant::now(), watcher.offsets()?));
            if sending.is_finished() {
                break;
            }
            let_run(LOOK_EVERY);
        }
        let sent = sending.join().map_err(|_| io_error("the sender panicked"))??;
        let total = i64::from(partitions) + i64::try_from(sent.len()).map_err(io_error)?;
        while looks.last().is_some_and(|(_, offsets)| offsets.iter().sum::<i64>() < total) {
            if begin.elapsed() > LENGTH + PATIENCE {
                return Err(io_error("not every record was committed in time"));
            }
            let_run(LOOK_EVERY);
            looks.push((Instant::now(), watcher.offsets()?));
        }
        io::Result::Ok((sent, looks))
    })?;
    Ok(latencies(&sent, &looks, partitions))
}

/// Finds for each record the first look at which it was committed.
fn latencies(sent: &[Instant], looks: &[Look], partitions: i32) -> Vec<f64> {
    let partitions = usize::try_from(partitions).unwrap_or(1);
    let committed_at = |(index, sent_at): (usize, &Instant)| {
        // The first offset of each partition was sent before.
        let (partition, offset) = (index % partitions, 1 + index / partitions);
        let is_earlier =
            |(_, offsets): &Look| offsets[partition] <= i64::try_from(offset).unwrap_or(i64::MAX);
        let (at, _) = looks.get(looks.partition_point(is_earlier))?;
        Some((*at - *sent_at).as_secs_f64() * 1e3)
    };
    sent.iter().enumerate().filter_map(committed_at).collect()
}
