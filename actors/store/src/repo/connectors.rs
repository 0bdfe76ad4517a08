//! Connectors: one row each, without versions.

use std::fmt;
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::id::new_entity_id;
use svc_model::{
    Connector, ConnectorContent, FieldError, Page, ServiceError, Timestamp, Workflow, WorkflowContent,
};

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::metrics::Operation;
use crate::repo::mutation::{Mutation, Written, mutate};
use crate::repo::versioned::{Merge, Versioned};
use crate::repo::{Filter, json, key, sorted, tagged};
use crate::schema::connectors;
use crate::store::Store;

/// The stored connectors.
#[derive(Clone)]
pub struct Connectors(pub(crate) Store);

/// Whether a workflow names a connector.
pub type ConnectorUser = Arc<dyn Fn(&WorkflowContent, &str) -> bool + Send + Sync>;

/// A connector as it is loaded.
#[derive(Clone)]
pub struct StoredConnector {
    /// Id.
    pub id: String,
    /// Unique name.
    pub name: String,
    /// Name of its type.
    pub connector_type: String,
    /// Its settings as stored, which need not be JSON. Holds secrets.
    pub config_text: String,
    /// Whether it is to be loaded.
    pub enabled: bool,
}

/// Without its settings, which hold secrets.
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
struct Row {
    id: String,
    name: String,
    connector_type: String,
    config_json: String,
    enabled: bool,
    tags_json: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

impl From<Row> for Connector {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            content: ConnectorContent {
                name: row.name,
                connector_type: row.connector_type,
                config: json::value(&row.config_json),
                enabled: row.enabled,
                tags: json::strings(&row.tags_json),
            },
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }
}

impl From<Row> for StoredConnector {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            connector_type: row.connector_type,
            config_text: row.config_json,
            enabled: row.enabled,
        }
    }
}

/// The columns an author fills.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = connectors)]
struct ContentRow {
    name: String,
    connector_type: String,
    config_json: String,
    enabled: bool,
    tags_json: String,
}

impl From<&ConnectorContent> for ContentRow {
    fn from(content: &ConnectorContent) -> Self {
        Self {
            name: content.name.clone(),
            connector_type: content.connector_type.clone(),
            config_json: json::text(&content.config),
            enabled: content.enabled,
            tags_json: json::list(&content.tags),
        }
    }
}

