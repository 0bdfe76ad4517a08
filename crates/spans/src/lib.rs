//! Spans of the messages that the service handles, in the terms of OpenTelemetry.
//!
//! [`Spans`] is made once, at the start; by default it is off, and everything made from it costs one branch. A
//! [`TraceContext`] is a place in a distributed trace: read from the headers of a message, passed along with it,
//! and written into the headers of what is sent. An [`ActiveSpan`] begins at such a place and ends when it is
//! dropped.
//!
//! Names and attributes follow the semantic conventions of OpenTelemetry; all of them are in [`SpanDraft`]. No
//! span has a body, a header, a query string, a path that a caller chose, or a secret. Baggage is neither read nor
//! written.
//!
//! A finished span goes into a bounded queue, from which one task exports it in batches. No caller waits for that task
//! but the shutdown, for a bounded time: a span that cannot be queued or exported is dropped and counted.

mod batch;
mod context;
mod draft;
mod export;
mod headers;
mod metrics;
mod queue;
mod sampler;
mod settings;
mod spans;

pub use batch::next_batch;
pub use context::{ActiveSpan, TraceContext};
pub use draft::SpanDraft;
pub use metrics::SpanMetrics;
pub use settings::SpanSettings;
pub use spans::Spans;
