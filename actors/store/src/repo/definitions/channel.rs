//! Channels as documents.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use serde_json::Value;
use svc_model::lifecycle::{self, Rollout, VersionState};
use svc_model::{
    Channel, ChannelContent, ChannelType, EntityKind, EntityTag, LifecycleStatus, Protocol, RoutePattern,
    ServiceError, Timestamp, unreadable,
};
use svc_secrets::EnvelopeKeys;

use super::queries;
use super::rows::{ContentColumns, DefinitionKey, DefinitionRow};
use super::secrets::{open_credentials, seal_credentials};
use super::{Definition, Objection, StatusChangePlan, Versioned};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::references::References;
use crate::repo::requirements::{self, ChannelRequirements};
use crate::repo::usage::definitions_naming;
use crate::repo::{channel_pauses, cron, json};
use crate::schema::{cron_occurrences, cron_schedule_state};

/// A stored document, which other programs may have written.
#[derive(Deserialize)]
struct ChannelDocument {
    name: String,
    #[serde(default)]
    description: Option<String>,
    channel_type: String,
    protocol: String,
    #[serde(default)]
    methods: Option<Value>,
    #[serde(default)]
    route_pattern: Option<String>,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default)]
    consumer_group: Option<String>,
    #[serde(default = "no_members")]
    transport_config: Value,
    #[serde(default)]
    workflow_id: Option<String>,
    #[serde(default = "no_members")]
    config: Value,
    #[serde(default)]
    priority: i64,
    #[serde(default)]
    tags: Option<Value>,
}

fn no_members() -> Value {
    Value::Object(serde_json::Map::new())
}

impl ChannelDocument {
    /// Reads the document of a row. One that cannot be read has the values of the columns, and a marked config.
    fn read(row: &DefinitionRow) -> Self {
        serde_json::from_str(&row.content).unwrap_or_else(|_| Self {
            name: row.name.clone(),
            description: None,
            channel_type: row.type_.clone().unwrap_or_default(),
            protocol: row.protocol.clone().unwrap_or_default(),
            methods: None,
            route_pattern: None,
            topic: None,
            consumer_group: None,
            transport_config: no_members(),
            workflow_id: row.workflow_id.clone(),
            config: unreadable(),
            priority: row.priority,
            tags: Some(json::value(&row.tags)),
        })
    }

    /// Returns the content. A type or protocol that this program does not know can only have been written by another
    /// program. The config is then marked unreadable: no channel is compiled from it, and the channel is reported as
    /// broken.
    fn into_content(mut self) -> ChannelContent {
        let mut foreign = |member: &str, value: &str| {
            if let Value::Object(config) = &mut self.config {
                config.insert(format!("unknown {member} '{value}'"), Value::Null);
            }
        };
        let channel_type = ChannelType::parse(&self.channel_type).unwrap_or_else(|| {
            foreign("channel_type", &self.channel_type);
            ChannelType::Sync
        });
        let protocol = Protocol::parse(&self.protocol).unwrap_or_else(|| {
            foreign("protocol", &self.protocol);
            Protocol::Http
        });
        ChannelContent {
            name: self.name,
            description: self.description,
            channel_type,
            protocol,
            methods: self.methods.map(json::names),
            route_pattern: self.route_pattern,
            topic: self.topic,
            consumer_group: self.consumer_group,
            transport_config: self.transport_config,
            workflow_id: self.workflow_id,
            config: self.config,
            priority: self.priority,
            tags: self.tags.map(json::names).unwrap_or_default(),
        }
    }
}

/// Returns the HTTP methods of the channel of a row; none if it accepts all.
pub(in crate::repo) fn stored_methods(row: &DefinitionRow) -> Vec<String> {
    ChannelDocument::read(row).methods.map(json::names).unwrap_or_default()
}

impl Definition for Channel {
    type Content = ChannelContent;
    const KIND: EntityKind = EntityKind::Channel;
    const REPOSITORY: &'static str = "channels";
    const FIRST_STATUS: Option<LifecycleStatus> = Some(LifecycleStatus::Draft);

    fn id(&self) -> &str {
        &self.channel_id
    }

    fn version(&self) -> Option<i64> {
        Some(self.version)
    }

    fn content(&self) -> &ChannelContent {
        &self.content
    }

