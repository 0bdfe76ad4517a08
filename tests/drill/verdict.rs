//! Judges a drill: pure arithmetic over the observed runs and the recorded rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::{RecordedOccurrence, duplicate_instants, missing_instants};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::witness::WitnessedRun;

/// Tolerance for a run that seems to begin before its instant: two readings of one clock.
const READING: f64 = 0.05;

/// The evidence to judge.
pub(crate) struct Evidence {
    /// Channels that are due every second.
    pub(crate) channels: Vec<String>,
    /// The seconds since 1970 in which every channel was due.
    pub(crate) window: RangeInclusive<i64>,
    /// Every recorded row, read after `runs`.
    pub(crate) rows: Vec<RecordedOccurrence>,
    /// Every run that the witness observed.
    pub(crate) runs: Vec<WitnessedRun>,
    /// Start of the witness, since 1970.
    pub(crate) began_unix: Duration,
    /// Nodes that were killed.
    pub(crate) kills: usize,
}

/// The limits of a drill.
pub(crate) struct DrillLimits {
    /// From the end of an attempt that was cut off to the begin of the next.
    pub(crate) takeover: Duration,
    /// Below this number the drill proves nothing.
    pub(crate) occurrences: usize,
    /// Below this number the drill proves nothing.
    pub(crate) kills: usize,
    /// Below this number the drill proves nothing.
    pub(crate) takeovers: usize,
}

pub(crate) fn judge(evidence: &Evidence, limits: &DrillLimits) -> DrillVerdict {
    let mut judge = Findings::default();
    let in_window: Vec<&RecordedOccurrence> =
        evidence.rows.iter().filter(|row| evidence.window.contains(&row.scheduled_for)).collect();
    let lost = missing_instants(&in_window, &evidence.channels, &evidence.window);
    judge.expect_none("instants were lost", &lost);
    let duplicates = duplicate_instants(&evidence.rows);
    judge.expect_none("instants have two rows", &duplicates);
    let by_occurrence = group_by_channel(evidence.runs.iter().map(|run| (run.occurrence.as_str(), run)));
    let twice = overlaps(&by_occurrence);
    judge.expect_none("occurrences ran twice at once", &twice);
    let by_key = group_by_channel(evidence.runs.iter().filter_map(|run| Some((run.key.as_deref()?, run))));
    let beside = overlaps(&by_key);
    judge.expect_none("keys had two runs at once", &beside);
    let early = early(evidence);
    judge.expect_none("runs began before their instant", &early);
    let unsettled = describe(&in_window, |row| !row.is_terminal());
    judge.expect_none("rows never came to an end", &unsettled);
    let failed = describe(&in_window, |row| row.status == "failed");
    judge.expect_none("rows failed", &failed);
    let misfires = describe(&in_window, |row| row.status == "skipped_misfire");
    judge.expect_none("rows stand for missed instants", &misfires);
    let answered: HashSet<&str> =
        evidence.runs.iter().filter(|run| run.answered).map(|run| run.occurrence.as_str()).collect();
    let unwitnessed =
        describe(&in_window, |row| row.status == "completed" && !answered.contains(row.id.as_str()));
    judge.expect_none("rows completed and nobody saw them run", &unwitnessed);
    let recorded: HashSet<&str> = evidence.rows.iter().map(|row| row.id.as_str()).collect();
    let unrecorded: Vec<String> =
        by_occurrence.keys().filter(|id| !recorded.contains(**id)).map(|id| (*id).to_owned()).collect();
    judge.expect_none("runs have no row", &unrecorded);
    let takeovers = takeovers(&by_occurrence);
    let late: Vec<String> = takeovers
        .iter()
        .filter(|takeover| takeover.took > limits.takeover * takeover.attempts)
        .map(|Takeover { occurrence, took, attempts }| {
            format!("{occurrence} after {took:?} and {attempts} attempt(s)")
        })
        .collect();
    judge.expect_none(&format!("takeovers took longer than {:?}", limits.takeover), &late);

    let completed = in_window.iter().filter(|row| row.status == "completed").count();
    judge.at_least("occurrences", in_window.len(), limits.occurrences);
    judge.at_least("kills", evidence.kills, limits.kills);
    judge.at_least("takeovers", takeovers.len(), limits.takeovers);
    judge.at_least("completed occurrences", completed, in_window.len().div_ceil(2).max(1));

    let (direct, indirect): (Vec<_>, Vec<_>) = takeovers.iter().partition(|takeover| takeover.attempts == 1);
    let worst = direct.iter().map(|takeover| takeover.took).max().unwrap_or_default();
    let effects = |runs: &Vec<&WitnessedRun>| runs.iter().filter(|run| run.answered).count() > 1;
    let mut statuses = BTreeMap::<&str, usize>::new();
    in_window.iter().for_each(|row| *statuses.entry(&row.status).or_default() += 1);
    let figures = json!({
        "window": [evidence.window.start(), evidence.window.end()],
        "occurrences": in_window.len(), "statuses": statuses, "runs": evidence.runs.len(),
        "lost": lost.len(), "duplicate_rows": duplicates.len(),
        "overlapping_occurrences": twice.len(), "overlapping_keys": beside.len(), "early": early.len(),
        "attempts_above_one": in_window.iter().filter(|row| row.attempt > 1).count(),
        "most_attempts": in_window.iter().map(|row| row.attempt).max(),
        "repeated_effects": by_occurrence.values().filter(|runs| effects(runs)).count(),
        "kills": evidence.kills, "takeovers": takeovers.len(), "takeovers_cut_off_unseen": indirect.len(),
        "takeover_max_ms": worst.as_millis() as u64, "takeover_limit_ms": limits.takeover.as_millis() as u64,
        "begin_after_instant_ms": delays(evidence),
    });
    judge.into_verdict(figures)
}

