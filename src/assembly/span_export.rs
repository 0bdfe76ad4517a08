//! Export of spans over OTLP. A build without the feature `otlp` has none, and [`config::check_features`] refuses settings
//! that ask for it.
//!
//! [`config::check_features`]: crate::config::check_features

use slog::Logger;
use svc_spans::{SpanMetrics, Spans};

use crate::config::Config;
use crate::error::ServiceStartError;
use crate::process::io_runtime::IoRuntime;

#[cfg(feature = "otlp")]
use {
    opentelemetry_otlp::tonic_types::transport::ClientTlsConfig,
    opentelemetry_otlp::{SpanExporter, WithExportConfig, WithTonicConfig},
    slog::info,
    std::time::Duration,
    svc_spans::SpanSettings,
};

/// Time limit of one export, in which the exporter repeats what may be repeated.
#[cfg(feature = "otlp")]
const EXPORT: Duration = Duration::from_secs(8);

/// Starts the export of spans over gRPC; off if the settings leave it off. No connection is made yet.
///
/// # Errors
/// [`ServiceStartError::Config`] for an endpoint that cannot be dialled.
#[cfg(feature = "otlp")]
pub(crate) fn start(
    config: &Config,
    instance_id: &str,
    io: &IoRuntime,
    metrics: SpanMetrics,
    log: &Logger,
) -> Result<Spans, ServiceStartError> {
    let section = &config.tracing;
    if !section.enabled {
        return Ok(Spans::default());
    }
    // The channel starts its task where it is built.
    let _runtime = io.handle().enter();
    let exporter =
        SpanExporter::builder().with_tonic().with_endpoint(&section.otlp_endpoint).with_timeout(EXPORT);
    let exporter = if section.otlp_endpoint.starts_with("https:") {
        exporter.with_tls_config(ClientTlsConfig::new().with_native_roots())
    } else {
        exporter
    };
    let exporter = exporter
        .build()
        .map_err(|error| ServiceStartError::Config(format!("tracing.otlp_endpoint: {error}")))?;
    let settings = SpanSettings {
        service_name: section.service_name.clone(),
        version: crate::VERSION.to_owned(),
        instance_id: instance_id.to_owned(),
        sample_rate: section.sample_rate,
    };
    info!(log, "spans are exported"; "endpoint" => &section.otlp_endpoint, "sample_rate" => section.sample_rate);
    Ok(Spans::start(exporter, settings, metrics, io.handle(), log.clone()))
}

/// Exports nothing.
///
/// # Errors
/// None.
#[cfg(not(feature = "otlp"))]
pub(crate) fn start(
    _config: &Config,
    _instance_id: &str,
    _io: &IoRuntime,
    _metrics: SpanMetrics,
    _log: &Logger,
) -> Result<Spans, ServiceStartError> {
    Ok(Spans::default())
}
