//! Judges a drill: pure arithmetic over what clients were told, what the witness saw, and what the database recorded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::{RecordedOccurrence, duplicate_instants, missing_instants};
use svc_testkit::findings::Findings;
use svc_testkit::witness::WitnessedRun;

use crate::author::FollowedChange;
use crate::clients::{AcceptedWork, Refusal, ToldToClients};
use crate::nodes::{Fault, NodeFault};

/// Time within which a change serves on every live node, for 99 of 100.
const PROPAGATION: Duration = Duration::from_secs(2);
/// Tolerance between the instants of two threads.
const READING: Duration = Duration::from_millis(500);

/// The evidence to judge. Times count from the start of the witness.
pub(crate) struct ClusterEvidence {
    pub(crate) told: ToldToClients,
    pub(crate) propagations: Vec<FollowedChange>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) runs: Vec<WitnessedRun>,
    /// The status of every asynchronous run, by its trace.
    pub(crate) statuses: HashMap<String, String>,
    /// The traces that left a dead letter.
    pub(crate) dead_letters: HashSet<String>,
    /// Channels that are due every second, and the seconds since 1970 in which they were.
    pub(crate) channels: Vec<String>,
    pub(crate) window: RangeInclusive<i64>,
    pub(crate) rows: Vec<RecordedOccurrence>,
    pub(crate) lease: Duration,
}

/// Below these numbers a drill proves nothing.
pub(crate) struct ClusterLimits {
    pub(crate) accepted: usize,
    pub(crate) faults: usize,
    pub(crate) propagations: usize,
}

impl ClusterLimits {
    /// The limits of a drill of so many seconds.
    pub(crate) const fn of_a_drill(seconds: usize) -> Self {
        Self { accepted: 5 * seconds, faults: seconds / 20, propagations: seconds / 4 }
    }
}

/// The verdict on a drill.
pub(crate) struct ClusterVerdict {
    pub(crate) failures: Vec<String>,
    figures: Value,
}

impl ClusterVerdict {
    pub(crate) fn new(findings: Findings, figures: Value) -> Self {
        Self { failures: findings.failures, figures }
    }

    pub(crate) fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn json(&self) -> Value {
        json!({"passed": self.passed(), "failures": self.failures, "figures": self.figures})
    }
}

/// Judges.
pub(crate) fn judge(evidence: &ClusterEvidence, limits: &ClusterLimits) -> ClusterVerdict {
    let mut findings = Findings::default();
    let runs = runs_by_name(&evidence.runs);
    let lost = lost(evidence);
    findings.none("accepted jobs neither completed nor left a dead letter", &lost);
    let unseen = unseen(evidence, &runs);
    findings.none("jobs completed and nobody saw them run", &unseen);
    let (doubled, excused) = doubled(evidence, &runs);
    findings.none("jobs ran twice without a fault of their node", &doubled);
    let refused = unexcused_refusals(evidence);
    findings.none("requests were refused by a node without a fault", &refused);
    let in_window: Vec<_> =
        evidence.rows.iter().filter(|row| evidence.window.contains(&row.scheduled_for)).collect();
    let missing = missing_instants(&in_window, &evidence.channels, &evidence.window);
    findings.none("instants of schedules were lost", &missing);
    findings.none("instants of schedules have two rows", &duplicate_instants(&evidence.rows));
    let unsettled: Vec<String> =
        in_window.iter().filter(|row| row.status != "completed").map(|row| occurrence(row)).collect();
    findings.none("occurrences did not complete", &unsettled);
    let repeated = repeated_occurrences(evidence, &runs);
    findings.none("occurrences ran more often than they were attempted", &repeated);
    let delays = live_propagations(evidence);
    let (p50, p99) = (percentile(&delays, 50), percentile(&delays, 99));
    let late = p99.filter(|p99| *p99 > PROPAGATION);
    findings.none(
        "percentile of the time until a change serves is too long",
        &late.map(|late| format!("{late:?}")).into_iter().collect::<Vec<_>>(),
    );
    findings.at_least("accepted jobs", evidence.told.accepted.len(), limits.accepted);
    findings.at_least("answered requests", evidence.told.answered, limits.accepted);
    findings.at_least("faults", evidence.faults.len(), limits.faults);
    findings.at_least("changes followed on a live node", delays.len(), limits.propagations);
    let of_kind = |kind| evidence.faults.iter().filter(|fault| fault.kind == kind).count();
    let millis = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
    let figures = json!({
        "accepted": evidence.told.accepted.len(), "answered": evidence.told.answered,
        "refused": evidence.told.refusals.len(), "lost": lost.len(),
        "dead_letters": evidence.dead_letters.len(),
        "doubled_without_a_fault": doubled.len(), "doubled_with_a_fault": excused,
        "kills": of_kind(NodeFault::Kill), "pauses": of_kind(NodeFault::Pause),
        "restarts": of_kind(NodeFault::Restart), "occurrences": in_window.len(),
        "changes_followed": delays.len(),
        "propagation_ms": {"p50": millis(p50), "p99": millis(p99), "max": millis(delays.last().copied())},
    });
    ClusterVerdict::new(findings, figures)
}

