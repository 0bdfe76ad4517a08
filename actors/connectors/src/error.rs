//! Failures of a load, of a reload, and of the search for a connector.

use std::fmt;

use svc_model::ServiceError;
use svc_store::StoreError;

/// A stage of the load of a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadStage {
    /// Replacing `${VAR}` in the text.
    EnvSubstitution,
    /// Reading the text as JSON.
    JsonParse,
    /// Replacing references to declared values.
    ValueResolution,
    /// Reading secret references.
    SecretResolution,
    /// Reading the settings of the type.
    Deserialize,
}

impl LoadStage {
    /// Returns the name that statuses show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EnvSubstitution => "env_substitution",
            Self::JsonParse => "json_parse",
            Self::ValueResolution => "value_resolution",
            Self::SecretResolution => "secret_resolution",
            Self::Deserialize => "deserialize",
        }
    }
}

/// A failed load. The reason names places, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", .stage.name())]
pub struct LoadError {
    /// The stage that failed.
    pub stage: LoadStage,
    /// The reason, for operators.
    pub reason: String,
    /// `true` if a secret store could not be read: a later load may succeed.
    pub(crate) is_unread: bool,
}

impl LoadError {
    pub(crate) fn new(stage: LoadStage, reason: impl fmt::Display) -> Self {
        Self { stage, reason: reason.to_string(), is_unread: false }
    }
}

/// A failed reload; every connector is as it was before.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectorReloadError {
    /// The stored connectors could not be read.
    #[error("the stored connectors could not be read: {0}")]
    Storage(#[from] StoreError),
    /// The reconciler did not answer: it restarts, or the service is ending.
    #[error("the reconciler of connectors is not available: {0}")]
    Unavailable(String),
}

impl From<ConnectorReloadError> for ServiceError {
    fn from(error: ConnectorReloadError) -> Self {
        match error {
            ConnectorReloadError::Storage(error) => error.into(),
            ConnectorReloadError::Unavailable(why) => {
                Self::unavailable("The reconciler of connectors is restarting")
                    .with_retry_after(1)
                    .with_internal(why)
            }
        }
    }
}

/// The reason why no connector of a name is in use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotLoaded {
    /// No connector has this name.
    #[error("connector '{0}' does not exist; create it, or correct its name in the task")]
    Unknown(String),
    /// The connector is switched off.
    #[error("connector '{0}' is disabled; set its `enabled` to true")]
    Disabled(String),
    /// The load of the connector failed; the second text is the reason.
    #[error("connector '{0}' is not loaded: its `load_error` in GET /api/v1/admin/connectors has the reason")]
    Failed(String, String),
}
