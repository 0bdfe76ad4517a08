//! Judges a drill: pure arithmetic over the answers to clients, what the witness saw, and what the database recorded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::json;
use svc_testkit::cron::{RecordedOccurrence, duplicate_instants, missing_instants};
use svc_testkit::findings::{DrillVerdict, Findings, percentile};
use svc_testkit::witness::{WitnessedRun, runs_by_name};

use crate::author::{FOLLOWING, FollowedChange};
use crate::clients::{AcceptedWork, Refusal, ToldToClients};
use crate::nodes::{Fault, NodeFault};
use crate::peers::{Peer, PeerOutage};
use crate::readiness::ReadinessLook;

/// Time within which a change serves on every live node, for 99 of 100.
const PROPAGATION: Duration = Duration::from_secs(2);
/// Time within which every node accepts work and is ready once a server that was away is back.
const RECOVERY: Duration = Duration::from_secs(5);
/// Time within which nothing is unfinished: far longer than it takes to take over the work of a node.
const SETTLING: Duration = Duration::from_secs(30);
/// Tolerance between the instants of two threads.
const READING: Duration = Duration::from_millis(500);

/// The evidence to judge. Times count from the start of the witness.
pub(crate) struct ClusterEvidence {
    pub(crate) told: ToldToClients,
    pub(crate) propagations: Vec<FollowedChange>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) outages: Vec<PeerOutage>,
    pub(crate) looks: Vec<ReadinessLook>,
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
    /// Time from the end of the load until nothing was unfinished.
    pub(crate) settling: Duration,
}

/// Below these numbers a drill proves nothing.
pub(crate) struct ClusterLimits {
    pub(crate) accepted: usize,
    pub(crate) faults: usize,
    /// Outages of each peer.
    pub(crate) outages: usize,
    pub(crate) propagations: usize,
}

impl ClusterLimits {
    /// The limits of a drill of so many seconds.
    pub(crate) const fn of_a_drill(seconds: usize) -> Self {
        Self { accepted: 5 * seconds, faults: seconds / 20, outages: seconds / 60, propagations: seconds / 4 }
    }
}

pub(crate) fn judge(evidence: &ClusterEvidence, limits: &ClusterLimits) -> DrillVerdict {
    let mut findings = Findings::default();
    let runs = runs_by_name(&evidence.runs);
    let lost = find_lost(evidence);
    findings.expect_none("accepted jobs neither completed nor left a dead letter", &lost);
    let unseen = find_unseen(evidence, &runs);
    findings.expect_none("jobs completed and nobody saw them run", &unseen);
    let (doubled, excused) = find_doubled(evidence, &runs);
    findings.expect_none("jobs ran twice without a fault of their node", &doubled);
    let refused = unexcused_refusals(evidence);
    findings.expect_none("requests were refused by a node that said it is ready", &refused);
    let unready = unexcused_unreadiness(evidence);
    findings.expect_none("times a node said without a fault that it is not ready", &unready);
    let in_window: Vec<_> =
        evidence.rows.iter().filter(|row| evidence.window.contains(&row.scheduled_for)).collect();
    let missing = missing_instants(&in_window, &evidence.channels, &evidence.window);
    findings.expect_none("instants of schedules were lost", &missing);
    findings.expect_none("instants of schedules have two rows", &duplicate_instants(&evidence.rows));
    let unsettled: Vec<String> =
        in_window.iter().filter(|row| row.status != "completed").map(|row| occurrence(row)).collect();
    findings.expect_none("occurrences did not complete", &unsettled);
    let recovery = |outage: &PeerOutage| outage.end.saturating_sub(outage.back);
    let slow: Vec<String> = evidence
        .outages
        .iter()
        .filter(|outage| recovery(outage) > RECOVERY)
        .map(|outage| format!("{:?} at {:?} after {:?}", outage.peer, outage.begin, recovery(outage)))
        .collect();
    findings.expect_none("outages were recovered from too late", &slow);
    let unfinished = (evidence.settling > SETTLING).then(|| format!("{:?}", evidence.settling));
    findings.expect_none("times work was unfinished for too long", unfinished.as_slice());
    let repeated = repeated_occurrences(evidence, &runs);
    findings.expect_none("occurrences ran more often than they were attempted", &repeated);
    let delays = live_propagations(evidence);
    let (p50, p99) = (percentile(&delays, 50), percentile(&delays, 99));
    let late = p99.filter(|p99| *p99 > PROPAGATION);
    findings.expect_none(
        "percentile of the time until a change serves is too long",
        &late.map(|late| format!("{late:?}")).into_iter().collect::<Vec<_>>(),
    );
    findings.at_least("accepted jobs", evidence.told.accepted.len(), limits.accepted);
    findings.at_least("answered requests", evidence.told.answered, limits.accepted);
    findings.at_least("faults", evidence.faults.len(), limits.faults);
    let outages_of = |peer| evidence.outages.iter().filter(|outage| outage.peer == peer).count();
    findings.at_least("outages of the database", outages_of(Peer::Database), limits.outages);
    findings.at_least("outages of Redis", outages_of(Peer::Redis), limits.outages);
    findings.at_least("changes followed on a live node", delays.len(), limits.propagations);
    let of_kind = |kind| evidence.faults.iter().filter(|fault| fault.kind == kind).count();
    let millis = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
    let figures = json!({
        "accepted": evidence.told.accepted.len(), "answered": evidence.told.answered,
        "refused": evidence.told.refusals.len(), "lost": lost.len(),
        "dead_letters": evidence.dead_letters.len(),
        "doubled_without_a_fault": doubled.len(), "doubled_with_a_fault": excused,
        "kills": of_kind(NodeFault::Kill), "pauses": of_kind(NodeFault::Pause),
        "restarts": of_kind(NodeFault::Restart), "database_outages": outages_of(Peer::Database),
        "redis_outages": outages_of(Peer::Redis), "occurrences": in_window.len(),
        "longest_recovery_ms": millis(evidence.outages.iter().map(recovery).max()),
        "settling_ms": millis(Some(evidence.settling)), "changes_followed": delays.len(),
        "propagation_ms": {"p50": millis(p50), "p99": millis(p99), "max": millis(delays.last().copied())},
    });
    findings.into_verdict(figures)
}

