//! The rows of channels, and their credentials as they are encrypted.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use svc_model::{Channel, ChannelContent, ChannelType, Protocol, RoutePattern, Timestamp};
use svc_secrets::EnvelopeKeys;

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::channel_credentials::{ChannelVersion, open_credentials, seal_credentials};
use crate::repo::versioned::stored_status;
use crate::repo::{json, mutation};
use crate::schema::channels;

/// A row, in the order of the columns.
#[derive(Queryable, Insertable)]
#[diesel(table_name = channels, treat_none_as_default_value = false)]
pub(super) struct ChannelRow {
    channel_id: String,
    version: i64,
    name: String,
    description: Option<String>,
    channel_type: String,
    protocol: String,
    methods_json: Option<String>,
    route_pattern: Option<String>,
    #[diesel(column_name = route_shape)]
    _route_shape: Option<String>,
    topic: Option<String>,
    consumer_group: Option<String>,
    transport_config_json: String,
    workflow_id: Option<String>,
    config_json: String,
    status: String,
    priority: i64,
    tags_json: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    #[diesel(column_name = is_latest)]
    _is_latest: bool,
}

impl ChannelRow {
    /// Returns the channel. A type or protocol that this program does not know can only have been written by another
    /// program. The config is then marked unreadable: no channel is compiled from it, and the channel is reported as
    /// broken.
    pub(super) fn open(self, keys: &EnvelopeKeys) -> Channel {
        let row = self;
        let mut config = json::value(&row.config_json);
        open_credentials(&mut config, ChannelVersion { id: &row.channel_id, version: row.version }, keys);
        let mut foreign = |column: &str, value: &str| {
            if let Value::Object(config) = &mut config {
                config.insert(format!("unknown {column} '{value}'"), Value::Null);
            }
        };
        let channel_type = ChannelType::parse(&row.channel_type).unwrap_or_else(|| {
            foreign("channel_type", &row.channel_type);
            ChannelType::Sync
        });
        let protocol = Protocol::parse(&row.protocol).unwrap_or_else(|| {
            foreign("protocol", &row.protocol);
            Protocol::Http
        });
        Channel {
            channel_id: row.channel_id,
            version: row.version,
            content: ChannelContent {
                name: row.name,
                description: row.description,
                channel_type,
                protocol,
                methods: row.methods_json.as_deref().map(json::strings),
                route_pattern: row.route_pattern,
                topic: row.topic,
                consumer_group: row.consumer_group,
                transport_config: json::value(&row.transport_config_json),
                workflow_id: row.workflow_id,
                config,
                priority: row.priority,
                tags: json::strings(&row.tags_json),
            },
            status: stored_status(&row.status),
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }
}

/// Returns the channels of rows.
pub(super) fn open_all(rows: Vec<ChannelRow>, keys: &EnvelopeKeys) -> Vec<Channel> {
    rows.into_iter().map(|row| row.open(keys)).collect()
}

/// The columns that the author sets, and the route shape derived from them. `None` clears a column.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = channels, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct ChannelContentRow {
    name: String,
    description: Option<String>,
    channel_type: String,
    protocol: String,
    methods_json: Option<String>,
    route_pattern: Option<String>,
    route_shape: Option<String>,
    topic: Option<String>,
    consumer_group: Option<String>,
    transport_config_json: String,
    workflow_id: Option<String>,
    config_json: String,
    priority: i64,
    tags_json: String,
}

impl ChannelContentRow {
    /// Returns the columns of a version, its credentials encrypted.
    ///
    /// # Errors
    /// Those of [`seal_credentials`].
    pub(super) fn seal(
        content: &ChannelContent,
        of: ChannelVersion<'_>,
        keys: &EnvelopeKeys,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            name: content.name.clone(),
            description: content.description.clone(),
            channel_type: content.channel_type.name().to_owned(),
            protocol: content.protocol.name().to_owned(),
            methods_json: content.methods.as_deref().map(json::list),
            route_pattern: content.route_pattern.clone(),
            route_shape: content.route_pattern.as_deref().and_then(RoutePattern::shape_of),
            topic: content.topic.clone(),
            consumer_group: content.consumer_group.clone(),
            transport_config_json: json::text(&content.transport_config),
            workflow_id: content.workflow_id.clone(),
            config_json: json::text(&seal_credentials(&content.config, of, keys)?),
            priority: content.priority,
            tags_json: json::list(&content.tags),
        })
    }
}

/// Returns the stored config of every version, each as its text.
pub(crate) async fn stored_configs(conn: &mut Conn) -> Result<Vec<(String, i64, String)>, StoreError> {
    let rows = channels::table.select((channels::channel_id, channels::version, channels::config_json));
    Ok(on!(conn, c => rows.load(c).await)?)
}

/// Replaces the stored config of a version if its text is still `kept`, and returns whether it was. The row is written
/// anew with its times: the database refuses an update of an active version, and a rollback goes by the last one.
pub(crate) async fn replace_stored_config(
    conn: &mut Conn,
    of: ChannelVersion<'_>,
    kept: &str,
    config: &str,
) -> Result<bool, StoreError> {
    mutation::lock(conn).await?;
    let version = channels::table.find((of.id, of.version)).filter(channels::config_json.eq(kept));
    let Some(row) = on!(conn, c => version.first::<ChannelRow>(c).await.optional())? else {
        return Ok(false);
    };
    let row = ChannelRow { config_json: config.to_owned(), ..row };
    on!(conn, c => diesel::delete(channels::table.find((of.id, of.version))).execute(c).await)?;
    on!(conn, c => diesel::insert_into(channels::table).values(row).execute(c).await)?;
    Ok(true)
}
