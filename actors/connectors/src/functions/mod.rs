//! The task functions over connectors.

mod call;
mod http_call;
mod input;
mod request;
mod response;
mod retry;

use std::sync::Arc;
use std::time::Duration;

use svc_engine::EngineBuilder;

use crate::handle::Connectors;

/// What calls have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSettings {
    /// How long one attempt of an HTTP call may take when its task does not say.
    pub http_timeout: Duration,
}

/// Registers the functions.
#[must_use]
pub fn register(builder: EngineBuilder, connectors: &Connectors, settings: CallSettings) -> EngineBuilder {
    builder
        .function("http_call", Arc::new(http_call::HttpCall::new(connectors.clone(), settings.http_timeout)))
}
