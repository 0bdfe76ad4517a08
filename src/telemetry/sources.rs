//! The parts of the process that an export uses.

use slog::Logger;
use svc_outbound::Outbound;

use super::metrics::TelemetryMetrics;
use crate::logging::LogTap;
use crate::process::io_runtime::IoRuntime;

/// The parts of the process that an export uses.
#[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "without the feature nothing is exported"))]
pub(crate) struct TelemetrySources<'s> {
    /// The name of this process.
    pub(crate) instance_id: &'s str,
    pub(crate) io: &'s IoRuntime,
    pub(crate) outbound: &'s Outbound,
    /// The log of the process; `None` if it is that of an embedding application.
    pub(crate) log_tap: Option<LogTap>,
    pub(crate) metrics: TelemetryMetrics,
    pub(crate) log: Logger,
}
