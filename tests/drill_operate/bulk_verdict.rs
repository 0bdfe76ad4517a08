//! Judges the requeueing of dead letters: pure arithmetic over the counts of the orders and the log of the witness.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::witness::{WitnessedRun, runs_by_name};

use crate::cluster::{IN_FLIGHT, millis};
use crate::repetitions::{find_repetitions, find_unseen};
use crate::submissions::SubmitterRecord;

/// The causes of the failures, one group of errors each.
pub(crate) const CAUSES: [&str; 5] = ["apples", "cherries", "dates", "figs", "plums"];
/// Rows that an order requeues in a second.
pub(crate) const RATE: usize = 2_000;
/// Longest time in which the groups of the errors are read.
const GROUPING: Duration = Duration::from_secs(1);
/// Time without any progress that ends a stretch of an order: its driver was killed.
const STALL: Duration = Duration::from_secs(1);
/// Length of a stretch from which on its pace is measured: a page is a quarter of a second.
const MEASURED: Duration = Duration::from_secs(5);
/// Kills of the driver that prove something.
const KILLS: usize = 3;

/// The work that failed, and its dead letters.
pub(crate) struct FilledLetters {
    pub(crate) submitted: SubmitterRecord,
    pub(crate) letters: usize,
    /// Time from the first submission to the last dead letter.
    pub(crate) took: Duration,
}

/// The groups of the errors, as the nodes answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorGroupReading {
    /// Times of the answers, in order.
    pub(crate) times: Vec<Duration>,
    pub(crate) groups: usize,
    /// Failures of all groups.
    pub(crate) failures: usize,
}

/// An order on many rows, as it was last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BulkOrderRecord {
    pub(crate) state: String,
    pub(crate) matched: usize,
    pub(crate) done: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// The rows done at every look.
    pub(crate) looks: Vec<(Duration, usize)>,
}

/// The evidence to judge. Times count from the start of the witness.
pub(crate) struct BulkEvidence {
    /// Dead letters that were to be.
    pub(crate) rows: usize,
    pub(crate) filled: FilledLetters,
    pub(crate) groups: ErrorGroupReading,
    /// The order that was aborted, and the one that did the rest.
    pub(crate) orders: [BulkOrderRecord; 2],
    pub(crate) runs: Vec<WitnessedRun>,
    pub(crate) kills: Vec<Duration>,
    /// Dead letters and open work at the end.
    pub(crate) left: usize,
    /// Work that did not complete.
    pub(crate) failed: usize,
    /// Time from the end of the second order to the last run.
    pub(crate) settling: Duration,
    /// Entries of the audit log for begins and ends.
    pub(crate) audits: [usize; 2],
}

impl BulkOrderRecord {
    /// Takes over what a run shows of itself.
    pub(crate) fn note(&mut self, run: &Value, at: Duration) {
        let count = |member: &str| {
            run[member].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
        };
        self.state = run["state"].as_str().unwrap_or_default().to_owned();
        (self.matched, self.done) = (count("matched"), count("done"));
        (self.failed, self.skipped) = (count("failed"), count("skipped"));
        self.looks.push((at, self.done));
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "aborted" | "completed" | "failed")
    }

    /// Returns length and pace, in rows a second, of the longest stretch without a stall; `None` if it is too short to
    /// be measured.
    fn measure_pace(&self) -> Option<(Duration, f64)> {
        let mut longest: Option<(Duration, f64)> = None;
        let mut last = *self.looks.first()?;
        let mut begin = None;
        for look in &self.looks {
            if look.1 <= last.1 {
                continue;
            }
            let is_stalled = look.0.saturating_sub(last.0) > STALL;
            let first: (Duration, usize) = begin.filter(|_| !is_stalled).unwrap_or(*look);
            begin = Some(first);
            last = *look;
            let length = last.0.saturating_sub(first.0);
            if length >= MEASURED && longest.is_none_or(|(known, _)| length > known) {
                longest = Some((length, (last.1 - first.1) as f64 / length.as_secs_f64()));
            }
        }
        longest
    }
}

