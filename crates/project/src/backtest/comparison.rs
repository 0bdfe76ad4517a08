//! The differences between a recorded run and a run over its recording.

use serde_json::Value;
use svc_contract::remove_response_control;
use svc_engine::{AnsweredCall, CallMatch, CallRecording, ReplayReport, RunRecording, RunRecordingEnd};

use super::channel::BacktestChannel;
use super::ignored_path::IgnoredPath;
use super::intake::ANSWERED;
use super::masked_parts::adopt_masked;
use super::recorded_line::RecordedLine;
use super::task_path::describe_path;
use crate::case::compare::{Match, describe};

/// The reason for which a run with a call that was cut is not comparable, if it differs at all.
const CUT_CALL: &str = "the recorded run ended a call before its answer";

/// A kind of difference between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    /// No difference.
    Same,
    /// The data differ at the end, and so does the answer.
    DifferentAnswer,
    /// Other tasks ran, or in another order.
    DifferentPath,
    /// The run fails, and the recorded one did not, or with another error.
    NewError,
    /// The run does not fail, and the recorded one did.
    ErrorGone,
    /// A call that the recorded run did not make: it has no answer.
    NewCall,
    /// A call of the recorded run is not made.
    MissingCall,
    /// A call is made with another input; it got the recorded answer.
    ChangedInput,
    /// The runs cannot be compared.
    NotComparable,
}

impl DifferenceKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Same,
        Self::DifferentAnswer,
        Self::DifferentPath,
        Self::NewError,
        Self::ErrorGone,
        Self::NewCall,
        Self::MissingCall,
        Self::ChangedInput,
        Self::NotComparable,
    ];

    /// Returns the name in reports and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::DifferentAnswer => "different-answer",
            Self::DifferentPath => "different-path",
            Self::NewError => "new-error",
            Self::ErrorGone => "error-gone",
            Self::NewCall => "new-call",
            Self::MissingCall => "missing-call",
            Self::ChangedInput => "changed-input",
            Self::NotComparable => "not-comparable",
        }
    }

    /// Returns the kind of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The options of a backtest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BacktestOptions {
    /// Paths that are not compared.
    pub ignore: Vec<IgnoredPath>,
    /// True if the run may have nothing in the place of a mask, because its source is left out of the recording.
    pub lacks_sources: bool,
}

impl BacktestOptions {
    /// Returns the options for a recorded run: what its recording leaves out is not compared.
    pub(super) fn without_dropped(&self, recording: &RunRecording) -> Self {
        let dropped = recording.dropped.iter().filter_map(|path| IgnoredPath::from_segments(path));
        let ignore = self.ignore.iter().cloned().chain(dropped).collect();
        Self { ignore, lacks_sources: recording.lacks_sources() }
    }
}

/// One difference of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDifference {
    pub kind: DifferenceKind,
    /// The part that differs, alike for differences that belong together.
    pub subject: String,
    /// The description, a line each.
    pub lines: Vec<String>,
}

/// The comparison of a run with the recorded one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunComparison {
    /// The differences; none if both are the same.
    pub differences: Vec<RunDifference>,
}

impl RunComparison {
    /// Returns the comparison of runs that cannot be compared.
    #[must_use]
    pub fn incomparable(reason: &str) -> Self {
        let difference = RunDifference {
            kind: DifferenceKind::NotComparable,
            subject: reason.to_owned(),
            lines: vec![reason.to_owned()],
        };
        Self { differences: vec![difference] }
    }

    /// Puts a prefix before each subject, such as the workflow of the run in a report about several.
    #[must_use]
    pub fn prefix_subjects(mut self, prefix: &str) -> Self {
        for difference in &mut self.differences {
            difference.subject = format!("{prefix}: {}", difference.subject);
        }
        self
    }

    pub(super) fn add(&mut self, kind: DifferenceKind, subject: impl Into<String>, lines: Vec<String>) {
        self.differences.push(RunDifference { kind, subject: subject.into(), lines });
    }
}

