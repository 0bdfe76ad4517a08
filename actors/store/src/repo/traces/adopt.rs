//! Takeover of accepted runs whose node is dead: found by a scan, taken over by compare-and-set.
//!
//! An expired lease is never renewed, so a node that is found dead under a lock of its row stays dead. Rows
//! that are being written are skipped; the next scan finds them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::RowKey;
use crate::repo::keyset::KeysetCondition;
use crate::repo::traces::read::LenientTimestamp;
use crate::repo::traces::unfinished::{UNFINISHED, UnfinishedColumns, to_unfinished_run, unfinished_columns};
use crate::repo::traces::{AdoptedRun, TraceMode, UnfinishedRun};
use crate::schema::{nodes, traces};

/// Condition on a row that is the trace of one run. The row of work in a later attempt has the state of that
/// attempt, whose own row is the one to take over.
macro_rules! is_one_run {
    () => {
        traces::attempt.eq(1).or(traces::attempt_of.is_not_null())
    };
}

/// Rows with an unreadable id or time were written by another program and are skipped. A row without a
/// readable time has no place in the order, so the page ends after the last row that has one.
pub(super) async fn list_unfinished(
    conn: &mut Conn,
    node: &str,
    after: Option<RowKey>,
    limit: i64,
) -> Result<(Vec<UnfinishedRun>, Option<RowKey>), StoreError> {
    let now = clock::now(conn).await?;
    let rows: Vec<UnfinishedColumns> = on!(conn, c: Db => {
        let alive = nodes::table
            .filter(nodes::id.nullable().eq(traces::owner))
            .filter(nodes::lease_until.ge(now));
        let mut query = traces::table
            .select(unfinished_columns!())
            .filter(traces::mode.eq(TraceMode::Async.name()))
            .filter(traces::status.eq_any(UNFINISHED))
            // Cancelled work is ended, not begun again.
            .filter(traces::cancel_requested_at.is_null())
            .filter(is_one_run!())
            .filter(traces::owner.is_null().or(traces::owner.assume_not_null().ne(node)))
            .filter(diesel::dsl::not(diesel::dsl::exists(alive)))
            .into_boxed::<Db>();
        if let Some(key) = after {
            query = query.filter(KeysetCondition::oldest_first(key));
        }
        query.order((traces::created_at.asc(), traces::id.asc())).limit(limit).load(c).await
    })?;
    let last = rows.iter().rev().find_map(|((id, ..), _, _, _, created_at, _, _)| {
        Some(RowKey { created_at: created_at.0?, id: id.clone() })
    });
    let unfinished = |columns: UnfinishedColumns| {
        let created_at = columns.4.0?;
        to_unfinished_run(columns, created_at)
    };
    Ok((rows.into_iter().filter_map(unfinished).collect(), last))
}

/// Makes `node` the owner of the runs that still have the owner they were found with, if that owner has no
/// lease. Idempotent.
pub(super) async fn adopt(
    conn: &mut Conn,
    node: &Arc<str>,
    found: &[(Uuid, Option<String>)],
) -> Result<Vec<AdoptedRun>, StoreError> {
    let mut by_owner: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for (id, owner) in found {
        by_owner.entry(owner.as_deref()).or_default().push(id.to_string());
    }
    let owners = Gone::load(conn, by_owner.keys().filter_map(|owner| *owner).collect()).await?;
    let mut adopted = Vec::new();
    for (owner, ids) in by_owner {
        if owner.is_none_or(|owner| owners.has(owner)) {
            take(conn, node, owner, &ids).await?;
        }
        let is_handed_back = owner.is_some_and(|owner| owners.stopped.contains(owner));
        let rows: Vec<(String, i64)> = on!(conn, c => {
            traces::table
                .select((traces::id, traces::recoveries))
                .filter(traces::id.eq_any(&ids))
                .filter(traces::owner.eq(&**node))
                .filter(traces::status.eq_any(UNFINISHED))
                .load(c)
                .await
        })?;
        adopted.extend(rows.into_iter().filter_map(|(id, recoveries)| {
            Some(AdoptedRun { id: Uuid::try_parse(&id).ok()?, recoveries, is_handed_back })
        }));
    }
    Ok(adopted)
}

/// Of the requested nodes, those without a lease.
struct Gone {
    registered: HashSet<String>,
    dead: HashSet<String>,
    /// The dead nodes that released their leases.
    stopped: HashSet<String>,
}

impl Gone {
    async fn load(conn: &mut Conn, owners: Vec<&str>) -> Result<Self, StoreError> {
        let now = clock::now(conn).await?;
        let named = nodes::table.filter(nodes::id.eq_any(owners));
        let registered: Vec<String> = on!(conn, c => named.clone().select(nodes::id).load(c).await)?;
        let dead = named.select((nodes::id, nodes::stopped_at.nullable())).filter(nodes::lease_until.lt(now));
        // A renewal in progress locks the row, so its node is not dead.
        let dead: Vec<(String, Option<LenientTimestamp>)> = match conn {
            Conn::Sqlite(c) => dead.load(c).await?,
            Conn::Postgres(c) => dead.for_share().skip_locked().load(&mut **c).await?,
        };
        let stopped =
            dead.iter().filter(|(_, stopped)| stopped.is_some()).map(|(id, _)| id.clone()).collect();
        let dead = dead.into_iter().map(|(id, _)| id).collect();
        Ok(Self { registered: registered.into_iter().collect(), dead, stopped })
    }

    /// Returns whether a node has no lease. An unregistered node has none.
    fn has(&self, owner: &str) -> bool {
        self.dead.contains(owner) || !self.registered.contains(owner)
    }
}

async fn take(conn: &mut Conn, node: &str, owner: Option<&str>, ids: &[String]) -> Result<(), StoreError> {
    let is_unowned = owner.is_none().into_sql::<diesel::sql_types::Bool>();
    let open = traces::table
        .select(traces::id)
        .filter(traces::id.eq_any(ids))
        .filter(traces::status.eq_any(UNFINISHED))
        .filter(traces::owner.eq(owner).or(traces::owner.is_null().and(is_unowned)));
    // A file has a single writer. On a server, rows that others are writing are skipped.
    let free: Vec<String> = match conn {
        Conn::Sqlite(c) => open.load(c).await?,
        Conn::Postgres(c) => open.for_update().skip_locked().load(&mut **c).await?,
    };
    let owner_columns = (traces::owner.eq(node), traces::updated_at.eq(Now));
    on!(conn, c => {
        diesel::update(traces::table.filter(traces::id.eq_any(free))).set(owner_columns).execute(c).await
    })?;
    Ok(())
}

/// Marks the nodes without a lease that own no unfinished run any more.
pub(in crate::repo) async fn mark_emptied(conn: &mut Conn) -> Result<(), StoreError> {
    let now: NaiveDateTime = clock::now(conn).await?;
    let owned = traces::table
        .filter(traces::owner.eq(nodes::id.nullable()))
        .filter(traces::mode.eq(TraceMode::Async.name()))
        .filter(traces::status.eq_any(UNFINISHED))
        .filter(is_one_run!());
    on!(conn, c => {
        let empty = nodes::table
            .filter(nodes::lease_until.lt(now))
            .filter(nodes::emptied_at.is_null())
            .filter(diesel::dsl::not(diesel::dsl::exists(owned)));
        diesel::update(empty).set(nodes::emptied_at.eq(Now.nullable())).execute(c).await
    })?;
    Ok(())
}
