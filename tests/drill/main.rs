//! `make drill-cron`: schedules under faults. Three nodes on one PostgreSQL, twenty channels due every
//! second, a random node killed every two seconds. An outside witness observes the runs, which are compared
//! with the recorded rows.
//!
//! The verdict is one JSON document on standard output and in a file; the exit code is 1 if anything was
//! found.

mod nodes;
mod verdict;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::{self, RecordedOccurrence, every_second, forbid};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, wait_until};
use svc_testkit::witness::{RunWitness, WitnessedRun};

use nodes::DrillNodes;
use verdict::{DrillLimits, Evidence, judge};

const NODES: usize = 3;
const CHANNELS: usize = 20;
/// Channels from this one on let one run at a time hold a key.
const FORBIDDEN_FROM: usize = 10;
/// Channels from this one on share a key.
const SHARED_FROM: usize = 16;
/// Time from one kill to the next.
const KILL_EVERY: Duration = Duration::from_secs(2);
/// Longest wait for a state.
const SOON: Duration = Duration::from_secs(60);

fn main() -> io::Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let binary = args.next().map(PathBuf::from);
    let occurrences = args.next().and_then(|count| count.to_str()?.parse().ok());
    let (Some(binary), Some(occurrences), Some(file)) = (binary, occurrences, args.next()) else {
        return Err(io::Error::other("usage: drill-cron SVC_SERVER_BINARY OCCURRENCES VERDICT_FILE"));
    };
    let Some(postgres) = Postgres::own() else { return Ok(ExitCode::SUCCESS) };
    let evidence = drill(&binary, &postgres.database().map_err(io::Error::other)?, occurrences)?;
    let rounds = occurrences / CHANNELS / KILL_EVERY.as_secs() as usize;
    let verdict = judge(
        &evidence,
        &DrillLimits {
            // Three seconds for a machine on which another node starts meanwhile.
            takeover: Duration::from_secs(cron::LEASE_SECS + cron::POLL_SECS + 3),
            occurrences,
            kills: (rounds / 2).max(1),
            // A kill meets a run by chance: fifteen kills had from two to fifty takeovers.
            takeovers: (rounds / 8).max(1),
        },
    );
    verdict.publish(&file)
}

fn drill(binary: &PathBuf, database: &PostgresDatabase, occurrences: usize) -> io::Result<Evidence> {
    let witness = RunWitness::start(hold)?;
    cron::store(ServerCommand::new(binary)?, database, &witness, &channels())?;
    let channels: Vec<_> = (0..CHANNELS).map(|number| format!("c{number}")).collect();
    let mut nodes = DrillNodes::start(binary, database, NODES)?;
    if !wait_until(SOON, || Ok(verdict::channels_with_rows(&rows(database)?).len() == channels.len()))? {
        return Err(io::Error::other("not every channel fires"));
    }
    let first = witness.unix_now().as_secs() as i64 + 1;
    let seconds = occurrences.div_ceil(CHANNELS) as u64;
    let begun = witness.now();
    let window = first..=first + seconds as i64 - 1;
    for round in 1.. {
        let due = begun + KILL_EVERY * round;
        if due > begun + Duration::from_secs(seconds + 1) {
            break;
        }
        wait_until(KILL_EVERY, || Ok(witness.now() >= due))?;
        nodes.kill_one()?;
    }
    // What does not come to its end is for the judge to see.
    wait_until(SOON, || cron::is_settled(database, &window, channels.len()).map_err(io::Error::other))?;
    let runs = witness.runs();
    let (rows, began_unix) = (rows(database)?, witness.unix(Duration::ZERO));
    Ok(Evidence { channels, window, rows, runs, began_unix, kills: nodes.kills() })
}

/// From 50 to 500 ms, the same for every attempt.
fn hold(run: &WitnessedRun) -> Duration {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&run.occurrence);
    Duration::from_millis(50 + hash % 451)
}

fn channels() -> Vec<Value> {
    let channel = |number: usize| {
        let more = match number {
            SHARED_FROM.. => forbid("shared"),
            FORBIDDEN_FROM.. => forbid(&format!("own-{number}")),
            _ => json!({}),
        };
        every_second(&format!("c{number}"), "tell", more)
    };
    (0..CHANNELS).map(channel).collect()
}

fn rows(database: &PostgresDatabase) -> io::Result<Vec<RecordedOccurrence>> {
    cron::rows(database).map_err(io::Error::other)
}
