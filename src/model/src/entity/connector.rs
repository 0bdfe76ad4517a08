//! Connectors.

use std::fmt;

use serde_json::{Value, json};

use crate::config::connector::mask_connector_config;
use crate::hash::content_hash;
use crate::precondition::EntityTag;
use crate::time::Timestamp;
use crate::unreadable::is_unreadable;

/// What kind of system a connector reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectorType {
    /// An HTTP API.
    Http,
    /// Elasticsearch.
    Es,
    /// A database.
    Db,
    /// A cache.
    Cache,
    /// Kafka brokers.
    Kafka,
    /// A mail server.
    Smtp,
    /// An object store.
    Storage,
}

impl ConnectorType {
    /// Every type.
    pub const ALL: [Self; 7] =
        [Self::Http, Self::Es, Self::Db, Self::Cache, Self::Kafka, Self::Smtp, Self::Storage];

    /// The name in bodies and rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Es => "es",
            Self::Db => "db",
            Self::Cache => "cache",
            Self::Kafka => "kafka",
            Self::Smtp => "smtp",
            Self::Storage => "storage",
        }
    }

    /// The type of that name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for ConnectorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an author writes of a connector.
#[derive(Clone, PartialEq)]
pub struct ConnectorContent {
    /// Unique name; tasks bind by it.
    pub name: String,
    /// The name of a [`ConnectorType`], unless the row was written by hand.
    pub connector_type: String,
    /// Settings, as stored, with their secrets.
    pub config: Value,
    /// Whether the connector is loaded.
    pub enabled: bool,
    /// Labels.
    pub tags: Vec<String>,
}

/// Without its settings, which hold secrets.
impl fmt::Debug for ConnectorContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectorContent")
            .field("name", &self.name)
            .field("connector_type", &self.connector_type)
            .field("enabled", &self.enabled)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}

impl ConnectorContent {
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

/// An outbound system that tasks name.
#[derive(Clone, Debug, PartialEq)]
pub struct Connector {
    /// Id.
    pub id: String,
    /// What the author wrote.
    pub content: ConnectorContent,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When the row last changed.
    pub updated_at: Timestamp,
}

impl Connector {
    /// The tag of the connector as it is stored. One that cannot be read has the time of its last change.
    pub fn entity_tag(&self) -> EntityTag {
        EntityTag::of_content(if is_unreadable(&self.content.config) {
            format!("unreadable-{}", self.updated_at)
        } else {
            self.content.content_hash()
        })
    }

    /// The keys of a read that an author cannot write.
    pub const ONLY_READ: [&'static str; 8] = [
        "id",
        "config_json",
        "content_hash",
        "created_at",
        "updated_at",
        "load_status",
        "load_error",
        "load_error_stage",
    ];

    /// The document as answered, its secrets hidden. A config that cannot be read is null and has no hash.
    pub fn to_json(&self) -> Value {
        let content = &self.content;
        let readable = !is_unreadable(&content.config);
        let masked = if readable { mask_connector_config(&content.config) } else { Value::Null };
        json!({
            "id": self.id,
            "name": content.name,
            "connector_type": content.connector_type,
            "config_json": if readable { masked.to_string() } else { String::new() },
            "config": masked,
            "enabled": content.enabled,
            "tags": content.tags,
            "content_hash": if readable { content.content_hash() } else { String::new() },
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        })
    }
}
