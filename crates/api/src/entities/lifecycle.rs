//! Bodies of the requests that change which versions serve.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::entities::rollouts::GateTerms;
use crate::names::target_status;

/// The body of a change of status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// Shares of the traffic in percent, rising: the version goes from one to the next by itself, and takes all after
    /// the last one. Of a workflow with an older active version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<i64>>,
    /// Length of a step in seconds, 10 to 86,400; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_secs: Option<u64>,
    /// The limits that the version must keep to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateTerms>,
    /// Name of the channel that gets a report when the version is rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_rollback: Option<String>,
    /// `true` runs the version on every message after the older one did, without traffic and without effects; without
    /// the other keys of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
}

/// The body of a change of the rollout: a share, steps, or a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RolloutChange {
    /// Share of the traffic of the newer active version, 0 to 100 percent; 0 ends its trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_percentage: Option<i64>,
    /// `true` ends a rollout that moves by itself; without it the change is refused while there is one.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_: Option<bool>,
    /// Steers a rollout that moves by itself: `paused`, `watching` to go on, `promoted` to take all traffic now, or
    /// `aborted` to give all to the older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Shares of the traffic in percent, rising: the version goes from one to the next by itself, and takes all after
    /// the last one. Of a workflow with an older active version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<i64>>,
    /// Length of a step in seconds, 10 to 86,400; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_secs: Option<u64>,
    /// The limits that the version must keep to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateTerms>,
    /// Name of the channel that gets a report when the version is rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_rollback: Option<String>,
    /// `true` runs the version on every message after the older one did, without traffic and without effects; without
    /// the other keys of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
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
