//! Backtests: a version of a workflow runs over recorded runs, with the answers of those, and the differences are named.
//!
//! The version is compiled with stand-ins for all that reaches outside, so that nothing is called: a call that a recorded
//! run did not make has no answer and is named.

mod channel;
mod comparison;
mod recorded_line;
mod report;
mod to_case;

use std::sync::Arc;

use svc_engine::RecordingResult;

use crate::run::OfflineWorkflow;
use channel::RecordedVerdict;

pub use channel::BacktestChannel;
pub use comparison::{BacktestOptions, DifferenceKind, RunComparison, RunDifference, compare};
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
    match channel.map(|channel| channel.judge(&line.recording)) {
        None | Some(RecordedVerdict::Admitted) => {}
        Some(RecordedVerdict::Refused(guard, lines)) => {
            comparison.add(DifferenceKind::NewError, format!("refused by {guard}"), lines);
            return comparison;
        }
        Some(RecordedVerdict::Unknown(reason)) => return RunComparison::incomparable(&reason),
    }
    let recording = Arc::clone(&line.recording);
    let run = workflow.replay(recording).await;
    match &run.outcome().recorded {
        Some(RecordingResult::Replayed(replayed)) => {
            comparison::compare_line(line, replayed, options, channel)
        }
        _ => RunComparison::incomparable("the run left no report"),
    }
}
