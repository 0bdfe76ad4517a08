//! Which pages may call.

use svc_model::ServiceError;

use super::line_limit::LineLimit;
use crate::request::DataRequest;
use crate::toolbox::ChannelServices;

/// The values of `Origin` a channel lets in.
pub(crate) struct Origins {
    listed: Vec<String>,
    lines: LineLimit,
}

impl Origins {
    pub(super) fn new(listed: Vec<String>) -> Self {
        Self { listed, lines: LineLimit::default() }
    }

    /// A present `Origin` must be listed, byte for byte; `*` lists all.
    pub(super) fn check(
        &self,
        channel: &str,
        request: &DataRequest,
        tools: &ChannelServices,
    ) -> Result<(), ServiceError> {
        let Some((_, origin)) = request.headers.iter().find(|(name, _)| name == "origin") else {
            return Ok(());
        };
        if self.listed.iter().any(|listed| listed == "*" || listed.as_bytes() == origin) {
            return Ok(());
        }
        tools.metrics.origin_refused();
        if let Some(suppressed) = self.lines.pass() {
            slog::info!(tools.log, "origin refused";
                "channel" => channel, "origin" => %String::from_utf8_lossy(origin),
                "client_ip" => request.client_ip.as_deref(), "request_id" => &request.request_id,
                "suppressed" => suppressed);
        }
        Err(ServiceError::forbidden("Origin not allowed"))
    }
}
