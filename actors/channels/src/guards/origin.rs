//! The origin guard.

use svc_model::ServiceError;

use crate::log_rate_limit::LogRateLimit;
use crate::request::DataRequest;
use crate::services::ChannelServices;

/// The values of `Origin` a channel lets in.
pub(crate) struct OriginGuard {
    listed: Vec<String>,
    log_limit: LogRateLimit,
}

impl OriginGuard {
    pub(super) fn new(listed: Vec<String>) -> Self {
        Self { listed, log_limit: LogRateLimit::default() }
    }

    /// Requires that a present `Origin` is listed, byte for byte; `*` admits all.
    pub(super) fn check(
        &self,
        channel: &str,
        request: &DataRequest,
        services: &ChannelServices,
    ) -> Result<(), ServiceError> {
        let Some((_, origin)) = request.headers.iter().find(|(name, _)| name == "origin") else {
            return Ok(());
        };
        if self.listed.iter().any(|listed| listed == "*" || listed.as_bytes() == origin) {
            return Ok(());
        }
        services.metrics.origin_refused();
        if let Some(suppressed) = self.log_limit.allow_line() {
            slog::info!(services.log, "origin refused";
                "channel" => channel, "origin" => %String::from_utf8_lossy(origin),
                "client_ip" => request.client_ip.map(|address| address.to_string()),
                "request_id" => &request.request_id, "suppressed" => suppressed);
        }
        Err(ServiceError::forbidden("Origin not allowed"))
    }
}
