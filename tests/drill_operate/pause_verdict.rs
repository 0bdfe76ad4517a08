//! Judges a pause: pure arithmetic over the answers to submitters, the log of the witness and the rows of schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::{RecordedOccurrence, duplicate_instants};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::witness::{WitnessedRun, runs_by_name};

use crate::cluster::millis;
use crate::partition::{RECORD, RecordOrder, most_repeated};
use crate::repetitions::{find_repetitions, find_unseen};
use crate::submissions::SubmitterRecord;

/// Schedules that are due every second, by their misfire policies.
pub(crate) const SCHEDULES: [(&str, &str); 3] =
    [("tick-skip", "skip"), ("tick-latest", "latest"), ("tick-catch-up", "catch_up")];
/// Kind of the names by which the runs of submissions report.
pub(crate) const JOB: &str = "job";
/// Time within which every node knows of a pause: two polls, without announcements.
const PAUSE_TAKES: Duration = Duration::from_secs(4);
/// Missed instants that prove something.
const MISSED: usize = 3;
/// Tolerance between an instant of a schedule and the pause that it fell into, in seconds.
const READING: i64 = 2;

/// The pause, by the clock of the witness: from the answer to the order to the begin of the order to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PausedTimes {
    pub(crate) paused_at: Duration,
    pub(crate) resumed_at: Duration,
}

/// The evidence to judge. Times count from the start of the witness.
pub(crate) struct PauseEvidence {
    /// Submissions in a second that were intended.
    pub(crate) rate: u64,
    /// Time under load.
    pub(crate) length: Duration,
    pub(crate) submitted: SubmitterRecord,
    /// Accepted work that has not ended.
    pub(crate) left: usize,
    pub(crate) dead_letters: usize,
    /// Time from the end of the load until nothing was unfinished.
    pub(crate) settling: Duration,
    pub(crate) rows: Vec<RecordedOccurrence>,
    /// The seconds since 1970 in which every schedule was due.
    pub(crate) window: RangeInclusive<i64>,
    /// Start of the witness, since 1970.
    pub(crate) began_unix: Duration,
    pub(crate) times: PausedTimes,
    pub(crate) kills: Vec<Duration>,
    pub(crate) order: RecordOrder,
    /// Rebalances of the group that reads the records, since the first one was written.
    pub(crate) rebalances: usize,
    /// Records that were written.
    pub(crate) records: i64,
    pub(crate) runs: Vec<WitnessedRun>,
}

pub(crate) fn judge(evidence: &PauseEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    // Records report by names of their own and are judged by their order.
    let (records, others): (Vec<_>, Vec<_>) =
        evidence.runs.iter().cloned().partition(|run| run.occurrence.starts_with(RECORD));
    let runs = runs_by_name(&others);
    judge_submissions(evidence, &runs, &mut findings);
    let repetitions = find_repetitions(&runs, &evidence.kills);
    findings.expect_none("runs were repeated without a kill that explains it", &repetitions.unexplained);
    let PausedTimes { paused_at, resumed_at } = evidence.times;
    let is_paused = |run: &&WitnessedRun| run.begin > paused_at + PAUSE_TAKES && run.begin < resumed_at;
    let begun = evidence.runs.iter().filter(is_paused);
    let begun: Vec<_> = begun.map(|run| format!("{} at {:?}", run.occurrence, run.begin)).collect();
    findings.expect_none("runs began while their channel was paused", &begun);
    findings.expect_none("records ran before one that precedes them", &evidence.order.early);
    findings.expect_none("records were never run", &evidence.order.missing);
    let explained = most_repeated(evidence.rebalances);
    findings.at_most("records ran again", evidence.order.repeated, explained);
    findings.at_least("records", evidence.records as usize, 1);
    findings.at_least("kills", evidence.kills.len(), 1);
    findings.at_least("rebalances", evidence.rebalances, 1);
    let unseen = find_unseen(list_completed(evidence).map(|row| row.id.as_str()), &runs);
    findings.expect_none("occurrences completed and the witness saw no run", &unseen);
    let schedules: BTreeMap<_, _> = SCHEDULES
        .iter()
        .map(|(id, policy)| (*id, judge_schedule(evidence, id, policy, &mut findings)))
        .collect();
    let seconds = evidence.length.as_secs_f64();
    let SubmitterRecord { accepted, refused, unanswered, .. } = &evidence.submitted;
    let during = accepted.iter().filter(|job| job.sent > paused_at && job.sent < resumed_at).count();
    let pause = resumed_at.saturating_sub(paused_at);
    let figures = json!({
        "intended_per_second": evidence.rate, "accepted": accepted.len(),
        "accepted_per_second": (accepted.len() as f64 / seconds).round(),
        "accepted_per_second_while_paused": (during as f64 / pause.as_secs_f64()).round(),
        "refused": refused, "unanswered": unanswered, "paused_ms": millis(Some(pause)),
        "runs": others.len(), "ran_again": repetitions.explained, "records": evidence.records,
        "record_runs": records.len(), "records_ran_again": evidence.order.repeated,
        "rebalances": evidence.rebalances,
        "schedules": schedules, "settling_ms": millis(Some(evidence.settling)),
    });
    findings.into_verdict(figures)
}

