//! Judges a drill of Kafka ingress: pure arithmetic over the effects that a witness saw and the offsets that
//! were committed.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use svc_testkit::findings::{DrillVerdict, Findings};

/// Records of a partition that run again at most after a process was killed: those that were begun and are not
/// known to be committed.
const REPEATED_BY_KILL: usize = 512;

/// An effect of a record, in the order in which the witness saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// A committed offset, read while `effects` effects had been seen at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitReading {
    pub(crate) partition: i32,
    pub(crate) committed: i64,
    /// Number of effects that the witness had seen right after the reading.
    pub(crate) effects: usize,
}

/// The evidence to judge.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrillEvidence {
    /// Records that were written to each partition.
    pub(crate) written: BTreeMap<i32, i64>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) readings: Vec<CommitReading>,
    pub(crate) kills: usize,
    pub(crate) pauses: usize,
    /// Errors that the brokers were ordered to answer with.
    pub(crate) broker_errors: usize,
}

/// Judges. `least_faults`: below this number of kills and pauses the drill proves nothing.
pub(crate) fn judge(evidence: &DrillEvidence, least_faults: usize) -> DrillVerdict {
    let mut findings = Findings::default();
    let (early, duplicates) = out_of_order(&evidence.effects);
    findings.expect_none("records had their effect before one that precedes them", &early);
    findings.expect_none("records had no effect", &without_effect(evidence));
    findings.expect_none("offsets were committed before their effect", &find_ahead(evidence));
    findings.expect_none("partitions are not committed to their end", &find_unfinished(evidence));
    // A process that was stopped runs as many once more before it learns that it has lost its partitions.
    let most = (evidence.kills + 2 * evidence.pauses) * evidence.written.len() * REPEATED_BY_KILL;
    findings.at_most("effects were repeated", duplicates, most);
    findings.at_least("faults", evidence.kills + evidence.pauses, least_faults);
    let records: i64 = evidence.written.values().sum();
    let figures = json!({
        "records": records, "partitions": evidence.written.len(), "effects": evidence.effects.len(),
        "duplicates": duplicates, "duplicates_explained": most, "kills": evidence.kills, "pauses": evidence.pauses,
        "broker_errors": evidence.broker_errors, "commit_readings": evidence.readings.len(),
    });
    findings.into_verdict(figures)
}

/// Returns the first effects that come before the effect of an earlier record of their partition, and the
/// number of effects that are no first ones.
fn out_of_order(effects: &[Effect]) -> (Vec<String>, usize) {
    let (mut next, mut seen) = (BTreeMap::<i32, i64>::new(), HashSet::new());
    let (mut early, mut duplicates) = (Vec::new(), 0);
    for Effect { partition, offset } in effects {
        if !seen.insert((*partition, *offset)) {
            duplicates += 1;
            continue;
        }
        let due = next.entry(*partition).or_default();
        if offset != due {
            early.push(format!("partition {partition}: offset {offset} where {due} was due"));
        }
        *due = (*due).max(offset + 1);
    }
    (early, duplicates)
}

fn without_effect(evidence: &DrillEvidence) -> Vec<String> {
    let effects: HashSet<_> =
        evidence.effects.iter().map(|effect| (effect.partition, effect.offset)).collect();
    let written =
        evidence.written.iter().flat_map(|(partition, count)| (0..*count).map(|offset| (*partition, offset)));
    let lost = written.filter(|record| !effects.contains(record));
    lost.map(|(partition, offset)| format!("partition {partition}, offset {offset}")).collect()
}

/// Returns the readings of an offset whose records had not all had their effect by then.
fn find_ahead(evidence: &DrillEvidence) -> Vec<String> {
    let mut first_seen = BTreeMap::<(i32, i64), usize>::new();
    for (index, effect) in evidence.effects.iter().enumerate() {
        first_seen.entry((effect.partition, effect.offset)).or_insert(index);
    }
    let is_ahead = |reading: &&CommitReading| {
        let last = (reading.partition, reading.committed - 1);
        reading.committed > 0 && first_seen.get(&last).is_none_or(|index| *index >= reading.effects)
    };
    let ahead = evidence.readings.iter().filter(is_ahead);
    ahead.map(|reading| format!("partition {}: offset {}", reading.partition, reading.committed)).collect()
}

/// Returns the partitions whose last reading is not their end.
fn find_unfinished(evidence: &DrillEvidence) -> Vec<String> {
    let last: BTreeMap<i32, i64> =
        evidence.readings.iter().map(|reading| (reading.partition, reading.committed)).collect();
    let open = evidence.written.iter().filter(|(partition, count)| last.get(partition) != Some(count));
    open.map(|(partition, count)| format!("partition {partition}: {:?} of {count}", last.get(partition)))
        .collect()
}

#[cfg(test)]
mod tests;
