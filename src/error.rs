//! The reasons for which the service does not start.

use std::fmt::Display;

use svc_outbound::describe_cause;
use svc_store::OpenError;

/// The reason for which a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceStartError {
    /// A problem of the configuration that shows only when it is used.
    #[error("{0}")]
    Config(String),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The Redis server of the cluster cannot be reached.
    #[error("{0}")]
    Redis(String),
    /// An essential part did not start.
    #[error("{0}")]
    Tree(String),
    /// The packages of the settings do not serve.
    #[error("packages.apply: {0}")]
    Packages(String),
    /// The system refused a thread, a socket or a signal handler.
    #[error("{what}: {}", describe_cause(error))]
    System {
        /// The request to the system.
        what: String,
        /// The error of the system.
        error: std::io::Error,
    },
}

impl ServiceStartError {
    /// Makes the error of a part that did not start.
    pub(crate) fn tree(error: impl Display) -> Self {
        Self::Tree(error.to_string())
    }

    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }

    /// The exit code of a process that could not start for this reason: 78 for configuration, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => 78,
            Self::Store(error) if error.is_configuration() => 78,
            Self::Store(_) | Self::Redis(_) | Self::Tree(_) | Self::Packages(_) | Self::System { .. } => 1,
        }
    }
}
