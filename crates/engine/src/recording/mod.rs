//! Recordings of runs: the message that a run was given, the instants and random values that it drew, each call with its
//! input and answer, and the end. A recording is enough to run another version of the workflow over the same message
//! with the same answers, while nothing outside is called.

mod answers;
mod call;
mod drawn;
mod filter;
mod recorder;
mod stand_ins;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::TaskError;
use crate::error_code::ErrorCode;

pub use answers::{AnsweredCall, CallMatch, ReplayReport};
pub(crate) use call::{RecordableCall, innermost_index};
pub(crate) use drawn::{DrawScope, draw_value};
pub use filter::{DropPath, MetadataReads};
pub(crate) use recorder::{ReplayedCall, RunRecorder};
pub use stand_ins::SECRET_STAND_IN;
pub(crate) use stand_ins::SecretStandIns;

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecording {
    /// The start of the run, RFC 3339 in UTC.
    pub started_at: String,
    /// The payload.
    pub payload: Value,
    /// The metadata that the version reads, without credentials.
    pub metadata: Map<String, Value>,
    /// The instants and random values, in the order in which they were drawn.
    pub drawn: Vec<DrawnValue>,
    /// The calls in the order of their ends.
    pub calls: Vec<CallRecording>,
    /// The end of the run.
    pub end: RunRecordingEnd,
    /// The paths at which something is left out: their names and indexes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Vec<String>>,
}

impl RunRecording {
    /// Returns `true` if something is left out that a run over the recording reads, so that it may have nothing in the
    /// place of a mask. Without it, the run has the mask there.
    #[must_use]
    pub fn lacks_sources(&self) -> bool {
        let is_source = |root: &String| ["payload", "metadata", "answer"].contains(&root.as_str());
        self.dropped.iter().any(|path| path.first().is_some_and(is_source))
    }
}

/// An instant or a random value that an expression or a function has drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DrawnValue {
    /// The task, in a fan-out with the place of the element behind a colon.
    pub at: String,
    /// The operator with its arguments.
    pub kind: String,
    /// The value.
    pub value: Value,
}

/// One attempt at a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRecording {
    /// The task.
    pub task: String,
    /// The index of the element, in a fan-out; of nested ones that of the innermost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The function.
    pub function: String,
    /// The connector or channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The input as the function sent it, secrets as `{"$secret": name}`.
    pub input: Value,
    /// The value that the task wrote; null after an error.
    #[serde(default)]
    pub answer: Value,
    /// The error of a call that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordedCallError>,
    /// True for a call that was ended before its answer: by another element or member that failed, or because the time of
    /// a group or of the run was over.
    #[serde(default, rename = "cut", skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The duration in milliseconds.
    pub ms: f64,
}

/// The error of a recorded call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCallError {
    /// The code.
    pub code: String,
    /// The text.
    pub message: String,
    /// The status of the system that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The body that it answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

/// The end of a recorded run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecordingEnd {
    /// True if a workflow admitted the message.
    pub matched: bool,
    /// The code of the error that stopped the run, or of the first one that its workflow does not tolerate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tasks that ran, in order.
    pub tasks: Vec<String>,
    /// The data, of which the answer is made.
    pub data: Value,
    /// The errors that the answer lists, each with `code`, `task_id` and, if the input is at fault, `message`; `None` in a
    /// recording of before they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Value>,
}

/// The options of a recording.
#[derive(Clone, Debug, Default)]
pub struct RecordingOptions {
    /// Bytes of JSON that the recording may take; a longer one is given up.
    pub max_bytes: usize,
    /// The paths whose values are left out, wherever these occur.
    pub drop: Arc<[DropPath]>,
    /// The metadata that guards name, which are recorded in addition to those that the workflow names.
    pub guard_reads: Option<Arc<MetadataReads>>,
}

/// The use of a recording by a run.
#[derive(Clone, Debug)]
pub enum RecordingMode {
    /// The run is recorded, unless its payload holds secrets.
    Record(RecordingOptions),
    /// The run is recorded for a shadow, with its whole message, and with these options for others too.
    Follow {
        /// Bytes that the recording may take.
        max_bytes: usize,
        /// The recording for others; `None` if there is none.
        record: Option<RecordingOptions>,
    },
    /// The run gets the values and the answers of a recorded one. Its workflow was compiled with stand-ins.
    Replay(Arc<RunRecording>),
    /// The same, and calls that only read are made if the recorded run did not make them. Its workflow was compiled with
    /// [`compile_shadow`](crate::Engine::compile_shadow).
    Shadow(Arc<RunRecording>),
}

impl RecordingMode {
    /// Returns the recorded run whose values and answers the run gets.
    pub(crate) fn followed(&self) -> Option<&Arc<RunRecording>> {
        match self {
            Self::Replay(recording) | Self::Shadow(recording) => Some(recording),
            Self::Record(_) | Self::Follow { .. } => None,
        }
    }
}

/// The product of a run with a [`RecordingMode`].
#[derive(Clone, Debug)]
pub enum RecordingResult {
    /// The recording.
    Recorded(Box<RunRecording>),
    /// The reason for which there is none.
    Unrecorded(Unrecorded),
    /// The recordings of a run that a shadow follows.
    Followed(Box<FollowedRun>),
    /// The report of a run over a recording.
    Replayed(Box<ReplayReport>),
}

/// The recordings of a run that a shadow follows.
#[derive(Clone, Debug)]
pub struct FollowedRun {
    /// The run with its whole message, not masked but for its end: it never leaves the memory.
    pub run: Result<RunRecording, Unrecorded>,
    /// The recording for others, if one was asked for.
    pub recorded: Option<Result<RunRecording, Unrecorded>>,
}

/// The reason for which a run is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecorded {
    /// The recording would be longer than it may.
    TooLarge,
    /// The payload holds secrets, or there are too many secrets to look for.
    Confidential,
}

impl Unrecorded {
    /// Returns the name that metrics use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Confidential => "confidential",
        }
    }
}

/// Errors that a recording keeps.
const MOST_ERRORS: usize = 100;

/// Lists the errors of a run, in their order, as recordings keep them.
pub(crate) fn list_errors(errors: &[TaskError]) -> Value {
    let list = |error: &TaskError| {
        let mut listed = json!({"code": error.code.name()});
        if let Some(task) = &error.task_id {
            listed["task_id"] = Value::from(&**task);
        }
        // The messages of other errors are for operators, and may hold what no two runs have alike.
        if error.code == ErrorCode::Validation {
            listed["message"] = Value::from(error.message.as_str());
        }
        listed
    };
    errors.iter().take(MOST_ERRORS).map(list).collect()
}

impl From<&TaskError> for RecordedCallError {
    fn from(error: &TaskError) -> Self {
        Self {
            code: error.code.name().to_owned(),
            message: error.message.clone(),
            status: error.http_status,
            body: error.body.as_deref().cloned(),
        }
    }
}
