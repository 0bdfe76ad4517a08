//! The report of a backtest: counts by kind, and groups of differences with samples.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::comparison::{DifferenceKind, RunComparison};
use super::recorded_line::RecordedLine;

/// Samples of each group.
const SAMPLES: usize = 3;

/// Groups that a report keeps; differences beyond are counted by their kinds alone.
const MOST_GROUPS: usize = 200;

/// The report of a backtest.
#[derive(Clone, Debug, Default)]
pub struct BacktestReport {
    runs: usize,
    kinds: BTreeMap<DifferenceKind, usize>,
    groups: BTreeMap<(DifferenceKind, String), DifferenceGroup>,
}

/// Differences of several runs that belong together.
#[derive(Clone, Debug)]
pub struct DifferenceGroup {
    /// The kind.
    pub kind: DifferenceKind,
    /// The part that differs.
    pub subject: String,
    /// The number of runs.
    pub runs: usize,
    /// Some of them.
    pub samples: Vec<DifferenceSample>,
}

/// A run with a difference.
#[derive(Clone, Debug)]
pub struct DifferenceSample {
    /// The recorded run.
    pub line: RecordedLine,
    /// The description, a line each.
    pub lines: Vec<String>,
}

impl BacktestReport {
    /// Adds the comparison of a run.
    pub fn add(&mut self, line: &RecordedLine, comparison: RunComparison) {
        self.runs += 1;
        let mut kinds: Vec<DifferenceKind> = comparison.differences.iter().map(|one| one.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() {
            kinds.push(DifferenceKind::Same);
        }
        for kind in kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
        for difference in comparison.differences {
            let key = (difference.kind, difference.subject);
            if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&key) {
                continue;
            }
            let group = self.groups.entry(key.clone()).or_insert_with(|| DifferenceGroup {
                kind: key.0,
                subject: key.1,
                runs: 0,
                samples: Vec::new(),
            });
            group.runs += 1;
            if group.samples.len() < SAMPLES {
                group.samples.push(DifferenceSample { line: line.clone(), lines: difference.lines });
            }
        }
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Returns the number of runs with a difference of this kind.
    #[must_use]
    pub fn count(&self, kind: DifferenceKind) -> usize {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// Returns the groups, those of each kind together with the largest first.
    #[must_use]
    pub fn groups(&self) -> Vec<&DifferenceGroup> {
        let mut groups: Vec<_> = self.groups.values().collect();
        groups.sort_by(|one, other| one.kind.cmp(&other.kind).then(other.runs.cmp(&one.runs)));
        groups
    }

    /// Returns the report as a document: `{runs, kinds, groups: [{kind, subject, runs, samples: [{id, run_key, lines}]}]}`.
    #[must_use]
    pub fn document(&self) -> Value {
        let kinds: Map<String, Value> = DifferenceKind::ALL
            .iter()
            .map(|kind| (kind.name().to_owned(), self.count(*kind).into()))
            .collect();
        let sample = |sample: &DifferenceSample| json!({"id": sample.line.id, "run_key": sample.line.run_key, "lines": sample.lines});
        let group = |group: &&DifferenceGroup| {
            let samples: Vec<Value> = group.samples.iter().map(sample).collect();
            json!({"kind": group.kind.name(), "subject": group.subject, "runs": group.runs, "samples": samples})
        };
        let groups: Vec<Value> = self.groups().iter().map(group).collect();
        json!({"runs": self.runs, "kinds": kinds, "groups": groups})
    }
}
