//! A change of the key of stored secrets: the database, the rows outside of definitions that have secrets, and the
//! nodes that read them.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::ConsumerKeyKind;

use crate::config::{Backend, StoreConfig};
use crate::conn::{Conn, on};
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::error::{OpenError, StoreError};
use crate::files::file_lock::FileLock;
use crate::migrate::{self, detail};
use crate::repo::{NodeRow, NodeStatus, list_nodes};
use crate::schema::{consumer_keys, webhook_endpoints};

/// The reason why nothing was re-encrypted.
#[derive(Debug, thiserror::Error)]
pub enum ReencryptError {
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Migrations are pending.
    #[error("{target} has pending migrations: {}; apply them with `svc-server migrate`", .migrations.join(", "))]
    OlderSchema {
        /// The location, without the password.
        target: String,
        /// Their names, in order.
        migrations: Vec<String>,
    },
    /// Live nodes do not know the writing key.
    #[error(
        "live nodes cannot read what is encrypted under the key {key}: {}; give it to each of them in \
         storage.previous_connector_encryption_keys, restart them and run this again", .nodes.join(", ")
    )]
    UnpreparedNodes {
        /// The id of the key.
        key: String,
        /// The ids of the nodes, with the reason if a node does not report its keys.
        nodes: Vec<String>,
    },
}

/// A database with the schema of this program.
pub(crate) struct PresentSchema {
    pub(crate) conn: Conn,
    /// The location, without the password.
    pub(crate) target: String,
}

/// Opens a database that has no pending migrations.
///
/// # Errors
/// [`ReencryptError::Open`] if it cannot be used, [`ReencryptError::OlderSchema`] if migrations are pending.
pub(crate) async fn open_present(
    config: &StoreConfig,
    purpose: Purpose,
) -> Result<PresentSchema, ReencryptError> {
    let connector = ConnectionManager::new(config)?;
    let target = connector.target.to_string();
    let migrations = migrate::pending_with(&connector).await?.migrations;
    if !migrations.is_empty() {
        return Err(ReencryptError::OlderSchema { target, migrations });
    }
    let conn = connector.open(purpose).await.map_err(|error| unreachable_error(&target, error))?;
    Ok(PresentSchema { conn, target })
}

pub(crate) fn unreachable_error(target: &str, error: StoreError) -> OpenError {
    OpenError::Unreachable { target: target.to_owned(), detail: detail(error) }
}

/// Lists the nodes that may read secrets now.
pub(crate) async fn list_live_nodes(
    conn: &mut Conn,
    config: &StoreConfig,
) -> Result<Vec<NodeRow>, StoreError> {
    // The lease of a process that was killed outlives it; the lock of its file does not.
    if conn.backend() == Backend::Sqlite && !FileLock::is_held(config).unwrap_or(true) {
        return Ok(Vec::new());
    }
    Ok(list_nodes(conn).await?.into_iter().filter(|node| node.status == NodeStatus::Live).collect())
}

/// A stored key by which a consumer signs.
#[derive(Queryable)]
pub(crate) struct StoredSigningKey {
    pub(crate) id: String,
    pub(crate) consumer: String,
    /// The encrypted text.
    pub(crate) secret: String,
}

/// Reads the keys by which consumers sign; those of other kinds are digests.
pub(crate) async fn load_signing_keys(conn: &mut Conn) -> Result<Vec<StoredSigningKey>, StoreError> {
    let rows = consumer_keys::table.filter(consumer_keys::kind.eq(ConsumerKeyKind::Hmac.name())).select((
        consumer_keys::id,
        consumer_keys::consumer,
        consumer_keys::secret,
    ));
    Ok(on!(conn, c => rows.load(c).await)?)
}

/// The stored secrets that sign the webhooks of an endpoint.
#[derive(Queryable)]
pub(crate) struct WebhookSecrets {
    pub(crate) id: String,
    /// The encrypted text.
    pub(crate) secrets: String,
}

/// Reads the secrets that sign webhooks.
pub(crate) async fn load_webhook_secrets(conn: &mut Conn) -> Result<Vec<WebhookSecrets>, StoreError> {
    let rows = webhook_endpoints::table.select((webhook_endpoints::id, webhook_endpoints::secrets_json));
    Ok(on!(conn, c => rows.load(c).await)?)
}
