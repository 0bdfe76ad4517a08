//! Delayed work that becomes due at a steady pace: none runs early by the clock of the database, and few run late.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use svc_testkit::findings::{DrillVerdict, Findings, percentile};
use svc_testkit::nodes::read_number;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::witness::{RunWitness, WitnessedRun, runs_by_name};

use crate::cluster::{OperateCluster, count, count_open, millis, wait_until_none};
use crate::note;
use crate::repetitions::{find_repetitions, find_unseen};
use crate::submissions::{PlannedSubmission, SubmissionPlan, SubmitterRecord, submit_all};

/// The channel of the delayed work.
const CHANNEL: &str = "later";
/// Seconds in which work becomes due.
const SECONDS: usize = 30;
/// Seconds before the first work becomes due, in addition to those that its submission may take.
const LEAD: usize = 15;
/// Submissions that any machine accepts in a second.
const SUBMITTED: usize = 700;
/// Clients that submit.
const CLIENTS: usize = 48;
/// Lateness that one of a hundred may exceed.
const LATENESS: Duration = Duration::from_secs(1);
/// Readings of the clock of the database, of which the most exact one counts.
const READINGS: usize = 10;

/// The difference of two clocks, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockDifference {
    /// Time by which the clock of the database is ahead of the one of the witness.
    ahead: i64,
    /// Bound of the error of that.
    error: i64,
}

/// The evidence to judge. Instants are microseconds since 1970.
struct LatenessEvidence {
    /// Jobs due in a second.
    rate: usize,
    /// The first instant at which one is due, by the clock of the database.
    base: i64,
    submitted: SubmitterRecord,
    clock: ClockDifference,
    /// Start of the witness by its own clock.
    began: i64,
    runs: Vec<WitnessedRun>,
    /// Rows that began before they were due, both by the clock of the database.
    early_rows: usize,
    left: usize,
}

/// Carries out the drill with so many jobs due in a second.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, rate: usize) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| Duration::ZERO)?);
    let room = rate * SECONDS * 2;
    let most = room.to_string();
    let settings = [("SVC_TRACE_QUEUE__MAX_WAITING", most.as_str())];
    let cluster = OperateCluster::start(binary, database, &witness, &settings)?;
    let mut client = cluster.client(0);
    reporting::connect(&mut client, &witness)?;
    let body = name_run(CHANNEL, &json!({"var": "payload.n"}));
    serve_workflow(&mut client, CHANNEL, &reporting::report(&body))?;
    serve_channel(&mut client, CHANNEL, &json!({"queue": {"max_waiting": room}}))?;
    cluster.wait_until_served(database)?;

    let before = compare_clocks(database, &witness)?;
    let seconds = name_seconds(database, LEAD + rate * SECONDS / SUBMITTED)?;
    let base = seconds.base;
    let begin = witness.now();
    let submitted = submit_all(&cluster, &witness, plan(rate, seconds.names))?;
    note(&format!("{} jobs were accepted in {:?}", submitted.accepted.len(), witness.now() - begin));
    if micros(witness.unix_now()) + before.ahead >= base {
        let problem = format!("{} submissions took longer than expected", submitted.accepted.len());
        return Err(io::Error::other(format!("{problem}: the first was due before the last was accepted")));
    }
    let left = wait_until_none(|| count_open(database))?;
    let after = compare_clocks(database, &witness)?;
    let early_rows = count(database, "traces", "started_at < deliver_at")?;
    let began = micros(witness.unix(Duration::ZERO));
    let clock = before.join(after);
    let runs = witness.runs();
    Ok(judge(&LatenessEvidence { rate, base, submitted, clock, began, runs, early_rows, left }))
}

/// The seconds in which work is due.
struct NamedSeconds {
    /// The first of them, in microseconds since 1970.
    base: i64,
    /// Each as a date and a time without a zone.
    names: Vec<String>,
}

