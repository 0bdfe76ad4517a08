//! The traces of error groups, and the failed ones of workflows, by indexes that have them in the order of time.

use svc_model::Page;

use crate::repo::RowKey;
use crate::repo::filters::{AnyOf, Condition, IndexParts, KeyScan, MOST_SCANNED_FAST, is_one_of};
use crate::repo::traces::TraceQuery;

/// Condition of the indexes of failed rows. As text, by which the database knows that the index has all of them.
pub(super) const IS_FAILED: &str = "status = 'failed'";

/// The place and the direction of a page.
pub(super) struct ScanPlace {
    pub(super) after: Option<RowKey>,
    pub(super) descending: bool,
    pub(super) page: Page,
}

/// Returns the way to the rows of a page; `None` if none of the indexes has them. `tagged` are the channels with the tag of
/// the query.
pub(super) fn scan(
    query: &TraceQuery,
    tagged: Option<&AnyOf>,
    is_failed_only: bool,
    place: ScanPlace,
) -> Option<KeyScan> {
    let is_named = query.trace_id.is_some()
        || query.run_key.is_some()
        || query.rerun_of.is_some()
        || query.request_id.is_some();
    if is_named {
        return None;
    }
    let (mut groups, mut workflows) = (query.error_group.as_ref(), query.workflow_id.as_ref());
    let mut served = Vec::new();
    let (index, parts) = match (groups, workflows) {
        (Some(values), _) => {
            groups = None;
            ("traces_error_groups", IndexParts::new("error_group", values.storable())?)
        }
        (None, Some(values)) if is_failed_only => {
            workflows = None;
            served.push(Condition::Text(IS_FAILED.to_owned()));
            ("traces_failed_workflows", IndexParts::new("workflow_id", values.storable())?)
        }
        _ => return None,
    };
    let status = query.status.as_ref().filter(|_| served.is_empty());
    let columns = [
        ("error_group", groups),
        ("workflow_id", workflows),
        ("status", status),
        ("channel", query.channel.as_ref()),
        ("channel", tagged),
        ("mode", query.mode.as_ref()),
        ("error_code", query.error_code.as_ref()),
    ];
    let columns =
        columns.into_iter().filter_map(|(column, values)| Some(Condition::AnyOf(column, values?.clone())));
    let version = is_one_of("workflow_version", &query.workflow_versions).map(|(_, text)| text);
    let least = query.min_duration_ms.map(|least| format!("duration_ms >= {least}"));
    let others = columns.chain(version.into_iter().chain(least).map(Condition::Text)).collect();
    if !query.attempts {
        served.push(Condition::Text("attempt_of IS NULL".to_owned()));
    }
    served.extend(Condition::of_range("created_at", query.since, query.until, "<"));
    let ScanPlace { after, descending, page } = place;
    Some(KeyScan {
        table: "traces",
        index,
        parts: Some(parts),
        served,
        others,
        after,
        descending,
        page,
        most_read: MOST_SCANNED_FAST,
    })
}
