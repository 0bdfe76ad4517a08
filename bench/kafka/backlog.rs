//! Records a second from a topic that was filled before. The time runs from the first record, or the first
//! commit, to the last: that in which a group comes together does not count.

use std::io;
use std::time::{Duration, Instant};

use rdkafka::consumer::CommitMode;
use rdkafka::message::Message;
use rdkafka::producer::{BaseRecord, Producer};
use serde_json::Value;

use super::{COMMIT_EVERY, CommitWatcher, PATIENCE, SIDES, Side};
use super::{bare_consumer, commit, io_error, order, producer, serve, start_cluster};
use crate::BenchContext;
use crate::figures::Figure;
use crate::process::let_run;

/// Records of one measurement: as many as a partition of the mock cluster holds.
const RECORDS: i32 = 40_000;
/// Rounds of each side; the median counts.
const ROUNDS: usize = 3;
/// Longest time of one measurement.
const LONGEST: Duration = Duration::from_secs(180);

/// Measures every side; returns the records a second of each.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(super) fn measure(setting: &BenchContext, partitions: i32) -> io::Result<Vec<f64>> {
    let mut rates = vec![Vec::new(); SIDES.len()];
    for _ in 0..ROUNDS {
        for ((_, side, _), rates) in SIDES.iter().zip(&mut rates) {
            let (_cluster, brokers) = start_cluster(partitions)?;
            fill(&brokers, partitions)?;
            rates.push(match side {
                Side::Bare => consume(&brokers)?,
                Side::Service(traces) => run(setting, &brokers, partitions, traces)?,
            });
        }
    }
    let medians: Vec<f64> = rates.into_iter().map(median).collect();
    println!("{RECORDS} records of {partitions} partitions, median of {ROUNDS} alternating rounds");
    println!("  {:<34} {:>10} {:>6}", "", "records/s", "ratio");
    for ((name, _, aim), rate) in SIDES.iter().zip(&medians) {
        let ratio = rate / medians[0];
        println!("  {name:<34} {rate:>10.0} {ratio:>6.2}");
        let work = format!("records of {partitions} partitions, {name}");
        setting.note(aim.map(|aim| Figure::new(work, aim, format!("{ratio:.2}"))));
    }
    Ok(medians)
}

/// Writes the records, evenly over the partitions.
fn fill(brokers: &str, partitions: i32) -> io::Result<()> {
    let producer = producer(brokers, "5")?;
    for number in 0..RECORDS {
        let value = order(number);
        let record: BaseRecord<'_, (), str> =
            BaseRecord::to("orders").partition(number % partitions).payload(&value);
        producer.send(record).map_err(|(error, _)| io_error(error))?;
    }
    producer.flush(PATIENCE).map_err(io_error)
}

/// Reads and parses every record, and commits; returns the records a second.
fn consume(brokers: &str) -> io::Result<f64> {
    let consumer = bare_consumer(brokers)?;
    let (begin, mut read, mut first) = (Instant::now(), 0, Instant::now());
    while read < RECORDS {
        if begin.elapsed() > LONGEST {
            return Err(io_error("the bare consumer did not read every record in time"));
        }
        // A change of the assignment ends a poll early.
        let Some(record) = consumer.poll(PATIENCE) else { continue };
        let record = record.map_err(io_error)?;
        let value: Value = serde_json::from_slice(record.payload().unwrap_or_default())?;
        std::hint::black_box(value);
        if read == 0 {
            first = Instant::now();
        }
        read += 1;
        if read % COMMIT_EVERY == 0 {
            commit(&consumer, CommitMode::Async)?;
        }
    }
    commit(&consumer, CommitMode::Sync)?;
    Ok(f64::from(RECORDS) / first.elapsed().as_secs_f64())
}

/// Lets a server run every record; returns the records a second, by what is committed.
fn run(setting: &BenchContext, brokers: &str, partitions: i32, traces: &str) -> io::Result<f64> {
    let _server = serve(setting, brokers, traces)?;
    let watcher = CommitWatcher::new(brokers, partitions)?;
    let mut first = None;
    let begin = Instant::now();
    while begin.elapsed() < LONGEST {
        let committed = watcher.total()?;
        match first {
            None if committed > 0 => first = Some((Instant::now(), committed)),
            Some((at, before)) if committed == i64::from(RECORDS) => {
                let run = f64::from(RECORDS) - i32::try_from(before).map_or(0.0, f64::from);
                return Ok(run / at.elapsed().as_secs_f64());
            }
            _ => let_run(Duration::from_millis(5)),
        }
    }
    Err(io_error("the service did not run every record in time"))
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
