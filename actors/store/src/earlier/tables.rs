//! The tables of definitions of the builds before 0.1.0, and their rows as documents.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::table;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use svc_model::{EntityKind, unreadable};
use svc_secrets::{EnvelopeError, EnvelopeKeys, EnvelopePlace, is_sealed};

use crate::conn::{Conn, load_rows, on};
use crate::error::StoreError;
use crate::repo::{DefinitionKey, DefinitionRow, ONLY_VERSION, each_secret, reseal_secret};

table! {
    workflows (workflow_id, version) {
        workflow_id -> Text,
        version -> BigInt,
        name -> Text,
        description -> Nullable<Text>,
        priority -> BigInt,
        status -> Text,
        rollout_percentage -> BigInt,
        condition_json -> Text,
        tasks_json -> Text,
        tags_json -> Text,
        loop_json -> Nullable<Text>,
        continue_on_error -> Bool,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        is_latest -> Bool,
    }
}

table! {
    channels (channel_id, version) {
        channel_id -> Text,
        version -> BigInt,
        name -> Text,
        description -> Nullable<Text>,
        channel_type -> Text,
        protocol -> Text,
        methods_json -> Nullable<Text>,
        route_pattern -> Nullable<Text>,
        route_shape -> Nullable<Text>,
        topic -> Nullable<Text>,
        consumer_group -> Nullable<Text>,
        transport_config_json -> Text,
        workflow_id -> Nullable<Text>,
        config_json -> Text,
        status -> Text,
        priority -> BigInt,
        tags_json -> Text,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        is_latest -> Bool,
    }
}

