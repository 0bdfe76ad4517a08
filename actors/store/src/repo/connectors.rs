//! Connectors: one row each, without versions. Their settings are encrypted if a key is configured.

use std::sync::Arc;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::id::new_entity_id;
use svc_model::{
    Connector, ConnectorContent, EntityKind, FieldError, Page, Precondition, ServiceError, is_unreadable,
};
use svc_secrets::EnvelopeKeys;

use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::config_changes::CONNECTORS;
use crate::repo::connector_rows::{ConnectorContentRow, ConnectorRow, FromEncryptedRow, StoredConnector};
use crate::repo::mutation::{Mutation, MutationResult, mutate, mutate_each};
use crate::repo::references::{References, refuse_deletion};
use crate::repo::usage::{channels_naming, workflows_naming};
use crate::repo::versioned::{ImportAction, ImportOutcome, Merge, OnConflict};
use crate::repo::{EntityFilter, key, sorted, tagged, token_states};
use crate::schema::connectors;

/// A connector of an import: its id, if it has one, and its content.
type ConnectorItem = (Option<String>, ConnectorContent);

/// The stored connectors.
#[derive(Clone)]
pub struct ConnectorRepository {
    pub(crate) database: Database,
    pub(crate) keys: Arc<EnvelopeKeys>,
}

impl ConnectorRepository {
    /// Returns a page of the connectors that match the filter, and the number of all matches.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, filter: EntityFilter, page: Page) -> Result<(Vec<Connector>, i64), StoreError> {
        if filter.is_impossible() {
            return Ok((Vec::new(), 0));
        }
        let keys = Arc::clone(&self.keys);
        self.database
            .read(QueryOperation::new("connectors", "list"), move |conn| {
                Box::pin(async move { list(conn, &filter, page, &keys).await })
            })
            .await
    }

    /// Returns the connector with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, id: &str) -> Result<Option<Connector>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(QueryOperation::new("connectors", "get"), move |conn| {
                Box::pin(async move { find(conn, &id, &keys).await })
            })
            .await
    }

    /// Returns every connector, sorted by name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn all(&self) -> Result<Vec<Connector>, StoreError> {
        self.rows("all", None).await
    }

    /// Returns every connector as loaded, or only the one with this id, sorted by name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list_stored(&self, id: Option<&str>) -> Result<Vec<StoredConnector>, StoreError> {
        self.rows("stored", id.map(key)).await
    }

    async fn rows<T: FromEncryptedRow>(
        &self,
        method: &'static str,
        id: Option<String>,
    ) -> Result<Vec<T>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.database
            .read(QueryOperation::new("connectors", method), |conn| {
                Box::pin(async move {
                    let rows = match id {
                        Some(id) => {
                            on!(conn, c => connectors::table.find(&id).load::<ConnectorRow>(c).await)?
                        }
                        None => load_all(conn).await?,
                    };
                    Ok(rows.into_iter().map(|row| T::open(row, &keys)).collect())
                })
            })
            .await
    }

    /// Creates a connector. Generates an id if none is given.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if the id or the name is taken; the other variants if the database fails.
    pub async fn create(
        &self,
        id: Option<String>,
        content: ConnectorContent,
        mutation: Mutation,
    ) -> Result<Connector, StoreError> {
        let (id, keys) = (id.unwrap_or_else(new_entity_id), Arc::clone(&self.keys));
        mutate(&self.database, QueryOperation::new("connectors", "create"), mutation, move |conn| {
            Box::pin(async move {
                name_is_free(conn, &id, &content.name).await?;
                insert(conn, &id, &content, &keys).await?;
                read_written(conn, &id, &keys, None).await
            })
        })
        .await
    }

    /// Imports connectors, whose keys are their names, in one transaction. If a connector with a name exists,
    /// `on_conflict` decides. Each is stored or refused on its own; the epoch rises once.
    ///
    /// # Errors
    /// The database fails, and nothing was stored. Within the results [`StoreError::Refused`]: 409 if the name is taken
    /// and the import is to fail, or if the id belongs to another connector; [`StoreError::Database`] for what it
    /// cannot hold.
    pub async fn import(
        &self,
        items: Vec<ConnectorItem>,
        on_conflict: OnConflict,
        mutation: Mutation,
    ) -> Result<Vec<Result<ImportOutcome, StoreError>>, StoreError> {
        let keys = Arc::clone(&self.keys);
        let (operation, items) = (QueryOperation::new("connectors", "import"), (items, CONNECTORS));
        mutate_each(&self.database, operation, mutation, items, move |conn, item| {
            let keys = Arc::clone(&keys);
            Box::pin(async move { import_one(conn, item, on_conflict, &keys).await })
        })
        .await
    }

    /// Updates a connector: `merge` makes the new content from the stored one.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 400 with the problems that `merge` found, 412 if the precondition
    /// does not hold, 409 if the new name is taken or an active definition refers to the old name; the other variants if
    /// the database fails.
    pub async fn update(
        &self,
        id: &str,
        merge: Merge<ConnectorContent>,
        references: Arc<dyn References>,
        mutation: Mutation,
    ) -> Result<Connector, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        let precondition = mutation.precondition.clone();
        mutate(&self.database, QueryOperation::new("connectors", "update"), mutation, move |conn| {
            Box::pin(async move {
                let stored = find(conn, &id, &keys).await?.ok_or_else(|| absent(&id))?;
                let content = merge(&stored.content)
                    .map_err(|errors: Vec<FieldError>| ServiceError::invalid(errors))?;
                check_tag(&stored, &id, &precondition)?;
                let (before, current) = (readable_hash(&stored.content), stored.content);
                if content.name != current.name {
                    name_is_free(conn, &id, &content.name).await?;
                    may_be_renamed(conn, &current.name, &*references, &keys).await?;
                }
                replace(conn, &id, &content, &keys).await?;
                if content.name != current.name {
                    token_states::rename(conn, &current.name, &content.name).await?;
                }
                read_written(conn, &id, &keys, before).await
            })
        })
        .await
    }

    /// Deletes a connector and its tokens.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 412 if the precondition does not hold; the other variants if
    /// the database fails.
    pub async fn delete(&self, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        self.remove(id, None, mutation).await
    }

    /// Deletes a connector that no active definition refers to.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 naming the definitions that refer to it; otherwise the errors of
    /// [`delete`](Self::delete).
    pub async fn delete_unused(
        &self,
        id: &str,
        references: Arc<dyn References>,
        mutation: Mutation,
    ) -> Result<(), StoreError> {
        self.remove(id, Some(references), mutation).await
    }

    async fn remove(
        &self,
        id: &str,
        references: Option<Arc<dyn References>>,
        mutation: Mutation,
    ) -> Result<(), StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        let precondition = mutation.precondition.clone();
        mutate(&self.database, QueryOperation::new("connectors", "delete"), mutation, move |conn| {
            Box::pin(async move {
                let content = find_checked(conn, &id, &keys, &precondition).await?.content;
                let (facts, name) = (ChangeFacts::of_content(readable_hash(&content), None), content.name);
                if let Some(references) = references {
                    refuse_deletion(
                        EntityKind::Connector,
                        &id,
                        &users(conn, &name, &*references, &keys).await?,
                    )?;
                }
                on!(conn, c => diesel::delete(connectors::table.find(&id)).execute(c).await)?;
                token_states::forget(conn, &name).await?;
                Ok(MutationResult::new((), &id).with_facts(facts))
            })
        })
        .await
    }
}

