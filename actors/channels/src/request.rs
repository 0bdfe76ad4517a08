//! The request that an ingress hands to a channel: parsed, not yet judged.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value};
use svc_model::ChannelPause;
use svc_spans::TraceContext;
use uuid::Uuid;

use crate::body::{BodyKind, CloudEvent, CloudEvents};

/// The way a message arrived. It determines the guards that apply and the metadata that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ingress {
    /// The data plane over HTTP: every guard applies.
    Http,
    /// A call from the embedding process: no caller to authenticate, no headers, no origin.
    Embedded,
    /// A record of a Kafka topic: its sender authenticated at the broker, and no caller waits for an answer.
    Kafka,
    /// An occurrence of a schedule; there is no caller.
    Cron,
    /// A task of another channel's workflow. Its caller passed the guards of the channel that took the
    /// message in.
    Call,
}

/// The result that the caller waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The answer of the run.
    #[default]
    Sync,
    /// The acceptance of the message, which is run later.
    Async,
}

/// A reservation that an ingress made for a message, such as bytes of memory. Held until the message is
/// answered or in the queue, even when its caller hangs up; given back when the last clone is dropped.
#[derive(Clone)]
pub struct Reservation(#[expect(dead_code, reason = "held for its drop")] Arc<dyn Any + Send + Sync>);

impl Reservation {
    /// Keeps `reserved` for the life of a message.
    pub fn new(reserved: impl Any + Send + Sync) -> Self {
        Self(Arc::new(reserved))
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reservation")
    }
}

/// The id of the trace of a run that panicked. The caller of such a run gets no answer of the channel, so that the id
/// reaches it this way.
#[derive(Clone, Debug, Default)]
pub struct CrashTrace(Arc<OnceLock<Uuid>>);

impl CrashTrace {
    /// Returns the id, once the run has panicked and its trace is stored.
    pub fn id(&self) -> Option<Uuid> {
        self.0.get().copied()
    }

    /// Keeps the id. A message runs once, so that no id is there yet.
    pub(crate) fn set(&self, id: Uuid) {
        let _ = self.0.set(id);
    }
}

/// One message for a channel.
#[derive(Clone, Debug)]
pub struct DataRequest {
    /// The way it came in.
    pub ingress: Ingress,
    /// The result that the caller waits for.
    pub delivery: Delivery,
    /// The HTTP method as received; empty for [`Ingress::Embedded`].
    pub method: Cow<'static, str>,
    /// Set if the path is that of the callback of the channel's sign-in.
    pub is_callback: bool,
    /// Values of the route parameters, by name; values are strings.
    pub params: Map<String, Value>,
    /// The query string, the last value of a repeated key; values are strings.
    pub query: Map<String, Value>,
    /// Header names in lower case with their raw values; those of one name in the order received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as received, for signatures over its bytes.
    pub raw: Bytes,
    /// Length of the body once decompressed.
    pub body_bytes: usize,
    /// The value that the body was read as; `None` for an empty body.
    pub body: Option<Value>,
    /// The way in which it was read.
    pub body_kind: BodyKind,
    /// The events that the body has; `None` for any other body. Boxed, because most messages have none.
    pub cloud_events: Option<Box<CloudEvents>>,
    /// The caller's address, trusted proxies already resolved.
    pub client_ip: Option<IpAddr>,
    /// Set if `client_ip` came from a header of a trusted proxy and not from the connection.
    pub forwarded: bool,
    /// The correlation id shown in an answer that reports errors.
    pub request_id: String,
    /// Set if the caller asked for a profile of the run.
    pub profile: bool,
    /// Resources held while the message is served.
    pub reservation: Option<Reservation>,
    /// The place in a distributed trace at which the spans of the run begin.
    pub trace_context: TraceContext,
    /// Receives the id of the trace if the run panics; `None` if it is not asked for.
    pub crash_trace: Option<CrashTrace>,
    /// The pause of the channel, if it is paused; the registry sets it.
    pub pause: Option<Arc<ChannelPause>>,
}

impl DataRequest {
    /// Builds a message of the embedding process with `payload` as its parsed body. All else is empty, the
    /// raw body included, and the caller waits for the answer.
    pub fn embedded(payload: Value) -> Self {
        Self {
            ingress: Ingress::Embedded,
            delivery: Delivery::Sync,
            method: Cow::Borrowed(""),
            is_callback: false,
            params: Map::new(),
            query: Map::new(),
            headers: Vec::new(),
            raw: Bytes::new(),
            body_bytes: 0,
            body: Some(payload),
            body_kind: BodyKind::Json,
            cloud_events: None,
            client_ip: None,
            forwarded: false,
            request_id: String::new(),
            profile: false,
            reservation: None,
            trace_context: TraceContext::default(),
            crash_trace: None,
            pause: None,
        }
    }

    /// Returns `true` if the body is a batch of events.
    pub(crate) fn has_event_batch(&self) -> bool {
        matches!(self.cloud_events.as_deref(), Some(CloudEvents::Batch(_)))
    }

    /// Takes the events of a batch, in their order; none for any other body.
    pub(crate) fn take_event_batch(&mut self) -> Vec<CloudEvent> {
        if !self.has_event_batch() {
            return Vec::new();
        }
        let Some(CloudEvents::Batch(facts)) = self.cloud_events.take().map(|events| *events) else {
            return Vec::new();
        };
        let Some(Value::Array(data)) = self.body.take() else { return Vec::new() };
        facts.into_iter().zip(data).map(|(facts, data)| CloudEvent { facts, data }).collect()
    }

    /// Returns the request that would have brought one event of a batch alone.
    pub(crate) fn with_event(&self, event: CloudEvent) -> Self {
        let CloudEvent { facts, data } = event;
        Self {
            body: Some(data),
            body_kind: facts.kind,
            cloud_events: Some(Box::new(CloudEvents::One(facts))),
            ..self.clone()
        }
    }

    /// Returns the first value of a header; `None` if there is none or it is not UTF-8. `name` is in lower
    /// case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the identity of the caller for a rollout, so that a caller always gets the same version: the
    /// value of the header `sticky` if it is not empty, otherwise the address that a trusted proxy reported.
    /// `None` for an anonymous caller.
    pub(crate) fn identity(&self, sticky: Option<&str>) -> Option<Cow<'_, str>> {
        let sent = sticky.and_then(|name| self.header(name)).filter(|value| !value.is_empty());
        let forwarded =
            || self.client_ip.filter(|_| self.forwarded).map(|address| address.to_string().into());
        sent.map(Cow::Borrowed).or_else(forwarded)
    }
}
