//! Settings that are no part's alone, made from the configuration; and those of the parts that commands and handlers
//! read as well.

use std::time::Duration;

use serde_json::Value;
use svc_channels::call::CallLimits;
use svc_engine::EngineLimits;

use crate::config::Config;

pub(crate) use crate::assembly::parts::channels::max_result_bytes;
pub(crate) use crate::assembly::parts::connectors::{call_settings, variable_lookup};
pub(crate) use crate::assembly::parts::kafka::kafka_cluster;
pub use crate::assembly::parts::store::store_config;
pub(crate) use crate::assembly::parts::store::{connector_keys, health_check_timeout};
pub(crate) use crate::assembly::resources::{build_keyring, build_outbound};

/// Returns the configured name of this process, or a generated one.
pub(crate) fn instance_id(config: &Config) -> String {
    let configured = Some(config.cluster.instance_id.clone()).filter(|id| !id.is_empty());
    configured.unwrap_or_else(svc_model::id::new_entity_id)
}

/// Returns the limits of workflows.
pub(crate) fn engine_limits(config: &Config) -> EngineLimits {
    EngineLimits {
        max_loop_iterations: i64::try_from(config.engine.max_loop_iterations).unwrap_or(i64::MAX),
        max_fan_out: config.engine.max_fan_out,
        max_message_bytes: max_message_bytes(config),
        cpu_budget: Duration::from_millis(config.engine.cpu_budget_ms),
    }
}

/// Returns the bound on the values of one message: parsed JSON is larger than its text, and tasks hold it
/// more than once.
pub(crate) fn max_message_bytes(config: &Config) -> usize {
    const SHARE: usize = 16;
    EngineLimits::default().max_message_bytes.max(config.ingest.max_payload_size.saturating_mul(SHARE))
}

/// Returns the limits of calls between channels.
pub(crate) fn call_limits(config: &Config) -> CallLimits {
    CallLimits {
        max_depth: usize::try_from(config.engine.max_channel_call_depth).unwrap_or(usize::MAX),
        default_timeout: Duration::from_millis(config.engine.default_channel_call_timeout_ms),
    }
}

/// Returns the variables of expressions; `None` without any.
pub(crate) fn vars(config: &Config) -> Option<Value> {
    Some(&config.vars.0).filter(|vars| !vars.is_empty()).map(|vars| Value::Object(vars.clone()))
}
