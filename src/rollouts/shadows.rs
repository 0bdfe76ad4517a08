//! The comparison of runs with their shadows: that of backtests.

use svc_channels::ShadowFinding;
use svc_engine::{ReplayReport, RunRecording};
use svc_project::backtest::{BacktestOptions, DifferenceKind, compare};

/// Lists the kinds of differences.
pub(crate) fn shadow_kinds() -> impl Iterator<Item = &'static str> {
    DifferenceKind::ALL.into_iter().filter(|kind| *kind != DifferenceKind::Same).map(DifferenceKind::name)
}

/// Compares a run with its shadow.
pub(crate) fn compare_with_shadow(run: &RunRecording, shadow: &ReplayReport) -> Vec<ShadowFinding> {
    let comparison = compare(run, shadow, &BacktestOptions::default());
    let to_finding = |difference: svc_project::backtest::RunDifference| ShadowFinding {
        kind: difference.kind.name(),
        subject: difference.subject,
        lines: difference.lines,
    };
    comparison.differences.into_iter().map(to_finding).collect()
}
