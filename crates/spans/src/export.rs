//! The task that exports finished spans in batches.

use std::time::Duration;

use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use slog::{Logger, info, warn};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::metrics::{DropReason, SpanMetrics};
use crate::queue::Pending;

/// Spans of one batch at most, the default of the specification of OpenTelemetry.
const BATCH: usize = 512;
/// Longest time that a finished span waits for others. The specification has 5 s; an operator who looks at a trace
/// should not wait for it.
const DELAY: Duration = Duration::from_secs(1);
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
        while let Some(batch) = self.next_batch().await {
            self.export(batch).await;
        }
    }

    /// Waits for a batch: until it is full, or its first span has waited long enough, or the process ends.
    async fn next_batch(&mut self) -> Option<Vec<SpanData>> {
        let mut batch = Vec::new();
        {
            let receiver = &mut self.receiver;
            let collected = async {
                if receiver.recv_many(&mut batch, BATCH).await == 0 {
                    return;
                }
                let full = async {
                    while let Some(room) = BATCH.checked_sub(batch.len()).filter(|room| *room > 0) {
                        if receiver.recv_many(&mut batch, room).await == 0 {
                            return;
                        }
                    }
                };
                let _ = timeout(DELAY, full).await;
            };
            tokio::select! {
                biased;
                // A sender that is gone means the same.
                _ = self.stop.wait_for(|is_stopped| *is_stopped) => {}
                () = collected => return Some(batch).filter(|batch| !batch.is_empty()),
            }
        }
        self.receiver.close();
        if batch.len() < BATCH {
            let room = BATCH - batch.len();
            self.receiver.recv_many(&mut batch, room).await;
        }
        Some(batch).filter(|batch| !batch.is_empty())
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
