//! A recorded run as a line of a file: an answer of `GET /api/v1/admin/recordings/{id}` without its envelope.

use std::sync::Arc;

use serde_json::Value;
use svc_engine::RunRecording;

/// A recorded run.
#[derive(Clone, Debug, Default)]
pub struct RecordedLine {
    /// The id of the recording; empty if the line has none.
    pub id: String,
    pub run_key: String,
    /// The id of the workflow, if it is known.
    pub workflow_id: Option<String>,
    /// The name of the channel, if it is known.
    pub channel: Option<String>,
    /// The way in which the run began, if it is known: `sync` for one whose caller waited for the answer.
    pub source: Option<String>,
    pub recording: Arc<RunRecording>,
}

/// The reason why a line is no recorded run.
#[derive(Debug, thiserror::Error)]
pub enum RecordedLineError {
    /// The line is no JSON.
    #[error("this is no JSON")]
    Json(#[source] serde_json::Error),
    /// The document has no recording.
    #[error("this is no recorded run: expected a line that 'recordings export' prints")]
    NoRecording(#[source] Option<serde_json::Error>),
}

impl RecordedLine {
    /// Returns the line with the content of a stored recording.
    ///
    /// # Errors
    /// A content that is none.
    pub fn with_content(self, content: &str) -> Result<Self, RecordedLineError> {
        let recording = serde_json::from_str(content).map_err(RecordedLineError::Json)?;
        Ok(Self { recording: Arc::new(recording), ..self })
    }

    /// Returns the id of the recording, or the key of a run without one.
    pub(super) fn name(&self) -> &str {
        if self.id.is_empty() { &self.run_key } else { &self.id }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// A line that is no recorded run.
    pub fn parse(text: &str) -> Result<Self, RecordedLineError> {
        let mut document: Value = serde_json::from_str(text).map_err(RecordedLineError::Json)?;
        if let Some(data) = document.get_mut("data").filter(|data| data.get("recording").is_some()) {
            document = data.take();
        }
        let recording = document.get_mut("recording").map(Value::take);
        let recording = recording.ok_or(RecordedLineError::NoRecording(None))?;
        let recording = serde_json::from_value(recording);
        let recording = recording.map_err(|error| RecordedLineError::NoRecording(Some(error)))?;
        let text_of = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            id: text_of("id").unwrap_or_default(),
            run_key: text_of("run_key").unwrap_or_default(),
            workflow_id: text_of("workflow_id"),
            channel: text_of("channel"),
            source: text_of("source"),
            recording: Arc::new(recording),
        })
    }
}
