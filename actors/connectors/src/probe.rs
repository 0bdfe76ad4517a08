//! The result of trying out a connector.

use std::time::Duration;

/// Time limit of a probe.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of trying out a connector. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectorProbe {
    /// `true` if the system answered.
    pub reachable: bool,
    /// `true` if connectors of this type can be tried out.
    pub supported: bool,
    /// The operation that was tried, or the stage that failed before it.
    pub probe: &'static str,
    /// The reason why the system counts as not reachable.
    pub error: Option<String>,
}

impl ConnectorProbe {
    /// Returns the result of an operation that succeeded.
    pub(crate) const fn reached(probe: &'static str) -> Self {
        Self { reachable: true, supported: true, probe, error: None }
    }

    /// Returns the result of an operation that failed.
    pub(crate) fn failed(probe: &'static str, error: impl Into<String>) -> Self {
        Self { reachable: false, supported: true, probe, error: Some(error.into()) }
    }
}