fn find_lost(evidence: &ClusterEvidence) -> Vec<String> {
    let is_accounted = |job: &&AcceptedWork| {
        evidence.statuses.get(&job.trace).is_some_and(|status| status == "completed")
            || evidence.dead_letters.contains(&job.trace)
    };
    let lost = evidence.told.accepted.iter().filter(|job| !is_accounted(job));
    lost.map(|job| format!("{} ({}) is {:?}", job.name, job.trace, evidence.statuses.get(&job.trace)))
        .collect()
}

fn find_unseen(evidence: &ClusterEvidence, runs: &BTreeMap<&str, Vec<&WitnessedRun>>) -> Vec<String> {
    let is_seen = |name: &str| runs.get(name).is_some_and(|runs| runs.iter().any(|run| run.answered));
    let completed = evidence
        .told
        .accepted
        .iter()
        .filter(|job| evidence.statuses.get(&job.trace).is_some_and(|status| status == "completed"));
    completed.filter(|job| !is_seen(&job.name)).map(|job| job.name.clone()).collect()
}

/// Jobs whose repetition no fault explains, and the number of those that one explains. The node that accepted a job has
/// to fail before its second run; a further run needs a fault since the run before. Without the database no node keeps
/// its lease.
fn find_doubled(
    evidence: &ClusterEvidence,
    runs: &BTreeMap<&str, Vec<&WitnessedRun>>,
) -> (Vec<String>, usize) {
    let (mut found, mut excused) = (Vec::new(), 0);
    for job in &evidence.told.accepted {
        let Some(runs) = runs.get(job.name.as_str()).filter(|runs| runs.len() > 1) else { continue };
        let is_explained = runs.windows(2).enumerate().all(|(repetition, pair)| {
            let since = if repetition == 0 { job.sent } else { pair[0].begin };
            let is_between = |begin: Duration| begin + READING >= since && begin <= pair[1].begin;
            let is_of_node = |fault: &Fault| {
                fault.kind != NodeFault::Restart
                    && (repetition > 0 || fault.node == job.node)
                    && is_between(fault.begin)
            };
            evidence.faults.iter().any(is_of_node)
                || evidence.outages.iter().any(|outage| is_of_database(outage) && is_between(outage.begin))
        });
        match is_explained {
            true => excused += 1,
            false => found.push(format!("{} of node {} ran {} times", job.name, job.node, runs.len())),
        }
    }
    (found, excused)
}

fn is_of_database(outage: &PeerOutage) -> bool {
    outage.peer == Peer::Database
}

/// Returns `true` if two periods overlap, but for the difference of two readings.
fn overlap(one: (Duration, Duration), other: (Duration, Duration)) -> bool {
    one.0 <= other.1 + READING && other.0 <= one.1 + READING
}