/// Compares a run over a recording with the recorded run, by the data and errors that both end with.
#[must_use]
pub fn compare(
    recording: &RunRecording,
    replayed: &ReplayReport,
    options: &BacktestOptions,
) -> RunComparison {
    compare_by(recording, replayed, options, |before, after| {
        let data = describe_values("data", &before.data, &after.data, options);
        [data, describe_errors(before, after, options)].concat()
    })
}

/// Compares a run over a recording with the recorded run. With a channel, the answer that it makes of the data counts.
pub(super) fn compare_line(
    line: &RecordedLine,
    replayed: &ReplayReport,
    options: &BacktestOptions,
    channel: Option<&BacktestChannel>,
) -> RunComparison {
    let recording = &*line.recording;
    let is_waited_for = line.source.as_deref() == Some(ANSWERED);
    let lists_errors = is_waited_for || line.source.is_none();
    let Some(channel) = channel else {
        if lists_errors {
            return compare(recording, replayed, options);
        }
        return compare_by(recording, replayed, options, |before, after| {
            describe_values("data", &before.data, &after.data, options)
        });
    };
    let has_answers = is_waited_for && recording.end.error.is_none() && replayed.end.error.is_none();
    let shaping = Some(channel).filter(|_| has_answers);
    compare_by(recording, replayed, options, |before, after| {
        let mut lines = describe_answers(&before.data, &after.data, options, shaping);
        let have_other_errors = lists_errors && before.errors != after.errors;
        if have_other_errors && channel.shape_recorded_answer(&before.data).is_none() {
            lines.append(&mut describe_errors(before, after, options));
        }
        lines
    })
}

/// Compares two runs; `describe` lists the differences of the answers that their ends make.
fn compare_by(
    recording: &RunRecording,
    replayed: &ReplayReport,
    options: &BacktestOptions,
    describe: impl FnOnce(&RunRecordingEnd, &RunRecordingEnd) -> Vec<String>,
) -> RunComparison {
    let mut comparison = RunComparison::default();
    compare_calls(recording, replayed, options, &mut comparison);
    let has_cut_call = asks_for_cut_call(recording, replayed);
    let is_unanswered = |call: &AnsweredCall| call.matching == CallMatch::New && !call.is_made;
    // A call without an answer fails its task: what follows from that says nothing of the version.
    if !has_cut_call && replayed.calls.iter().any(is_unanswered) {
        return comparison;
    }
    compare_ends(recording, replayed, &mut comparison);
    add_answer(describe(&recording.end, &replayed.end), replayed, &mut comparison);
    // The time of others has decided what followed the call.
    if has_cut_call && !comparison.differences.is_empty() {
        return RunComparison::incomparable(CUT_CALL);
    }
    comparison
}

fn asks_for_cut_call(recording: &RunRecording, replayed: &ReplayReport) -> bool {
    let mut recorded = replayed.calls.iter().filter_map(|call| recording.calls.get(call.recorded?));
    recorded.any(|call| call.is_cut)
}

fn compare_calls(
    recording: &RunRecording,
    replayed: &ReplayReport,
    options: &BacktestOptions,
    comparison: &mut RunComparison,
) {
    for AnsweredCall { call, recorded, matching, is_made } in &replayed.calls {
        match matching {
            CallMatch::Same => {}
            CallMatch::New => {
                let what = if *is_made { "the call was made in addition" } else { "no answer was recorded" };
                let line = format!("{}: {what}", describe_call(call));
                comparison.add(DifferenceKind::NewCall, describe_call(call), vec![line]);
            }
            CallMatch::ChangedInput => {
                let Some(recorded) = recorded.and_then(|at| recording.calls.get(at)) else { continue };
                let lines = describe_values("input", &recorded.input, &call.input, options);
                if !lines.is_empty() {
                    let subject = format!("{} {}", describe_call(call), list_paths(&lines));
                    comparison.add(DifferenceKind::ChangedInput, subject, lines);
                }
            }
        }
    }
    let missing = replayed.missing.iter().filter_map(|at| recording.calls.get(*at));
    for call in missing.filter(|call| !call.is_cut) {
        let line = format!("{}: the call is no longer made", describe_call(call));
        comparison.add(DifferenceKind::MissingCall, describe_call(call), vec![line]);
    }
}

