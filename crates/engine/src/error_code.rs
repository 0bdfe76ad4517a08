//! The table of task error codes: the answer each leads to, whether a later attempt may succeed, cause and
//! remedy.

use serde::{Serialize, Serializer};
use svc_model::{Code, CodeEntry};

/// The use of another attempt if nothing was changed in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Healing {
    /// Time may heal it.
    Transient,
    /// The status of an upstream decides.
    ByStatus,
    /// The same run fails again.
    Permanent,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident, $healing:ident, $cause:literal, $remedy:literal;)*) => {
        /// The class of a task's error; the name is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $variant,)* }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the answer of a run that this error stopped.
            pub const fn failure(self) -> FailureKind {
                match self { $(Self::$variant => FailureKind::$kind,)* }
            }

            pub(crate) const fn healing(self) -> Healing {
                match self { $(Self::$variant => Healing::$healing,)* }
            }

            /// Returns the row of the table, with the status of a run that this error stopped.
            pub const fn entry(self) -> CodeEntry {
                let (cause, remedy) = match self { $(Self::$variant => ($cause, $remedy),)* };
                CodeEntry { name: self.name(), status: self.failure().code().status(), cause, remedy }
            }
        }
    };
}

codes! {
    /// Bad resolved input, or a validation rule that failed.
    Validation = "VALIDATION_ERROR", Validation, Permanent,
        "The resolved input of the task is not what its function takes, or a rule of `validation` failed.",
        "Correct the data, or the input of the task that the message names.";
    /// A validation rule that could not be evaluated.
    Evaluation = "EVALUATION_ERROR", Engine, Permanent,
        "A rule of `validation` could not be evaluated over this data.",
        "Make the rule hold for absent values and other types, with `missing` or `if`.";
    /// A function answered with a status of 500 or more.
    TaskStatus = "TASK_STATUS_ERROR", Engine, Permanent,
        "A function answered with a status of 500 or more.",
        "Look at what the function reports in the trace of the run.";
    /// The marker of a workflow that was stopped by an error.
    Workflow = "WORKFLOW_ERROR", Engine, Permanent,
        "The workflow was stopped; the error before this one is the reason.",
        "Handle that error, or set `continue_on_error` where the workflow may go on.";
    /// Anything else at task level.
    Task = "TASK_ERROR", Engine, Permanent,
        "A task exceeded a bound: the size or depth of the message, the index of an array, the number of tasks.",
        "Let the task write less, or end the loop earlier.";
    /// A fan-out over its bounds.
    LimitExceeded = "LIMIT_EXCEEDED", Engine, Permanent,
        "A `for_each` has more elements than `engine.max_fan_out`, a loop more than `engine.max_loop_iterations`, or \
         the copies of the message that a `for_each` or a parallel group works on take more than the bound of one: at \
         its begin, or one of them its share by what was written to it.",
        "Shorten the list, lower `max_concurrency`, or collect less of each element.";
    /// The function is not registered.
    FunctionNotFound = "FUNCTION_NOT_FOUND", Engine, Permanent,
        "Not in use: a workflow with a function that is not registered is refused, or quarantines its channels.",
        "Use a name that `GET /api/v1/admin/functions` lists.";
    /// A function failed.
    Function = "FUNCTION_ERROR", Engine, Permanent,
        "A function failed: the system it called refused the request, its connector is not loaded, or the channel it \
         calls does not exist or is quarantined.",
        "Correct the input, the statement, the connector or the channel that the message names.";
    /// An expression inside a function failed.
    Logic = "LOGIC_ERROR", Engine, Permanent,
        "An expression of the task failed over this data, such as arithmetic over a text.",
        "Correct the expression or the data: the message names the operand or the operator.";
    /// The status of an outbound HTTP call.
    Http = "HTTP_ERROR", Engine, ByStatus,
        "An HTTP API answered with a status that is no success.",
        "Branch on `metadata._svc_errors[].status`; with `capture_error_body` the body is there too.";
    /// A deadline passed.
    Timeout = "TIMEOUT_ERROR", Timeout, Transient,
        "A call did not end in time (500 `ENGINE_ERROR`), or the run used up its own time (504 `TIMEOUT`).",
        "Raise `timeout_ms` of the task or of the channel, or make the system behind it faster.";
    /// The transport failed.
    Io = "IO_ERROR", Engine, Transient,
        "The system behind a connector cannot be reached, or the connection broke off.",
        "Restore the system or its address; `POST /api/v1/admin/connectors/{id}/test` tries a connector.";
    /// Input could not be parsed.
    Deserialization = "DESERIALIZATION_ERROR", Engine, Permanent,
        "A text is not the JSON or XML that the task parses.",
        "Send well-formed text, or parse it only where it is.";
    /// The breaker of a connector is open.
    CircuitOpen = "circuit_open", CircuitOpen, Transient,
        "The system behind a connector failed repeatedly; calls of it are held back for a while.",
        "Restore the system; the breaker closes by itself, or by an operator.";
    /// A failure whose text is for operators only.
    ConnectorDetail = "connector_detail", ConnectorDetail, Permanent,
        "A connector does not allow the operation, is of another kind, or was refused by its token endpoint.",
        "The operator finds the detail in the trace of the run.";
    /// A called channel is over its rate limit.
    ChannelRateLimited = "channel_rate_limited", ChannelRateLimited, Transient,
        "A called channel is over its rate limit.",
        "Call it less often, or raise its `rate_limit`.";
    /// A called channel refused the caller.
    ChannelForbidden = "channel_forbidden", ChannelForbidden, Permanent,
        "Not in use: no guard that applies to calls between channels refuses a caller.",
        "Let the called channel's guards admit the calling channel.";
    /// A called channel has seen this message.
    ChannelConflict = "channel_conflict", ChannelConflict, Permanent,
        "Not in use: `deduplication` does not apply to calls between channels.",
        "Nothing: it was processed before. A new message needs a new key.";
    /// A called channel cannot serve now.
    ChannelUnavailable = "channel_unavailable", ChannelUnavailable, Transient,
        "A called channel is at capacity or paused, or what its guards need is away.",
        "Call it again later, raise its `backpressure`, or resume it.";
    /// A unique constraint of a database refuses a write.
    IntegrityUnique = "integrity_unique", IntegrityConflict, Permanent,
        "A row with that value of a unique column is stored already.",
        "Update the stored row, or write another value.";
    /// A foreign key of a database refuses a write.
    IntegrityForeignKey = "integrity_foreign_key", IntegrityConflict, Permanent,
        "The row that the write refers to is not there, or is referred to by others.",
        "Write the referred row first, or remove those that refer to it.";
    /// A write lacks a value that a database requires.
    IntegrityNotNull = "integrity_not_null", IntegrityInvalid, Permanent,
        "A column that requires a value got none.",
        "Give the column a value.";
    /// A check constraint of a database refuses a write.
    IntegrityCheck = "integrity_check", IntegrityInvalid, Permanent,
        "A value is outside of what a check constraint of the database allows.",
        "Write a value that the constraint allows.";
    /// A plugin answered with an error.
    Plugin = "PLUGIN_ERROR", Engine, Permanent,
        "A function of a plugin reported an error, or an answer that is no JSON. An error of the class `input` is \
         answered with 400 `VALIDATION_ERROR`.",
        "Look at the code and the class that the plugin gave, in `body` of the error.";
    /// The code of a plugin failed.
    PluginTrap = "PLUGIN_TRAP", Engine, Permanent,
        "The code of a plugin trapped: it panicked, divided by zero, used up its stack or left its memory.",
        "Correct the plugin; its call ended, and nothing else is harmed.";
    /// A call of a plugin over a bound.
    PluginLimit = "PLUGIN_LIMIT", Engine, Permanent,
        "A call of a plugin needs more memory, a larger request or answer, or more calls at once than it may.",
        "Raise the bound in `[plugins]` or in the manifest, or let the plugin do with less.";
    /// The component of a plugin is not compiled yet.
    PluginCompiling = "PLUGIN_COMPILING", PluginCompiling, Transient,
        "The component of a plugin is still being compiled on this node.",
        "Repeat the request after `Retry-After`.";
    /// None of the above.
    Unknown = "UNKNOWN_ERROR", Engine, Permanent,
        "Not in use by the service, whose errors all have a class; a stub of a test case may give it.",
        "Look at the message in the trace of the run.";
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The answer of a failed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// 400, the message verbatim.
    Validation,
    /// 504: the time of the run is used up.
    Timeout,
    /// 503, the message names connector and channel.
    CircuitOpen,
    /// 400; the detail is for operators.
    ConnectorDetail,
    /// 429.
    ChannelRateLimited,
    /// 403.
    ChannelForbidden,
    /// 409.
    ChannelConflict,
    /// 503.
    ChannelUnavailable,
    /// 409: the data of the request conflicts with stored data.
    IntegrityConflict,
    /// 400: the data of the request does not meet a constraint.
    IntegrityInvalid,
    /// 503: a plugin is still being compiled.
    PluginCompiling,
    /// 500, the message names the task and the code of its error.
    Engine,
}

