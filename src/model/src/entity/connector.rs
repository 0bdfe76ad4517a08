//! Connectors.

use serde_json::{Value, json};

use crate::hash::content_hash;
use crate::time::Timestamp;

/// An outbound system that tasks name.
#[derive(Clone, Debug, PartialEq)]
pub struct Connector {
    /// Id.
    pub id: String,
    /// Unique name; tasks bind by it.
    pub name: String,
    /// `http`, `kafka`, `db`, `cache`, `es`, `smtp` or `storage`.
    pub connector_type: String,
    /// Settings, as stored, with their secrets.
    pub config: Value,
    /// Whether the connector is loaded.
    pub enabled: bool,
    /// Labels.
    pub tags: Vec<String>,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When the row last changed.
    pub updated_at: Timestamp,
}

impl Connector {
    /// The part of the document that is hashed, with its secrets: never show it.
    pub fn hashable(&self) -> Value {
        json!({
            "name": self.name,
            "connector_type": self.connector_type,
            "config": self.config,
            "enabled": self.enabled,
            "tags": self.tags,
        })
    }

    /// The hash of what the author wrote; times do not count.
    pub fn content_hash(&self) -> String {
        content_hash(&self.hashable())
    }
}
