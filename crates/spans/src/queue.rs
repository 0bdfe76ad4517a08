//! The queue of finished spans: bounded, never waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::metrics::{DropReason, SpanMetrics};

/// Spans that wait at most, the default of the specification of OpenTelemetry: about 2 MiB.
pub(crate) const QUEUE: usize = 2048;

/// The number of spans that are queued or on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(Arc<AtomicU64>);

impl Pending {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, spans: u64) {
        self.0.fetch_sub(spans, Ordering::Relaxed);
    }

    /// Returns the number and sets it to zero.
    pub(crate) fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// The sending side of the queue, called when a span ends.
#[derive(Debug)]
pub(crate) struct SpanQueue {
    pub(crate) sender: mpsc::Sender<SpanData>,
    pub(crate) pending: Pending,
    pub(crate) metrics: SpanMetrics,
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        self.pending.add();
        let reason = match self.sender.try_send(span) {
            Ok(()) => return,
            Err(TrySendError::Full(_)) => DropReason::QueueFull,
            Err(TrySendError::Closed(_)) => DropReason::Shutdown,
        };
        self.pending.remove(1);
        self.metrics.count_dropped(reason, 1);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
