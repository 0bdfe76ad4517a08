//! The failures of the verbs over packages.

use std::io::{self, Write};

use svc_client::ClientError;

use crate::exit;

/// The reason why a verb did not reach its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum PackageError {
    /// The server could not be asked, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A step of the verb was refused.
    #[error("{step}")]
    Step {
        /// The step.
        step: String,
        /// The refusal.
        source: ClientError,
    },
    /// The state of the server, or the package, does not allow the verb.
    #[error("{0}")]
    Refused(String),
    /// Items are not as this run left them.
    #[error(
        "somebody else changed parts of the package at the same time: {}; the receipt stays as it was",
        .0.join(", ")
    )]
    Changed(Vec<String>),
    /// Items were refused by an import.
    #[error("{} item(s) of the package were refused", .0.len())]
    Items(Vec<String>),
}

impl PackageError {
    /// Returns `true` if another run, or another admin, changed the same definitions at the same time.
    pub(super) fn is_interference(&self) -> bool {
        match self {
            Self::Changed(_) => true,
            Self::Client(error) | Self::Step { source: error, .. } => error.status() == Some(409),
            Self::Refused(_) | Self::Items(_) => false,
        }
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
        PackageError::Items(items) => return items.iter().try_for_each(|item| writeln!(err, "- {item}")),
        PackageError::Refused(_) | PackageError::Changed(_) => return Ok(()),
    };
    if let ClientError::Api(refusal) = client {
        refusal.details.iter().try_for_each(|detail| writeln!(err, "- {detail}"))?;
    }
    Ok(())
}