/// Stores a connector of an import.
async fn import_one(
    conn: &mut Conn,
    (id, content): ConnectorItem,
    on_conflict: OnConflict,
    keys: &EnvelopeKeys,
) -> Result<MutationResult<ImportOutcome>, StoreError> {
    let named = connectors::table.filter(connectors::name.eq(&content.name));
    let stored = on!(conn, c => named.first::<ConnectorRow>(c).await.optional())?;
    let stored = stored.map(|row| Connector::open(row, keys));
    let facts = ChangeFacts::of_content(
        stored.as_ref().and_then(|stored| readable_hash(&stored.content)),
        readable_hash(&content),
    );
    let (id, action) = match stored {
        None => {
            let id = id.unwrap_or_else(new_entity_id);
            insert(conn, &id, &content, keys).await?;
            (id, ImportAction::Created)
        }
        Some(stored) => match on_conflict {
            OnConflict::Fail => return Err(name_taken(&content.name)),
            OnConflict::Skip => (stored.id, ImportAction::Skipped),
            OnConflict::NewVersion if stored.content == content => (stored.id, ImportAction::Unchanged),
            OnConflict::NewVersion => {
                replace(conn, &stored.id, &content, keys).await?;
                (stored.id, ImportAction::Updated)
            }
        },
    };
    let written = action.writes().then(|| id.clone());
    Ok(MutationResult { value: ImportOutcome { id, action }, id: written, facts })
}

/// Returns the connector with this id if it satisfies the precondition of the change.
async fn find_checked(
    conn: &mut Conn,
    id: &str,
    keys: &EnvelopeKeys,
    precondition: &Precondition,
) -> Result<Connector, StoreError> {
    let connector = find(conn, id, keys).await?.ok_or_else(|| absent(id))?;
    check_tag(&connector, id, precondition)?;
    Ok(connector)
}

/// Checks the precondition of a change. Without one, no tag is computed.
fn check_tag(connector: &Connector, id: &str, precondition: &Precondition) -> Result<(), StoreError> {
    if precondition.is_none() {
        return Ok(());
    }
    Ok(precondition.check(EntityKind::Connector, id, &connector.entity_tag())?)
}

async fn find(conn: &mut Conn, id: &str, keys: &EnvelopeKeys) -> Result<Option<Connector>, StoreError> {
    let row = on!(conn, c => connectors::table.find(id).first::<ConnectorRow>(c).await.optional())?;
    Ok(row.map(|row| Connector::open(row, keys)))
}

