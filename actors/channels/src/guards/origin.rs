//! The origin guard.

use std::borrow::Cow;

use svc_model::ServiceError;

use super::passage::{GuardRefusal, RefusalKind};
use crate::log_rate_limit::LogRateLimit;
use crate::request::DataRequest;
use crate::services::ChannelServices;

/// Longest part of a refused origin in a line of the log, in bytes.
const LOGGED: usize = 1024;

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
    ) -> Result<(), GuardRefusal> {
        let Some(origin) = self.find_refused(request) else { return Ok(()) };
        services.metrics.origin_refused();
        if let Some(suppressed) = self.log_limit.allow_line() {
            slog::info!(services.log, "origin refused";
                "channel" => channel, "origin" => %cut_origin(origin),
                "client_ip" => request.client_ip.map(|address| address.to_string()),
                "request_id" => &request.request_id, "suppressed" => suppressed);
        }
        Err(Self::refusal())
    }

    /// Returns the `Origin` of a request if it is not listed. Counts and logs nothing.
    pub(super) fn find_refused<'r>(&self, request: &'r DataRequest) -> Option<&'r [u8]> {
        let (_, origin) = request.headers.iter().find(|(name, _)| name == "origin")?;
        let is_listed = self.listed.iter().any(|listed| listed == "*" || listed.as_bytes() == origin);
        (!is_listed).then_some(origin.as_slice())
    }

    /// Builds the refusal.
    pub(super) fn refusal() -> GuardRefusal {
        RefusalKind::Final.with("origin_not_allowed", ServiceError::forbidden("Origin not allowed"))
    }
}

/// Returns the part of an origin that the log shows.
fn cut_origin(origin: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(origin.get(..LOGGED).unwrap_or(origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_origin_is_cut_for_the_log() {
        assert_eq!(cut_origin(b"https://shop.example"), "https://shop.example");
        assert_eq!(cut_origin(&[b'o'; 20_000]).len(), LOGGED);
    }
}
