//! Errors of compiling and of running a workflow.

use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use serde_json::Value;
use svc_model::ServiceError;

use crate::error_code::{ErrorCode, FailureKind, Healing};
use crate::redaction::Redaction;

/// A workflow that cannot be used. Its channels are quarantined with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Two tasks or groups share an id; a whole reload fails on this one.
    #[error("workflow {workflow}: the id \"{task}\" is used by two tasks or groups")]
    DuplicateTaskId {
        /// The workflow.
        workflow: String,
        /// The id used twice.
        task: String,
    },
    /// A task names a function nothing in this process can run.
    #[error(
        "workflow {workflow}: task \"{task}\" names the function \"{function}\", which this service cannot run"
    )]
    Undispatchable {
        /// The workflow.
        workflow: String,
        /// The function.
        function: String,
        /// The task that names it.
        task: String,
    },
    /// Anything else: a malformed task, an expression that does not compile, a secret that is refused.
    #[error("workflow {workflow}: {at}: {message}")]
    Invalid {
        /// The workflow.
        workflow: String,
        /// The place in the document as its author wrote it.
        at: String,
        /// The problem.
        message: String,
    },
}

/// A paused channel that a run called: another run is of no use before it is resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedChannel {
    /// Its id.
    pub id: Arc<str>,
}

/// The index of an element of a fan-out, stored as one more: so that an absent one takes no room in an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementIndex(NonZeroU32);

impl ElementIndex {
    /// Creates the index of an element; `None` for one that no list can have.
    pub fn new(index: usize) -> Option<Self> {
        u32::try_from(index).ok()?.checked_add(1).and_then(NonZeroU32::new).map(Self)
    }

    /// Returns the index.
    pub const fn get(self) -> u32 {
        self.0.get() - 1
    }
}

impl Serialize for ElementIndex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

/// The indexes of the elements of fan-outs within one another, the outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ElementIndexes(Vec<u32>);

impl ElementIndexes {
    /// Returns the indexes.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

/// One entry of the errors of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskError {
    /// The class.
    pub code: ErrorCode,
    /// Text for operators.
    pub message: String,
    /// Always null; kept for the shape of the object.
    pub path: (),
    /// The workflow, as audit and trace name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<Arc<str>>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Arc<str>>,
    /// The index of the element of a fan-out at which it happened; of several within one another, of the innermost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<ElementIndex>,
    /// The indexes of all elements around it, if there are several. Boxed as the body is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexes: Option<Box<ElementIndexes>>,
    /// The start of the run in which it happened.
    pub timestamp: DateTime<Utc>,
    /// True if the function tried more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_attempted: Option<bool>,
    /// The number of further attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<NonZeroU32>,
    /// Detail for operators only: kept in traces, never in an answer. Boxed as the body is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<String>>,
    /// The status of the outbound HTTP call, for [`ErrorCode::Http`].
    #[serde(rename = "status", skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The body of that answer, if the task asked for it: bounded, without secrets. Boxed: results carry
    /// this type about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<Value>>,
    /// The time of a whole run is used up, not only that of one call.
    #[serde(skip)]
    pub is_deadline: bool,
    /// The caller has to correct the data: a plugin said so. The run is then answered with 400.
    #[serde(skip)]
    pub is_input_error: bool,
    /// The use of another attempt, if that differs from what the code says.
    #[serde(skip)]
    pub healing: Option<Healing>,
    /// The paused channel that was called. Boxed as the body is.
    #[serde(skip)]
    pub paused_channel: Option<Box<PausedChannel>>,
    /// Seconds that the system which was called asked to wait before another attempt, at most an hour.
    #[serde(skip)]
    pub retry_after_secs: Option<NonZeroU16>,
    /// True for an error that the workflow tolerates by `continue_on_error`: the run does not fail by it.
    #[serde(rename = "tolerated", skip_serializing_if = "std::ops::Not::not")]
    pub is_tolerated: bool,
}

