//! Shadows: a version of a workflow that runs a message after another version did, on the calls of that run.
//!
//! A shadow begins once the run that it follows has ended and the thread has nothing else to do. Its calls get the answers
//! of that run; one that only reads is made if that run made none like it, every other is not made. It passes no guard and
//! counts in no metric of its channel. A run that has no shadow costs the look at an `Option`.

mod book;
mod following;
mod metrics;

use std::sync::Arc;

use svc_engine::{Flow, ReplayReport, RunRecording};
use svc_model::Timestamp;

pub(crate) use book::{ShadowBook, ShadowTally};

/// The shadow of a workflow, as its rollout asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowTerms {
    pub rollout_id: Arc<str>,
    /// The version whose runs are followed.
    pub followed: i64,
    /// The version that runs as the shadow.
    pub version: i64,
    /// Share of the runs that are followed, 0 to 1.
    pub share: f64,
}

/// The shadow of the workflow of a channel, compiled.
#[derive(Clone, Debug)]
pub struct WorkflowShadow {
    pub terms: ShadowTerms,
    /// The version that runs, as [`compile_shadow`](svc_engine::Engine::compile_shadow) makes it, alone.
    pub flow: Arc<Flow>,
}

/// A difference of a run and its shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowFinding {
    pub kind: &'static str,
    /// The part that differs.
    pub subject: String,
    /// The description, a line each.
    pub lines: Vec<String>,
}

/// Compares a run with its shadow; returns nothing if they are the same.
pub type CompareRuns = fn(&RunRecording, &ReplayReport) -> Vec<ShadowFinding>;

/// The counts of the shadows of a rollout on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShadowCounts {
    /// Number of shadow runs.
    pub runs: u64,
    /// Number of those that differ.
    pub different: u64,
    /// Number of runs by the kind of their differences.
    pub kinds: Vec<(&'static str, u64)>,
    /// Number of runs without a shadow, by reason.
    pub dropped: Vec<(&'static str, u64)>,
    /// Number of calls that were not made.
    pub unanswered: u64,
    /// The last runs that differ, the newest first.
    pub samples: Vec<DifferingRun>,
}

/// A run that differs from its shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingRun {
    pub message_id: String,
    pub run_key: String,
    /// End of the shadow.
    pub ended_at: Timestamp,
    /// The differences.
    pub findings: Vec<ShadowFinding>,
}

/// The shadow of a channel, with its counts.
#[derive(Debug)]
pub(crate) struct ChannelShadow {
    pub(crate) workflow: WorkflowShadow,
    pub(crate) tally: Arc<ShadowTally>,
}
