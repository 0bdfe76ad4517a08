//! The leases of the processes that share a database.
//!
//! A process is registered under an id that no other process ever has, from its start to its end. Its lease
//! uses the clock of the database. An expired lease is never renewed, because the work of its node may belong
//! to another one by then.

mod figures;

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use svc_model::Timestamp;
use svc_secrets::EnvelopeKeys;

use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::json;
use crate::repo::traces::{LenientTimestamp, mark_emptied};
use crate::schema::nodes;
use crate::writer::UnitOutcome;

pub use figures::StoredFigures;

/// Time for which the row of a dead node is kept.
const KEPT_HOURS: u64 = 24;
/// Maximum number of nodes in a list.
const LISTED: i64 = 1000;

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("nodes", method)
}

/// The registered nodes.
#[derive(Clone)]
pub struct NodeLeases {
    pub(crate) database: Database,
    /// The encryption keys of this process.
    pub(crate) keys: Arc<EnvelopeKeys>,
}

/// A process to be registered.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Its id, which no other process ever has.
    pub id: Arc<str>,
    /// The previous id of this process, if it lost that lease.
    pub former: Option<Arc<str>>,
    /// Version of the program.
    pub version: &'static str,
    /// Length of the lease.
    pub lease: Duration,
    /// True if no other process can use the database, so every other registered node is dead.
    pub is_alone: bool,
}

/// The state of a node by the clock of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    /// Its lease is valid.
    Live,
    /// Its lease has expired.
    Expired,
    /// It released its lease.
    Stopped,
}

impl NodeStatus {
    /// Returns the name in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Expired => "expired",
            Self::Stopped => "stopped",
        }
    }
}

/// A registered node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeRow {
    pub id: String,
    /// Its state.
    pub status: NodeStatus,
    /// Version of its program.
    pub version: String,
    /// Its process id on its machine.
    pub pid: i64,
    /// Start of the process.
    pub started_at: Timestamp,
    /// Last renewal of its lease.
    pub renewed_at: Timestamp,
    /// End of its lease.
    pub lease_until: Timestamp,
    /// Instant at which it released its lease.
    pub stopped_at: Option<Timestamp>,
    /// The configuration epoch that it serves; `None` before it has reported.
    pub applied_epoch: Option<i64>,
    /// The ids of the encryption keys that it can read; `None` for a program that does not report them.
    pub encryption_key_ids: Option<Vec<String>>,
    /// The figures that it wrote last; `None` if it writes none.
    pub figures: Option<StoredFigures>,
}

