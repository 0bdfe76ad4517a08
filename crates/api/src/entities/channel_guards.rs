//! The guards of a channel: what they refused, and what they would say to a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::Timestamp;
use utoipa::ToSchema;

/// The guards of a channel on one node, and the refusals that the node has counted since it serves the channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelStats {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the node that answers; its memory has the counts, and each node has its own.
    pub node: String,
    /// `true` if the node serves the channel.
    pub served: bool,
    /// The version that the node serves.
    #[schema(required = true)]
    pub version: Option<i64>,
    /// The reason of a quarantine on the node.
    #[schema(required = true)]
    pub quarantined: Option<String>,
    /// The guards that a request meets, in their order, by their keys in the configuration of the channel. `shape` is the
    /// limit on the width of objects and lists.
    pub guards: Vec<String>,
    /// Messages that may begin on the node now; `null` without `backpressure`.
    #[schema(required = true)]
    pub free_permits: Option<usize>,
    /// The time since which the node counts.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub since: Option<Timestamp>,
    /// The refusals by guard, status and inner reason, the last seen first.
    pub refusals: Vec<RefusalCount>,
}

/// The refusals of one guard for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusalCount {
    /// The guard, or `body`, `mailbox` or `pause`.
    pub guard: String,
    /// The status of the refusal; that of a repeat is 409, also if repeats are accepted.
    pub status: u16,
    /// The inner reason, which no caller sees.
    pub reason: String,
    /// The reason as a sentence.
    pub explanation: String,
    /// Number of refusals.
    pub count: u64,
    /// The time of the last one.
    #[schema(value_type = String, format = DateTime)]
    pub last_seen: Timestamp,
}

/// The quota of a channel and its use, over all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelQuota {
    /// Id of the channel.
    pub channel_id: String,
    /// Requests of one key within the window; `null` for a channel without a quota on the node that answers.
    #[schema(required = true)]
    pub limit: Option<u64>,
    /// The length of the window: `minute`, `hour`, `day` or `month`.
    #[schema(required = true)]
    pub per: Option<String>,
    /// The place of the window: `calendar` or `sliding`.
    #[schema(required = true)]
    pub window: Option<String>,
    /// The keys with requests in the current window, the most used first, a thousand at most.
    pub keys: Vec<QuotaKeyUse>,
}

/// The use of a quota by one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuotaKeyUse {
    /// The key: a principal, an address, or the result of `key_logic`.
    pub key: String,
    /// Requests in the window, with those that other nodes have reserved and not admitted yet.
    pub used: u64,
    /// Requests that are left.
    pub remaining: u64,
    /// Seconds until the window begins anew or, if it slides, has room again.
    pub resets_in_secs: u64,
}

/// A request to try against the guards of a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardTrialRequest {
    /// The method; `POST` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub method: Option<String>,
    /// The path with its query, as a client sends it. Without it the route is not tried, and no parameter has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub path: Option<String>,
    /// The headers: the value of each name, or the list of its values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object, required = false)]
    pub headers: BTreeMap<String, Value>,
    /// The body: a text is sent as it is, any other value as JSON without blanks, by default as `application/json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub body: Option<Value>,
    /// The bytes of the body in base64, in the place of `body`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub body_base64: Option<String>,
}

/// The verdict of the guards over a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GuardTrialResult {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the node that answers.
    pub node: String,
    /// `true` if no guard that was tried would refuse the request.
    pub admitted: bool,
    /// The refusal that the request would meet.
    #[schema(required = true)]
    pub refusal: Option<RequestRefusal>,
    /// The guards that the request meets, in their order.
    pub guards: Vec<GuardVerdict>,
}

/// The refusal that a request would meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestRefusal {
    /// The guard that refuses, or `route`, `quarantine`, `body` or `pause`.
    pub guard: String,
    /// The inner reason, which no caller sees.
    pub reason: String,
    /// The reason as a sentence.
    pub explanation: String,
    /// The status for the caller.
    pub status: u16,
    /// The code for the caller.
    pub code: String,
    /// The message for the caller.
    pub message: String,
}

/// The verdict of one guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GuardVerdict {
    /// The guard, by its key in the configuration of the channel.
    pub guard: String,
    /// `passed`; `refused`; `unchecked` for what a trial cannot know; `not_met` behind a refusal.
    pub result: String,
    /// The reason of `unchecked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}
