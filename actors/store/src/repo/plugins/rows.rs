//! The rows of plugins and of their components.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use svc_model::{LifecycleStatus, Timestamp};

use super::absent;
use crate::clock::Now;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::json;
use crate::repo::mutation::MutationResult;
use crate::schema::{plugin_components, plugins};

/// A version of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginVersion {
    /// The id of the plugin: the name in its manifest.
    pub id: String,
    /// The number of the version.
    pub version: i64,
    /// Its state.
    pub status: LifecycleStatus,
    pub manifest: Value,
    /// The digest of the component.
    pub digest: String,
    /// The line of the signature of the component.
    pub signature: Option<String>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
}

/// A draft to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPlugin {
    pub manifest: Value,
    /// The digest of the component.
    pub digest: String,
    /// The component in base64.
    pub component: String,
    /// The bytes of the component.
    pub bytes: i64,
    /// The line of its signature.
    pub signature: Option<String>,
}

impl PluginVersion {
    /// Returns true if the version has the manifest, the component and the signature of a draft.
    pub(super) fn holds(&self, new: &NewPlugin) -> bool {
        self.digest == new.digest && self.signature == new.signature && self.manifest == new.manifest
    }
}

/// A row, in the order of the columns.
#[derive(Queryable)]
pub(super) struct StoredPluginRow {
    id: String,
    version: i64,
    status: String,
    manifest: String,
    digest: String,
    signature: Option<String>,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

impl From<StoredPluginRow> for PluginVersion {
    fn from(row: StoredPluginRow) -> Self {
        Self {
            id: row.id,
            version: row.version,
            // A foreign value serves nothing.
            status: LifecycleStatus::parse(&row.status).unwrap_or(LifecycleStatus::Archived),
            manifest: json::value(&row.manifest),
            digest: row.digest,
            signature: row.signature,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }
}

pub(super) const DRAFT: &str = LifecycleStatus::Draft.name();
pub(super) const ACTIVE: &str = LifecycleStatus::Active.name();
pub(super) const ARCHIVED: &str = LifecycleStatus::Archived.name();

/// Returns the versions of a plugin, the latest first.
pub(super) async fn versions(conn: &mut Conn, id: &str) -> Result<Vec<PluginVersion>, StoreError> {
    let rows = plugins::table.filter(plugins::id.eq(id)).order(plugins::version.desc());
    let rows: Vec<StoredPluginRow> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().map(PluginVersion::from).collect())
}

/// Stores a draft in the place of that of the plugin, or behind its latest version.
pub(super) async fn replace_draft(
    conn: &mut Conn,
    latest: &PluginVersion,
    new: &NewPlugin,
) -> Result<(), StoreError> {
    let id = latest.id.as_str();
    let draft = plugins::table.filter(plugins::id.eq(id)).filter(plugins::status.eq(DRAFT));
    let replaced = on!(conn, c => diesel::delete(draft).execute(c).await)? > 0;
    let version = if replaced { latest.version } else { latest.version + 1 };
    insert(conn, (id, version), new).await?;
    delete_unused_components(conn).await
}

/// Returns the latest version of the plugin that was written.
pub(super) async fn read_written(
    conn: &mut Conn,
    id: &str,
) -> Result<MutationResult<PluginVersion>, StoreError> {
    let latest = versions(conn, id).await?.into_iter().next().ok_or_else(|| absent(id))?;
    Ok(MutationResult::new(latest, id))
}

/// Inserts a draft, and its component if that is not stored yet.
pub(super) async fn insert(
    conn: &mut Conn,
    (id, version): (&str, i64),
    new: &NewPlugin,
) -> Result<(), StoreError> {
    let component = (
        plugin_components::digest.eq(new.digest.as_str()),
        plugin_components::component.eq(new.component.as_str()),
        plugin_components::bytes.eq(new.bytes),
    );
    let component = diesel::insert_into(plugin_components::table).values(component).on_conflict_do_nothing();
    on!(conn, c => component.execute(c).await)?;
    let row = (
        plugins::id.eq(id),
        plugins::version.eq(version),
        plugins::status.eq(DRAFT),
        plugins::manifest.eq(json::text(&new.manifest)),
        plugins::digest.eq(new.digest.as_str()),
        plugins::signature.eq(new.signature.as_deref()),
    );
    on!(conn, c => diesel::insert_into(plugins::table).values(row).execute(c).await)?;
    Ok(())
}

/// Moves the versions of one status to another, and returns their number.
pub(super) async fn move_status(
    conn: &mut Conn,
    id: &str,
    (from, to): (&str, &str),
) -> Result<usize, StoreError> {
    let of_status = plugins::table.filter(plugins::id.eq(id)).filter(plugins::status.eq(from));
    let change = diesel::update(of_status).set((plugins::status.eq(to), plugins::updated_at.eq(Now)));
    Ok(on!(conn, c => change.execute(c).await)?)
}

/// Deletes the components that no version has.
pub(super) async fn delete_unused_components(conn: &mut Conn) -> Result<(), StoreError> {
    let digests = plugins::table.select(plugins::digest).distinct();
    let used: Vec<String> = on!(conn, c => digests.load(c).await)?;
    let unused = plugin_components::table.filter(plugin_components::digest.ne_all(used));
    on!(conn, c => diesel::delete(unused).execute(c).await)?;
    Ok(())
}
