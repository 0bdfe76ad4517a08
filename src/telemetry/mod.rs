//! Export of metrics and of the log over OTLP: one task for each, on the shared runtime. A build without the feature
//! `otlp` has none, and [`config::check_features`] refuses settings that ask for it.
//!
//! The metrics are those of `/metrics`, read out of the same exposition, so that both say the same. No caller waits for
//! an export but the shutdown, for a bounded time.
//!
//! [`config::check_features`]: crate::config::check_features

mod metrics;
mod sources;

#[cfg(feature = "otlp")]
mod collector;
#[cfg(feature = "otlp")]
mod export;
#[cfg(feature = "otlp")]
mod log_messages;
#[cfg(feature = "otlp")]
mod metric_messages;
#[cfg(feature = "otlp")]
mod tasks;
#[cfg(not(feature = "otlp"))]
mod without;

#[cfg(feature = "otlp")]
pub(crate) use export::TelemetryExport;
pub(crate) use metrics::TelemetryMetrics;
pub(crate) use sources::TelemetrySources;
#[cfg(not(feature = "otlp"))]
pub(crate) use without::AbsentTelemetry as TelemetryExport;
