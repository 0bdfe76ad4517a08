//! The report of a backtest: counts by kind, and groups of differences with samples, bounded in bytes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::comparison::{DifferenceKind, RunComparison, RunDifference};
use super::recorded_line::RecordedLine;

/// Samples of each group.
const SAMPLES: usize = 3;

/// Groups that a report keeps; differences beyond are counted by their kinds alone.
const MOST_GROUPS: usize = 200;

/// Bytes of groups and samples that a report keeps.
const MOST_BYTES: usize = 256 * 1024;

/// Runs with a difference that a report names.
const MOST_NAMED: usize = 10_000;

/// Lines of a sample, characters of a line, and characters of a subject.
const SAMPLE_LINES: usize = 20;
const LINE_CHARACTERS: usize = 400;
const SUBJECT_CHARACTERS: usize = 300;

/// The report of a backtest.
#[derive(Clone, Debug, Default)]
pub struct BacktestReport {
    runs: usize,
    kinds: BTreeMap<DifferenceKind, usize>,
    groups: BTreeMap<(DifferenceKind, String), DifferenceGroup>,
    differing: Vec<String>,
    /// Bytes of groups and samples.
    bytes: usize,
    /// A difference or a run was left out of groups, samples or names.
    is_shortened: bool,
    keeps_recordings: bool,
}

/// Differences of several runs that belong together.
#[derive(Clone, Debug)]
pub struct DifferenceGroup {
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
    /// The id of the recording.
    pub id: String,
    pub run_key: String,
    /// The description, a line each.
    pub lines: Vec<String>,
    /// The recorded run, in a report that keeps them.
    pub line: Option<RecordedLine>,
}

/// The parts of a document that a report goes on from.
#[derive(Deserialize)]
struct ReportDocument {
    runs: usize,
    kinds: BTreeMap<String, usize>,
    groups: Vec<GroupDocument>,
    #[serde(default)]
    differing: Vec<String>,
    #[serde(default)]
    shortened: bool,
}

#[derive(Deserialize)]
struct GroupDocument {
    kind: String,
    subject: String,
    runs: usize,
    samples: Vec<SampleDocument>,
}

#[derive(Deserialize)]
struct SampleDocument {
    id: String,
    run_key: String,
    lines: Vec<String>,
}

impl BacktestReport {
    /// Returns an empty report that keeps the recorded runs of its samples, for test cases made of them.
    #[must_use]
    pub fn keeping_recordings() -> Self {
        Self { keeps_recordings: true, ..Self::default() }
    }

    /// Returns the report that a [`document`](Self::document) describes, to go on from; an empty one for any other.
    #[must_use]
    pub fn from_document(document: &Value) -> Self {
        let Ok(read) = ReportDocument::deserialize(document) else { return Self::default() };
        let mut report = Self {
            runs: read.runs,
            differing: read.differing,
            is_shortened: read.shortened,
            ..Self::default()
        };
        for (name, count) in &read.kinds {
            if let Some(kind) = DifferenceKind::parse(name) {
                report.kinds.insert(kind, *count);
            }
        }
        for group in read.groups {
            let Some(kind) = DifferenceKind::parse(&group.kind) else { continue };
            let samples: Vec<DifferenceSample> = group
                .samples
                .into_iter()
                .map(|SampleDocument { id, run_key, lines }| DifferenceSample {
                    id,
                    run_key,
                    lines,
                    line: None,
                })
                .collect();
            report.bytes += group.subject.len() + samples.iter().map(DifferenceSample::bytes).sum::<usize>();
            let (subject, runs) = (group.subject.clone(), group.runs);
            let group = DifferenceGroup { kind, subject: group.subject, runs, samples };
            report.groups.insert((kind, subject), group);
        }
        report
    }

