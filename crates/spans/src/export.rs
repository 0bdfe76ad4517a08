//! The task that exports finished spans in batches.

use std::time::Duration;

use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use slog::{Logger, info, warn};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::batch::next_batch;
use crate::metrics::{DropReason, SpanMetrics};
use crate::queue::Pending;

/// Time limit of an export, repeats included.
const EXPORT: Duration = Duration::from_secs(10);

/// The receiving side of the queue.
pub(crate) struct ExportTask<E> {
    pub(crate) exporter: E,
    pub(crate) receiver: mpsc::Receiver<SpanData>,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) pending: Pending,
    pub(crate) metrics: SpanMetrics,
    pub(crate) log: Logger,
    /// Spans dropped since exports fail; `None` while they succeed.
    pub(crate) failing: Option<u64>,
}

impl<E: SpanExporter> ExportTask<E> {
    /// Exports until the queue is closed and empty.
    pub(crate) async fn run(mut self) {
        while let Some(batch) = next_batch(&mut self.receiver, &mut self.stop, || ()).await {
            self.export(batch).await;
        }
    }

    async fn export(&mut self, batch: Vec<SpanData>) {
        let spans = batch.len() as u64;
        let exported = timeout(EXPORT, self.exporter.export(batch)).await;
        self.pending.remove(spans);
        let error = match exported {
            Ok(Ok(())) => {
                self.metrics.count_exported(spans);
                if let Some(dropped) = self.failing.take() {
                    info!(self.log, "spans are exported again"; "dropped" => dropped);
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} seconds", EXPORT.as_secs()),
        };
        self.metrics.count_dropped(DropReason::ExportFailed, spans);
        if self.failing.is_none() {
            warn!(self.log, "spans are not exported and are dropped until the collector takes them again";
                "error" => error);
        }
        self.failing = Some(self.failing.unwrap_or_default().saturating_add(spans));
    }
}