async fn insert(
    conn: &mut Conn,
    id: &str,
    content: &ConnectorContent,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    if find(conn, id, keys).await?.is_some() {
        return Err(ServiceError::conflict(format!("connector '{id}' exists already")).into());
    }
    let row = (connectors::id.eq(id), ConnectorContentRow::from_content(id, content, keys)?);
    on!(conn, c => diesel::insert_into(connectors::table).values(row).execute(c).await)?;
    Ok(())
}

async fn replace(
    conn: &mut Conn,
    id: &str,
    content: &ConnectorContent,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let change =
        diesel::update(connectors::table.find(id)).set(ConnectorContentRow::from_content(id, content, keys)?);
    on!(conn, c => change.execute(c).await)?;
    Ok(())
}

/// Reads the row back as the database now has it. `before` is the content hash that it follows.
async fn read_written(
    conn: &mut Conn,
    id: &str,
    keys: &EnvelopeKeys,
    before: Option<String>,
) -> Result<MutationResult<Connector>, StoreError> {
    let row = find(conn, id, keys).await?;
    let row = row.ok_or_else(|| StoreError::Database("a row just written is gone".into()))?;
    let facts = ChangeFacts::of_content(before, readable_hash(&row.content));
    Ok(MutationResult::new(row, id).with_facts(facts))
}

/// Returns the content hash; `None` for a config that cannot be decrypted.
fn readable_hash(content: &ConnectorContent) -> Option<String> {
    (!is_unreadable(&content.config)).then(|| content.content_hash())
}

async fn name_is_free(conn: &mut Conn, id: &str, name: &str) -> Result<(), StoreError> {
    let rival = connectors::table
        .filter(connectors::name.eq(name))
        .filter(connectors::id.ne(id))
        .select(connectors::id);
    match on!(conn, c => rival.first::<String>(c).await.optional())? {
        Some(_) => Err(name_taken(name)),
        None => Ok(()),
    }
}

/// Lists the active definitions that refer to a connector.
async fn users(
    conn: &mut Conn,
    name: &str,
    references: &dyn References,
    keys: &EnvelopeKeys,
) -> Result<Vec<String>, StoreError> {
    let names = [name.to_owned()];
    let mut users = workflows_naming(conn, references, EntityKind::Connector, &names, keys).await?;
    users.extend(channels_naming(conn, references, EntityKind::Connector, &names, keys).await?);
    Ok(users)
}

async fn may_be_renamed(
    conn: &mut Conn,
    name: &str,
    references: &dyn References,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let users = users(conn, name, references, keys).await?;
    if users.is_empty() {
        return Ok(());
    }
    let users = users.join(", ");
    let message = format!("connector '{name}' cannot be renamed, active definitions name it: {users}");
    Err(ServiceError::conflict(message).into())
}

fn name_taken(name: &str) -> StoreError {
    ServiceError::conflict(format!("another connector is named '{name}'")).into()
}

fn absent(id: &str) -> StoreError {
    ServiceError::not_found(format!("connector '{id}' does not exist")).into()
}

macro_rules! filtered {
    ($db:ident, $filter:expr, $backend:expr) => {{
        let mut query = connectors::table.into_boxed::<$db>();
        if let Some(tag) = &$filter.tag {
            query = tagged!(query, $backend, tag);
        }
        query
    }};
}

async fn load_all(conn: &mut Conn) -> Result<Vec<ConnectorRow>, StoreError> {
    let rows = connectors::table.order(connectors::name.asc());
    Ok(on!(conn, c => rows.load::<ConnectorRow>(c).await)?)
}

/// Returns every connector, sorted by name.
pub(crate) async fn all_connectors(
    conn: &mut Conn,
    keys: &EnvelopeKeys,
) -> Result<Vec<Connector>, StoreError> {
    Ok(load_all(conn).await?.into_iter().map(|row| Connector::open(row, keys)).collect())
}

async fn list(
    conn: &mut Conn,
    filter: &EntityFilter,
    page: Page,
    keys: &EnvelopeKeys,
) -> Result<(Vec<Connector>, i64), StoreError> {
    use connectors::dsl;
    let backend = conn.backend();
    let descending = filter.descending(false);
    on!(conn, c: Db => {
        let query = filtered!(Db, filter, backend);
        let query = match filter.sort_by.as_deref() {
            Some("connector_type") => sorted!(query, dsl::connector_type, descending),
            Some("created_at") => sorted!(query, dsl::created_at, descending),
            Some("updated_at") => sorted!(query, dsl::updated_at, descending),
            _ => sorted!(query, dsl::name, descending),
        };
        let query = query.then_order_by(dsl::id.asc()).limit(page.limit).offset(page.offset);
        let rows = query.load::<ConnectorRow>(c).await?;
        let total = filtered!(Db, filter, backend).count().get_result::<i64>(c).await?;
        Ok((rows.into_iter().map(|row| Connector::open(row, keys)).collect(), total))
    })
}