/// Runs by the name that they told, in the order of their begins.
fn runs_by_name(runs: &[WitnessedRun]) -> BTreeMap<&str, Vec<&WitnessedRun>> {
    let mut named = BTreeMap::<_, Vec<_>>::new();
    runs.iter().for_each(|run| named.entry(run.occurrence.as_str()).or_default().push(run));
    named.values_mut().for_each(|runs| runs.sort_by_key(|run| run.begin));
    named
}

fn lost(evidence: &ClusterEvidence) -> Vec<String> {
    let is_accounted = |job: &&AcceptedWork| {
        evidence.statuses.get(&job.trace).is_some_and(|status| status == "completed")
            || evidence.dead_letters.contains(&job.trace)
    };
    let lost = evidence.told.accepted.iter().filter(|job| !is_accounted(job));
    lost.map(|job| format!("{} ({}) is {:?}", job.name, job.trace, evidence.statuses.get(&job.trace)))
        .collect()
}

fn unseen(evidence: &ClusterEvidence, runs: &BTreeMap<&str, Vec<&WitnessedRun>>) -> Vec<String> {
    let is_seen = |name: &str| runs.get(name).is_some_and(|runs| runs.iter().any(|run| run.answered));
    let completed = evidence
        .told
        .accepted
        .iter()
        .filter(|job| evidence.statuses.get(&job.trace).is_some_and(|status| status == "completed"));
    completed.filter(|job| !is_seen(&job.name)).map(|job| job.name.clone()).collect()
}

/// Jobs whose repetition no fault explains, and the number of those that one explains. The node that accepted a job has
/// to fail before its second run; a further run needs a fault since the run before.
fn doubled(evidence: &ClusterEvidence, runs: &BTreeMap<&str, Vec<&WitnessedRun>>) -> (Vec<String>, usize) {
    let (mut found, mut excused) = (Vec::new(), 0);
    for job in &evidence.told.accepted {
        let Some(runs) = runs.get(job.name.as_str()).filter(|runs| runs.len() > 1) else { continue };
        let is_explained = runs.windows(2).enumerate().all(|(repetition, pair)| {
            let since = if repetition == 0 { job.sent } else { pair[0].begin };
            evidence.faults.iter().any(|fault| {
                fault.kind != NodeFault::Restart
                    && (repetition > 0 || fault.node == job.node)
                    && fault.begin + READING >= since
                    && fault.begin <= pair[1].begin
            })
        });
        match is_explained {
            true => excused += 1,
            false => found.push(format!("{} of node {} ran {} times", job.name, job.node, runs.len())),
        }
    }
    (found, excused)
}

/// Refusals of a node that was neither ending nor waking.
fn unexcused_refusals(evidence: &ClusterEvidence) -> Vec<String> {
    let is_excused = |refusal: &&Refusal| {
        evidence.faults.iter().any(|fault| {
            fault.node == refusal.node
                && fault.begin <= refusal.at + READING
                && refusal.sent <= fault.end + READING
        })
    };
    let refusals = evidence.told.refusals.iter().filter(|refusal| !is_excused(refusal));
    refusals.map(|Refusal { node, status, at, .. }| format!("{status} of node {node} at {at:?}")).collect()
}

fn repeated_occurrences(
    evidence: &ClusterEvidence,
    runs: &BTreeMap<&str, Vec<&WitnessedRun>>,
) -> Vec<String> {
    let count = |row: &RecordedOccurrence| runs.get(row.id.as_str()).map_or(0, Vec::len);
    let more = evidence.rows.iter().filter(|row| count(row) as i64 > row.attempt);
    more.map(|row| format!("{} {} times", occurrence(row), count(row))).collect()
}

fn occurrence(row: &RecordedOccurrence) -> String {
    format!("{} at {} ({}) {}", row.channel, row.scheduled_for, row.id, row.status)
}

/// The times until a change served, of nodes without a fault meanwhile, in order. A change that was not served counts as
/// the longest.
fn live_propagations(evidence: &ClusterEvidence) -> Vec<Duration> {
    let is_live = |propagation: &&FollowedChange| {
        let end = propagation.end.unwrap_or(Duration::MAX);
        // A node that has just come back may still load what changed while it was away.
        let since = propagation.begin.saturating_sub(evidence.lease);
        !evidence
            .faults
            .iter()
            .any(|fault| fault.node == propagation.node && fault.begin <= end && fault.end >= since)
    };
    let live = evidence.propagations.iter().filter(is_live);
    let mut delays: Vec<_> =
        live.map(|one| one.end.map_or(Duration::MAX, |end| end.saturating_sub(one.begin))).collect();
    delays.sort();
    delays
}

/// Returns the time below which this share of the times lies, in percent.
pub(crate) fn percentile(sorted: &[Duration], share: usize) -> Option<Duration> {
    sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1))).copied()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
