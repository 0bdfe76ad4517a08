//! The rows of definitions, and the statements that write them.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::lifecycle::VersionState;
use svc_model::{EntityKind, LifecycleStatus};
use svc_secrets::{EnvelopeKeys, EnvelopePlace};

use super::Definition;
use crate::conn::{Conn, on};
use crate::connections::prepared::Prepared;
use crate::error::StoreError;
use crate::repo::mutation;
use crate::schema::definitions;

/// The version of a definition of a kind without versions.
pub(crate) const ONLY_VERSION: i64 = 1;

/// A row, in the order of the columns.
#[derive(Queryable, Insertable)]
#[diesel(table_name = definitions, treat_none_as_default_value = false)]
pub struct DefinitionRow {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) status: Option<String>,
    pub(crate) name: String,
    pub(crate) rollout: i64,
    pub(crate) content: String,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
    pub(crate) is_latest: bool,
    pub(crate) priority: i64,
    pub(crate) type_: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) route_shape: Option<String>,
    pub(crate) workflow_id: Option<String>,
    pub(crate) tags: String,
}

impl DefinitionRow {
    /// Returns the status. An unknown one reads as archived, so that the version does not serve.
    pub(super) fn lifecycle_status(&self) -> LifecycleStatus {
        parse_status(self.status.as_deref())
    }
}

/// Parses a stored status.
pub(super) fn parse_status(name: Option<&str>) -> LifecycleStatus {
    name.and_then(LifecycleStatus::parse).unwrap_or(LifecycleStatus::Archived)
}

/// The key of a row, to which the secrets in its content are bound.
#[derive(Clone, Copy, Debug)]
pub struct DefinitionKey<'k> {
    pub(crate) kind: EntityKind,
    pub(crate) id: &'k str,
    pub(crate) version: i64,
}

impl DefinitionKey<'_> {
    /// Returns the row of the place of a secret, which the pointer leads to in the content.
    pub(crate) fn secret_row(self, pointer: &str) -> String {
        format!("{}:{}:{}{pointer}", self.kind.name(), self.id, self.version)
    }
}

/// Returns the place of a secret, by its row.
pub(crate) const fn secret_place(row: &str) -> EnvelopePlace<'_> {
    EnvelopePlace { table: "definitions", row, column: "content" }
}

/// The columns that the author sets: the document, and its members that lists and checks read.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = definitions, treat_none_as_null = true, treat_none_as_default_value = false)]
pub struct ContentColumns {
    pub(super) name: String,
    pub(super) content: String,
    pub(super) priority: i64,
    pub(super) type_: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) route_shape: Option<String>,
    pub(super) workflow_id: Option<String>,
    pub(super) tags: String,
}

/// Inserts a version: a draft, or the only version of a kind without versions.
pub(in crate::repo) async fn insert<D: Definition>(
    conn: &mut Conn,
    id: &str,
    version: i64,
    content: &D::Content,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let columns = D::seal(content, DefinitionKey { kind: D::KIND, id, version }, keys, None)?;
    let key = (
        definitions::kind.eq(D::KIND.name()),
        definitions::id.eq(id),
        definitions::version.eq(version),
        definitions::status.eq(D::FIRST_STATUS.map(LifecycleStatus::name)),
    );
    let insert = diesel::insert_into(definitions::table).values((key, columns));
    on!(conn, c => insert.execute(c).await)?;
    Ok(())
}

/// Replaces the content of a version. What is not readable of it stays as it is stored.
pub(in crate::repo) async fn replace<D: Definition>(
    conn: &mut Conn,
    id: &str,
    version: i64,
    content: &D::Content,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let row = || definitions::table.find((D::KIND.name(), id, version));
    let stored = match D::is_readable(content) {
        true => None,
        false => {
            let stored = row().select(definitions::content);
            on!(conn, c => stored.first::<String>(c).await.optional())?
        }
    };
    let columns = D::seal(content, DefinitionKey { kind: D::KIND, id, version }, keys, stored.as_deref())?;
    let update = diesel::update(row()).set(columns);
    on!(conn, c => Prepared(update).execute(c).await)?;
    Ok(())
}

/// Writes the status and the rollout of a version.
pub(in crate::repo) async fn set_state(
    conn: &mut Conn,
    kind: EntityKind,
    id: &str,
    state: VersionState,
) -> Result<(), StoreError> {
    let row = definitions::table.find((kind.name(), id, state.version));
    let update = diesel::update(row).set((
        definitions::status.eq(state.status.name()),
        definitions::rollout.eq(state.rollout_percentage),
    ));
    on!(conn, c => Prepared(update).execute(c).await)?;
    Ok(())
}

/// Deletes every version, and returns their number.
pub(in crate::repo) async fn delete(
    conn: &mut Conn,
    kind: EntityKind,
    id: &str,
) -> Result<usize, StoreError> {
    let all = definitions::table.filter(definitions::kind.eq(kind.name())).filter(definitions::id.eq(id));
    Ok(on!(conn, c => diesel::delete(all).execute(c).await)?)
}

/// The stored content of a version.
pub(crate) struct StoredContent {
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) name: String,
    pub(crate) content: String,
}

/// Returns the stored content of every version of a kind.
pub(crate) async fn stored_contents(
    conn: &mut Conn,
    kind: EntityKind,
) -> Result<Vec<StoredContent>, StoreError> {
    let rows = definitions::table.filter(definitions::kind.eq(kind.name())).select((
        definitions::id,
        definitions::version,
        definitions::name,
        definitions::content,
    ));
    let rows: Vec<(String, i64, String, String)> = on!(conn, c => rows.load(c).await)?;
    let stored = |(id, version, name, content)| StoredContent { id, version, name, content };
    Ok(rows.into_iter().map(stored).collect())
}

/// Replaces the stored content of a version if its text is still `kept`, and returns whether it was. The row is written
/// anew with its times: the database refuses an update of an active version, and a rollback goes by the last one.
pub(crate) async fn replace_stored_content(
    conn: &mut Conn,
    key: DefinitionKey<'_>,
    kept: &str,
    content: &str,
) -> Result<bool, StoreError> {
    mutation::lock(conn).await?;
    let row = || definitions::table.find((key.kind.name(), key.id, key.version));
    let unchanged = row().filter(definitions::content.eq(kept));
    let Some(stored) = on!(conn, c => unchanged.first::<DefinitionRow>(c).await.optional())? else {
        return Ok(false);
    };
    on!(conn, c => diesel::delete(row()).execute(c).await)?;
    insert_row(conn, DefinitionRow { content: content.to_owned(), ..stored }).await?;
    Ok(true)
}

/// Inserts a row with its status and its times.
pub(crate) async fn insert_row(conn: &mut Conn, row: DefinitionRow) -> Result<(), StoreError> {
    let insert = diesel::insert_into(definitions::table).values(row);
    on!(conn, c => insert.execute(c).await)?;
    Ok(())
}
