//! Deliveries that came before.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use svc_model::ServiceError;
use svc_model::config;

use super::claims::{Claim, Claims};
use crate::request::DataRequest;
use crate::toolbox::Toolbox;

/// Refuses an idempotency key that was seen within the window.
pub(crate) struct Deduplication {
    /// Lower case.
    header: String,
    window: Duration,
    capacity: u64,
    /// Made with the first key.
    claims: Arc<OnceLock<Claims>>,
}

impl Deduplication {
    pub(super) fn build(
        channel: &str,
        block: &config::Deduplication,
        tools: &Toolbox,
        previous: Option<&Self>,
    ) -> Self {
        if let Some(connector) = &block.connector {
            slog::warn!(tools.log, "one node keeps idempotency keys in its own memory, not in a connector";
                "channel" => channel, "connector" => connector);
        }
        let header = block.header.to_ascii_lowercase();
        let window = Duration::from_secs(block.window_secs);
        let before = previous.filter(|previous| previous.header == header && previous.window == window);
        let claims = before.map(|previous| Arc::clone(&previous.claims)).unwrap_or_default();
        Self { header, window, capacity: tools.memory_entries, claims }
    }

    /// The idempotency key of a request; without one nothing is checked.
    pub(super) fn key(&self, request: &DataRequest) -> Option<String> {
        request.header(&self.header).map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned)
    }

    /// Claims a key for the rest of the window.
    pub(super) fn claim(&self, channel: &str, key: &str) -> Result<Claim, ServiceError> {
        let claims = self.claims.get_or_init(|| Claims::new(self.window, self.capacity));
        claims.claim(&format!("dedup:{channel}:{key}")).ok_or_else(|| {
            ServiceError::conflict(format!("Duplicate request: idempotency key '{key}' already seen"))
        })
    }
}
