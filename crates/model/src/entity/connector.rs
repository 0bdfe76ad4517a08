//! The connector entity.

use std::fmt;

use serde_json::{Value, json};

use crate::config::connector::mask_connector_config;
use crate::hash::content_hash;
use crate::http::precondition::EntityTag;
use crate::time::Timestamp;
use crate::unreadable::is_unreadable;

/// Declares the connector types from one table, so that no list of them can miss one.
macro_rules! connector_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// The type of the external system that a connector accesses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ConnectorType { $($(#[$doc])* $variant,)+ }

        impl ConnectorType {
            /// All types.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];
            /// All names, in words.
            pub(crate) const KIND: &'static str = concat!($("`", $name, "`, ",)+ "in any case");

            /// Returns the name in bodies and rows.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

connector_types! {
    /// An HTTP API.
    Http = "http",
    /// Elasticsearch.
    Es = "es",
    /// A database.
    Db = "db",
    Cache = "cache",
    /// Kafka brokers.
    Kafka = "kafka",
    /// A mail server.
    Smtp = "smtp",
    /// An object store.
    Storage = "storage",
}

impl ConnectorType {
    /// Returns the type with that name, ignoring case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for ConnectorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The part of a connector that an author writes.
#[derive(Clone, PartialEq)]
pub struct ConnectorContent {
    /// Unique name; tasks refer to the connector by it.
    pub name: String,
    /// Name of a [`ConnectorType`]. Rows written by other means may hold any text.
    pub connector_type: String,
    /// The config as stored, including its secrets.
    pub config: Value,
    /// True if the connector is loaded.
    pub enabled: bool,
    /// Labels.
    pub tags: Vec<String>,
}

/// Omits the config, which holds secrets.
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
    /// Returns the hashed part of the document. It contains secrets and must never be shown.
    pub fn hashable(&self) -> Value {
        json!({
            "name": self.name,
            "connector_type": self.connector_type,
            "config": self.config,
            "enabled": self.enabled,
            "tags": self.tags,
        })
    }

    /// Returns the hash of the content; times do not affect it.
    pub fn content_hash(&self) -> String {
        content_hash(&self.hashable())
    }
}

/// A connector to an external system.
#[derive(Clone, Debug, PartialEq)]
pub struct Connector {
    /// The connector id.
    pub id: String,
    /// The content that the author wrote.
    pub content: ConnectorContent,
    /// Time of creation of the row.
    pub created_at: Timestamp,
    /// Time of the last change of the row.
    pub updated_at: Timestamp,
}

impl Connector {
    /// Returns the entity tag of the connector. With an unreadable config, it is derived from the time of the
    /// last change.
    pub fn entity_tag(&self) -> EntityTag {
        EntityTag::of_content(if is_unreadable(&self.content.config) {
            format!("unreadable-{}", self.updated_at)
        } else {
            self.content.content_hash()
        })
    }

    /// Keys of a read that an author cannot set.
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

    /// Returns the document with masked secrets. An unreadable config is null and has no hash.
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
