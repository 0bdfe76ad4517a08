//! The failures of the verbs over packages.

use std::io::{self, Write};

use svc_client::ClientError;

use crate::exit;

/// Name of the environment variable that holds the admin key.
pub(super) const TOKEN: &str = "SVC_ADMIN_TOKEN";
/// The start of the first line of an error.
const ERROR: &str = "Error: ";
/// The way on after something that time may heal.
const RUN_AGAIN: &str = "what was done stays, and nothing is lost; run the same command again to finish it";
/// The next step after a failure that the same command would repeat.
const CORRECT_AND_APPLY: &str = "what was done stays, and the version is not in use as a whole; correct what the message \
     names and apply again, or apply the version before to go back";

/// The way on after an apply to a server that could not load everything.
const DEGRADED: &str = "what was done stays; give the server what is missing and run the same command again, accept it \
     with --allow-degraded, or apply the version before to go back";

/// The reason why a verb did not reach its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum PackageError {
    /// The server could not be asked, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A step of the verb was refused.
    #[error("{step}")]
    Step {
        step: String,
        /// The refusal.
        source: ClientError,
    },
    /// The state of the server, or the package, does not allow the verb.
    #[error("{0}")]
    Refused(String),
    /// The server takes signed packages alone, and not this one. Nothing was done.
    #[error("{text}")]
    Untrusted {
        text: String,
        /// The refusal.
        source: ClientError,
    },
    /// The file of the package, or of its signature, cannot be read again.
    #[error("{file} or its signature cannot be read")]
    Signature {
        file: String,
        /// The reason.
        source: io::Error,
    },
    /// Another run has claimed the package since.
    #[error("{0}")]
    Overtaken(String),
    /// Items are not as this run left them.
    #[error(
        "somebody else changed parts of the package at the same time: {}; the receipt stays as it was",
        .0.join(", ")
    )]
    Changed(Vec<String>),
    /// The deletion that `--prune` asks for was not confirmed. Nothing was done.
    #[error("{0}")]
    Declined(String),
    /// The server has stored everything and could not load a part of it.
    #[error("the server could not load {} definition(s) of the package", .0.len())]
    Degraded(Vec<String>),
    /// The file of the deployed keys cannot be used.
    #[error("the keys of what was deployed cannot be kept")]
    Keys(#[source] io::Error),
    /// Items were refused by an import.
    #[error("{} item(s) of the package were refused", .0.len())]
    Items(Vec<String>),
}

impl PackageError {
    /// Returns `true` if the server refused a step for what is stored there.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Client(error) | Self::Step { source: error, .. } => {
                matches!(error.status(), Some(400 | 409))
            }
            _ => false,
        }
    }

    /// Returns `true` if another run, or another admin, changed the same definitions at the same time.
    pub(super) fn is_interference(&self) -> bool {
        match self {
            Self::Changed(_) => true,
            Self::Client(error) | Self::Step { source: error, .. } => error.status() == Some(409),
            Self::Refused(_)
            | Self::Untrusted { .. }
            | Self::Signature { .. }
            | Self::Overtaken(_)
            | Self::Declined(_)
            | Self::Items(_)
            | Self::Degraded(_)
            | Self::Keys(_) => false,
        }
    }

    /// Returns the way on after an apply that ended early; `None` if the error itself says all.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Refused(_)
            | Self::Untrusted { .. }
            | Self::Signature { .. }
            | Self::Overtaken(_)
            | Self::Declined(_)
            | Self::Keys(_) => None,
            Self::Items(_) => Some(CORRECT_AND_APPLY),
            Self::Degraded(_) => Some(DEGRADED),
            Self::Client(error) | Self::Step { source: error, .. } => {
                let is_lasting = error
                    .status()
                    .is_some_and(|status| (400..500).contains(&status) && !matches!(status, 408 | 409 | 429));
                Some(if is_lasting { CORRECT_AND_APPLY } else { RUN_AGAIN })
            }
            Self::Changed(_) => Some(RUN_AGAIN),
        }
    }

    /// Returns `true` if the same run may succeed later, without a change of the package or the server.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Overtaken(_)) || self.note() == Some(RUN_AGAIN)
    }

    /// Wraps the failure of a step.
    pub(super) fn step(step: impl Into<String>) -> impl FnOnce(ClientError) -> Self {
        let step = step.into();
        move |source| Self::Step { step, source }
    }
}

/// Writes an error, its causes, and every field that the server names.
pub(super) fn write_package_error(error: &PackageError, err: &mut dyn Write) -> io::Result<()> {
    exit::write_error(error, err)?;
    let client = match error {
        PackageError::Client(error) | PackageError::Step { source: error, .. } => error,
        PackageError::Items(items) | PackageError::Degraded(items) => {
            return items.iter().try_for_each(|item| writeln!(err, "- {item}"));
        }
        PackageError::Refused(_)
        | PackageError::Untrusted { .. }
        | PackageError::Signature { .. }
        | PackageError::Overtaken(_)
        | PackageError::Declined(_)
        | PackageError::Changed(_)
        | PackageError::Keys(_) => return Ok(()),
    };
    if let ClientError::Api(refusal) = client {
        refusal.details.iter().try_for_each(|detail| writeln!(err, "- {detail}"))?;
    }
    if client.status() == Some(401) {
        writeln!(err, "note: the verbs of packages take the admin key of the server from {TOKEN}")?;
    }
    Ok(())
}

/// Returns the lines of an error: what failed, its causes, and every field that the server names.
pub(super) fn describe_package_error(error: &PackageError) -> Vec<String> {
    let mut text = Vec::new();
    // A buffer in memory takes every line.
    let _written = write_package_error(error, &mut text);
    let text = String::from_utf8_lossy(&text);
    text.lines().map(|line| line.strip_prefix(ERROR).unwrap_or(line).to_owned()).collect()
}
