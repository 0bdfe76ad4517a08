//! The trace of a synchronous run.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use uuid::Uuid;

/// A run that was answered.
#[derive(Clone, Debug)]
pub struct Record {
    /// Id of the trace, and of the message.
    pub trace_id: Uuid,
    /// Name of the channel.
    pub channel: Arc<str>,
    /// Id of the channel.
    pub channel_id: Arc<str>,
    /// The whole answer, JSON.
    pub result: String,
    /// Whether no task failed.
    pub clean: bool,
    /// The execution trace, JSON, where the channel keeps one.
    pub task_trace: Option<String>,
    /// When it began, UTC.
    pub started_at: NaiveDateTime,
    /// How long it ran.
    pub took: Duration,
}