fn compare_ends(recording: &RunRecording, replayed: &ReplayReport, comparison: &mut RunComparison) {
    let (before, after) = (&recording.end, &replayed.end);
    match (&before.error, &after.error) {
        (None, Some(code)) => {
            comparison.add(DifferenceKind::NewError, code, vec![format!("the run fails: {code}")]);
        }
        (Some(code), None) => {
            comparison.add(DifferenceKind::ErrorGone, code, vec![format!("the run no longer fails: {code}")]);
        }
        (Some(one), Some(other)) if one != other => {
            let line = format!("the run fails with {other}, and failed with {one}");
            comparison.add(DifferenceKind::NewError, format!("{one} → {other}"), vec![line]);
        }
        _ => {}
    }
    if before.matched != after.matched || before.tasks != after.tasks {
        let lines = describe_path(&before.tasks, &after.tasks);
        comparison.add(DifferenceKind::DifferentPath, lines.join("; "), lines);
    }
}

/// Adds the differences of the answers, which mean nothing if the version draws values of its own.
fn add_answer(lines: Vec<String>, replayed: &ReplayReport, comparison: &mut RunComparison) {
    if lines.is_empty() {
        return;
    }
    if replayed.fresh_values > 0 {
        let reason = "the version draws instants or random values that the recorded run did not";
        comparison.add(DifferenceKind::NotComparable, reason, [vec![reason.to_owned()], lines].concat());
    } else {
        comparison.add(DifferenceKind::DifferentAnswer, list_paths(&lines), lines);
    }
}

/// Describes the differences of the errors that answers list, of runs that fail alike or not at all. Their order does not
/// count: errors of elements come in the order of their ends.
fn describe_errors(
    before: &RunRecordingEnd,
    after: &RunRecordingEnd,
    options: &BacktestOptions,
) -> Vec<String> {
    match (&before.errors, &after.errors) {
        (Some(one), Some(other)) if before.error == after.error => {
            describe_values("errors", &sort_errors(one), &sort_errors(other), options)
        }
        _ => Vec::new(),
    }
}

fn sort_errors(errors: &Value) -> Value {
    let mut errors = errors.clone();
    if let Value::Array(listed) = &mut errors {
        listed.sort_by_cached_key(Value::to_string);
    }
    errors
}

/// Describes the differences of the answers that a channel makes of two data: by `status`, `headers` and `body` if it
/// shapes them, otherwise by `data` without the control document, which no answer has.
fn describe_answers(
    before: &Value,
    after: &Value,
    options: &BacktestOptions,
    channel: Option<&BacktestChannel>,
) -> Vec<String> {
    let (mut before, mut after) = prepare_values("data", before, after, options);
    let shaped =
        channel.map(|channel| (channel.shape_recorded_answer(&before), channel.shape_answer(&after)));
    match shaped {
        Some((Some(before), Some(after))) => ["status", "headers", "body"]
            .iter()
            .flat_map(|part| describe_values(part, &before[*part], &after[*part], options))
            .collect(),
        Some((Some(_), None)) => vec!["answer: it is no longer shaped".to_owned()],
        Some((None, Some(_))) => vec!["answer: it is shaped now".to_owned()],
        _ => {
            remove_response_control(&mut before);
            remove_response_control(&mut after);
            describe(Match::Equal, "data", &before, Some(&after))
        }
    }
}

fn describe_call(call: &CallRecording) -> String {
    match &call.target {
        Some(target) => format!("{} of '{target}' by task '{}'", call.function, call.task),
        None => format!("{} by task '{}'", call.function, call.task),
    }
}

