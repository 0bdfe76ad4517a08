//! Channels.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::{Channel, ChannelPause, Timestamp, mask_channel_config};
use utoipa::ToSchema;

use crate::entities::validation::{ValidationIssue, ValidationResult};
use crate::names::{channel_type, lifecycle_status, next_instants, protocol};

/// A version of a channel. Secrets of its configuration are masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Channel)]
pub struct ChannelResource {
    /// The name that callers use; unique among channels.
    pub name: String,
    /// Description, free text.
    #[schema(required = true)]
    pub description: Option<String>,
    /// The delivery mode.
    #[schema(schema_with = channel_type)]
    pub channel_type: String,
    /// The transport that brings messages.
    #[schema(schema_with = protocol)]
    pub protocol: String,
    /// HTTP methods of the route, in upper case.
    #[schema(required = true)]
    pub methods: Option<Vec<String>>,
    /// Route pattern.
    #[schema(required = true)]
    pub route_pattern: Option<String>,
    /// Topic of the message broker.
    #[schema(required = true)]
    pub topic: Option<String>,
    /// Consumer group.
    #[schema(required = true)]
    pub consumer_group: Option<String>,
    /// Settings of the transport, such as the schedule of a cron channel.
    #[schema(value_type = Object)]
    pub transport_config: Value,
    /// Id of the workflow to run.
    #[schema(required = true)]
    pub workflow_id: Option<String>,
    /// Guards and other settings.
    #[schema(value_type = Object)]
    pub config: Value,
    /// Priority among routes; the highest matches first.
    pub priority: i64,
    /// Labels.
    pub tags: Vec<String>,
    /// Id, which all versions share.
    pub channel_id: String,
    /// Number of the version, from 1.
    pub version: i64,
    /// The lifecycle status of the version.
    #[schema(schema_with = lifecycle_status)]
    pub status: String,
    /// `sha256:` and the hash of the content with its secrets; status and times do not affect it.
    pub content_hash: String,
    /// Time of creation of the version.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of the last change of the row.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Number of the version that serves, in lists and in the read of the latest version; of several the one with the
    /// largest share of the traffic. Absent where none serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub active_version: Option<i64>,
    /// The pause, in lists and in the read of the latest version. Absent for a channel that is not paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub paused: Option<PauseDetail>,
    /// The reason of its quarantine on this node, in lists and in the read of the latest version. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub quarantined: Option<String>,
}

/// The pause of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChannelPause)]
pub struct PauseDetail {
    /// Time since which the channel is paused.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Time at which it resumes by itself; `null` if an operator must resume it.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub until: Option<Timestamp>,
    /// The principal that paused it, or `on_repeated_failure`.
    pub by: String,
    /// The reason.
    pub reason: String,
}

impl From<ChannelPause> for PauseDetail {
    fn from(pause: ChannelPause) -> Self {
        let ChannelPause { since, until, by, reason } = pause;
        Self { since, until, by, reason }
    }
}

/// A channel that a request paused or resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelPauseStatus {
    /// Id of the channel.
    pub channel_id: String,
    /// Name of the channel.
    pub channel: String,
    /// The pause; absent for a channel that was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub paused: Option<PauseDetail>,
}

/// The body of the request to pause a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PauseRequest {
    /// The reason, for operators; at most 1000 characters.
    pub reason: String,
    /// Time at which the channel resumes by itself, RFC 3339; without it an operator must resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// The body of the request to resume a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResumeRequest {
    /// The reason, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The selection of active channels, by a tag or by a connector that they use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelFilterRequest {
    /// A tag of the channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The name of a connector that the channels or their workflows name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
}

/// The body of the request to pause several channels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkPauseRequest {
    /// The channels.
    pub filter: ChannelFilterRequest,
    /// The reason, for operators; at most 1000 characters.
    pub reason: String,
    /// Time at which the channels resume by themselves, RFC 3339; without it an operator must resume them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// The body of the request to resume several channels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkResumeRequest {
    /// The channels.
    pub filter: ChannelFilterRequest,
    /// The reason, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<Channel> for ChannelResource {
    fn from(channel: Channel) -> Self {
        let content_hash = channel.content.content_hash();
        let content = channel.content;
        Self {
            name: content.name,
            description: content.description,
            channel_type: content.channel_type.name().to_owned(),
            protocol: content.protocol.name().to_owned(),
            methods: content.methods,
            route_pattern: content.route_pattern,
            topic: content.topic,
            consumer_group: content.consumer_group,
            transport_config: content.transport_config,
            workflow_id: content.workflow_id,
            config: mask_channel_config(&content.config),
            priority: content.priority,
            tags: content.tags,
            channel_id: channel.channel_id,
            version: channel.version,
            status: channel.status.name().to_owned(),
            content_hash,
            created_at: channel.created_at,
            updated_at: channel.updated_at,
            active_version: None,
            paused: None,
            quarantined: None,
        }
    }
}

/// The report of the validation of a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChannelValidation)]
pub struct ChannelValidationResult {
    /// `true` if a create would not be refused.
    pub valid: bool,
    /// Problems for which a create would be refused.
    pub errors: Vec<ValidationIssue>,
    /// Problems for which it would not be refused.
    pub warnings: Vec<ValidationIssue>,
    /// The next instants of a valid schedule; absent for other channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = next_instants, required = false)]
    pub next_fires: Option<Vec<Timestamp>>,
}

impl ChannelValidationResult {
    /// Adds the next instants of the schedule to a report.
    pub fn new(report: ValidationResult, next_fires: Option<Vec<Timestamp>>) -> Self {
        let ValidationResult { valid, errors, warnings } = report;
        Self { valid, errors, warnings, next_fires }
    }
}
