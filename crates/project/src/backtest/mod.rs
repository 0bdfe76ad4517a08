//! Backtests: a version of a workflow runs over recorded runs, with the answers of those, and the differences are named.
//!
//! The version is compiled with stand-ins for all that reaches outside, so that nothing is called: a call that a recorded
//! run did not make has no answer and is named.

mod channel;
mod comparison;
mod decisive_reads;
mod ignored_path;
mod intake;
mod mask_reach;
mod masked_parts;
mod recorded_line;
mod report;
mod task_path;
mod to_case;

use std::sync::Arc;

use svc_auth::RefusalReason;
use svc_engine::{RecordingResult, ReplayReport, RunOutcome, RunRecording, RunRecordingEnd};

use crate::run::OfflineWorkflow;
use channel::RecordedVerdict;
use decisive_reads::DecisiveReads;
use mask_reach::MaskReach;

pub use channel::BacktestChannel;
pub use comparison::{BacktestOptions, DifferenceKind, RunComparison, RunDifference, compare};
pub use ignored_path::IgnoredPath;
pub use recorded_line::{RecordedLine, RecordedLineError};
pub use report::{BacktestReport, DifferenceGroup, DifferenceSample};
pub use to_case::case_from_recording;

/// Runs a workflow over a recorded run, and compares both ends. A channel judges the run by its guards first, and makes
/// the answer that is compared.
pub async fn backtest_run(
    workflow: &OfflineWorkflow,
    line: &RecordedLine,
    options: &BacktestOptions,
    channel: Option<&BacktestChannel>,
) -> RunComparison {
    let mut comparison = RunComparison::default();
    match channel.map(|channel| channel.judge_line(line)) {
        None | Some(RecordedVerdict::Admitted) => {}
        Some(RecordedVerdict::Refused(guard, lines)) => {
            comparison.add(DifferenceKind::NewError, format!("refused by {guard}"), lines);
            return comparison;
        }
        Some(RecordedVerdict::Unknown(reason)) => return RunComparison::incomparable(&reason),
    }
    let options = &options.without_dropped(&line.recording);
    let recording = Arc::clone(&line.recording);
    let run = workflow.replay(recording).await;
    let Some(RecordingResult::Replayed(replayed)) = &run.outcome().recorded else {
        return RunComparison::incomparable("the run left no report");
    };
    let comparison = comparison::compare_line(line, replayed, options, channel);
    if comparison.differences.is_empty() {
        return comparison;
    }
    if let Some(reason) = find_unjudged_token(run.outcome(), &line.recording.end) {
        return RunComparison::incomparable(&reason);
    }
    let Some(reason) = find_masked_decision(workflow, &line.recording) else { return comparison };
    let reach = MaskReach::find(workflow.engine(), workflow.document(), &line.recording);
    let Some(reach) = reach.filter(|reach| reach.has_equal_flow(&line.recording, replayed)) else {
        return RunComparison::incomparable(&reason);
    };
    let others = compare_outside(&reach, line, replayed, options, channel);
    if others.differences.is_empty() { RunComparison::incomparable(&reason) } else { others }
}

/// Compares both ends but for the parts that masked metadata can decide.
fn compare_outside(
    reach: &MaskReach,
    line: &RecordedLine,
    replayed: &ReplayReport,
    options: &BacktestOptions,
    channel: Option<&BacktestChannel>,
) -> RunComparison {
    let mut recording = RunRecording::clone(&line.recording);
    let mut replayed = replayed.clone();
    reach.remove_values(&mut recording.end.data);
    reach.remove_values(&mut replayed.end.data);
    reach.accept_calls(&mut replayed.calls);
    let line = RecordedLine { recording: Arc::new(recording), ..line.clone() };
    comparison::compare_line(&line, &replayed, options, channel)
}

/// Finds metadata that a version compares, or computes with, and that the recording masks.
fn find_masked_decision(workflow: &OfflineWorkflow, recording: &RunRecording) -> Option<String> {
    let path = DecisiveReads::collect(workflow.engine(), workflow.document()).find_masked(recording)?;
    Some(format!("the workflow compares {path}, which recordings mask"))
}

/// The refusals of a token that say nothing of the version: recordings mask tokens, and key sets are not fetched.
const UNJUDGED_TOKENS: [RefusalReason; 4] = [
    RefusalReason::Malformed,
    RefusalReason::UnknownKid,
    RefusalReason::BadSignature,
    RefusalReason::KeysUnavailable,
];

/// Finds a task that refuses a token for such a reason, and did not fail in the recorded run.
fn find_unjudged_token(outcome: &RunOutcome, recorded: &RunRecordingEnd) -> Option<String> {
    let has_failed_before = |task: &str| match &recorded.errors {
        Some(errors) => errors.as_array().into_iter().flatten().any(|error| error["task_id"] == task),
        None => recorded.error.is_some(),
    };
    let is_unjudged = |message: &str| {
        let mut refusals = UNJUDGED_TOKENS.iter().map(|reason| format!("token rejected ({})", reason.name()));
        refusals.any(|refusal| refusal == message)
    };
    let mut failed = outcome.errors.iter().filter(|error| is_unjudged(&error.message));
    let task = failed.find_map(|error| error.task_id.as_deref().filter(|task| !has_failed_before(task)))?;
    Some(format!("task '{task}' verifies a token, which recordings mask, or whose keys are not fetched"))
}
