//! The leases of the processes that share a database.
//!
//! A process is on record under an id that no other process ever has, from its start to its end. Its lease runs by the
//! clock of the database; one that has run out is never renewed, because what the node had accepted may be another's.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use svc_model::Timestamp;

use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::traces::{LenientTimestamp, mark_emptied};
use crate::schema::nodes;
use crate::store::Store;
use crate::writer::UnitOutcome;

/// Hours that the row of a dead node is kept.
const KEPT_HOURS: u64 = 24;
/// Nodes listed at most.
const LISTED: i64 = 1000;

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("nodes", method)
}

/// The nodes on record.
#[derive(Clone)]
pub struct NodeLeases(pub(crate) Store);

/// A process that is to be put on record.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Its id, which no other process ever has.
    pub id: Arc<str>,
    /// The id this process had before, when it lost the lease of that one.
    pub former: Option<Arc<str>>,
    /// Version of the program.
    pub version: &'static str,
    /// Length of its lease.
    pub lease: Duration,
    /// True if no other process can use the database, so that every other node on record is dead.
    pub is_alone: bool,
}

/// The status of a node by the clock of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    /// It has a lease.
    Live,
    /// Its lease ran out.
    Expired,
    /// It ended in good order.
    Stopped,
}

/// A node on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeRow {
    /// Its id.
    pub id: String,
    /// Status by the database's clock.
    pub status: NodeStatus,
    /// Version of its program.
    pub version: String,
    /// Its process id, where it runs.
    pub pid: i64,
    /// Start of the process.
    pub started_at: Timestamp,
    /// Time of the latest renewal.
    pub renewed_at: Timestamp,
    /// End of its lease.
    pub lease_until: Timestamp,
    /// Time of its orderly stop.
    pub stopped_at: Option<Timestamp>,
}

impl NodeLeases {
    /// Puts a node on record, with a lease. Asked twice it is done once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn register(&self, node: NewNode) -> Result<(), StoreError> {
        self.0
            .write(operation("register"), move |conn| {
                Box::pin(async move { register(conn, &node).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Renews a lease; answers whether it had not run out. Where the node is alone with its database, nobody can have
    /// taken anything from it, and one that ran out is renewed too.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn renew(&self, id: &Arc<str>, lease: Duration, is_alone: bool) -> Result<bool, StoreError> {
        let id = Arc::clone(id);
        self.0
            .write(operation("renew"), move |conn| {
                Box::pin(async move { renew(conn, &id, lease, is_alone).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Ends a lease in good order: what the node had accepted is anybody's at once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn release(&self, id: &Arc<str>) -> Result<(), StoreError> {
        let id = Arc::clone(id);
        self.0
            .write(operation("release"), move |conn| {
                Box::pin(async move { release(conn, &id).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Returns true if nodes without a lease may have left unfinished runs.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn has_orphans(&self) -> Result<bool, StoreError> {
        self.0.read(operation("has_orphans"), |conn| Box::pin(has_orphans(conn))).await
    }

    /// Notes which nodes without a lease have left no unfinished run.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn mark_emptied(&self) -> Result<(), StoreError> {
        self.0
            .write(operation("mark_emptied"), |conn| {
                Box::pin(async move { mark_emptied(conn).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// The nodes on record, the youngest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or, for a write, [`StoreError::Unanswered`] when the database does not answer.
    pub async fn list(&self) -> Result<Vec<NodeRow>, StoreError> {
        self.0.read(operation("list"), |conn| Box::pin(list(conn))).await
    }
}

async fn register(conn: &mut Conn, node: &NewNode) -> Result<(), StoreError> {
    let now = clock::now(conn).await?;
    let long_ago = clock::hours_ago(conn, KEPT_HOURS).await?;
    let lease_until = FromNow::seconds(node.lease.as_secs_f64());
    let row = (
        nodes::id.eq(&*node.id),
        nodes::version.eq(node.version),
        nodes::pid.eq(i64::from(std::process::id())),
        nodes::lease_until.eq(lease_until.clone()),
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
        // What ran under it was dropped: where its lease has not run out yet, it ends in good order.
        let live = nodes::table.find(&**former).filter(nodes::lease_until.ge(now));
        let ended = (nodes::lease_until.eq(FromNow::seconds(-0.001)), nodes::stopped_at.eq(Now.nullable()));
        on!(conn, c => diesel::update(live).set(ended).execute(c).await)?;
        // A row may have been written in its name since somebody looked.
        let again = nodes::emptied_at.eq(None::<chrono::NaiveDateTime>);
        on!(conn, c => diesel::update(nodes::table.find(&**former)).set(again).execute(c).await)?;
    }
    if node.is_alone {
        let others = nodes::table.filter(nodes::id.ne(&*node.id)).filter(nodes::lease_until.ge(now));
        // Before this instant, which is when the others are asked for.
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
        let held = mine.filter(nodes::lease_until.ge(Now));
        on!(conn, c => diesel::update(held).set(renewed).execute(c).await)?
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

type Columns =
    (String, String, i64, LenientTimestamp, LenientTimestamp, LenientTimestamp, Option<LenientTimestamp>);

async fn list(conn: &mut Conn) -> Result<Vec<NodeRow>, StoreError> {
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
            ))
            .order((nodes::started_at.desc(), nodes::id.desc()))
            .limit(LISTED)
            .load(c)
            .await
    })?;
    let row = |(id, version, pid, started_at, renewed_at, lease_until, stopped_at): Columns| {
        let stopped_at = stopped_at.and_then(LenientTimestamp::shown);
        let lease_until = lease_until.shown()?;
        let status = match stopped_at {
            Some(_) => NodeStatus::Stopped,
            None if lease_until < now => NodeStatus::Expired,
            None => NodeStatus::Live,
        };
        let (started_at, renewed_at) = (started_at.shown()?, renewed_at.shown()?);
        Some(NodeRow { id, status, version, pid, started_at, renewed_at, lease_until, stopped_at })
    };
    Ok(rows.into_iter().filter_map(row).collect())
}
