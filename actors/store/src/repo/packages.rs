//! Receipts of packages: the record by which an apply finds what an earlier one has done.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{NewReceipt, PackageInventory, PackageReceipt, Page, ReceiptState, ServiceError, Timestamp};

use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::schema::packages;

/// The receipts of packages.
#[derive(Clone)]
pub struct PackageReceipts(pub(crate) Database);

/// A row, in the order of the columns.
#[derive(Queryable)]
struct Row {
    name: String,
    version: String,
    content_hash: String,
    state: String,
    principal: String,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    inventory_json: Option<String>,
}

impl From<Row> for PackageReceipt {
    fn from(row: Row) -> Self {
        let inventory: Option<Option<PackageInventory>> =
            row.inventory_json.map(|text| serde_json::from_str(&text).ok());
        Self {
            name: row.name,
            version: row.version,
            content_hash: row.content_hash,
            // A foreign value promises nothing, as an apply that has not ended.
            state: ReceiptState::parse(&row.state).unwrap_or(ReceiptState::Staged),
            principal: row.principal,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
            inventory: inventory.flatten(),
        }
    }
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("packages", method)
}

impl PackageReceipts {
    /// Returns a page of the receipts, by name and newest first within a name, and the number of all.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn list(&self, page: Page) -> Result<(Vec<PackageReceipt>, i64), StoreError> {
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move {
                    let rows = packages::table
                        .order((
                            packages::name.asc(),
                            packages::updated_at.desc(),
                            packages::created_at.desc(),
                            packages::version.desc(),
                        ))
                        .limit(page.limit)
                        .offset(page.offset);
                    let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
                    let total = packages::table.count();
                    let total: i64 = on!(conn, c => total.get_result(c).await)?;
                    Ok((rows.into_iter().map(PackageReceipt::from).collect(), total))
                })
            })
            .await
    }

    /// Returns the receipts of all versions of a package, newest first; none for an unknown package.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn versions(&self, name: &str) -> Result<Vec<PackageReceipt>, StoreError> {
        let name = key(name);
        self.0
            .read(operation("versions"), move |conn| {
                Box::pin(async move {
                    let rows = packages::table.filter(packages::name.eq(name)).order((
                        packages::updated_at.desc(),
                        packages::created_at.desc(),
                        packages::version.desc(),
                    ));
                    let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
                    Ok(rows.into_iter().map(PackageReceipt::from).collect())
                })
            })
            .await
    }

    /// Stores a receipt in the place of the one of the same version, and returns it.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if the stored receipt must not be replaced by this one, or another request changed
    /// it meanwhile; the other variants if the database fails.
    pub async fn put(&self, receipt: NewReceipt, mutation: Mutation) -> Result<PackageReceipt, StoreError> {
        let (name, version) = (receipt.name.clone(), receipt.version.clone());
        let current_receipt = self
            .0
            .read(operation("find"), move |conn| Box::pin(async move { find(conn, &name, &version).await }))
            .await?;
        if let Some(current) = &current_receipt {
            pass_time_of(current).await;
        }
        let principal = mutation.audit.principal.clone();
        mutate(&self.0, operation("put"), mutation, move |conn| {
            Box::pin(async move {
                let stored = find(conn, &receipt.name, &receipt.version).await?;
                receipt.check_replacement(stored.as_ref())?;
                if stored != current_receipt {
                    return Err(overtaken_conflict(&receipt).into());
                }
                write(conn, &receipt, &principal).await?;
                let written = find(conn, &receipt.name, &receipt.version).await?;
                let written =
                    written.ok_or_else(|| StoreError::Database("a written receipt is missing".to_owned()))?;
                let id = format!("{}@{}", receipt.name, receipt.version);
                Ok(MutationResult::new(written, &id))
            })
        })
        .await
    }
}

/// Waits until the clock shows another millisecond than the last change of a receipt. Whoever wrote it sees by its time
/// that another request wrote it since, and SQLite stores milliseconds.
async fn pass_time_of(receipt: &PackageReceipt) {
    let milliseconds = |time: Timestamp| time.naive().and_utc().timestamp_millis();
    if milliseconds(Timestamp::now()) == milliseconds(receipt.updated_at) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn overtaken_conflict(receipt: &NewReceipt) -> ServiceError {
    ServiceError::conflict(format!(
        "another request changed the receipt of version '{}' of package '{}' at the same time",
        receipt.version, receipt.name
    ))
}

async fn find(conn: &mut Conn, name: &str, version: &str) -> Result<Option<PackageReceipt>, StoreError> {
    let row = packages::table.find((name, version));
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(PackageReceipt::from))
}

/// Writes the row. An inventory that the receipt omits stays as it is.
async fn write(conn: &mut Conn, receipt: &NewReceipt, principal: &str) -> Result<(), StoreError> {
    let inventory = receipt.inventory.as_ref().map(serde_json::to_string).transpose();
    let inventory = inventory.map_err(|error| StoreError::Database(error.to_string()))?;
    let content = (
        packages::content_hash.eq(&receipt.content_hash),
        packages::state.eq(receipt.state.name()),
        packages::principal.eq(principal),
        // `None` changes nothing.
        inventory.as_ref().map(|text| packages::inventory_json.eq(text)),
    );
    let key = (packages::name.eq(&receipt.name), packages::version.eq(&receipt.version));
    let upsert = diesel::insert_into(packages::table)
        .values((key, content))
        .on_conflict((packages::name, packages::version))
        .do_update()
        .set(content);
    on!(conn, c => upsert.execute(c).await)?;
    Ok(())
}
