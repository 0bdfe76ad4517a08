//! The settings that every channel of a process shares.

use std::time::Duration;

use serde_json::Value;
use svc_model::ClientNetworks;

use crate::shape_limits::ShapeLimits;

/// Server settings that channels follow.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The declared variables, stamped on every message; `None` removes whatever a caller put there.
    pub vars: Option<Value>,
    /// Answers carry the real text of task errors instead of one fixed sentence.
    pub verbose_errors: bool,
    /// Largest body of a synchronous answer, in bytes; `None` for no cap.
    pub max_result_bytes: Option<usize>,
    /// Header, lower case, whose value keeps a caller on one version of a workflow.
    pub rollout_sticky_header: Option<String>,
    /// This node runs scheduled channels; otherwise it quarantines them.
    pub cron_enabled: bool,
    /// Callers may ask for a profile of their run.
    pub profiles: bool,
    /// The limits on the width of the objects and arrays of a message.
    pub shape_limits: ShapeLimits,
    /// The networks that count as one caller.
    pub client_networks: ClientNetworks,
    /// Longest time by which a caller may delay accepted work.
    pub max_delay: Duration,
}

impl Settings {
    /// Checks the length of a result.
    ///
    /// # Errors
    /// The message for operators: it is larger than what may be answered and stored.
    pub(crate) fn check_result(&self, bytes: usize) -> Result<(), String> {
        match self.max_result_bytes {
            Some(limit) if bytes > limit => {
                Err(format!("The result has {bytes} bytes, trace_queue.max_result_size_bytes allows {limit}"))
            }
            _ => Ok(()),
        }
    }
}
