//! The spans of a process: off, or on with their exporter.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{SpanContext, TracerProvider as _};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanExporter};
use parking_lot::Mutex;
use slog::{Logger, warn};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::context::TraceContext;
use crate::export::ExportTask;
use crate::headers;
use crate::metrics::{DropReason, SpanMetrics};
use crate::queue::{Pending, QUEUE, SpanQueue};
use crate::sampler::CauseSampler;
use crate::settings::SpanSettings;

/// The spans of a process. Cheap to clone. By default they are off: no header is read and none is written.
#[derive(Clone, Default)]
pub struct Spans(Option<Arc<SpanPipeline>>);

struct SpanPipeline {
    tracer: SdkTracer,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
    pending: Pending,
    metrics: SpanMetrics,
    log: Logger,
}

impl Spans {
    /// Starts the task that exports spans, on `runtime`.
    pub fn start<E: SpanExporter + 'static>(
        mut exporter: E,
        settings: SpanSettings,
        metrics: SpanMetrics,
        runtime: &Handle,
        log: Logger,
    ) -> Self {
        let resource = Resource::builder()
            .with_service_name(settings.service_name)
            .with_attribute(KeyValue::new("service.version", settings.version.clone()))
            .with_attribute(KeyValue::new("service.instance.id", settings.instance_id))
            .build();
        exporter.set_resource(&resource);
        let (sender, receiver) = mpsc::channel(QUEUE);
        let (stop, stopped) = watch::channel(false);
        let pending = Pending::default();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(SpanQueue { sender, pending: pending.clone(), metrics: metrics.clone() })
            .with_sampler(CauseSampler::new(settings.sample_rate))
            .with_resource(resource)
            .build();
        let scope = InstrumentationScope::builder("svc").with_version(settings.version).build();
        let task = ExportTask {
            exporter,
            receiver,
            stop: stopped,
            pending: pending.clone(),
            metrics: metrics.clone(),
            log: log.clone(),
            failing: None,
        };
        Self(Some(Arc::new(SpanPipeline {
            tracer: provider.tracer_with_scope(scope),
            stop,
            task: Mutex::new(Some(runtime.spawn(task.run()))),
            pending,
            metrics,
            log,
        })))
    }

    /// Returns the place at which a trace begins.
    pub fn new_trace(&self) -> TraceContext {
        self.place(SpanContext::empty_context)
    }

    /// Returns the place that the headers of a message name: the trace goes on there. Without trace context in
    /// them, or if it is malformed, a trace begins. Names in any case.
    pub fn extract<'h>(&self, headers: impl Iterator<Item = (&'h str, &'h [u8])>) -> TraceContext {
        self.place(|| headers::read(headers).unwrap_or_else(SpanContext::empty_context))
    }

    fn place(&self, parent: impl FnOnce() -> SpanContext) -> TraceContext {
        match &self.0 {
            None => TraceContext::default(),
            Some(pipeline) => TraceContext::new(pipeline.tracer.clone(), parent()),
        }
    }

    /// Exports the spans that have ended and ends the task, within `limit`. Spans that are left then, and those that
    /// end later, are dropped and counted. Idempotent.
    pub async fn shutdown(&self, limit: Duration) {
        let Some(pipeline) = &self.0 else { return };
        pipeline.stop.send_replace(true);
        let Some(task) = pipeline.task.lock().take() else { return };
        let abort = task.abort_handle();
        if timeout(limit, task).await.is_err() {
            abort.abort();
            let left = pipeline.pending.take();
            pipeline.metrics.count_dropped(DropReason::Shutdown, left);
            warn!(pipeline.log, "spans dropped by the shutdown deadline"; "spans" => left);
        }
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Spans(on)" } else { "Spans(off)" })
    }
}

#[cfg(test)]
mod tests;
