//! Backtests: a version of a workflow runs over recorded runs, with the answers of those, and the differences are named.
//!
//! The version is compiled with stand-ins for all that reaches outside, so that nothing is called: a call that a recorded
//! run did not make has no answer and is named.

mod comparison;
mod recorded_line;
mod report;
mod to_case;

use std::sync::Arc;

use svc_engine::RecordingResult;

use crate::run::OfflineWorkflow;

pub use comparison::{BacktestOptions, DifferenceKind, RunComparison, RunDifference, compare};
pub use recorded_line::{RecordedLine, RecordedLineError};
pub use report::{BacktestReport, DifferenceGroup, DifferenceSample};
pub use to_case::case_from_recording;

/// Runs a workflow over a recorded run, and compares both ends.
pub async fn backtest_run(
    workflow: &OfflineWorkflow,
    line: &RecordedLine,
    options: &BacktestOptions,
) -> RunComparison {
    let recording = Arc::clone(&line.recording);
    let run = workflow.replay(recording).await;
    match &run.outcome().recorded {
        Some(RecordingResult::Replayed(replayed)) => comparison::compare(&line.recording, replayed, options),
        _ => RunComparison::incomparable("the run left no report"),
    }
}
