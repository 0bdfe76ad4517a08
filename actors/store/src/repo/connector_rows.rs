//! The rows of connectors, and their settings as they are encrypted.

use std::fmt;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use svc_model::{Connector, ConnectorContent, Timestamp, is_unreadable, unreadable};
use svc_secrets::{EnvelopeError, EnvelopeKeys};

use crate::error::StoreError;
use crate::repo::json;
use crate::repo::seal::{config_place, seal};
use crate::schema::connectors;

/// A connector as it is loaded into the service.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredConnector {
    /// Id.
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

/// A row, in the order of the columns.
#[derive(Queryable)]
pub(super) struct ConnectorRow {
    id: String,
    name: String,
    connector_type: String,
    config_json: String,
    enabled: bool,
    tags_json: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

/// Conversion of a row, with the keys to decrypt it.
pub(super) trait FromEncryptedRow: Send + 'static {
    fn open(row: ConnectorRow, keys: &EnvelopeKeys) -> Self;
}

impl FromEncryptedRow for Connector {
    fn open(row: ConnectorRow, keys: &EnvelopeKeys) -> Self {
        let config = keys.open(&row.config_json, config_place(&row.id));
        Self {
            id: row.id,
            content: ConnectorContent {
                name: row.name,
                connector_type: row.connector_type,
                config: config.map_or_else(|_| unreadable(), |text| json::value(&text)),
                enabled: row.enabled,
                tags: json::strings(&row.tags_json),
            },
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }
}

impl FromEncryptedRow for StoredConnector {
    fn open(row: ConnectorRow, keys: &EnvelopeKeys) -> Self {
        let config_text = keys.open(&row.config_json, config_place(&row.id));
        Self {
            id: row.id,
            name: row.name,
            connector_type: row.connector_type,
            config_text,
            enabled: row.enabled,
        }
    }
}

/// The columns that the author sets.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = connectors)]
pub(super) struct ConnectorContentRow {
    name: String,
    connector_type: String,
    /// `None` keeps the stored value, so that settings that cannot be decrypted are not lost.
    config_json: Option<String>,
    enabled: bool,
    tags_json: String,
}

impl ConnectorContentRow {
    pub(super) fn from_content(
        id: &str,
        content: &ConnectorContent,
        keys: &EnvelopeKeys,
    ) -> Result<Self, StoreError> {
        let config = &content.config;
        let sealed = || seal(&json::text(config), config_place(id), keys);
        Ok(Self {
            name: content.name.clone(),
            connector_type: content.connector_type.clone(),
            config_json: (!is_unreadable(config)).then(sealed).transpose()?,
            enabled: content.enabled,
            tags_json: json::list(&content.tags),
        })
    }
}