/// Returns the seconds from so many seconds on, as the database names them.
fn name_seconds(database: &PostgresDatabase, lead: usize) -> io::Result<NamedSeconds> {
    let first = format!("date_trunc('second', now()) + interval '{lead} seconds'");
    let sql = format!(
        "SELECT (extract(epoch FROM t) * 1000000)::bigint, \
         to_char(t AT TIME ZONE 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS') \
         FROM generate_series({first}, {first} + interval '{} seconds', interval '1 second') t ORDER BY t",
        SECONDS - 1
    );
    let rows = database.rows(&sql).map_err(io::Error::other)?;
    let base = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    let base = base.ok_or_else(|| io::Error::other("the database names no seconds"))?;
    let names = rows.into_iter().filter_map(|row| row.into_iter().nth(1).flatten()).collect();
    Ok(NamedSeconds { base, names })
}

/// Returns the millisecond, counted from the first instant, at which the job of a number is due.
const fn due_millis(rate: usize, number: usize) -> usize {
    number / rate * 1000 + number % rate * 1000 / rate
}

fn plan(rate: usize, seconds: Vec<String>) -> SubmissionPlan {
    let make = move |number: usize| {
        let due = due_millis(rate, number);
        let deliver_at = seconds.get(due / 1000).map(|second| format!("{second}.{:03}Z", due % 1000));
        PlannedSubmission { body: json!({"n": number}), deliver_at }
    };
    SubmissionPlan {
        channel: CHANNEL,
        clients: CLIENTS,
        rate: 0,
        count: Some(rate * SECONDS),
        make: Box::new(make),
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Compares the clock of the database with the one of the witness.
fn compare_clocks(database: &PostgresDatabase, witness: &RunWitness) -> io::Result<ClockDifference> {
    let mut best: Option<ClockDifference> = None;
    for _ in 0..READINGS {
        let before = micros(witness.unix_now());
        let there =
            read_number(database, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")?;
        let after = micros(witness.unix_now());
        let read = ClockDifference { ahead: there - (before + after) / 2, error: (after - before) / 2 + 1 };
        best = best.filter(|best| best.error <= read.error).or(Some(read));
    }
    best.ok_or_else(|| io::Error::other("no clock was read"))
}

impl ClockDifference {
    /// Returns a difference whose error covers both readings.
    const fn join(self, other: Self) -> Self {
        let drift = (self.ahead - other.ahead).abs();
        let error = if self.error > other.error { self.error } else { other.error };
        Self { ahead: (self.ahead + other.ahead) / 2, error: error + drift }
    }
}

fn judge(evidence: &LatenessEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    let runs = runs_by_name(&evidence.runs);
    let name = |number: usize| format!("{CHANNEL}-{number}");
    let names: Vec<_> = evidence.submitted.accepted.iter().map(|job| name(job.number)).collect();
    let unseen = find_unseen(names.iter().map(String::as_str), &runs);
    findings.expect_none("delayed jobs were never run", &unseen);
    findings.expect_none("delayed jobs ran twice", &find_repetitions(&runs, &[]).unexplained);
    let lateness = |number: usize| {
        let run = runs.get(name(number).as_str())?.first()?;
        let due = evidence.base + due_millis(evidence.rate, number) as i64 * 1000;
        Some((number, evidence.began + micros(run.begin) + evidence.clock.ahead - due))
    };
    let mut late: Vec<_> =
        evidence.submitted.accepted.iter().filter_map(|job| lateness(job.number)).collect();
    late.sort_by_key(|(_, micros)| *micros);
    let early = late.iter().take_while(|(_, micros)| *micros < -evidence.clock.error);
    let early: Vec<_> = early.map(|(number, micros)| format!("{} by {micros} µs", name(*number))).collect();
    findings.expect_none("delayed jobs ran before they were due", &early);
    let rows = (evidence.early_rows > 0).then(|| format!("{} rows", evidence.early_rows));
    findings.expect_none("times the database has a begin before its instant", rows.as_slice());
    let left = (evidence.left > 0).then(|| format!("{} rows", evidence.left));
    findings.expect_none("times delayed work did not come to its end", left.as_slice());
    let times: Vec<_> =
        late.iter().map(|(_, micros)| Duration::from_micros(u64::try_from(*micros).unwrap_or(0))).collect();
    let p99 = percentile(&times, 99);
    let slow = p99.filter(|p99| *p99 >= LATENESS).map(|p99| format!("{p99:?}"));
    findings.expect_none("percentiles (99th) of the lateness are a second or longer", slow.as_slice());
    findings.at_least("delayed jobs", times.len(), evidence.rate * SECONDS);
    let figures = json!({
        "due_per_second": evidence.rate, "jobs": times.len(),
        "lateness_ms": {"p50": millis(percentile(&times, 50)), "p99": millis(p99),
            "max": millis(times.last().copied())},
        "earliest_us": late.first().map(|(_, micros)| *micros),
        "clock_of_database_ahead_us": evidence.clock.ahead, "clock_error_us": evidence.clock.error,
        "refused_submissions": evidence.submitted.refused,
    });
    findings.into_verdict(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetitions::answered_run;
    use crate::submissions::AcceptedSubmission;

    const RATE: usize = 2;
    const BASE: i64 = 1_800_000_000_000_000;

    /// Two jobs due in a second, each of which runs ten milliseconds later, by a clock of the database that is a second
    /// ahead. The witness began ten seconds before the first one.
    fn clean() -> LatenessEvidence {
        let numbers = || 0..RATE * SECONDS;
        let job = |number: usize| AcceptedSubmission { number, trace: String::new(), sent: Duration::ZERO };
        let run = |number: usize| {
            let due = due_millis(RATE, number) as u64;
            answered_run(&format!("later-{number}"), Duration::from_millis(9_000 + due + 10))
        };
        LatenessEvidence {
            rate: RATE,
            base: BASE,
            submitted: SubmitterRecord {
                accepted: numbers().map(job).collect(),
                ..SubmitterRecord::default()
            },
            clock: ClockDifference { ahead: 1_000_000, error: 100 },
            began: BASE - 10_000_000,
            runs: numbers().map(run).collect(),
            early_rows: 0,
            left: 0,
        }
    }

    fn failures(change: impl FnOnce(&mut LatenessEvidence)) -> String {
        let mut evidence = clean();
        change(&mut evidence);
        judge(&evidence).failures.join("\n")
    }

    #[test]
    fn early_and_late_jobs_are_found() {
        assert_eq!(failures(|_| {}), "");
        assert!(failures(|evidence| evidence.base += 10_200).contains("before they were due"));
        assert_eq!(failures(|evidence| evidence.base += 10_100), "", "within the error of the clocks");
        assert!(failures(|evidence| evidence.base -= 990_000).contains("a second or longer"));
        assert!(failures(|evidence| evidence.early_rows = 1).contains("before its instant"));
    }

    #[test]
    fn lost_and_repeated_jobs_are_found() {
        assert!(failures(|evidence| drop(evidence.runs.remove(7))).contains("never run: later-7"));
        assert!(
            failures(|evidence| evidence.runs.push(answered_run("later-7", Duration::ZERO)))
                .contains("twice")
        );
        assert!(failures(|evidence| evidence.left = 1).contains("come to its end"));
    }

    #[test]
    fn jobs_are_due_evenly_within_each_second() {
        let due: Vec<_> = (0..5).map(|number| due_millis(RATE, number)).collect();
        assert_eq!(due, [0, 500, 1000, 1500, 2000]);
    }

    #[test]
    fn joined_difference_covers_both_readings() {
        let [before, after] = [(10, 3), (14, 2)].map(|(ahead, error)| ClockDifference { ahead, error });
        assert_eq!(before.join(after), ClockDifference { ahead: 12, error: 7 });
    }
}