fn judge_submissions(
    evidence: &PauseEvidence,
    runs: &BTreeMap<&str, Vec<&WitnessedRun>>,
    findings: &mut Findings,
) {
    let SubmitterRecord { accepted, problems, .. } = &evidence.submitted;
    let names: Vec<_> = accepted.iter().map(|job| format!("{JOB}-{}", job.number)).collect();
    let lost = find_unseen(names.iter().map(String::as_str), runs);
    findings.expect_none("accepted submissions were never run", &lost);
    findings.expect_none("submissions were answered neither with 202 nor with a refusal", problems);
    let open = (evidence.left > 0).then(|| format!("{} rows", evidence.left));
    findings.expect_none("times accepted work did not come to its end", open.as_slice());
    let letters = (evidence.dead_letters > 0).then(|| format!("{} of them", evidence.dead_letters));
    findings.expect_none("times work that cannot fail left dead letters", letters.as_slice());
    let intended = evidence.rate as f64 * evidence.length.as_secs_f64();
    findings.at_least("accepted submissions", accepted.len(), intended as usize / 20);
}

fn list_completed(evidence: &PauseEvidence) -> impl Iterator<Item = &RecordedOccurrence> {
    let in_window = evidence.rows.iter().filter(move |row| evidence.window.contains(&row.scheduled_for));
    in_window.filter(|row| row.status == "completed")
}

/// Judges a schedule by its policy; returns its figures. `catch_up` runs every instant; `skip` and `latest` sum those
/// that are late in one row, and run the others.
fn judge_schedule(evidence: &PauseEvidence, id: &str, policy: &str, findings: &mut Findings) -> Value {
    let rows: Vec<_> = evidence
        .rows
        .iter()
        .filter(|row| row.channel == id && evidence.window.contains(&row.scheduled_for))
        .cloned()
        .collect();
    let (summaries, ran): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row.status == "skipped_misfire");
    findings.expect_none(&format!("instants of {id} have two rows"), &duplicate_instants(&ran));
    let open = ran.iter().filter(|row| row.status != "completed");
    let open: Vec<_> = open.map(|row| format!("{} {}", row.scheduled_for, row.status)).collect();
    findings.expect_none(&format!("occurrences of {id} did not complete"), &open);
    let recorded: BTreeSet<i64> = ran.iter().map(|row| row.scheduled_for).collect();
    let missed: Vec<i64> = evidence.window.clone().filter(|instant| !recorded.contains(instant)).collect();
    let unix = |at: Duration| (evidence.began_unix + at).as_secs() as i64;
    let (from, until) = (unix(evidence.times.paused_at) - READING, unix(evidence.times.resumed_at) + READING);
    let outside = missed.iter().filter(|instant| !(from..=until).contains(*instant));
    let outside: Vec<_> = outside.map(i64::to_string).collect();
    findings.expect_none(&format!("instants of {id} outside of the pause were lost"), &outside);
    let summed: usize = summaries.iter().filter_map(count_missed).sum();
    if policy == "catch_up" {
        let lost: Vec<_> = missed.iter().map(i64::to_string).collect();
        findings.expect_none(&format!("instants of {id} were not caught up"), &lost);
    } else {
        findings.at_least(&format!("missed instants of {id}"), missed.len(), MISSED);
        let is_summed = summed == missed.len() && summaries.len() == 1;
        let found = (!is_summed).then(|| format!("{} rows for {summed} instants", summaries.len()));
        let what = format!("times the {} missed instants of {id} are not one row", missed.len());
        findings.expect_none(&what, found.as_slice());
    }
    json!({"policy": policy, "ran": ran.len(), "missed": missed.len(), "summed": summed})
}

/// Returns the number of instants that the row of a misfire sums up, from its message.
fn count_missed(row: &RecordedOccurrence) -> Option<usize> {
    let mut words = row.message.as_deref()?.split_whitespace();
    words.find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests;
