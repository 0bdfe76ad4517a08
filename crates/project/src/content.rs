//! The content of entities, as an import stores it.

use serde_json::Value;
use svc_model::{ChannelContent, ConnectorContent, WorkflowContent};

/// The content of an entity of any kind.
#[derive(Clone, Debug)]
pub enum EntityContent {
    /// The content of a connector.
    Connector(Box<ConnectorContent>),
    /// The content of a workflow.
    Workflow(Box<WorkflowContent>),
    /// The content of a channel.
    Channel(Box<ChannelContent>),
}

impl EntityContent {
    /// Returns the hashed part of the document. It may hold secrets.
    pub fn hashable(&self) -> Value {
        match self {
            Self::Connector(content) => content.hashable(),
            Self::Workflow(content) => content.hashable(),
            Self::Channel(content) => content.hashable(),
        }
    }

    /// Returns the content of a channel.
    pub fn channel(&self) -> Option<&ChannelContent> {
        match self {
            Self::Channel(content) => Some(content),
            _ => None,
        }
    }
}
