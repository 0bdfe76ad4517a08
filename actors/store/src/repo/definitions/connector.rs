//! Connectors as documents. Their settings are encrypted as one text if a key is configured.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use svc_model::{
    Connector, ConnectorContent, EntityKind, EntityTag, LifecycleStatus, ServiceError, Timestamp,
    is_unreadable, unreadable,
};
use svc_secrets::{EnvelopeError, EnvelopeKeys};

use super::Definition;
use super::queries;
use super::rows::{ContentColumns, DefinitionKey, DefinitionRow, secret_place};
use super::secrets::{SETTINGS, seal_settings};
use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::json as stored_json;
use crate::repo::references::References;
use crate::repo::token_states;
use crate::repo::usage::definitions_naming;

/// A connector as it is loaded into the service.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredConnector {
    pub id: String,
    /// Unique name.
    pub name: String,
    /// Name of its type.
    pub connector_type: String,
    /// Its settings as written, not necessarily JSON, or the reason why no key decrypts them. Contains secrets.
    pub config_text: Result<String, EnvelopeError>,
    /// True if the connector is to be loaded.
    pub enabled: bool,
}

/// Omits the settings, which contain secrets.
impl fmt::Debug for StoredConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredConnector")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("connector_type", &self.connector_type)
            .field("enabled", &self.enabled)
            .finish_non_exhaustive()
    }
}

/// A stored document, which other programs may have written. The settings are an object, or a text that holds them.
#[derive(Deserialize)]
struct ConnectorDocument<'d> {
    name: String,
    connector_type: String,
    #[serde(default, borrow)]
    config: Option<&'d RawValue>,
    #[serde(default = "is_loaded")]
    enabled: bool,
    #[serde(default)]
    tags: Option<Value>,
}

const fn is_loaded() -> bool {
    true
}

impl ConnectorDocument<'_> {
    /// Returns the settings as written, which may be an envelope.
    fn settings(&self) -> String {
        let Some(raw) = self.config else { return "{}".to_owned() };
        let text = raw.get();
        match text.starts_with('"') {
            true => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
            false => text.to_owned(),
        }
    }
}

/// A connector with the text of its settings, or the reason why no key decrypts them.
struct OpenedConnector {
    name: String,
    connector_type: String,
    settings: Result<String, EnvelopeError>,
    enabled: bool,
    tags: Vec<String>,
}

impl OpenedConnector {
    /// Decrypts a row. A document that cannot be read is taken for the settings, which are refused as such.
    fn open(row: &DefinitionRow, keys: &EnvelopeKeys) -> Self {
        let Ok(document) = serde_json::from_str::<ConnectorDocument<'_>>(&row.content) else {
            return Self {
                name: row.name.clone(),
                connector_type: row.type_.clone().unwrap_or_default(),
                settings: Ok(row.content.clone()),
                enabled: true,
                tags: stored_json::strings(&row.tags),
            };
        };
        let key = DefinitionKey { kind: EntityKind::Connector, id: &row.id, version: row.version };
        let settings = keys.open(&document.settings(), secret_place(&key.secret_row(SETTINGS)));
        Self {
            settings,
            name: document.name,
            connector_type: document.connector_type,
            enabled: document.enabled,
            tags: document.tags.map(stored_json::names).unwrap_or_default(),
        }
    }
}

impl StoredConnector {
    /// Returns the connector of a row.
    pub(in crate::repo) fn open(row: DefinitionRow, keys: &EnvelopeKeys) -> Self {
        let opened = OpenedConnector::open(&row, keys);
        Self {
            id: row.id,
            name: opened.name,
            connector_type: opened.connector_type,
            config_text: opened.settings,
            enabled: opened.enabled,
        }
    }
}

impl Definition for Connector {
    type Content = ConnectorContent;
    const KIND: EntityKind = EntityKind::Connector;
    const REPOSITORY: &'static str = "connectors";
    const FIRST_STATUS: Option<LifecycleStatus> = None;

    fn id(&self) -> &str {
        &self.id
    }

    fn version(&self) -> Option<i64> {
        None
    }

    fn content(&self) -> &ConnectorContent {
        &self.content
    }

    fn content_hash(content: &ConnectorContent) -> Option<String> {
        Self::is_readable(content).then(|| content.content_hash())
    }

    fn entity_tag(&self) -> EntityTag {
        Connector::entity_tag(self)
    }

    fn open(row: DefinitionRow, keys: &EnvelopeKeys) -> Connector {
        let opened = OpenedConnector::open(&row, keys);
        Connector {
            id: row.id,
            content: ConnectorContent {
                name: opened.name,
                connector_type: opened.connector_type,
                config: opened.settings.map_or_else(|_| unreadable(), |text| stored_json::value(&text)),
                enabled: opened.enabled,
                tags: opened.tags,
            },
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }

    fn seal(
        content: &ConnectorContent,
        key: DefinitionKey<'_>,
        keys: &EnvelopeKeys,
        stored: Option<&str>,
    ) -> Result<ContentColumns, StoreError> {
        let mut document = content.hashable();
        document["config"] = match Self::is_readable(content) {
            true => seal_settings(&stored_json::text(&content.config), key, keys)?,
            // Settings that cannot be decrypted are not lost.
            false => stored
                .and_then(|text| stored_json::value(text).get_mut("config").map(Value::take))
                .unwrap_or_else(|| json!({})),
        };
        Ok(ContentColumns {
            name: content.name.clone(),
            content: stored_json::text(&document),
            priority: 0,
            type_: Some(content.connector_type.clone()),
            protocol: None,
            route_shape: None,
            workflow_id: None,
            tags: stored_json::list(&content.tags),
        })
    }

    fn is_readable(content: &ConnectorContent) -> bool {
        !is_unreadable(&content.config)
    }

    /// Checks that no other connector has the name.
    async fn check_content(conn: &mut Conn, id: &str, content: &ConnectorContent) -> Result<(), StoreError> {
        match queries::name_holder(conn, Self::KIND, id, &content.name).await? {
            Some(_) => Err(name_taken(&content.name)),
            None => Ok(()),
        }
    }

    async fn users(
        conn: &mut Conn,
        id: &str,
        references: &dyn References,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<String>, StoreError> {
        definitions_naming(conn, references, Self::KIND, id, keys).await
    }

    /// Deletes the tokens of the connector.
    async fn delete_dependents(conn: &mut Conn, deleted: Connector) -> Result<(), StoreError> {
        token_states::forget(conn, &deleted.content.name).await
    }
}

/// Creates the refusal of a name that another connector has.
pub(in crate::repo) fn name_taken(name: &str) -> StoreError {
    ServiceError::conflict(format!("another connector is named '{name}'")).into()
}
