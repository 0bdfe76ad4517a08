//! The reasons for which the service does not start.

use svc_store::OpenError;

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceStartError {
    /// Something in the configuration only shows when it is used.
    #[error("{0}")]
    Config(String),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A part that everything needs did not come to run.
    #[error("{0}")]
    Tree(String),
    /// The system refused a thread, a socket or a signal handler.
    #[error("{what}: {error}")]
    System {
        /// What was asked of it.
        what: String,
        /// What it said.
        error: std::io::Error,
    },
}

impl ServiceStartError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }

    /// The exit code of a process that could not start for this reason: 78 for configuration, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => 78,
            Self::Store(error) if error.is_configuration() => 78,
            Self::Store(_) | Self::Tree(_) | Self::System { .. } => 1,
        }
    }
}
