//! Operations on connectors, which have no versions.

use std::sync::Arc;

use svc_model::id::new_entity_id;
use svc_model::{Connector, ConnectorContent, EntityKind, FieldError, ServiceError};
use svc_secrets::EnvelopeKeys;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::config_changes::CONNECTORS;
use crate::repo::definitions::rows::{self, DefinitionRow, ONLY_VERSION};
use crate::repo::definitions::{
    Definition, ImportAction, ImportOutcome, Merge, OnConflict, StoredConnector, name_taken, queries,
};
use crate::repo::mutation::{Mutation, MutationResult, mutate, mutate_each};
use crate::repo::references::References;
use crate::repo::repository::{Repository, absent, check_tag, id_taken, operation, read_written};
use crate::repo::{key, token_states};

/// A connector of an import: its id, if it has one, and its content.
type ConnectorItem = (Option<String>, ConnectorContent);

/// The stored connectors.
pub type ConnectorRepository = Repository<Connector>;

impl Repository<Connector> {
    /// Returns the connector with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn get(&self, id: &str) -> Result<Option<Connector>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation::<Connector>("get"), move |conn| {
                Box::pin(async move { queries::find(conn, &id, None, &keys).await })
            })
            .await
    }

    /// Returns every connector, sorted by name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn all(&self) -> Result<Vec<Connector>, StoreError> {
        self.rows("all", None, Connector::open).await
    }

    /// Returns every connector as loaded, or only the one with this id, sorted by name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list_stored(&self, id: Option<&str>) -> Result<Vec<StoredConnector>, StoreError> {
        self.rows("stored", id.map(key), StoredConnector::open).await
    }

    async fn rows<T: Send + 'static>(
        &self,
        method: &'static str,
        id: Option<String>,
        open: fn(DefinitionRow, &EnvelopeKeys) -> T,
    ) -> Result<Vec<T>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.database
            .read(operation::<Connector>(method), move |conn| {
                Box::pin(async move {
                    let rows = queries::rows_by_name(conn, EntityKind::Connector, id.as_deref()).await?;
                    Ok(rows.into_iter().map(|row| open(row, &keys)).collect())
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
        mutate(&self.database, operation::<Connector>("create"), mutation, move |conn| {
            Box::pin(async move {
                Connector::check_content(conn, &id, &content).await?;
                insert(conn, &id, &content, &keys).await?;
                read_written(conn, &id, None, &keys, None).await
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
        let (operation, items) = (operation::<Connector>("import"), (items, CONNECTORS));
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
        mutate(&self.database, operation::<Connector>("update"), mutation, move |conn| {
            Box::pin(async move {
                let stored = queries::find::<Connector>(conn, &id, None, &keys).await?;
                let stored = stored.ok_or_else(|| absent(EntityKind::Connector, &id))?;
                let content = merge(&stored.content)
                    .map_err(|errors: Vec<FieldError>| ServiceError::invalid(errors))?;
                check_tag(&stored, &id, &precondition)?;
                let before = Connector::content_hash(&stored.content);
                let is_renamed = content.name != stored.content.name;
                if is_renamed {
                    Connector::check_content(conn, &id, &content).await?;
                    refuse_rename(conn, &stored, &*references, &keys).await?;
                }
                rows::replace::<Connector>(conn, &id, ONLY_VERSION, &content, &keys).await?;
                if is_renamed {
                    token_states::rename(conn, &stored.content.name, &content.name).await?;
                }
                read_written(conn, &id, None, &keys, before).await
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
    let stored = queries::find_named::<Connector>(conn, &content.name, keys).await?;
    let facts = ChangeFacts::of_content(
        stored.as_ref().and_then(|stored| Connector::content_hash(&stored.content)),
        Connector::content_hash(&content),
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
                rows::replace::<Connector>(conn, &stored.id, ONLY_VERSION, &content, keys).await?;
                (stored.id, ImportAction::Updated)
            }
        },
    };
    let written = action.writes().then(|| id.clone());
    Ok(MutationResult { value: ImportOutcome { id, action }, id: written, facts })
}

/// Inserts a connector whose id must be free.
async fn insert(
    conn: &mut Conn,
    id: &str,
    content: &ConnectorContent,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    if queries::find::<Connector>(conn, id, None, keys).await?.is_some() {
        return Err(id_taken(EntityKind::Connector, id));
    }
    rows::insert::<Connector>(conn, id, ONLY_VERSION, content, keys).await
}

/// Refuses to rename a connector that active definitions name.
async fn refuse_rename(
    conn: &mut Conn,
    connector: &Connector,
    references: &dyn References,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    let users = Connector::users(conn, &connector.id, references, keys).await?;
    if users.is_empty() {
        return Ok(());
    }
    let (name, users) = (&connector.content.name, users.join(", "));
    let message = format!("connector '{name}' cannot be renamed, active definitions name it: {users}");
    Err(ServiceError::conflict(message).into())
}
