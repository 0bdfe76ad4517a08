//! The calls of endpoints.

use futures_util::future::LocalBoxFuture;
use svc_connectors::{ConnectorDirectory, OutsideOutcome, OutsideRequest};

/// Makes attempts at the addresses of customers. A port: the connectors implement it.
pub trait WebhookSender: Send + Sync {
    /// Makes one attempt. Nothing of the connector goes to the address; a redirect is a failure.
    fn send<'s>(&'s self, request: &'s OutsideRequest) -> LocalBoxFuture<'s, OutsideOutcome>;
}

impl WebhookSender for ConnectorDirectory {
    fn send<'s>(&'s self, request: &'s OutsideRequest) -> LocalBoxFuture<'s, OutsideOutcome> {
        Box::pin(self.call_outside(request))
    }
}
