//! Bodies of the requests that change which versions serve.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::names::target_status;

/// The body of a change of status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusChange {
    /// `active` serves the draft, `archived` takes it out of service.
    #[schema(schema_with = target_status)]
    pub status: String,
    /// Share of the traffic in percent, of a workflow; 100 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_percentage: Option<i64>,
    /// `true` archives the version that shares the traffic now, so that this one can take its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_canary: Option<bool>,
}

/// The body of a change of the rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RolloutChange {
    /// Share of the traffic of the newer active version, 0 to 100 percent; 0 ends its trial.
    pub rollout_percentage: i64,
}

/// The body of a rollback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RollbackRequest {
    /// The archived version to copy; by default the one that was active before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_version: Option<i64>,
}

/// The body of the request for a new draft.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionRequest {
    /// The version to copy; by default the latest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
}
