//! Places in a trace, and the spans that begin there.

use std::fmt;
use std::sync::Arc;

use opentelemetry::trace::{Span as _, SpanContext, Status, TraceContextExt, Tracer as _};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, Span};

use crate::draft::{SpanDraft, method_name};
use crate::headers;

/// A place in a distributed trace: the parent of the spans that begin there. Cheap to clone. By default spans are
/// off, and nothing begins.
#[derive(Clone, Default)]
pub struct TraceContext(Option<Arc<Place>>);

struct Place {
    tracer: SdkTracer,
    /// Not valid if the next span begins a trace.
    parent: SpanContext,
}

impl TraceContext {
    pub(crate) fn new(tracer: SdkTracer, parent: SpanContext) -> Self {
        Self(Some(Arc::new(Place { tracer, parent })))
    }

    /// Begins a span. The draft is made only if spans are on.
    pub fn begin(&self, draft: impl FnOnce() -> SpanDraft) -> ActiveSpan {
        match &self.0 {
            None => ActiveSpan::default(),
            Some(place) => ActiveSpan::begin(place, draft()),
        }
    }

    /// Begins a span in a trace of its own, linked to `cause`: of work that goes on when its cause has long ended.
    /// Called at the place of a new trace.
    pub fn begin_linked(&self, cause: &Self, draft: impl FnOnce() -> SpanDraft) -> ActiveSpan {
        self.begin(|| draft().linked_to(cause.span_context()))
    }

    /// Begins a span of something that no other process sees: none if the trace is not exported.
    pub fn begin_local(&self, draft: impl FnOnce() -> SpanDraft) -> ActiveSpan {
        match &self.0 {
            Some(place) if place.parent.is_sampled() => ActiveSpan::begin(place, draft()),
            _ => ActiveSpan::none_at(self),
        }
    }

    /// Returns the headers that pass this place on, `traceparent` and `tracestate`; none if spans are off.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        self.0.as_ref().map_or_else(Vec::new, |place| headers::write(&place.parent))
    }

    /// Returns the id of the distributed trace, if its spans are exported.
    #[inline]
    pub fn exported_trace_id(&self) -> Option<[u8; 16]> {
        let place = self.0.as_ref()?;
        place.parent.is_sampled().then(|| place.parent.trace_id().to_bytes())
    }

    pub(crate) fn span_context(&self) -> Option<SpanContext> {
        let place = self.0.as_ref()?;
        Some(place.parent.clone()).filter(SpanContext::is_valid)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.span_context() {
            Some(context) => write!(f, "TraceContext({}-{})", context.trace_id(), context.span_id()),
            None => f.write_str("TraceContext"),
        }
    }
}

/// A span in progress. It ends when it is dropped.
#[derive(Debug, Default)]
pub struct ActiveSpan {
    /// `None` if there is none, and nothing is recorded.
    span: Option<Box<Span>>,
    context: TraceContext,
}

impl ActiveSpan {
    fn begin(place: &Place, draft: SpanDraft) -> Self {
        let parent = if place.parent.is_valid() {
            Context::new().with_remote_span_context(place.parent.clone())
        } else {
            Context::new()
        };
        let span = place.tracer.build_with_context(draft.into_builder(), &parent);
        let context = TraceContext::new(place.tracer.clone(), span.span_context().clone());
        Self { span: Some(Box::new(span)).filter(|span| span.is_recording()), context }
    }

    /// Returns no span; the children of it begin at `context`.
    #[inline]
    pub fn none_at(context: &TraceContext) -> Self {
        Self { span: None, context: context.clone() }
    }

    /// Returns the place of this span, at which its children begin.
    #[inline]
    pub fn context(&self) -> &TraceContext {
        &self.context
    }

    /// Returns `true` if the span is recorded. If it is not, what is set is lost.
    pub fn is_recording(&self) -> bool {
        self.span.is_some()
    }

    /// Sets an attribute.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(span) = &mut self.span {
            span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// Sets the channel of a message, and names a request by its route: a pattern, without what the caller chose.
    pub fn set_route(&mut self, method: &str, route: &str, channel: &str) {
        if let Some(span) = &mut self.span {
            span.update_name(format!("{} {route}", method_name(method).unwrap_or("HTTP")));
            span.set_attribute(KeyValue::new("http.route", route.to_owned()));
            span.set_attribute(KeyValue::new("svc.channel", channel.to_owned()));
        }
    }

    /// Sets the status of the response. `is_error_from`: the first status that counts as a failure, 500 for a server
    /// and 400 for a client.
    pub fn set_response(&mut self, status: u16, is_error_from: u16) {
        self.set("http.response.status_code", i64::from(status));
        if status >= is_error_from {
            self.fail(status.to_string());
        }
    }

    /// Marks the span as failed. `error_type` is a code of few values; no message, which may show data.
    pub fn fail(&mut self, error_type: impl Into<Value>) {
        if let Some(span) = &mut self.span {
            span.set_attribute(KeyValue::new("error.type", error_type));
            span.set_status(Status::error(""));
        }
    }
}