impl TaskError {
    /// Creates an error of a task; the run adds the ids and the time.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            path: (),
            workflow_id: None,
            task_id: None,
            index: None,
            indexes: None,
            timestamp: DateTime::UNIX_EPOCH,
            retry_attempted: None,
            retry_count: None,
            detail: None,
            http_status: None,
            body: None,
            is_deadline: false,
            is_input_error: false,
            healing: None,
            paused_channel: None,
            retry_after_secs: None,
            is_tolerated: false,
        }
    }

    /// Bad resolved input.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Validation, message)
    }

    /// Names the element of a fan-out around the error, and around those that it names.
    pub(crate) fn add_element(&mut self, index: usize) {
        let Some(outer) = ElementIndex::new(index) else { return };
        match self.index {
            None => self.index = Some(outer),
            Some(inner) => {
                let indexes = self.indexes.get_or_insert_with(|| Box::new(ElementIndexes(vec![inner.get()])));
                indexes.0.insert(0, outer.get());
            }
        }
    }

    /// Adds operator-only detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(Box::new(detail.into()));
        self
    }

    /// Masks what its texts may not show.
    pub fn redact(&mut self, redaction: &Redaction) {
        self.message = redaction.mask_text(std::mem::take(&mut self.message));
        self.detail = self.detail.take().map(|detail| Box::new(redaction.mask_text(*detail)));
        if let Some(body) = &mut self.body {
            redaction.mask(body);
        }
    }

    /// Returns true if the called system may answer better to another attempt: what retries of a call
    /// and breakers follow.
    pub fn retryable(&self) -> bool {
        match self.code {
            ErrorCode::Timeout | ErrorCode::Io | ErrorCode::CircuitOpen => true,
            ErrorCode::Http => self.has_retryable_status(),
            _ => false,
        }
    }

    /// Returns true if a later run of the same message may succeed: what retries of failed jobs follow.
    pub fn is_transient(&self) -> bool {
        match self.healing.unwrap_or_else(|| self.code.healing()) {
            Healing::Transient => true,
            Healing::ByStatus => self.has_retryable_status(),
            Healing::Permanent => false,
        }
    }

    fn has_retryable_status(&self) -> bool {
        self.http_status.is_none_or(|status| status >= 500 || matches!(status, 408 | 429))
    }
}

/// The error that ended a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFailure {
    /// The kind of answer that the run gives.
    pub kind: FailureKind,
    /// The error of the task that stopped it.
    pub error: TaskError,
}

impl RunFailure {
    pub(crate) fn new(error: TaskError) -> Self {
        let kind = match error.code.failure() {
            // One call took too long, not the run.
            FailureKind::Timeout if !error.is_deadline => FailureKind::Engine,
            FailureKind::Engine if error.is_input_error => FailureKind::Validation,
            kind => kind,
        };
        Self { kind, error }
    }

    /// Returns the error for the caller: it names the task and the code. The cause is added if answers are
    /// `verbose`, else it stays internal.
    pub fn to_service_error(&self, verbose: bool) -> ServiceError {
        let text = &self.error.message;
        let message = match self.kind {
            FailureKind::Validation | FailureKind::CircuitOpen => text.clone(),
            FailureKind::Timeout if self.error.task_id.is_none() && !verbose => {
                self.kind.sentence().to_owned()
            }
            _ => self.describe(verbose),
        };
        let error = ServiceError::new(self.kind.code(), message);
        let error = if self.kind.is_worth_a_retry() { error.with_retry_after(1) } else { error };
        match &self.error.detail {
            Some(detail) => error.with_internal(format!("{text} ({detail})")),
            None => error.with_internal(text),
        }
    }

    fn describe(&self, verbose: bool) -> String {
        let TaskError { code, message, task_id, .. } = &self.error;
        let place = match task_id {
            Some(task) => format!("task '{task}'"),
            None => "the workflow".to_owned(),
        };
        let sentence = match self.kind {
            FailureKind::Engine => format!("{} failed with {}", capitalize(&place), code.name()),
            kind => format!("{}: {place} failed with {}", kind.sentence(), code.name()),
        };
        // Details are for operators, whatever the setting: the trace has them.
        if verbose && self.kind != FailureKind::ConnectorDetail {
            format!("{sentence}: {message}")
        } else {
            format!("{sentence}; the trace of the run has the cause")
        }
    }
}

fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(characters).collect()
}
