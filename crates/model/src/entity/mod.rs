//! The entities of the service and their representation as JSON.

mod audit;
mod channel;
mod channel_claims;
mod connector;
mod consumer;
mod pause;
mod webhook;
mod workflow;

use std::fmt;

use serde::Serialize;

pub use audit::{AUDIT_ORIGIN, AuditAction, AuditResource, AuditRow};
pub use channel::{Channel, ChannelContent, ChannelType, Protocol};
pub use channel_claims::{CALLBACK_METHOD, ClaimedRoute, NO_SCHEDULES_HERE, name_objection};
pub use connector::{Connector, ConnectorContent, ConnectorType};
pub use consumer::{
    Consumer, ConsumerKey, ConsumerKeyKind, MAX_CONSUMER_KEYS, MAX_CONSUMER_NAME, MAX_CONSUMERS,
    check_consumer_name, consumer_quota_scope,
};
pub use pause::ChannelPause;
pub use webhook::{ALL_WEBHOOK_TOPICS, MAX_WEBHOOK_TOPIC, MAX_WEBHOOK_TOPICS, webhook_topic_problem};
pub use workflow::{Workflow, WorkflowContent, WorkflowVersion};

/// The kind of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntityKind {
    /// A workflow.
    Workflow,
    /// A channel.
    Channel,
    /// A connector.
    Connector,
}

impl EntityKind {
    /// Returns the singular, as used in messages and audit rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Channel => "channel",
            Self::Connector => "connector",
        }
    }

    /// Returns the plural, as used in paths.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Workflow => "workflows",
            Self::Channel => "channels",
            Self::Connector => "connectors",
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The lifecycle status of a version of a workflow or channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LifecycleStatus {
    /// Editable; receives no traffic.
    Draft,
    /// Immutable; receives traffic.
    Active,
    /// Immutable; no longer receives traffic.
    Archived,
}

impl LifecycleStatus {
    /// Returns the name in bodies and rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }

    /// Returns the status with that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Draft, Self::Active, Self::Archived].into_iter().find(|status| status.name() == name)
    }
}

impl fmt::Display for LifecycleStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