pub(crate) fn judge(evidence: &BulkEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    let FilledLetters { submitted, letters, took } = &evidence.filled;
    findings.at_least("dead letters", *letters, evidence.rows);
    judge_groups(evidence, &mut findings);
    let paces = judge_orders(evidence, &mut findings);
    let runs = runs_by_name(&evidence.runs);
    let traces: HashSet<&str> = submitted.accepted.iter().map(|job| job.trace.as_str()).collect();
    let unseen = find_unseen(traces.iter().copied(), &runs);
    findings.expect_none("requeued rows were never run", &unseen);
    let foreign: Vec<String> =
        runs.keys().filter(|key| !traces.contains(*key)).map(|key| (*key).to_owned()).collect();
    findings.expect_none("runs have a key that no submission was given", &foreign);
    let repetitions = find_repetitions(&runs, &evidence.kills);
    findings.expect_none("rows ran again without a kill that explains it", &repetitions.unexplained);
    findings.at_most("rows ran again", repetitions.explained, evidence.kills.len() * IN_FLIGHT);
    findings.at_least("kills of the driver", evidence.kills.len(), KILLS);
    let left = (evidence.left > 0).then(|| format!("{} rows", evidence.left));
    findings.expect_none("times work or dead letters were left over", left.as_slice());
    let failed = (evidence.failed > 0).then(|| format!("{} rows", evidence.failed));
    findings.expect_none("times requeued work did not complete", failed.as_slice());
    if evidence.audits != [2, 2] {
        let found = format!("{:?} begins and ends", evidence.audits);
        findings.expect_none("audit logs do not have one entry for each begin and end", &[found]);
    }
    let [first, second] = &evidence.orders;
    let pace = submitted.accepted.len() as f64 / took.as_secs_f64();
    let figures = json!({
        "dead_letters": letters, "filled_in_ms": millis(Some(*took)), "failures_per_second": pace.round(),
        "refused_submissions": submitted.refused,
        "groups": evidence.groups.groups, "grouped_failures": evidence.groups.failures,
        "grouping_ms": {"fastest": millis(evidence.groups.times.first().copied()),
            "slowest": millis(evidence.groups.times.last().copied())},
        "first_order": describe(first, paces[0]), "second_order": describe(second, paces[1]),
        "kills": evidence.kills.len(), "runs": evidence.runs.len(), "ran_again": repetitions.explained,
        "settling_ms": millis(Some(evidence.settling)),
    });
    findings.into_verdict(figures)
}

fn judge_groups(evidence: &BulkEvidence, findings: &mut Findings) {
    let ErrorGroupReading { times, groups, failures } = &evidence.groups;
    let slow: Vec<_> =
        times.iter().filter(|time| **time >= GROUPING).map(|time| format!("{time:?}")).collect();
    findings.expect_none("answers with the groups of errors took a second or longer", &slow);
    let is_complete = *groups == CAUSES.len().min(evidence.rows) && *failures == evidence.filled.letters;
    let found = (!is_complete).then(|| format!("{groups} groups of {failures} failures"));
    findings.expect_none("groupings do not count every dead letter once", found.as_slice());
}

/// Judges counts and pace of the two orders; returns the paces.
fn judge_orders(evidence: &BulkEvidence, findings: &mut Findings) -> [Option<f64>; 2] {
    let [first, second] = &evidence.orders;
    let counts =
        |order: &BulkOrderRecord| format!("{}: {} of {} done", order.state, order.done, order.matched);
    let ends = [(first, "aborted"), (second, "completed")];
    let wrong: Vec<_> =
        ends.iter().filter(|(order, end)| order.state != *end).map(|(order, _)| counts(order)).collect();
    findings.expect_none("orders did not end as they were told", &wrong);
    let is_once = first.done + second.done == evidence.rows
        && first.matched == evidence.rows
        && second.matched + first.done == evidence.rows
        && [first, second].iter().all(|order| order.failed + order.skipped == 0);
    let found = (!is_once).then(|| format!("{}; {}", counts(first), counts(second)));
    findings.expect_none("pairs of orders did not requeue each row exactly once", found.as_slice());
    findings.at_least("rows requeued before the abort", first.done, 1);
    findings.at_least("rows left by the abort", second.done, 1);
    let measured = [first, second].map(BulkOrderRecord::measure_pace);
    let due = RATE as f64;
    let off: Vec<_> = measured
        .iter()
        .flatten()
        .filter(|(_, pace)| !(due * 0.9..=due * 1.1).contains(pace))
        .map(|(length, pace)| format!("{pace:.0} rows a second for {length:?}"))
        .collect();
    findings.expect_none(&format!("orders did not keep the pace of {RATE} rows a second"), &off);
    measured.map(|measured| measured.map(|(_, pace)| pace.round()))
}

fn describe(order: &BulkOrderRecord, pace: Option<f64>) -> Value {
    let took = order.looks.last().zip(order.looks.first()).map(|(last, first)| last.0 - first.0);
    json!({"state": order.state, "matched": order.matched, "done": order.done, "failed": order.failed,
        "skipped": order.skipped, "took_ms": millis(took), "rows_per_second_undisturbed": pace})
}

#[cfg(test)]
mod tests;