/// Refusals of a node that said before and after that it is ready; but for a 429 or a 503 while the database is away,
/// and for what a stopped node answers when it wakes.
fn unexcused_refusals(evidence: &ClusterEvidence) -> Vec<String> {
    let is_excused = |refusal: &&Refusal| {
        let period = (refusal.sent, refusal.at);
        let is_stopped = |fault: &Fault| {
            fault.node == refusal.node
                && fault.kind == NodeFault::Pause
                && overlap(period, (fault.begin, fault.end))
        };
        let is_without_database =
            |outage: &PeerOutage| is_of_database(outage) && overlap(period, (outage.begin, outage.end));
        let is_contracted = matches!(refusal.status, 429 | 503);
        !said_ready(evidence, refusal)
            || evidence.faults.iter().any(is_stopped)
            || is_contracted && evidence.outages.iter().any(is_without_database)
    };
    let refusals = evidence.told.refusals.iter().filter(|refusal| !is_excused(refusal));
    let describe = |Refusal { node, status, at, answer, .. }: &Refusal| {
        let before = last_trouble(evidence, *node, *at);
        format!("{status} of node {node} at {at:?}, {before}: {answer}")
    };
    refusals.map(describe).collect()
}

/// Returns `true` if the last word of a node before a refusal and its first word after it were that it is ready.
fn said_ready(evidence: &ClusterEvidence, refusal: &Refusal) -> bool {
    let looks = || evidence.looks.iter().filter(|look| look.node == refusal.node);
    let before = looks().filter(|look| look.at <= refusal.sent).max_by_key(|look| look.at);
    let after = looks().filter(|look| look.sent >= refusal.at).min_by_key(|look| look.sent);
    [before, after].into_iter().all(|look| look.is_some_and(ReadinessLook::is_ready))
}

/// Times at which a node said that it is not ready, although neither it nor a server it uses had a fault.
fn unexcused_unreadiness(evidence: &ClusterEvidence) -> Vec<String> {
    let is_excused = |look: &&ReadinessLook| {
        let period = (look.sent, look.at);
        let mut faults = evidence.faults.iter().filter(|fault| fault.node == look.node);
        faults.any(|fault| overlap(period, (fault.begin, fault.end)))
            || evidence.outages.iter().any(|outage| overlap(period, (outage.begin, outage.end)))
    };
    let unready = evidence.looks.iter().filter(|look| !look.is_ready() && !is_excused(look));
    let describe = |look: &ReadinessLook| {
        let answer = look.unready.as_deref().unwrap_or_default();
        let before = last_trouble(evidence, look.node, look.at);
        format!("node {} from {:?} to {:?}, {before}: {answer}", look.node, look.sent, look.at)
    };
    unready.map(describe).collect()
}

/// Describes the last fault of a node, or of a server that it uses, that began before this instant.
fn last_trouble(evidence: &ClusterEvidence, node: usize, at: Duration) -> String {
    let faults = evidence.faults.iter().filter(|fault| fault.node == node);
    let faults = faults.map(|fault| (fault.begin, fault.end, format!("{:?}", fault.kind)));
    let outages = evidence.outages.iter();
    let outages = outages.map(|outage| (outage.begin, outage.end, format!("outage of {:?}", outage.peer)));
    let last = faults.chain(outages).filter(|(begin, ..)| *begin < at).max_by_key(|(begin, ..)| *begin);
    last.map_or_else(
        || "before any fault".to_owned(),
        |(begin, end, what)| format!("after {what} from {begin:?} to {end:?}"),
    )
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
        let end = propagation.end.unwrap_or(propagation.begin + FOLLOWING);
        // A node that has just come back may still load what changed while it was away.
        let since = propagation.begin.saturating_sub(evidence.lease);
        let is_meanwhile = |begin: Duration, fault_end: Duration| begin <= end && fault_end >= since;
        let mut faults = evidence.faults.iter().filter(|fault| fault.node == propagation.node);
        let mut outages = evidence.outages.iter().filter(|outage| is_of_database(outage));
        !faults.any(|fault| is_meanwhile(fault.begin, fault.end))
            && !outages.any(|outage| is_meanwhile(outage.begin, outage.end))
    };
    let live = evidence.propagations.iter().filter(is_live);
    let mut delays: Vec<_> =
        live.map(|one| one.end.map_or(Duration::MAX, |end| end.saturating_sub(one.begin))).collect();
    delays.sort();
    delays
}

#[cfg(test)]
mod tests;
