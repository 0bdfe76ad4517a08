//! Drafts of spans: their kinds, names and attributes.
//!
//! Every name and attribute of a span is in this file. Those of HTTP and messaging are the semantic conventions of
//! OpenTelemetry; attributes of the service itself begin with `svc.`. If a convention asks for something that a
//! caller chose or that may carry a secret (`url.path`, `url.full`), it is left out.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use opentelemetry::trace::{Link, SpanBuilder, SpanContext, SpanKind};
use opentelemetry::{KeyValue, Value};

/// Methods that name a span. Others, which a caller may make up, are `_OTHER`.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// A span that has not begun.
#[derive(Debug)]
pub struct SpanDraft {
    name: Cow<'static, str>,
    kind: SpanKind,
    attributes: Vec<KeyValue>,
    links: Vec<Link>,
}

impl SpanDraft {
    fn new(kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), kind, attributes: Vec::new(), links: Vec::new() }
    }

    fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push(KeyValue::new(key, value));
        self
    }

    fn with_some(self, key: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Drafts the span of a request on the data plane. Its route is set once it is known.
    pub fn request(method: &str, request_id: &str) -> Self {
        Self::new(SpanKind::Server, method_name(method).unwrap_or("HTTP"))
            .with("http.request.method", method_name(method).unwrap_or("_OTHER"))
            .with("svc.request.id", request_id.to_owned())
    }

    /// Drafts the span of a message from the embedding process.
    pub fn submission(channel: &str) -> Self {
        Self::new(SpanKind::Internal, format!("submit {channel}")).with("svc.channel", channel.to_owned())
    }

    /// Drafts the span of an attempt at a record of a Kafka topic.
    pub fn record(topic: &str, partition: i32, offset: i64) -> Self {
        Self::new(SpanKind::Consumer, format!("process {topic}"))
            .with("messaging.system", "kafka")
            .with("messaging.operation.type", "process")
            .with("messaging.operation.name", "process")
            .with("messaging.destination.name", topic.to_owned())
            .with("messaging.destination.partition.id", partition.to_string())
            .with("messaging.kafka.offset", offset)
    }

    /// Drafts the span of an attempt at an occurrence of a schedule.
    pub fn occurrence(channel: &str, occurrence: &str, trace_id: impl Display) -> Self {
        Self::new(SpanKind::Internal, format!("run {channel}"))
            .with("svc.channel", channel.to_owned())
            .with("svc.occurrence.id", occurrence.to_owned())
            .with("svc.trace.id", trace_id.to_string())
    }

    /// Drafts the span of a run of accepted work.
    pub fn job(channel: &str, trace_id: impl Display) -> Self {
        Self::new(SpanKind::Consumer, format!("run {channel}"))
            .with("svc.channel", channel.to_owned())
            .with("svc.trace.id", trace_id.to_string())
    }

    /// Drafts the span of a task of a workflow.
    pub fn task(workflow: &Arc<str>, task: &Arc<str>, function: &str, connector: Option<&Arc<str>>) -> Self {
        Self::new(SpanKind::Internal, format!("task {function}"))
            .with("svc.workflow.id", Arc::clone(workflow))
            .with("svc.task.id", Arc::clone(task))
            .with_some("svc.connector", connector.cloned())
    }

    /// Drafts the span of one attempt at a request to an outbound system. `repeats` counts the attempts before it.
    pub fn outbound_request(
        method: &str,
        (host, port): (Option<&str>, Option<u16>),
        connector: &str,
        repeats: u32,
    ) -> Self {
        Self::new(SpanKind::Client, method_name(method).unwrap_or("HTTP"))
            .with("http.request.method", method_name(method).unwrap_or("_OTHER"))
            .with_some("server.address", host.map(str::to_owned))
            .with_some("server.port", port.map(i64::from))
            .with_some("http.request.resend_count", (repeats > 0).then_some(i64::from(repeats)))
            .with("svc.connector", connector.to_owned())
    }

    /// Drafts the span of a record that is published.
    pub fn publication(topic: Option<&str>, connector: Option<&str>) -> Self {
        let name = topic.map_or(Cow::Borrowed("send"), |topic| format!("send {topic}").into());
        Self::new(SpanKind::Producer, name)
            .with("messaging.system", "kafka")
            .with("messaging.operation.type", "send")
            .with("messaging.operation.name", "send")
            .with_some("messaging.destination.name", topic.map(str::to_owned))
            .with_some("svc.connector", connector.map(str::to_owned))
    }

    pub(crate) fn linked_to(mut self, cause: Option<SpanContext>) -> Self {
        self.links.extend(cause.map(Link::with_context));
        self
    }

    pub(crate) fn into_builder(self) -> SpanBuilder {
        SpanBuilder::from_name(self.name)
            .with_kind(self.kind)
            .with_attributes(self.attributes)
            .with_links(self.links)
    }
}

/// Returns the name of a method that spans may show.
pub(crate) fn method_name(method: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == method)
}
