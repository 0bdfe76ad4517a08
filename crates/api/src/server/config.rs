//! The configuration in effect.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The configuration in effect on the node that answers, secrets struck out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveConfig {
    /// The configuration file; `null` if the process was started without one.
    #[schema(required = true)]
    pub file: Option<String>,
    /// Every setting, in the order of the manual.
    pub settings: Vec<EffectiveSetting>,
}

/// A setting with its value in effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveSetting {
    /// Its path, such as `server.port`.
    pub key: String,
    /// The value in effect, secrets struck out; `null` if unset.
    #[schema(value_type = Value, required = true)]
    pub value: Value,
    /// The place that gave it: `default`, `file`, `environment`, `flag`, or `program` for one that an embedding
    /// application set.
    pub source: String,
    /// The value without any of these places; `null` if unset.
    #[schema(value_type = Value, required = true)]
    pub default: Value,
    /// The environment variable that sets it; `null` for a setting of the file alone.
    #[schema(required = true)]
    pub variable: Option<String>,
    /// `true` if a reload takes a new value; otherwise it takes a restart.
    pub reloadable: bool,
}
