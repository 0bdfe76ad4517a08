//! The export of a service: prepared while the service starts, begun once it has, ended with it.

use std::time::Duration;

use opentelemetry_proto::tonic::resource::v1::Resource;
use parking_lot::Mutex;
use slog::{Logger, info, warn};
use svc_model::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::collector::CollectorClient;
use super::log_messages::resource;
use super::metrics::{TelemetryMetrics, TelemetrySignal};
use super::sources::TelemetrySources;
use super::tasks::{LogExport, MetricTask, SignalExport};
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::logging::LogTap;
use crate::process::log_tap::TappedMessage;

/// Messages of the log that wait for their export at most.
const QUEUE: usize = 2048;

/// The export of a service that exports something.
pub(crate) struct TelemetryExport {
    client: CollectorClient,
    resource: Resource,
    /// The time between two exports of metrics; `None` if they are not exported.
    interval: Option<Duration>,
    /// The log, if it is exported.
    log_tap: Option<LogTap>,
    /// The messages since the start of the service; taken when the export begins.
    messages: Mutex<Option<mpsc::Receiver<TappedMessage>>>,
    metrics: TelemetryMetrics,
    started_at: Timestamp,
    runtime: Handle,
    stop: watch::Sender<bool>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    log: Logger,
}

impl TelemetryExport {
    /// Makes the client of the collector; `None` if the settings leave everything off. No connection is made yet.
    ///
    /// # Errors
    /// [`ServiceStartError::Config`] for an endpoint that cannot be dialled, and for the log of an embedding application,
    /// which is not the service's to export.
    pub(crate) fn prepare(
        config: &Config,
        sources: TelemetrySources<'_>,
    ) -> Result<Option<Self>, ServiceStartError> {
        let section = &config.telemetry;
        if !section.metrics && !section.logs {
            return Ok(None);
        }
        let TelemetrySources { instance_id, io, outbound, log_tap, metrics, log } = sources;
        if section.logs && log_tap.is_none() {
            let refusal = "telemetry.logs: the log is that of the application, which exports it itself; set it to false";
            return Err(ServiceStartError::Config(refusal.to_owned()));
        }
        // The channel starts its task where it is built.
        let _runtime = io.handle().enter();
        let client = CollectorClient::new(section, outbound)
            .map_err(|error| ServiceStartError::Config(format!("telemetry.endpoint: {error}")))?;
        info!(log, "telemetry is exported"; "endpoint" => &section.endpoint,
            "protocol" => section.protocol.as_str(), "metrics" => section.metrics, "logs" => section.logs);
        let log_tap = log_tap.filter(|_| section.logs);
        let messages = Mutex::new(log_tap.as_ref().map(|tap| tap.connect(QUEUE)));
        Ok(Some(Self {
            client,
            resource: resource(&config.tracing.service_name, instance_id),
            interval: section.metrics.then(|| Duration::from_secs(section.metrics_interval_secs)),
            log_tap,
            messages,
            metrics,
            started_at: Timestamp::now(),
            runtime: io.handle().clone(),
            stop: watch::channel(false).0,
            tasks: Mutex::default(),
            log,
        }))
    }

    /// Starts the tasks. `render` returns the exposition of the metrics; `None` once the service is gone.
    pub(crate) fn begin(&self, render: impl Fn() -> Option<String> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        if let (Some(tap), Some(receiver)) = (&self.log_tap, self.messages.lock().take()) {
            let task = LogExport {
                export: self.signal_export(TelemetrySignal::Logs),
                receiver,
                tap: tap.clone(),
                stop: self.stop.subscribe(),
            };
            tasks.push(self.runtime.spawn(task.run()));
        }
        if let Some(interval) = self.interval {
            let task = MetricTask {
                export: self.signal_export(TelemetrySignal::Metrics),
                render,
                interval,
                started_at: self.started_at,
                stop: self.stop.subscribe(),
            };
            tasks.push(self.runtime.spawn(task.run()));
        }
    }

    fn signal_export(&self, signal: TelemetrySignal) -> SignalExport {
        SignalExport {
            client: self.client.clone(),
            resource: self.resource.clone(),
            signal,
            metrics: self.metrics.clone(),
            log: self.log.clone(),
            failing: None,
        }
    }

    /// Exports what is left and ends the tasks, within `limit`. Idempotent.
    pub(crate) async fn shutdown(&self, limit: Duration) {
        self.stop.send_replace(true);
        let tasks = std::mem::take(&mut *self.tasks.lock());
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let all_ended = async {
            for task in tasks {
                // A task that panicked has ended too.
                let _ = task.await;
            }
        };
        if timeout(limit, all_ended).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
            warn!(self.log, "the last telemetry was dropped by the shutdown deadline");
        }
        if let Some(tap) = &self.log_tap {
            tap.disconnect();
        }
    }
}
