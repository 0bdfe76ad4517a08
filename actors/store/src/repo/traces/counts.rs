//! Counts of traces by status.

use std::collections::BTreeMap;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::filters::{AnyOf, StatusCount};
use crate::repo::traces::{TraceQuery, TraceStatus};

/// Counts the traces that a query selects, by status. Its bounds of versions and durations do not count.
pub(super) async fn count_by_status(
    conn: &mut Conn,
    query: &TraceQuery,
    tagged: Option<&AnyOf>,
) -> Result<BTreeMap<String, i64>, StoreError> {
    let conditions = [
        ("channel", query.channel.as_ref()),
        ("channel", tagged),
        ("mode", query.mode.as_ref()),
        ("workflow_id", query.workflow_id.as_ref()),
        ("request_id", query.request_id.as_ref()),
        ("error_code", query.error_code.as_ref()),
        ("error_group", query.error_group.as_ref()),
        ("id", query.trace_id.as_ref()),
        ("rerun_of", query.rerun_of.as_ref()),
    ];
    let conditions = conditions.into_iter().filter_map(|(column, values)| Some((column, values?)));
    let count = StatusCount {
        table: "traces",
        time: "created_at",
        statuses: TraceStatus::ALL.map(TraceStatus::name).to_vec(),
        conditions: conditions.collect(),
        indexed: "channel",
        since: query.since,
        until: query.until,
    };
    count.count(conn).await
}
