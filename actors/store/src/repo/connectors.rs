//! Connectors.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{Connector, Page, Timestamp};

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::metrics::Operation;
use crate::repo::{Filter, json, key, sorted, tagged};
use crate::schema::connectors;
use crate::store::Store;

/// The stored connectors; for reading, until something makes them.
#[derive(Clone)]
pub struct Connectors(pub(crate) Store);

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
            name: row.name,
            connector_type: row.connector_type,
            config: json::value(&row.config_json),
            enabled: row.enabled,
            tags: json::strings(&row.tags_json),
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
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
                Box::pin(async move {
                    let row = on!(conn, c => connectors::table.find(&id).first::<Row>(c).await.optional())?;
                    Ok(row.map(Connector::from))
                })
            })
            .await
    }

    /// Every connector, by name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn all(&self) -> Result<Vec<Connector>, StoreError> {
        self.0
            .read(Operation::new("connectors", "all"), |conn| {
                Box::pin(async move {
                    let rows = connectors::table.order(connectors::name.asc());
                    let rows = on!(conn, c => rows.load::<Row>(c).await)?;
                    Ok(rows.into_iter().map(Connector::from).collect())
                })
            })
            .await
    }
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
