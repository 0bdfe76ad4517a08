//! Counts of traces by status.

use std::collections::BTreeMap;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::filters::{AnyOf, StatusCount, is_one_of};
use crate::repo::traces::{TraceQuery, TraceStatus};

/// Counts the traces that a query selects, by status.
pub(super) async fn count_by_status(
    conn: &mut Conn,
    query: &TraceQuery,
    (tagged, keyed): (Option<&AnyOf>, Option<&AnyOf>),
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
        ("id", keyed),
    ];
    let conditions = conditions.into_iter().filter_map(|(column, values)| Some((column, values?)));
    let texts = [
        (!query.attempts).then(|| ("attempt_of", "attempt_of IS NULL".to_owned())),
        is_one_of("workflow_version", &query.workflow_versions),
        query.min_duration_ms.map(|least| ("duration_ms", format!("duration_ms >= {least}"))),
    ];
    let count = StatusCount {
        table: "traces",
        time: "created_at",
        until_operator: "<",
        statuses: TraceStatus::ALL.map(TraceStatus::name).to_vec(),
        conditions: conditions.collect(),
        texts: texts.into_iter().flatten().collect(),
        indexed: "channel",
        selective: &["error_group", "id"],
        since: query.since,
        until: query.until,
    };
    count.count(conn).await
}