    /// Adds the comparison of a run.
    pub fn add(&mut self, line: &RecordedLine, comparison: RunComparison) {
        self.runs += 1;
        let mut kinds: Vec<DifferenceKind> = comparison.differences.iter().map(|one| one.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() {
            kinds.push(DifferenceKind::Same);
        } else if self.differing.len() < MOST_NAMED {
            self.differing.push(line.name().to_owned());
        } else {
            self.is_shortened = true;
        }
        for kind in kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
        for difference in group_differences(comparison) {
            self.add_difference(line, difference);
        }
    }

    fn add_difference(&mut self, line: &RecordedLine, difference: RunDifference) {
        let subject: String = difference.subject.chars().take(SUBJECT_CHARACTERS).collect();
        let key = (difference.kind, subject);
        let is_full = self.groups.len() >= MOST_GROUPS || self.bytes >= MOST_BYTES;
        if is_full && !self.groups.contains_key(&key) {
            self.is_shortened = true;
            return;
        }
        let (mut bytes, room) = (0, MOST_BYTES.saturating_sub(self.bytes));
        let group = self.groups.entry(key.clone()).or_insert_with(|| {
            bytes += key.1.len();
            DifferenceGroup { kind: key.0, subject: key.1, runs: 0, samples: Vec::new() }
        });
        group.runs += 1;
        if group.samples.len() < SAMPLES {
            let sample = DifferenceSample {
                id: line.id.clone(),
                run_key: line.run_key.clone(),
                lines: shorten_lines(&difference.lines),
                line: self.keeps_recordings.then(|| line.clone()),
            };
            if bytes + sample.bytes() <= room {
                bytes += sample.bytes();
                group.samples.push(sample);
            } else {
                self.is_shortened = true;
            }
        }
        self.bytes += bytes;
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

    /// Returns the runs with a difference, in the order of their comparison: the ids of their recordings, or the
    /// keys of runs without one.
    #[must_use]
    pub fn differing(&self) -> &[String] {
        &self.differing
    }

    /// Returns the groups, those of each kind together with the largest first.
    #[must_use]
    pub fn groups(&self) -> Vec<&DifferenceGroup> {
        let mut groups: Vec<_> = self.groups.values().collect();
        groups.sort_by(|one, other| one.kind.cmp(&other.kind).then(other.runs.cmp(&one.runs)));
        groups
    }

    /// Returns the report as a document: `{runs, kinds, groups, differing, shortened}`. A group is `{kind, subject, runs,
    /// samples}`, a sample `{id, run_key, lines}`.
    #[must_use]
    pub fn document(&self) -> Value {
        let kinds: Map<String, Value> = DifferenceKind::ALL
            .iter()
            .map(|kind| (kind.name().to_owned(), self.count(*kind).into()))
            .collect();
        let sample = |DifferenceSample { id, run_key, lines, .. }: &DifferenceSample| json!({"id": id, "run_key": run_key, "lines": lines});
        let group = |group: &&DifferenceGroup| {
            let samples: Vec<Value> = group.samples.iter().map(sample).collect();
            json!({"kind": group.kind.name(), "subject": group.subject, "runs": group.runs, "samples": samples})
        };
        let groups: Vec<Value> = self.groups().iter().map(group).collect();
        json!({
            "runs": self.runs,
            "kinds": kinds,
            "groups": groups,
            "differing": self.differing,
            "shortened": self.is_shortened,
        })
    }
}

impl DifferenceSample {
    fn bytes(&self) -> usize {
        self.id.len() + self.run_key.len() + self.lines.iter().map(String::len).sum::<usize>()
    }
}

/// Joins the differences of a run that belong to the same group: those of several elements, say.
fn group_differences(comparison: RunComparison) -> impl Iterator<Item = RunDifference> {
    let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for RunDifference { kind, subject, mut lines } in comparison.differences {
        groups.entry((kind, subject)).or_default().append(&mut lines);
    }
    groups.into_iter().map(|((kind, subject), lines)| RunDifference { kind, subject, lines })
}

/// Returns the first lines, each with its first characters.
fn shorten_lines(lines: &[String]) -> Vec<String> {
    let shorten = |line: &String| match line.char_indices().nth(LINE_CHARACTERS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.clone(),
    };
    let mut shortened: Vec<String> = lines.iter().take(SAMPLE_LINES).map(shorten).collect();
    if let Some(more) = lines.len().checked_sub(SAMPLE_LINES).filter(|more| *more > 0) {
        shortened.push(format!("and {more} more"));
    }
    shortened
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> RecordedLine {
        RecordedLine { id: format!("r{number}"), ..RecordedLine::default() }
    }

    fn differing(subject: String, lines: Vec<String>) -> RunComparison {
        let kind = DifferenceKind::DifferentAnswer;
        RunComparison { differences: vec![RunDifference { kind, subject, lines }] }
    }

    #[test]
    fn report_is_bounded_and_names_all_runs() {
        let mut report = BacktestReport::default();
        for number in 0..5000 {
            let lines = vec!["é".repeat(10_000); 100];
            report.add(&line(number), differing(format!("data.{number}"), lines));
        }
        let document = report.document();
        assert_eq!((&document["runs"], &document["kinds"]["different-answer"]), (&json!(5000), &json!(5000)));
        assert_eq!((report.differing().len(), &document["shortened"]), (5000, &json!(true)));
        assert!(document["groups"].to_string().len() < 2 * MOST_BYTES, "{}", document.to_string().len());
        assert!(!document["groups"][0]["samples"][0]["lines"][0].as_str().unwrap().is_empty());
    }

    #[test]
    fn equal_differences_of_elements_count_one_run() {
        let difference = |number: usize| RunDifference {
            kind: DifferenceKind::ChangedInput,
            subject: "a call".into(),
            lines: vec![format!("input of element {number}")],
        };
        let mut report = BacktestReport::default();
        report.add(&line(1), RunComparison { differences: (0..50).map(difference).collect() });
        let groups = report.groups();
        let counts: Vec<_> = groups.iter().map(|group| (group.runs, group.samples.len())).collect();
        assert_eq!(counts, [(1, 1)]);
        assert!(groups[0].samples[0].lines.len() > 1, "{:?}", groups[0].samples[0].lines);
    }

    #[test]
    fn report_goes_on_from_its_document() {
        let mut whole = BacktestReport::default();
        let mut first = BacktestReport::default();
        for number in 0..2 {
            whole.add(&line(number), differing("data.a".into(), vec!["data.a: …".into()]));
            first.add(&line(number), differing("data.a".into(), vec!["data.a: …".into()]));
        }
        let mut second = BacktestReport::from_document(&first.document());
        for number in 2..9 {
            whole.add(&line(number), differing("data.a".into(), vec!["data.a: …".into()]));
            second.add(&line(number), differing("data.a".into(), vec!["data.a: …".into()]));
        }
        whole.add(&line(9), RunComparison::default());
        second.add(&line(9), RunComparison::default());
        assert_eq!(second.document(), whole.document());
        assert_eq!(whole.document()["groups"][0]["samples"].as_array().unwrap().len(), 3);
    }
}