impl NodeLeases {
    /// Registers a node with a lease. Idempotent.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn register(&self, node: NewNode) -> Result<(), StoreError> {
        let keys = Arc::clone(&self.keys);
        self.database
            .write(operation("register"), move |conn| {
                Box::pin(async move { register(conn, &node, &keys).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Renews a lease. Returns whether the lease was still valid. If the node is alone with its database,
    /// no other node can have taken over its work, and an expired lease is renewed as well.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn renew(&self, id: &Arc<str>, lease: Duration, is_alone: bool) -> Result<bool, StoreError> {
        let id = Arc::clone(id);
        self.database
            .write(operation("renew"), move |conn| {
                Box::pin(async move { renew(conn, &id, lease, is_alone).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Records the configuration epoch that a node serves.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn record_applied_epoch(&self, id: &Arc<str>, epoch: i64) -> Result<(), StoreError> {
        let id = Arc::clone(id);
        self.database
            .write(operation("record_applied_epoch"), move |conn| {
                Box::pin(async move {
                    let applied = nodes::applied_epoch.eq(Some(epoch));
                    on!(conn, c => diesel::update(nodes::table.find(&*id)).set(applied).execute(c).await)?;
                    Ok(UnitOutcome::Keep(()))
                })
            })
            .await
    }

    /// Releases a lease: other nodes may take over the work of this node at once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn release(&self, id: &Arc<str>) -> Result<(), StoreError> {
        let id = Arc::clone(id);
        self.database
            .write(operation("release"), move |conn| {
                Box::pin(async move { release(conn, &id).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Returns whether nodes without a lease may have left unfinished runs.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn has_orphans(&self) -> Result<bool, StoreError> {
        self.database.read(operation("has_orphans"), |conn| Box::pin(has_orphans(conn))).await
    }

    /// Marks the nodes without a lease that have left no unfinished run.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn mark_emptied(&self) -> Result<(), StoreError> {
        self.database
            .write(operation("mark_emptied"), |conn| {
                Box::pin(async move { mark_emptied(conn).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Writes the figures of a node, JSON, in the place of those before.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn record_figures(&self, id: &Arc<str>, json: String) -> Result<(), StoreError> {
        let id = Arc::clone(id);
        self.database
            .write(operation("record_figures"), move |conn| {
                Box::pin(async move { figures::record(conn, &id, &json).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Deletes the figures of nodes that are no longer on record.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn delete_orphaned_figures(&self) -> Result<(), StoreError> {
        self.database
            .write(operation("delete_orphaned_figures"), |conn| {
                Box::pin(async move { figures::delete_orphans(conn).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Returns the registered nodes, the youngest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn list(&self) -> Result<Vec<NodeRow>, StoreError> {
        self.database.read(operation("list"), |conn| Box::pin(list_with_figures(conn))).await
    }

    /// Returns the live nodes that report their keys and cannot read what this process encrypts.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn without_key(&self) -> Result<Vec<NodeRow>, StoreError> {
        let Some(key) = self.keys.current_id() else { return Ok(Vec::new()) };
        let mut nodes = self.list().await?;
        nodes.retain(|node| node.status == NodeStatus::Live && node.knows_key(key) == Some(false));
        Ok(nodes)
    }
}

impl NodeRow {
    /// Returns `true` if the node can read what is encrypted under the key of this id; `None` if it does not report its
    /// keys.
    pub fn knows_key(&self, id: &str) -> Option<bool> {
        self.encryption_key_ids.as_ref().map(|ids| ids.iter().any(|known| known == id))
    }
}

async fn register(conn: &mut Conn, node: &NewNode, keys: &EnvelopeKeys) -> Result<(), StoreError> {
    let now = clock::now(conn).await?;
    let long_ago = clock::hours_ago(conn, KEPT_HOURS).await?;
    let lease_until = FromNow::seconds(node.lease.as_secs_f64());
    let row = (
        nodes::id.eq(&*node.id),
        nodes::version.eq(node.version),
        nodes::pid.eq(i64::from(std::process::id())),
        nodes::lease_until.eq(lease_until.clone()),
        nodes::encryption_key_ids.eq(json::list(&keys.ids().collect::<Vec<_>>())),
    );
    on!(conn, c => {
        diesel::insert_into(nodes::table)
            .values(row)
            .on_conflict(nodes::id)
            .do_update()
            .set((nodes::lease_until.eq(lease_until), nodes::renewed_at.eq(Now)))
            .execute(c)
            .await
    })?;
    if let Some(former) = &node.former {
        // Its work was dropped, so a lease that is still valid is released.
        let live = nodes::table.find(&**former).filter(nodes::lease_until.ge(now));
        let ended = (nodes::lease_until.eq(FromNow::seconds(-0.001)), nodes::stopped_at.eq(Now.nullable()));
        on!(conn, c => diesel::update(live).set(ended).execute(c).await)?;
        // A row may have been written under the old id since the last scan.
        let again = nodes::emptied_at.eq(None::<chrono::NaiveDateTime>);
        on!(conn, c => diesel::update(nodes::table.find(&**former)).set(again).execute(c).await)?;
    }
    if node.is_alone {
        let others = nodes::table.filter(nodes::id.ne(&*node.id)).filter(nodes::lease_until.ge(now));
        // Just before now, so that the other nodes already count as expired.
        let ended = nodes::lease_until.eq(FromNow::seconds(-0.001));
        on!(conn, c => diesel::update(others).set(ended).execute(c).await)?;
    }
    let old = nodes::table.filter(nodes::lease_until.lt(long_ago)).filter(nodes::emptied_at.is_not_null());
    on!(conn, c => diesel::delete(old).execute(c).await)?;
    Ok(())
}

async fn renew(conn: &mut Conn, id: &str, lease: Duration, is_alone: bool) -> Result<bool, StoreError> {
    let renewed = (nodes::lease_until.eq(FromNow::seconds(lease.as_secs_f64())), nodes::renewed_at.eq(Now));
    let mine = nodes::table.find(id).filter(nodes::stopped_at.is_null());
    let rows = if is_alone {
        on!(conn, c => diesel::update(mine).set(renewed).execute(c).await)?
    } else {
        let live_lease = mine.filter(nodes::lease_until.ge(Now));
        on!(conn, c => diesel::update(live_lease).set(renewed).execute(c).await)?
    };
    Ok(rows > 0)
}

async fn release(conn: &mut Conn, id: &str) -> Result<(), StoreError> {
    let ended = (nodes::lease_until.eq(FromNow::seconds(-0.001)), nodes::stopped_at.eq(Now.nullable()));
    let mine = nodes::table.find(id).filter(nodes::stopped_at.is_null());
    on!(conn, c => diesel::update(mine).set(ended).execute(c).await)?;
    Ok(())
}

async fn has_orphans(conn: &mut Conn) -> Result<bool, StoreError> {
    let now = clock::now(conn).await?;
    let dead = nodes::table.filter(nodes::lease_until.lt(now)).filter(nodes::emptied_at.is_null());
    Ok(on!(conn, c => diesel::select(diesel::dsl::exists(dead)).get_result(c).await)?)
}

type Columns = (
    String,
    String,
    i64,
    LenientTimestamp,
    LenientTimestamp,
    LenientTimestamp,
    Option<LenientTimestamp>,
    Option<i64>,
    Option<String>,
);

/// Lists the registered nodes with their figures, the youngest first.
async fn list_with_figures(conn: &mut Conn) -> Result<Vec<NodeRow>, StoreError> {
    let mut rows = list(conn).await?;
    let mut figures = figures::all(conn).await?;
    for row in &mut rows {
        row.figures = figures.remove(&row.id);
    }
    Ok(rows)
}

/// Lists the registered nodes without their figures, which a database of a build before 0.1.0 lacks, the youngest first.
pub(crate) async fn list(conn: &mut Conn) -> Result<Vec<NodeRow>, StoreError> {
    let now = Timestamp::from_naive(clock::now(conn).await?);
    let rows: Vec<Columns> = on!(conn, c => {
        nodes::table
            .select((
                nodes::id,
                nodes::version,
                nodes::pid,
                nodes::started_at,
                nodes::renewed_at,
                nodes::lease_until,
                nodes::stopped_at,
                nodes::applied_epoch,
                nodes::encryption_key_ids,
            ))
            .order((nodes::started_at.desc(), nodes::id.desc()))
            .limit(LISTED)
            .load(c)
            .await
    })?;
    let row = |columns: Columns| {
        let (id, version, pid, started_at, renewed_at, lease_until, stopped_at, applied_epoch, key_ids) =
            columns;
        let stopped_at = stopped_at.and_then(LenientTimestamp::into_timestamp);
        let lease_until = lease_until.into_timestamp()?;
        let status = match stopped_at {
            Some(_) => NodeStatus::Stopped,
            None if lease_until < now => NodeStatus::Expired,
            None => NodeStatus::Live,
        };
        let (started_at, renewed_at) = (started_at.into_timestamp()?, renewed_at.into_timestamp()?);
        Some(NodeRow {
            figures: None,
            id,
            status,
            version,
            pid,
            started_at,
            renewed_at,
            lease_until,
            stopped_at,
            applied_epoch,
            encryption_key_ids: key_ids.as_deref().map(json::strings),
        })
    };
    Ok(rows.into_iter().filter_map(row).collect())
}