impl FailureKind {
    /// Returns the code of the answer.
    pub const fn code(self) -> Code {
        match self {
            Self::Validation | Self::ConnectorDetail | Self::IntegrityInvalid => Code::ValidationError,
            Self::Timeout => Code::Timeout,
            Self::CircuitOpen => Code::CircuitOpen,
            Self::ChannelRateLimited => Code::RateLimited,
            Self::ChannelForbidden => Code::Forbidden,
            Self::ChannelConflict | Self::IntegrityConflict => Code::Conflict,
            Self::ChannelUnavailable => Code::ServiceUnavailable,
            Self::PluginCompiling => Code::PluginCompiling,
            Self::Engine => Code::EngineError,
        }
    }

    /// True if the answer asks callers to come back after a second.
    pub(crate) const fn is_worth_a_retry(self) -> bool {
        matches!(
            self,
            Self::CircuitOpen | Self::ChannelRateLimited | Self::ChannelUnavailable | Self::PluginCompiling
        )
    }

    /// Returns the first sentence of the answer if it is not the text of the task.
    ///
    /// Names no table, constraint or value: an anonymous caller reads it.
    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::IntegrityConflict => "The data conflicts with data that is stored already",
            Self::IntegrityInvalid => "The data does not meet a constraint of the database",
            _ => self.code().public_text(),
        }
    }
}