fn describe(rows: &[&RecordedOccurrence], is: impl Fn(&RecordedOccurrence) -> bool) -> Vec<String> {
    let line = |row: &&RecordedOccurrence| {
        let RecordedOccurrence { id, channel, scheduled_for, status, message, .. } = row;
        format!("{channel} at {scheduled_for} ({id}) {status} {}", message.as_deref().unwrap_or_default())
    };
    rows.iter().filter(|row| is(row)).map(line).collect()
}

/// Runs by what they have in common, in order of their beginnings.
fn group_by_channel<'r>(
    runs: impl Iterator<Item = (&'r str, &'r WitnessedRun)>,
) -> BTreeMap<&'r str, Vec<&'r WitnessedRun>> {
    let mut groups = BTreeMap::<_, Vec<&WitnessedRun>>::new();
    runs.for_each(|(of, run)| groups.entry(of).or_default().push(run));
    groups.values_mut().for_each(|runs| runs.sort_by_key(|run| run.begin));
    groups
}

/// Runs that began before an earlier one of their group had ended.
fn overlaps(groups: &BTreeMap<&str, Vec<&WitnessedRun>>) -> Vec<String> {
    let mut repetitions = Vec::new();
    for (of, runs) in groups {
        let mut busy_until = Duration::ZERO;
        for run in runs {
            if run.begin < busy_until {
                repetitions.push(format!("{of} at {:?} for {:?}", run.begin, busy_until - run.begin));
            }
            busy_until = busy_until.max(run.end.unwrap_or(Duration::MAX));
        }
    }
    repetitions
}

/// Seconds from the instant of a run to its begin.
fn delay(evidence: &Evidence, run: &WitnessedRun, instants: &HashMap<&str, i64>) -> Option<f64> {
    let instant = *instants.get(run.occurrence.as_str())?;
    Some((evidence.began_unix + run.begin).as_secs_f64() - instant as f64)
}

fn instants(evidence: &Evidence) -> HashMap<&str, i64> {
    evidence.rows.iter().map(|row| (row.id.as_str(), row.scheduled_for)).collect()
}

fn early(evidence: &Evidence) -> Vec<String> {
    let instants = instants(evidence);
    let delays = evidence.runs.iter().filter_map(|run| Some((run, delay(evidence, run, &instants)?)));
    delays
        .filter(|(_, delay)| *delay < -READING)
        .map(|(run, delay)| format!("{} {delay:.3} s", run.occurrence))
        .collect()
}

/// Summarises the delays of first attempts, in milliseconds.
fn delays(evidence: &Evidence) -> Value {
    let instants = instants(evidence);
    let firsts = evidence.runs.iter().filter(|run| run.attempt == 1);
    let mut delays: Vec<f64> = firsts.filter_map(|run| delay(evidence, run, &instants)).collect();
    delays.sort_by(f64::total_cmp);
    let share = |share: usize| {
        let at = (delays.len() * share / 100).min(delays.len().saturating_sub(1));
        delays.get(at).map(|delay| (delay * 1000.0).round())
    };
    json!({"p50": share(50), "p99": share(99), "max": share(100)})
}

/// An attempt that another one followed.
struct Takeover<'r> {
    occurrence: &'r str,
    /// From the end of the one to the begin of the other.
    took: Duration,
    /// The number of attempts later: more than one if those between were killed before they called the
    /// witness.
    attempts: u32,
}

fn takeovers<'r>(runs: &BTreeMap<&'r str, Vec<&'r WitnessedRun>>) -> Vec<Takeover<'r>> {
    let of = |(occurrence, runs): (&&'r str, &Vec<&WitnessedRun>)| {
        let occurrence = *occurrence;
        let takeover = |pair: &[&WitnessedRun]| {
            let attempts = u32::try_from(pair[1].attempt - pair[0].attempt).unwrap_or_default();
            Some(Takeover { occurrence, took: pair[1].begin.saturating_sub(pair[0].end?), attempts })
        };
        runs.windows(2).filter_map(takeover).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of).collect()
}

/// The channels that have a row.
pub(crate) fn channels_with_rows(rows: &[RecordedOccurrence]) -> BTreeSet<&str> {
    rows.iter().map(|row| row.channel.as_str()).collect()
}

#[cfg(test)]
mod tests;
