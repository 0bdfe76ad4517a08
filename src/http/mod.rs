//! The HTTP edge: the middleware around it, and the handlers of the data plane and of operation.
//!
//! It owns no state: everything is reached through [`AppState`](crate::state::AppState). Nothing here waits
//! for an actor except the data plane for its channel and the admin handlers for the store and the registry;
//! health and metrics read atomics.

mod auth;
mod body;
mod body_format;
mod client_ip;
#[cfg(feature = "console")]
pub(crate) mod console;
mod context;
mod cors;
pub(crate) mod data;
pub(crate) mod docs;
mod edge;
mod error;
mod limits;
pub(crate) mod monitoring;
mod mount;
mod open_admin;
mod plane;
mod query;
mod request_id;
mod security_headers;
mod submissions;
mod trace_access;
mod urlencoded;

pub use auth::{AdminAccess, AdminAuthenticator, Principal};
pub(crate) use auth::{AuthFailureReason, TraceView};
pub use body::JsonBody;
pub(crate) use body::{
    BodyLimit, ComponentBody, OptionalJsonBody, SentComponentBody, SentJsonBody, read_encodings,
};
pub(crate) use body_format::{BodyDecoding, DecodedBody};
pub use client_ip::TrustedProxies;
pub(crate) use context::tls_peer;
pub use context::{AdminCaller, RequestContext};
pub(crate) use cors::CorsPolicy;
pub(crate) use data::served_channels::ChannelDocuments;
pub(crate) use data::{LocalWorker, body_refusal_reason};
pub(crate) use edge::Edge;
pub use error::Error;
pub(crate) use limits::guess_pacer::GuessPacer;
pub(crate) use limits::in_flight::{BytesPermit, InFlightBytes};
pub(crate) use limits::rate_limit::RateLimits;
pub(crate) use limits::refusal_pacer::RefusalPacer;
pub(crate) use monitoring::access_sample::AccessSample;
pub(crate) use monitoring::exposition::ExpositionFormat;
pub(crate) use monitoring::level_metrics;
pub use monitoring::metrics::Metrics;
pub(crate) use monitoring::tree_metrics::TreeCollector;
pub(crate) use mount::MountPoint;
pub(crate) use plane::{ADMIN, DATA_PREFIX, Plane, Planes, channel_path_start};
pub(crate) use query::parse as parse_query;
pub use request_id::RequestId;
pub(crate) use security_headers::{SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY};
pub(crate) use submissions::state_response;
pub(crate) use trace_access::TraceReader;
