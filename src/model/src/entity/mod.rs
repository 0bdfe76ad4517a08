//! The entities of the service and how they are read.

mod audit;
mod channel;
mod connector;
mod workflow;

use std::fmt;

use serde::Serialize;

pub use audit::{AuditRow, NewAudit, key_principal};
pub use channel::{Channel, ChannelContent, ChannelType, Protocol};
pub use connector::{Connector, ConnectorContent, ConnectorType};
pub use workflow::{Workflow, WorkflowContent, WorkflowVersion};

/// What an entity is.
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
    /// The singular, as messages and audit rows name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Channel => "channel",
            Self::Connector => "connector",
        }
    }

    /// The plural, as paths name it.
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

/// Where a version of a workflow or channel stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LifecycleStatus {
    /// Editable, not serving.
    Draft,
    /// Serving, immutable.
    Active,
    /// No longer serving, immutable.
    Archived,
}

impl LifecycleStatus {
    /// The name in bodies and rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Archived => "archived",
        }
    }

    /// The status of that name.
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