impl Connectors {
    /// The connectors that pass the filter: a page of them, and how many there are in all.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn list(&self, filter: Filter, page: Page) -> Result<(Vec<Connector>, i64), StoreError> {
        if filter.is_impossible() {
            return Ok((Vec::new(), 0));
        }
        self.0
            .read(Operation::new("connectors", "list"), move |conn| {
                Box::pin(async move { list(conn, &filter, page).await })
            })
            .await
    }

    /// The connector of that id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn get(&self, id: &str) -> Result<Option<Connector>, StoreError> {
        let id = key(id);
        self.0
            .read(Operation::new("connectors", "get"), move |conn| {
                Box::pin(async move { find(conn, &id).await })
            })
            .await
    }

    /// Every connector, by name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn all(&self) -> Result<Vec<Connector>, StoreError> {
        self.rows("all", None).await
    }

    /// Every connector, or the one of an id, as it is loaded; by name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn stored(&self, id: Option<&str>) -> Result<Vec<StoredConnector>, StoreError> {
        self.rows("stored", id.map(key)).await
    }

    async fn rows<T: From<Row> + Send + 'static>(
        &self,
        method: &'static str,
        id: Option<String>,
    ) -> Result<Vec<T>, StoreError> {
        self.0
            .read(Operation::new("connectors", method), |conn| {
                Box::pin(async move {
                    let rows = match id {
                        Some(id) => on!(conn, c => connectors::table.find(&id).load::<Row>(c).await)?,
                        None => {
                            let rows = connectors::table.order(connectors::name.asc());
                            on!(conn, c => rows.load::<Row>(c).await)?
                        }
                    };
                    Ok(rows.into_iter().map(T::from).collect())
                })
            })
            .await
    }

    /// Adds a connector. Without an id one is generated.
    ///
    /// # Errors
    /// 409 when the id or the name is taken.
    pub async fn create(
        &self,
        id: Option<String>,
        content: ConnectorContent,
        mutation: Mutation,
    ) -> Result<Connector, StoreError> {
        let id = id.unwrap_or_else(new_entity_id);
        mutate(&self.0, Operation::new("connectors", "create"), mutation, move |conn| {
            Box::pin(async move {
                if find(conn, &id).await?.is_some() {
                    return Err(ServiceError::conflict(format!("connector '{id}' exists already")).into());
                }
                name_is_free(conn, &id, &content.name).await?;
                let row = (connectors::id.eq(&id), ContentRow::from(&content));
                on!(conn, c => diesel::insert_into(connectors::table).values(row).execute(c).await)?;
                written(conn, &id).await
            })
        })
        .await
    }

    /// Changes a connector: `merge` makes the new content of the stored one.
    ///
    /// # Errors
    /// 404 when there is none, 400 with what `merge` found, 409 when the name is taken, or is to be given up while an active
    /// workflow names it.
    pub async fn update(
        &self,
        id: &str,
        merge: Merge<ConnectorContent>,
        uses: ConnectorUser,
        mutation: Mutation,
    ) -> Result<Connector, StoreError> {
        let id = key(id);
        mutate(&self.0, Operation::new("connectors", "update"), mutation, move |conn| {
            Box::pin(async move {
                let current = find(conn, &id).await?.ok_or_else(|| absent(&id))?.content;
                let content =
                    merge(&current).map_err(|errors: Vec<FieldError>| ServiceError::invalid(errors))?;
                if content.name != current.name {
                    name_is_free(conn, &id, &content.name).await?;
                    nobody_uses(conn, &current.name, &uses).await?;
                }
                let row = ContentRow::from(&content);
                let change = diesel::update(connectors::table.find(&id)).set(row);
                on!(conn, c => change.execute(c).await)?;
                written(conn, &id).await
            })
        })
        .await
    }

    /// Removes a connector.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn delete(&self, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        let id = key(id);
        mutate(&self.0, Operation::new("connectors", "delete"), mutation, move |conn| {
            Box::pin(async move {
                let gone = diesel::delete(connectors::table.find(&id));
                match on!(conn, c => gone.execute(c).await)? {
                    0 => Err(absent(&id)),
                    _ => Ok(Written::new((), &id)),
                }
            })
        })
        .await
    }
}

async fn find(conn: &mut Conn, id: &str) -> Result<Option<Connector>, StoreError> {
    let row = on!(conn, c => connectors::table.find(id).first::<Row>(c).await.optional())?;
    Ok(row.map(Connector::from))
}

async fn written(conn: &mut Conn, id: &str) -> Result<Written<Connector>, StoreError> {
    let row = find(conn, id).await?;
    row.map(|row| Written::new(row, id))
        .ok_or_else(|| StoreError::Database("a row just written is gone".into()))
}

async fn name_is_free(conn: &mut Conn, id: &str, name: &str) -> Result<(), StoreError> {
    let rival = connectors::table
        .filter(connectors::name.eq(name))
        .filter(connectors::id.ne(id))
        .select(connectors::id);
    match on!(conn, c => rival.first::<String>(c).await.optional())? {
        Some(_) => Err(ServiceError::conflict(format!("another connector is named '{name}'")).into()),
        None => Ok(()),
    }
}

async fn nobody_uses(conn: &mut Conn, name: &str, uses: &ConnectorUser) -> Result<(), StoreError> {
    let active = Workflow::active(conn, None).await?;
    let mut users: Vec<_> = active
        .into_iter()
        .filter(|workflow| uses(&workflow.content, name))
        .map(|workflow| workflow.workflow_id)
        .collect();
    users.dedup();
    if users.is_empty() {
        return Ok(());
    }
    let users = users.join(", ");
    let message = format!("connector '{name}' cannot be renamed, active workflows name it: {users}");
    Err(ServiceError::conflict(message).into())
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

async fn list(conn: &mut Conn, filter: &Filter, page: Page) -> Result<(Vec<Connector>, i64), StoreError> {
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
        let rows = query.load::<Row>(c).await?;
        let total = filtered!(Db, filter, backend).count().get_result::<i64>(c).await?;
        Ok((rows.into_iter().map(Connector::from).collect(), total))
    })
}
