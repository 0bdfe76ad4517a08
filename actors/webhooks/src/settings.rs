//! The settings of webhooks.

use std::sync::Arc;
use std::time::Duration;

/// The settings of deliveries.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The delays after failed attempts. After as many failures and one more, a delivery is a dead letter.
    pub retry_schedule: Vec<Duration>,
    /// The time of failures alone after which an endpoint is disabled.
    pub disable_after: Duration,
    /// Name of the channel that gets the reports of disabled endpoints.
    pub on_disabled: Option<Arc<str>>,
    /// Time limit of an attempt.
    pub attempt_timeout: Duration,
    /// Attempts of this node at once.
    pub max_concurrent: usize,
    /// Attempts of this node at one host at once.
    pub max_concurrent_per_host: usize,
    /// Paths of the nodes that the actor needs.
    pub needs: Vec<String>,
}
