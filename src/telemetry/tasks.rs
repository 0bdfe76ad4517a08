//! The tasks that export: one sends metrics at intervals, one sends the log in batches.

use std::time::Duration;

use opentelemetry_proto::tonic::resource::v1::Resource;
use slog::{Logger, info, warn};
use svc_model::Timestamp;
use svc_spans::next_batch;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::collector::CollectorClient;
use super::log_messages::{self, unix_nanos};
use super::metric_messages::{self, PointTimes};
use super::metrics::{TelemetryMetrics, TelemetrySignal};
use crate::logging::LogTap;
use crate::process::log_tap::TappedMessage;

/// The state of the export of one signal: a collector that is away is logged once.
pub(super) struct SignalExport {
    pub(super) client: CollectorClient,
    pub(super) resource: Resource,
    pub(super) signal: TelemetrySignal,
    pub(super) metrics: TelemetryMetrics,
    pub(super) log: Logger,
    /// Number of items that were dropped since exports fail; `None` while they succeed.
    pub(super) failing: Option<u64>,
}

impl SignalExport {
    fn record(&mut self, sent: Result<(), String>, count: u64) {
        let signal = self.signal.name();
        let Err(error) = sent else {
            self.metrics.count_exported(self.signal, count);
            if let Some(dropped) = self.failing.take() {
                info!(self.log, "telemetry is exported again"; "signal" => signal, "dropped" => dropped);
            }
            return;
        };
        self.metrics.count_dropped(self.signal, count);
        if self.failing.is_none() {
            warn!(self.log, "telemetry is not exported and is dropped until the collector takes it again";
                "signal" => signal, "error" => error);
        }
        self.failing = Some(self.failing.unwrap_or_default().saturating_add(count));
    }
}

/// The task that exports metrics.
pub(super) struct MetricTask<R> {
    pub(super) export: SignalExport,
    /// Returns the exposition; `None` once the service is gone.
    pub(super) render: R,
    pub(super) interval: Duration,
    /// The start of the process.
    pub(super) started_at: Timestamp,
    pub(super) stop: watch::Receiver<bool>,
}

impl<R: Fn() -> Option<String>> MetricTask<R> {
    /// Exports at each interval, and a last time at the end.
    pub(super) async fn run(mut self) {
        loop {
            let is_last = tokio::select! {
                biased;
                // A sender that is gone means the same.
                _ = self.stop.wait_for(|is_stopped| *is_stopped) => true,
                () = sleep(self.interval) => false,
            };
            let Some(exposition) = (self.render)() else { return };
            let times = PointTimes { start: unix_nanos(self.started_at), now: unix_nanos(Timestamp::now()) };
            let (request, points) =
                metric_messages::to_request(self.export.resource.clone(), &exposition, times);
            let sent = self.export.client.send_metrics(request).await;
            self.export.record(sent, points);
            if is_last {
                return;
            }
        }
    }
}

/// The task that exports the log.
pub(super) struct LogExport {
    pub(super) export: SignalExport,
    pub(super) receiver: mpsc::Receiver<TappedMessage>,
    pub(super) tap: LogTap,
    pub(super) stop: watch::Receiver<bool>,
}

impl LogExport {
    /// Exports until the queue is closed and empty.
    pub(super) async fn run(mut self) {
        while let Some(batch) = next_batch(&mut self.receiver, &mut self.stop, || self.tap.disconnect()).await
        {
            let count = batch.len() as u64;
            let request = log_messages::to_request(self.export.resource.clone(), batch);
            let sent = self.export.client.send_logs(request).await;
            self.export.metrics.count_dropped(TelemetrySignal::Logs, self.tap.take_dropped());
            self.export.record(sent, count);
        }
    }
}
