//! Recorded runs, as they are written and read.

use std::sync::Arc;

use svc_model::{Timestamp, WorkflowVersion};

use crate::repo::key;

/// A recording that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRunRecording {
    pub id: String,
    /// The id of the run and of its trace.
    pub run_id: String,
    pub run_key: String,
    pub channel_id: Arc<str>,
    /// The name of the channel.
    pub channel: Arc<str>,
    /// The version of the workflow.
    pub workflow: Option<WorkflowVersion>,
    /// The way in which the run began.
    pub source: &'static str,
    /// The end of the run.
    pub outcome: &'static str,
    /// The recording, JSON.
    pub recording: String,
}

/// A recording as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingRow {
    pub id: String,
    /// The id of the run and of its trace.
    pub run_id: String,
    pub run_key: String,
    /// The name of the channel.
    pub channel: String,
    pub workflow_id: Option<String>,
    pub workflow_version: Option<i64>,
    /// The way in which the run began.
    pub source: String,
    /// The end of the run.
    pub outcome: String,
    /// The length of the recording.
    pub bytes: i64,
    /// The time of the row.
    pub created_at: Timestamp,
}

/// A recording with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRunRecording {
    pub row: RecordingRow,
    /// The recording, JSON.
    pub recording: String,
}

/// A filter on recordings. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingFilter {
    /// The name of the channel.
    pub channel: Option<String>,
    pub run_key: Option<String>,
    /// The id of the workflow.
    pub workflow: Option<String>,
    /// The version of the workflow.
    pub version: Option<i64>,
    /// The end of the run.
    pub outcome: Option<String>,
    /// Earliest instant, inclusive.
    pub since: Option<Timestamp>,
    /// Latest instant, exclusive.
    pub until: Option<Timestamp>,
}

impl RecordingFilter {
    /// Returns the filter with texts that are safe in a query.
    pub(super) fn into_storable(self) -> Self {
        let storable = |text: Option<String>| text.map(|text| key(&text));
        Self {
            channel: storable(self.channel),
            run_key: storable(self.run_key),
            workflow: storable(self.workflow),
            outcome: storable(self.outcome),
            ..self
        }
    }
}