/// Describes the differences of two values, but for ignored paths and for parts that the recording masks.
fn describe_values(root: &str, before: &Value, after: &Value, options: &BacktestOptions) -> Vec<String> {
    let (before, after) = prepare_values(root, before, after, options);
    describe(Match::Equal, root, &before, Some(&after))
}

/// Returns two values as they are compared: without ignored paths, and with what the recording masks in both.
fn prepare_values(root: &str, before: &Value, after: &Value, options: &BacktestOptions) -> (Value, Value) {
    let (mut before, mut after) = (before.clone(), after.clone());
    for path in &options.ignore {
        path.remove_from(root, &mut before);
        path.remove_from(root, &mut after);
    }
    adopt_masked(&before, &mut after, options.lacks_sources);
    (before, after)
}

/// Lists the paths that lines begin with, indexes left out, so that equal differences of several runs are one group.
fn list_paths(lines: &[String]) -> String {
    let path = |line: &String| {
        let path = line.split(": ").next().unwrap_or_default();
        path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect::<String>()
    };
    let mut paths: Vec<String> = lines.iter().map(path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use svc_engine::Engine;

    use super::*;

    fn end(error: Option<&str>, tasks: &[&str], data: Value) -> RunRecordingEnd {
        let tasks = tasks.iter().map(|task| (*task).to_owned()).collect();
        RunRecordingEnd { matched: true, error: error.map(str::to_owned), tasks, data, errors: None }
    }

    fn kinds(before: RunRecordingEnd, after: RunRecordingEnd, ignore: &[&str]) -> Vec<&'static str> {
        kinds_without(&[], before, after, ignore)
    }

    /// Compares a run with a recorded one from which these paths are left out.
    fn kinds_without(
        dropped: &[&str],
        before: RunRecordingEnd,
        after: RunRecordingEnd,
        ignore: &[&str],
    ) -> Vec<&'static str> {
        let dropped = dropped.iter().map(|path| path.split('.').map(str::to_owned).collect()).collect();
        let recording = Arc::new(RunRecording { end: before, dropped, ..RunRecording::default() });
        let line = RecordedLine { recording, ..RecordedLine::default() };
        let replayed = ReplayReport { end: after, ..ReplayReport::default() };
        let ignore = ignore.iter().map(|path| IgnoredPath::parse(path).unwrap()).collect();
        let options = BacktestOptions { ignore, ..BacktestOptions::default() };
        let comparison = compare_line(&line, &replayed, &options.without_dropped(&line.recording), None);
        comparison.differences.iter().map(|difference| difference.kind.name()).collect()
    }

    #[test]
    fn differences_of_the_ends_are_named() {
        let same = || end(None, &["a"], json!({"n": 1}));
        assert!(kinds(same(), same(), &[]).is_empty());
        assert_eq!(kinds(same(), end(None, &["a"], json!({"n": 2})), &[]), ["different-answer"]);
        assert!(kinds(same(), end(None, &["a"], json!({"n": 2})), &["data.n"]).is_empty());
        assert_eq!(kinds(same(), end(None, &["a", "b"], json!({"n": 1})), &[]), ["different-path"]);
        let failed = || end(Some("IO_ERROR"), &["a"], json!({"n": 1}));
        assert_eq!(kinds(same(), failed(), &[]), ["new-error"]);
        assert_eq!(kinds(failed(), same(), &[]), ["error-gone"]);
    }

    #[test]
    fn other_errors_of_an_answer_are_named() {
        let failing = |message: &str| RunRecordingEnd {
            errors: Some(json!([{"code": "VALIDATION_ERROR", "task_id": "check", "message": message}])),
            ..end(Some("VALIDATION_ERROR"), &["check"], json!({}))
        };
        assert!(kinds(failing("n"), failing("n"), &[]).is_empty());
        assert_eq!(kinds(failing("n"), failing("m"), &[]), ["different-answer"]);
        assert!(kinds(failing("n"), failing("m"), &["errors[0].message"]).is_empty());
        let earlier = RunRecordingEnd { errors: None, ..failing("n") };
        assert!(kinds(earlier, failing("m"), &[]).is_empty(), "it was recorded before errors were");
    }

    #[test]
    fn run_with_a_cut_call_is_not_comparable() {
        let call = CallRecording { is_cut: true, ..CallRecording::default() };
        let recording = RunRecording { calls: vec![call.clone()], ..RunRecording::default() };
        let asked = AnsweredCall { call, recorded: Some(0), matching: CallMatch::Same, is_made: false };
        let mut replayed = ReplayReport { calls: vec![asked], ..ReplayReport::default() };
        let options = BacktestOptions::default();
        assert!(compare(&recording, &replayed, &options).differences.is_empty());
        replayed.end = end(Some("FUNCTION_ERROR"), &["a"], Value::Null);
        assert_eq!(compare(&recording, &replayed, &options), RunComparison::incomparable(CUT_CALL));
        let unasked = ReplayReport { missing: vec![0], ..ReplayReport::default() };
        assert!(compare(&recording, &unasked, &options).differences.is_empty());
    }

    #[test]
    fn masked_parts_are_not_compared() {
        let before = end(None, &[], json!({"card": "card ******", "key": {"$secret": "k"}, "n": 1}));
        let after = end(None, &[], json!({"card": "card 4111", "key": "stand-in", "n": 1}));
        assert!(kinds(before, after, &[]).is_empty());
        let before = || end(None, &[], json!({"a": {"no": "******"}, "cards": [{"no": "******"}], "n": 1}));
        for after in [json!({"n": 1}), json!({"a": {}, "cards": null, "n": 1})] {
            let after = || end(None, &[], after.clone());
            assert!(kinds_without(&["payload.no"], before(), after(), &[]).is_empty(), "it has no source");
            assert_eq!(kinds(before(), after(), &[]), ["different-answer"], "it is no longer written");
            assert_eq!(kinds_without(&["data.x"], before(), after(), &[]), ["different-answer"]);
        }
        let lost = end(None, &[], json!({"a": {}}));
        assert_eq!(kinds_without(&["payload.no"], before(), lost, &[]), ["different-answer"]);
    }

    #[test]
    fn equal_differences_have_one_subject() {
        let lines = ["data.rows[3].sum: expected 1, got 2".to_owned(), "data.rows[4].sum: …".to_owned()];
        assert_eq!(list_paths(&lines), "data.rows.sum");
    }

    #[test]
    fn shaped_answer_counts_where_its_caller_waited() {
        let config = json!({"response": {"mode": "shaped"}});
        let channel = BacktestChannel::read(&Arc::new(Engine::builder().build()), &config, false).ok();
        let data = |status: u16, etag: &str, body: u64, rest: u64| {
            let control = json!({"status": status, "headers": {"etag": etag}, "body_path": "a"});
            json!({"a": body, "b": rest, "_svc": {"response": control}})
        };
        let paths = |source: &str, before: Value, after: Value| {
            let recording = Arc::new(RunRecording { end: end(None, &[], before), ..RunRecording::default() });
            let line = RecordedLine { recording, source: Some(source.to_owned()), ..RecordedLine::default() };
            let replayed = ReplayReport { end: end(None, &[], after), ..ReplayReport::default() };
            let comparison = compare_line(&line, &replayed, &BacktestOptions::default(), channel.as_ref());
            comparison.differences.into_iter().map(|difference| difference.subject).collect::<Vec<_>>()
        };
        let before = || data(200, "x", 1, 1);
        assert!(paths("sync", before(), data(200, "x", 1, 2)).is_empty(), "no caller sees it");
        assert_eq!(paths("sync", before(), data(201, "x", 1, 1)), ["status"]);
        assert_eq!(paths("sync", before(), data(200, "y", 1, 1)), ["headers.etag"]);
        assert_eq!(paths("sync", before(), data(200, "x", 2, 1)), ["body"]);
        assert_eq!(paths("kafka", before(), data(201, "y", 1, 2)), ["data.b"]);
    }
}