    fn content_hash(content: &ChannelContent) -> Option<String> {
        Some(content.content_hash())
    }

    fn entity_tag(&self) -> EntityTag {
        Channel::entity_tag(self)
    }

    fn open(row: DefinitionRow, keys: &EnvelopeKeys) -> Channel {
        let mut document = ChannelDocument::read(&row);
        let key = DefinitionKey { kind: Self::KIND, id: &row.id, version: row.version };
        open_credentials(&mut document.config, key, keys);
        Channel {
            content: document.into_content(),
            status: row.lifecycle_status(),
            channel_id: row.id,
            version: row.version,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }

    fn seal(
        content: &ChannelContent,
        key: DefinitionKey<'_>,
        keys: &EnvelopeKeys,
        _: Option<&str>,
    ) -> Result<ContentColumns, StoreError> {
        let mut document = content.hashable();
        seal_credentials(&mut document["config"], key, keys)?;
        Ok(ContentColumns {
            name: content.name.clone(),
            content: json::text(&document),
            priority: content.priority,
            type_: Some(content.channel_type.name().to_owned()),
            protocol: Some(content.protocol.name().to_owned()),
            route_shape: content.route_pattern.as_deref().and_then(RoutePattern::shape_of),
            workflow_id: content.workflow_id.clone(),
            tags: json::list(&content.tags),
        })
    }

    /// Checks that no other channel has the name in its latest version.
    async fn check_content(conn: &mut Conn, id: &str, content: &ChannelContent) -> Result<(), StoreError> {
        match queries::name_holder(conn, Self::KIND, id, &content.name).await? {
            Some(holder) => {
                let message = format!(
                    "channel '{holder}' is named '{}' already, and an archived one keeps its name: delete it or give it \
                     another one",
                    content.name
                );
                Err(ServiceError::conflict(message).into())
            }
            None => Ok(()),
        }
    }

    /// Tasks call a channel by the name of its active version, and the `on_failure` of other channels names
    /// it the same way.
    async fn users(
        conn: &mut Conn,
        id: &str,
        references: &dyn References,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<String>, StoreError> {
        definitions_naming(conn, references, Self::KIND, id, keys).await
    }

    /// Deletes the pause, the schedule and the occurrences of the channel. Slots that they hold stay until their leases expire, so
    /// that their runs have stopped by then: a key is shared.
    async fn delete_dependents(conn: &mut Conn, deleted: Channel) -> Result<(), StoreError> {
        let id = deleted.channel_id;
        channel_pauses::forget(conn, &id).await?;
        let delete = diesel::delete(cron_schedule_state::table.find(&id));
        on!(conn, c => delete.execute(c).await)?;
        let delete = diesel::delete(cron_occurrences::table.filter(cron_occurrences::channel_id.eq(&id)));
        on!(conn, c => delete.execute(c).await)?;
        Ok(())
    }
}

impl Versioned for Channel {
    type Requirements = ChannelRequirements;

    fn state(&self) -> VersionState {
        VersionState { version: self.version, status: self.status, rollout_percentage: 100 }
    }

    /// Pauses the schedule, so that it starts anew when the channel serves again.
    async fn stop_dependents(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
        cron::pause(conn, id).await
    }

    async fn plan(
        conn: &mut Conn,
        id: &str,
        target: LifecycleStatus,
        _: Rollout,
        requirements: &ChannelRequirements,
        keys: &EnvelopeKeys,
    ) -> Result<StatusChangePlan, StoreError> {
        let states = queries::states(conn, Self::KIND, id).await?;
        let change = match target {
            LifecycleStatus::Active => lifecycle::activate_channel(id, &states),
            LifecycleStatus::Archived => lifecycle::archive(Self::KIND, id, &states),
            LifecycleStatus::Draft => Err(ServiceError::validation("status must be active or archived")),
        };
        let transition = match change {
            Ok(transition) => transition,
            Err(error) => {
                return Ok(StatusChangePlan { transition: None, objections: vec![Objection::from(error)] });
            }
        };
        let mut objections = Vec::new();
        if target == LifecycleStatus::Active
            && let Some(draft) = queries::find::<Channel>(conn, id, Some(transition.answer), keys).await?
        {
            objections = requirements::check_channel(conn, id, &draft.content, requirements).await?;
        }
        Ok(StatusChangePlan { transition: Some(transition), objections })
    }
}
