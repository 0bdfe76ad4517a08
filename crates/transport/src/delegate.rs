//! The service behind a listener, as far as its transport knows it.

use futures_util::future::LocalBoxFuture;

use super::refusal::{ConnectionRefusal, RefusalResponse};

/// Decisions of a service about its connections.
pub trait TransportDelegate: Send + Sync {
    /// Waits for the begin of the shutdown: connections end after the requests in progress from then on.
    fn wait_until_draining(&self) -> LocalBoxFuture<'_, ()>;

    /// Makes the response to a client that is refused, and counts it; `None` if the client gets no response.
    fn refuse(&self, refusal: ConnectionRefusal, is_tls: bool) -> Option<RefusalResponse>;
}
