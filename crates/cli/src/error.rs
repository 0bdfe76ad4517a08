//! Errors of commands, as printed on standard error.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use svc_client::{ClientError, describe_cause};

use crate::output::printable;
use crate::remedy::as_commands;

/// Exit code of an error.
pub(crate) const EXIT_FAILURE: u8 = 1;
/// Exit code of a wait that timed out, and of wrong usage.
pub(crate) const EXIT_USAGE: u8 = 2;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The server refused, or did not respond.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// As [`Client`](Self::Client), with a remedy.
    #[error("{error}")]
    Advised {
        error: ClientError,
        /// The remedy.
        advice: String,
    },
    /// The input of the user cannot be used.
    #[error("{place}: {cause}")]
    Input {
        /// The file or option.
        place: String,
        /// The cause and the remedy.
        cause: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {}", path.display(), describe_cause(source))]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The options do not fit each other.
    #[error("{0}")]
    Usage(String),
    /// The question was answered with no, or not at all.
    #[error("{0}")]
    Declined(String),
    /// A part of the work failed; the details were written before.
    #[error("{0}")]
    Partial(String),
    /// A wait took longer than it may.
    #[error("{subject} has not ended within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The subject of the wait.
        subject: String,
        limit: Duration,
    },
    /// The answer of the server cannot be shown in this format.
    #[error("the answer cannot be written as {format}: {cause}")]
    Format { format: &'static str, cause: String },
    /// Standard output is closed.
    #[error("standard output: {}", describe_cause(source))]
    Output {
        /// The reason.
        source: io::Error,
    },
    /// The asynchronous runtime does not start.
    #[error("the runtime does not start: {}", describe_cause(source))]
    Runtime {
        /// The reason.
        source: io::Error,
    },
}

impl CliError {
    /// Returns the exit code. A reader that went away has what it wanted: that is no failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::TimedOut { .. } => EXIT_USAGE,
            Self::Output { source } if source.kind() == io::ErrorKind::BrokenPipe => 0,
            _ => EXIT_FAILURE,
        }
    }

    /// Writes the error: its code and message, a line for each field, the id of the request, the remedy.
    pub(crate) fn write(&self, err: &mut dyn Write, is_verbose: bool) {
        if self.exit_code() == 0 {
            return;
        }
        // Nothing can be reported when standard error is closed.
        let _unwritten = writeln!(err, "Error: {}", self.describe(is_verbose));
    }

    /// Returns the text of the error, with a line for each field, the id of the request and the remedy.
    pub(crate) fn describe(&self, is_verbose: bool) -> String {
        let mut lines = vec![printable(&as_commands(&self.to_string()))];
        let (error, advice) = match self {
            Self::Client(error) => (Some(error), None),
            Self::Advised { error, advice } => (Some(error), Some(advice)),
            _ => (None, None),
        };
        if let Some(api) = error.and_then(ClientError::api) {
            lines.extend(api.details.iter().map(|field| printable(&as_commands(&format!("  {field}")))));
            if let Some(id) = api.request_id.as_deref().filter(|_| is_verbose || api.status >= 500) {
                lines.push(format!("  request id: {}", printable(id)));
            }
            lines.extend(api.trace_id.as_deref().map(|id| format!("  trace: {}", printable(id))));
        }
        lines.extend(advice.map(|advice| format!("hint: {}", printable(advice))));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_message_are_escaped() {
        let error = CliError::Usage("a\u{1b}[2Jb".to_owned());
        assert_eq!(error.describe(false), "a\\u{1b}[2Jb");
    }

    #[test]
    fn closed_pipe_is_no_failure() {
        let source = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(CliError::Output { source }.exit_code(), 0);
    }
}
