//! What goes wrong while a workflow is compiled or run.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use svc_model::{Code, ServiceError};

use crate::concealed::Concealed;

/// Why a workflow cannot be used. Its channels are quarantined with this text.
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
        /// Where in the document, in authored coordinates.
        at: String,
        /// What is wrong.
        message: String,
    },
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident;)*) => {
        /// The class of a task's error; the name is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $variant,)* }

        impl ErrorCode {
            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What a run that this error stopped answers.
            pub const fn failure(self) -> FailureKind {
                match self { $(Self::$variant => FailureKind::$kind,)* }
            }
        }
    };
}

codes! {
    /// Bad resolved input, or a validation rule that failed.
    Validation = "VALIDATION_ERROR", Validation;
    /// A validation rule that could not be evaluated.
    Evaluation = "EVALUATION_ERROR", Engine;
    /// A function answered with a status of 500 or more.
    TaskStatus = "TASK_STATUS_ERROR", Engine;
    /// The marker of a workflow that was stopped by an error.
    Workflow = "WORKFLOW_ERROR", Engine;
    /// Anything else at task level.
    Task = "TASK_ERROR", Engine;
    /// The function is not registered.
    FunctionNotFound = "FUNCTION_NOT_FOUND", Engine;
    /// A function failed.
    Function = "FUNCTION_ERROR", Engine;
    /// An expression inside a function failed.
    Logic = "LOGIC_ERROR", Engine;
    /// The status of an outbound HTTP call.
    Http = "HTTP_ERROR", Engine;
    /// A deadline passed.
    Timeout = "TIMEOUT_ERROR", Timeout;
    /// The transport failed.
    Io = "IO_ERROR", Engine;
    /// Input could not be parsed.
    Deserialization = "DESERIALIZATION_ERROR", Engine;
    /// The breaker of a connector is open.
    CircuitOpen = "circuit_open", CircuitOpen;
    /// A failure whose text is for operators only.
    ConnectorDetail = "connector_detail", ConnectorDetail;
    /// A called channel is over its rate limit.
    ChannelRateLimited = "channel_rate_limited", ChannelRateLimited;
    /// A called channel refused the caller.
    ChannelForbidden = "channel_forbidden", ChannelForbidden;
    /// A called channel has seen this message.
    ChannelConflict = "channel_conflict", ChannelConflict;
    /// A called channel cannot serve now.
    ChannelUnavailable = "channel_unavailable", ChannelUnavailable;
    /// A unique constraint of a database refuses a write.
    IntegrityUnique = "integrity_unique", IntegrityConflict;
    /// A foreign key of a database refuses a write.
    IntegrityForeignKey = "integrity_foreign_key", IntegrityConflict;
    /// A write lacks a value that a database requires.
    IntegrityNotNull = "integrity_not_null", IntegrityInvalid;
    /// A check constraint of a database refuses a write.
    IntegrityCheck = "integrity_check", IntegrityInvalid;
    /// None of the above.
    Unknown = "UNKNOWN_ERROR", Engine;
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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
    /// When the run it happened in started.
    pub timestamp: DateTime<Utc>,
    /// Whether the function tried more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_attempted: Option<bool>,
    /// How often it tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    /// Detail for operators only: kept in traces, never in an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The status of the outbound HTTP call, for [`ErrorCode::Http`].
    #[serde(skip)]
    pub http_status: Option<u16>,
}

impl TaskError {
    /// An error of a task; the run adds the ids and the time.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            path: (),
            workflow_id: None,
            task_id: None,
            timestamp: DateTime::UNIX_EPOCH,
            retry_attempted: None,
            retry_count: None,
            detail: None,
            http_status: None,
        }
    }

    /// Bad resolved input.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Validation, message)
    }

    /// Adds operator-only detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Masks what its texts may not show.
    pub fn conceal(&mut self, concealed: &Concealed) {
        for text in [Some(&mut self.message), self.detail.as_mut()].into_iter().flatten() {
            *text = concealed.mask_text(std::mem::take(text));
        }
    }

    /// Whether trying again later may succeed.
    pub fn retryable(&self) -> bool {
        match self.code {
            ErrorCode::Timeout | ErrorCode::Io | ErrorCode::CircuitOpen => true,
            ErrorCode::Http => {
                self.http_status.is_none_or(|status| status >= 500 || matches!(status, 408 | 429))
            }
            _ => false,
        }
    }
}

/// Names no table, constraint or value: an anonymous caller reads it.
const INTEGRITY_CONFLICT: &str = "The data conflicts with data that is stored already";
const INTEGRITY_INVALID: &str = "The data does not meet a constraint of the database";

/// What a failed run answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// 400, the message verbatim.
    Validation,
    /// 504.
    Timeout,
    /// 503, the message names connector and channel.
    CircuitOpen,
    /// 400 with a fixed sentence; the detail is for operators.
    ConnectorDetail,
    /// 429.
    ChannelRateLimited,
    /// 403.
    ChannelForbidden,
    /// 409.
    ChannelConflict,
    /// 503.
    ChannelUnavailable,
    /// 409 with a fixed sentence: the data of the request conflicts with stored data.
    IntegrityConflict,
    /// 400 with a fixed sentence: the data of the request does not meet a constraint.
    IntegrityInvalid,
    /// 500 with a fixed sentence.
    Engine,
}

/// The error that ended a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What the run answers.
    pub kind: FailureKind,
    /// The error of the task that stopped it.
    pub error: TaskError,
}

impl Failure {
    pub(crate) fn new(error: TaskError) -> Self {
        Self { kind: error.code.failure(), error }
    }

    /// The error for the caller; operator texts stay internal.
    pub fn to_service_error(&self) -> ServiceError {
        let text = self.error.message.clone();
        let fixed = |code| ServiceError::from_code(code).with_internal(text.clone());
        match self.kind {
            FailureKind::Validation => ServiceError::new(Code::ValidationError, text),
            FailureKind::CircuitOpen => ServiceError::new(Code::CircuitOpen, text).with_retry_after(1),
            FailureKind::Timeout => fixed(Code::Timeout),
            FailureKind::ConnectorDetail => fixed(Code::ValidationError),
            FailureKind::ChannelRateLimited => fixed(Code::RateLimited).with_retry_after(1),
            FailureKind::ChannelForbidden => fixed(Code::Forbidden),
            FailureKind::ChannelConflict => fixed(Code::Conflict),
            FailureKind::ChannelUnavailable => fixed(Code::ServiceUnavailable).with_retry_after(1),
            FailureKind::IntegrityConflict => {
                ServiceError::new(Code::Conflict, INTEGRITY_CONFLICT).with_internal(text)
            }
            FailureKind::IntegrityInvalid => {
                ServiceError::new(Code::ValidationError, INTEGRITY_INVALID).with_internal(text)
            }
            FailureKind::Engine => fixed(Code::EngineError),
        }
    }
}
