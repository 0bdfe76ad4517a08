//! A build without the feature `otlp`.

use std::time::Duration;

use super::sources::TelemetrySources;
use crate::config::Config;
use crate::error::ServiceStartError;

/// Exports nothing.
pub(crate) struct AbsentTelemetry;

impl AbsentTelemetry {
    /// Prepares nothing.
    ///
    /// # Errors
    /// None.
    pub(crate) fn prepare(
        _config: &Config,
        _sources: TelemetrySources<'_>,
    ) -> Result<Option<Self>, ServiceStartError> {
        Ok(None)
    }

    pub(crate) fn begin(&self, _render: impl Fn() -> Option<String> + Send + 'static) {}

    pub(crate) async fn shutdown(&self, _limit: Duration) {}
}
