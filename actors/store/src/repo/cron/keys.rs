//! The conditions of lists of occurrences, and the way to the rows of a page.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{EntityKind, Page};

use super::model::OccurrenceFilter;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::RowKey;
use crate::repo::filters::{
    AnyOf, FoundKeys, GroupConditions, IndexParts, KeyScan, MOST_SCANNED, MOST_SCANNED_FAST, RowCondition,
    SortedScan, count_all, find_tagged, is_one_of,
};
use crate::repo::traces::TraceMode;
use crate::schema::{definitions, traces};

/// The table.
const TABLE: &str = "cron_occurrences";

/// The conditions of a filter whose values are looked up first.
pub(super) struct Resolved {
    /// Ids of the channels, those with the tag or the name among them.
    pub(super) channels: Option<AnyOf>,
    pub(super) groups: Option<AnyOf>,
    /// Ids of the occurrences: those with the run keys, and those whose runs left the traces, unless a trace does not name
    /// its occurrence.
    pub(super) ids: Option<AnyOf>,
}

impl Resolved {
    pub(super) async fn load(conn: &mut Conn, filter: &OccurrenceFilter) -> Result<Self, StoreError> {
        let tagged = match &filter.tag {
            Some(tags) => Some(find_tagged(conn, tags).await?.ids),
            None => None,
        };
        let conditions = GroupConditions {
            groups: filter.error_group.as_ref(),
            tasks: filter.task.as_ref(),
            codes: filter.error_code.as_ref(),
            workflows: None,
        };
        let traced = match &filter.trace_id {
            Some(ids) => find_traced(conn, ids).await?,
            None => None,
        };
        let named = match &filter.channel {
            Some(names) => Some(find_named(conn, names).await?),
            None => None,
        };
        Ok(Self {
            channels: intersect(intersect(filter.channel_id.clone(), tagged), named),
            groups: conditions.resolve(conn).await?,
            ids: intersect(filter.run_key.clone(), traced),
        })
    }
}

/// Returns the values that both conditions take.
fn intersect(one: Option<AnyOf>, other: Option<AnyOf>) -> Option<AnyOf> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.both(&other)),
        (one, other) => one.or(other),
    }
}

/// Returns the occurrences whose runs left these traces, by the keys of the runs: occurrences have no index on their
/// trace. `None` if a trace has no key, being of an earlier release.
async fn find_traced(conn: &mut Conn, ids: &AnyOf) -> Result<Option<AnyOf>, StoreError> {
    let keys = traces::table
        .filter(traces::id.eq_any(ids.storable()))
        .filter(traces::mode.eq(TraceMode::Cron.name()))
        .select(traces::run_key);
    let keys: Vec<Option<String>> = on!(conn, c => keys.load(c).await)?;
    let keys: Option<Vec<String>> = keys.into_iter().collect();
    Ok(keys.map(AnyOf::new))
}

/// Returns the channels of which a version has one of the names: occurrences have no index on it. Versions are never
/// renamed, and go with their channel alone, which takes its occurrences along: no other channel has rows of the name.
async fn find_named(conn: &mut Conn, names: &AnyOf) -> Result<AnyOf, StoreError> {
    let named = definitions::table
        .filter(definitions::kind.eq(EntityKind::Channel.name()))
        .filter(definitions::name.eq_any(names.storable()))
        .select(definitions::id)
        .distinct();
    let ids: Vec<String> = on!(conn, c => named.load(c).await)?;
    Ok(AnyOf::new(ids))
}

/// The conditions of a filter, by the index that serves them.
struct Conditions {
    ids: Option<RowCondition>,
    groups: Option<RowCondition>,
    channels: Option<RowCondition>,
    status: Option<RowCondition>,
    range: Vec<RowCondition>,
    others: Vec<RowCondition>,
}

impl Conditions {
    fn new(filter: &OccurrenceFilter, resolved: &Resolved) -> Self {
        let any_of = |column: &'static str, values: &Option<AnyOf>| {
            values.clone().map(|values| RowCondition::AnyOf(column, values))
        };
        let version =
            is_one_of("executing_version", &filter.versions).map(|(_, text)| RowCondition::Text(text));
        let others = [
            any_of("channel_name", &filter.channel),
            any_of("workflow_id", &filter.workflow),
            version,
            any_of("trace_id", &filter.trace_id),
        ];
        Self {
            ids: any_of("id", &resolved.ids),
            groups: any_of("error_group", &resolved.groups),
            channels: any_of("channel_id", &resolved.channels),
            status: any_of("status", &filter.status),
            range: RowCondition::of_range("scheduled_for", filter.since, filter.until, "<="),
            others: others.into_iter().flatten().collect(),
        }
    }

    fn all(&self) -> Vec<RowCondition> {
        let single = [&self.ids, &self.groups, &self.channels, &self.status];
        single.into_iter().flatten().chain(&self.range).chain(&self.others).cloned().collect()
    }
}

/// Finds the keys of a page by the index that fits best.
pub(super) async fn find(
    conn: &mut Conn,
    filter: &OccurrenceFilter,
    resolved: &Resolved,
    page: Page,
    after: Option<RowKey>,
) -> Result<FoundKeys, StoreError> {
    let mut conditions = Conditions::new(filter, resolved);
    let is_fast = filter.workflow.is_some() || !filter.versions.is_empty() || !conditions.range.is_empty();
    let mut scan = KeyScan {
        table: TABLE,
        index: "cron_occurrences_created",
        parts: None,
        served: Vec::new(),
        others: conditions.all(),
        after,
        descending: !filter.oldest_first,
        page,
        most_read: if is_fast { MOST_SCANNED_FAST } else { MOST_SCANNED },
    };
    // Rows by their id, or due in a range, that are few enough to sort.
    let selected = match (&conditions.ids, resolved.groups.is_some()) {
        (Some(ids), _) => vec![ids.clone()],
        (None, false) if !conditions.range.is_empty() => {
            conditions.range.iter().chain(&conditions.channels).cloned().collect()
        }
        _ => Vec::new(),
    };
    if !selected.is_empty() {
        let sorted = SortedScan { selected, scan: scan.clone() };
        if let Some(found) = sorted.find(conn).await? {
            return Ok(found);
        }
    }
    let parts_of = |column: &'static str, values: &Option<AnyOf>| {
        values.as_ref().and_then(|values| IndexParts::new(column, values.storable()))
    };
    if let Some(parts) = parts_of("error_group", &resolved.groups) {
        (scan.index, scan.parts, conditions.groups) = ("cron_occurrences_error_groups", Some(parts), None);
    } else if let Some(parts) = parts_of("channel_id", &resolved.channels) {
        (scan.index, scan.parts, conditions.channels) = ("cron_occurrences_channel", Some(parts), None);
    } else if let Some(parts) = parts_of("status", &filter.status) {
        (scan.index, scan.parts, conditions.status) = ("cron_occurrences_status", Some(parts), None);
    }
    scan.others = conditions.all();
    scan.find(conn).await
}

/// Counts all rows that match.
pub(super) async fn count(
    conn: &mut Conn,
    filter: &OccurrenceFilter,
    resolved: &Resolved,
) -> Result<i64, StoreError> {
    count_all(conn, TABLE, &Conditions::new(filter, resolved).all()).await
}
