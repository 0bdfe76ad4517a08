//! The figures of nodes: each node replaces its own row, and every node reads all of them.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::Timestamp;

use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::LenientTimestamp;
use crate::schema::{node_figures, nodes};

/// Writes the figures of a node.
pub(super) async fn record(conn: &mut Conn, node: &str, figures: &str) -> Result<(), StoreError> {
    let row = (node_figures::node_id.eq(node), node_figures::figures_json.eq(figures));
    on!(conn, c => {
        diesel::insert_into(node_figures::table)
            .values(row)
            .on_conflict(node_figures::node_id)
            .do_update()
            .set((node_figures::figures_json.eq(figures), node_figures::written_at.eq(Now)))
            .execute(c)
            .await
    })?;
    Ok(())
}

/// Deletes the figures of nodes that are no longer on record.
pub(super) async fn delete_orphans(conn: &mut Conn) -> Result<(), StoreError> {
    let gone = node_figures::table.filter(node_figures::node_id.ne_all(nodes::table.select(nodes::id)));
    on!(conn, c => diesel::delete(gone).execute(c).await)?;
    Ok(())
}

/// The figures of a node as they are stored.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StoredFigures {
    /// The figures, JSON.
    pub json: String,
    /// Seconds since they were written, by the clock of the database.
    pub age_secs: u64,
}

/// Returns the figures of all nodes by their ids.
pub(super) async fn all(conn: &mut Conn) -> Result<HashMap<String, StoredFigures>, StoreError> {
    let now = Timestamp::from_naive(clock::now(conn).await?);
    let columns = (node_figures::node_id, node_figures::figures_json, node_figures::written_at);
    let rows: Vec<(String, String, LenientTimestamp)> =
        on!(conn, c => node_figures::table.select(columns).load(c).await)?;
    let figures = rows.into_iter().filter_map(|(node, json, written_at)| {
        let age = now.naive() - written_at.into_timestamp()?.naive();
        Some((node, StoredFigures { json, age_secs: age.num_seconds().max(0).unsigned_abs() }))
    });
    Ok(figures.collect())
}