table! {
    connectors (id) {
        id -> Text,
        name -> Text,
        connector_type -> Text,
        config_json -> Text,
        enabled -> Bool,
        tags_json -> Text,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

/// A version of a workflow, in the order of the columns.
#[derive(Queryable)]
struct EarlierWorkflow {
    workflow_id: String,
    version: i64,
    name: String,
    description: Option<String>,
    priority: i64,
    status: String,
    rollout_percentage: i64,
    condition_json: String,
    tasks_json: String,
    tags_json: String,
    loop_json: Option<String>,
    continue_on_error: bool,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    is_latest: bool,
}

/// A version of a channel, in the order of the columns.
#[derive(Queryable)]
struct EarlierChannel {
    channel_id: String,
    version: i64,
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
    status: String,
    priority: i64,
    tags_json: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    is_latest: bool,
}

/// A connector, in the order of the columns.
#[derive(Queryable)]
struct EarlierConnector {
    id: String,
    name: String,
    connector_type: String,
    config_json: String,
    enabled: bool,
    tags_json: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

/// A document in its order. Texts of the columns are put into it as they are, so that no number changes.
#[derive(Serialize)]
struct WorkflowText {
    name: String,
    description: Option<String>,
    priority: i64,
    condition: Box<RawValue>,
    tasks: Box<RawValue>,
    tags: Box<RawValue>,
    continue_on_error: bool,
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    loop_: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct ChannelText {
    name: String,
    description: Option<String>,
    channel_type: String,
    protocol: String,
    methods: Option<Box<RawValue>>,
    route_pattern: Option<String>,
    topic: Option<String>,
    consumer_group: Option<String>,
    transport_config: Box<RawValue>,
    workflow_id: Option<String>,
    config: Box<RawValue>,
    priority: i64,
    tags: Box<RawValue>,
}

#[derive(Serialize)]
struct ConnectorText {
    name: String,
    connector_type: String,
    config: Box<RawValue>,
    enabled: bool,
    tags: Box<RawValue>,
}

/// The definitions of a database of before, as rows of the table of definitions.
pub(super) struct EarlierDefinitions {
    pub(super) rows: Vec<DefinitionRow>,
    /// The definitions whose secrets no given key moves to the new table, each with the reason. Their rows hold the
    /// secrets as they were.
    pub(super) unmoved: Vec<String>,
}

/// Reads the definitions, and moves their encrypted secrets to the places that they have from now on.
pub(super) async fn read(conn: &mut Conn, keys: &EnvelopeKeys) -> Result<EarlierDefinitions, StoreError> {
    let workflows = workflows::table;
    let workflows: Vec<EarlierWorkflow> =
        load_rows!(conn, workflows => EarlierWorkflow, |row: EarlierWorkflow| row).await?;
    let channels = channels::table;
    let channels: Vec<EarlierChannel> =
        load_rows!(conn, channels => EarlierChannel, |row: EarlierChannel| row).await?;
    let connectors: Vec<EarlierConnector> = on!(conn, c => connectors::table.load(c).await)?;
    let mut mover = SecretMover { keys, unmoved: Vec::new() };
    let mut rows = Vec::with_capacity(workflows.len() + channels.len() + connectors.len());
    for workflow in workflows {
        rows.push(workflow.into_row()?);
    }
    for channel in channels {
        rows.push(channel.into_row(&mut mover)?);
    }
    for connector in connectors {
        rows.push(connector.into_row(&mut mover)?);
    }
    Ok(EarlierDefinitions { rows, unmoved: mover.unmoved })
}

/// Moves secrets from their earlier places.
struct SecretMover<'k> {
    keys: &'k EnvelopeKeys,
    unmoved: Vec<String>,
}

impl SecretMover<'_> {
    /// Returns an encrypted secret for its new place. One that was damaged before stays as it is.
    fn move_secret(
        &mut self,
        envelope: &str,
        from: EnvelopePlace<'_>,
        key: DefinitionKey<'_>,
        pointer: &str,
    ) -> Result<Value, StoreError> {
        let reason = match self.keys.open(envelope, from) {
            Ok(plain) if self.keys.seals() => return reseal_secret(&plain, key, pointer, self.keys),
            Ok(_) => "it is encrypted, and storage.connector_encryption_key is not set".to_owned(),
            Err(error @ (EnvelopeError::UnknownKey { .. } | EnvelopeError::NoKey)) => error.to_string(),
            Err(_) => return Ok(Value::String(envelope.to_owned())),
        };
        self.unmoved.push(format!("{} '{}': {reason}", key.kind, key.id));
        Ok(Value::String(envelope.to_owned()))
    }
}

impl EarlierWorkflow {
    fn into_row(self) -> Result<DefinitionRow, StoreError> {
        let content = WorkflowText {
            name: self.name.clone(),
            description: self.description,
            priority: self.priority,
            condition: raw(self.condition_json)?,
            tasks: raw(self.tasks_json)?,
            tags: raw(self.tags_json.clone())?,
            continue_on_error: self.continue_on_error,
            loop_: self.loop_json.map(raw).transpose()?,
        };
        Ok(DefinitionRow {
            kind: EntityKind::Workflow.name().to_owned(),
            id: self.workflow_id,
            version: self.version,
            status: Some(self.status),
            name: self.name,
            rollout: self.rollout_percentage,
            content: text(&content)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
            is_latest: self.is_latest,
            priority: self.priority,
            type_: None,
            protocol: None,
            route_shape: None,
            workflow_id: None,
            tags: self.tags_json,
        })
    }
}

impl EarlierChannel {
    fn into_row(self, mover: &mut SecretMover<'_>) -> Result<DefinitionRow, StoreError> {
        let key = DefinitionKey { kind: EntityKind::Channel, id: &self.channel_id, version: self.version };
        let content = ChannelText {
            name: self.name.clone(),
            description: self.description,
            channel_type: self.channel_type.clone(),
            protocol: self.protocol.clone(),
            methods: self.methods_json.map(raw).transpose()?,
            route_pattern: self.route_pattern,
            topic: self.topic,
            consumer_group: self.consumer_group,
            transport_config: raw(self.transport_config_json)?,
            workflow_id: self.workflow_id.clone(),
            config: move_credentials(self.config_json, key, mover)?,
            priority: self.priority,
            tags: raw(self.tags_json.clone())?,
        };
        Ok(DefinitionRow {
            kind: EntityKind::Channel.name().to_owned(),
            version: self.version,
            status: Some(self.status),
            name: self.name,
            rollout: 100,
            content: text(&content)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
            is_latest: self.is_latest,
            priority: self.priority,
            type_: Some(self.channel_type),
            protocol: Some(self.protocol),
            route_shape: self.route_shape,
            workflow_id: self.workflow_id,
            tags: self.tags_json,
            id: self.channel_id,
        })
    }
}

/// Returns the config of a channel with its encrypted credentials moved. One without any stays as it is.
fn move_credentials(
    config: String,
    key: DefinitionKey<'_>,
    mover: &mut SecretMover<'_>,
) -> Result<Box<RawValue>, StoreError> {
    let Ok(parsed) = serde_json::from_str::<Value>(&config) else { return raw(config) };
    let mut document = json!({ "config": parsed });
    let (mut is_changed, mut failure) = (false, None);
    each_secret(EntityKind::Channel, &mut document, &mut |pointer, value| {
        let Some(envelope) = value.as_str().filter(|text| is_sealed(text)) else { return };
        let earlier = pointer.strip_prefix("/config").unwrap_or(pointer);
        let row = format!("{}:{}{earlier}", key.id, key.version);
        let from = EnvelopePlace { table: "channels", row: &row, column: "config_json" };
        match mover.move_secret(envelope, from, key, pointer) {
            Ok(moved) => {
                *value = moved;
                is_changed = true;
            }
            Err(error) => failure = Some(error),
        }
    });
    match failure {
        Some(error) => Err(error),
        None if is_changed => raw(document["config"].to_string()),
        None => raw(config),
    }
}

impl EarlierConnector {
    fn into_row(self, mover: &mut SecretMover<'_>) -> Result<DefinitionRow, StoreError> {
        let key = DefinitionKey { kind: EntityKind::Connector, id: &self.id, version: ONLY_VERSION };
        let config = if is_sealed(&self.config_json) {
            let from = EnvelopePlace { table: "connectors", row: &self.id, column: "config_json" };
            raw(mover.move_secret(&self.config_json, from, key, "/config")?.to_string())?
        } else if is_object(&self.config_json) {
            raw(self.config_json)?
        } else {
            raw(Value::String(self.config_json).to_string())?
        };
        let content = ConnectorText {
            name: self.name.clone(),
            connector_type: self.connector_type.clone(),
            config,
            enabled: self.enabled,
            tags: raw(self.tags_json.clone())?,
        };
        Ok(DefinitionRow {
            kind: EntityKind::Connector.name().to_owned(),
            version: ONLY_VERSION,
            status: None,
            name: self.name,
            rollout: 100,
            content: text(&content)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
            is_latest: true,
            priority: 0,
            type_: Some(self.connector_type),
            protocol: None,
            route_shape: None,
            workflow_id: None,
            tags: self.tags_json,
            id: self.id,
        })
    }
}

/// Returns true for the text of a JSON object.
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns stored JSON as it is. Text that is not JSON becomes the marker that no compiler accepts.
fn raw(text: String) -> Result<Box<RawValue>, StoreError> {
    let marked = |_| RawValue::from_string(unreadable().to_string());
    RawValue::from_string(text).or_else(marked).map_err(|error| StoreError::Database(error.to_string()))
}

fn text(document: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(document).map_err(|error| StoreError::Database(error.to_string()))
}
