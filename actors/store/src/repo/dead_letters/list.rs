//! Lists of dead letters.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use svc_model::Page;

use super::rows::{COLUMNS, DeadLetterFilter, DeadLetterPage, LetterColumns};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::{
    AnyOf, ComposedQuery, FoundKeys, GroupConditions, IndexParts, KeyScan, MOST_LOOKED_UP, MOST_SCANNED,
    RowCondition, SortedScan, count_all, find_tagged, is_one_of, push_all,
};
use crate::repo::traces::find_keyed;
use crate::repo::{RowKey, keyset, sorted};
use crate::schema::trace_dlq;

/// The table.
const TABLE: &str = "trace_dlq";

/// Newest letters that are counted if another row is looked up for each.
const MOST_COUNTED: i64 = 500;

/// A letter without a retry left, as its index states it.
const IS_EXHAUSTED: &str = "retry_count >= max_retries";

/// The conditions of a filter whose values are looked up first.
struct Resolved {
    /// Names of the channels, those with the tag among them.
    channels: Option<AnyOf>,
    groups: Option<AnyOf>,
    /// Ids of the traces, those of the runs with the keys among them.
    traces: Option<AnyOf>,
}

impl Resolved {
    async fn load(conn: &mut Conn, filter: &DeadLetterFilter) -> Result<Self, StoreError> {
        let tagged = match &filter.tag {
            Some(tags) => Some(find_tagged(conn, tags).await?.names),
            None => None,
        };
        let channels = match (&filter.channel, tagged) {
            (Some(channels), Some(tagged)) => Some(channels.both(&tagged)),
            (channels, tagged) => channels.clone().or(tagged),
        };
        let keyed = match &filter.run_key {
            Some(keys) => Some(find_keyed(conn, keys).await?),
            None => None,
        };
        let traces = match (&filter.trace_id, keyed) {
            (Some(traces), Some(keyed)) => Some(traces.both(&keyed)),
            (traces, keyed) => traces.clone().or(keyed),
        };
        let conditions = GroupConditions {
            groups: filter.error_group.as_ref(),
            tasks: filter.task.as_ref(),
            codes: filter.error_code.as_ref(),
            workflows: filter.workflow.as_ref(),
        };
        Ok(Self { channels, groups: conditions.resolve(conn).await?, traces })
    }
}

/// The conditions of a filter, by the index that serves them.
struct Conditions {
    groups: Option<RowCondition>,
    channels: Option<RowCondition>,
    traces: Option<RowCondition>,
    exhausted: Option<RowCondition>,
    version: Option<RowCondition>,
    range: Vec<RowCondition>,
}

impl Conditions {
    fn new(filter: &DeadLetterFilter, resolved: &Resolved) -> Self {
        // One value for each letter: PostgreSQL might read the traces of all letters for a condition that one exists.
        let version = is_one_of(
            "(SELECT t.workflow_version FROM traces t WHERE t.id = trace_dlq.trace_id)",
            &filter.versions,
        );
        Self {
            groups: resolved.groups.clone().map(|groups| RowCondition::AnyOf("error_group", groups)),
            channels: resolved.channels.clone().map(|channels| RowCondition::AnyOf("channel", channels)),
            traces: resolved
                .traces
                .clone()
                .map(|ids| RowCondition::EitherAnyOf("trace_id", "attempt_of", ids)),
            exhausted: filter.exhausted.map(|exhausted| {
                RowCondition::Text(
                    if exhausted { IS_EXHAUSTED } else { "retry_count < max_retries" }.to_owned(),
                )
            }),
            version: version.map(|(_, is_version)| RowCondition::Text(is_version)),
            range: RowCondition::of_range("created_at", filter.since, filter.until, "<"),
        }
    }

    fn all(&self) -> Vec<RowCondition> {
        let single = [&self.groups, &self.channels, &self.traces, &self.exhausted, &self.version];
        single.into_iter().flatten().chain(&self.range).cloned().collect()
    }
}

/// Finds the keys of a page by the index that fits best.
async fn find(
    conn: &mut Conn,
    filter: &DeadLetterFilter,
    resolved: &Resolved,
    page: Page,
    after: Option<RowKey>,
) -> Result<FoundKeys, StoreError> {
    let mut conditions = Conditions::new(filter, resolved);
    let parts_of = |column: &'static str, values: &Option<AnyOf>| {
        values.as_ref().and_then(|values| IndexParts::new(column, values.storable()))
    };
    let mut scan = KeyScan {
        table: TABLE,
        index: "trace_dlq_created",
        parts: None,
        served: std::mem::take(&mut conditions.range),
        others: Vec::new(),
        after,
        descending: !filter.oldest_first,
        page,
        most_read: if conditions.version.is_some() { MOST_LOOKED_UP } else { MOST_SCANNED },
    };
    if let Some(traces) = conditions.traces.take() {
        scan.others = conditions.all();
        let selected = SortedScan { selected: vec![traces.clone()], scan: scan.clone() };
        if let Some(found) = selected.find(conn).await? {
            return Ok(found);
        }
        conditions.traces = Some(traces);
    }
    if let Some(parts) = parts_of("error_group", &resolved.groups) {
        (scan.index, scan.parts, conditions.groups) = ("trace_dlq_error_groups", Some(parts), None);
    } else if let Some(parts) = parts_of("channel", &resolved.channels) {
        (scan.index, scan.parts, conditions.channels) = ("trace_dlq_channel", Some(parts), None);
    } else if filter.exhausted == Some(true) {
        scan.index = "trace_dlq_exhausted";
        scan.served.extend(conditions.exhausted.take());
    }
    scan.others = conditions.all();
    scan.find(conn).await
}

/// Returns a page of the letters that match.
pub(super) async fn list(
    conn: &mut Conn,
    filter: &DeadLetterFilter,
    page: Page,
    after: Option<RowKey>,
) -> Result<DeadLetterPage, StoreError> {
    let resolved = Resolved::load(conn, filter).await?;
    let found = find(conn, filter, &resolved, page, after).await?;
    let descending = !filter.oldest_first;
    let ids: Vec<String> = found.keys.into_iter().map(|key| key.id).collect();
    let rows: Vec<LetterColumns> = on!(conn, c: Db => {
        let rows = trace_dlq::table.into_boxed::<Db>().filter(trace_dlq::id.eq_any(ids)).select(COLUMNS);
        let rows = sorted!(rows, trace_dlq::created_at, descending);
        let rows = match descending {
            true => rows.then_order_by(trace_dlq::id.desc()),
            false => rows.then_order_by(trace_dlq::id.asc()),
        };
        rows.load(c).await?
    });
    let total = match filter.without_total {
        true => None,
        false => Some(count_all(conn, TABLE, &Conditions::new(filter, &resolved).all()).await?),
    };
    let counts = match filter.include_counts {
        true => Some(count_by_retries(conn, filter, &resolved).await?),
        false => None,
    };
    Ok(DeadLetterPage {
        rows: rows.into_iter().filter_map(LetterColumns::into_row).collect(),
        total,
        counts,
        next_cursor: found.next.key.map(|key| keyset::encode(filter.cursor_kind(), &key)),
        scanned_until: found.next.scanned_until,
    })
}

/// Counts the letters with a retry left, and those without, whichever the filter selects: among the newest that an index
/// finds.
async fn count_by_retries(
    conn: &mut Conn,
    filter: &DeadLetterFilter,
    resolved: &Resolved,
) -> Result<BTreeMap<String, i64>, StoreError> {
    let mut conditions = Conditions::new(filter, resolved);
    conditions.exhausted = None;
    let version = conditions.version.take();
    let most = if version.is_some() { MOST_COUNTED } else { MOST_SCANNED };
    let mut statement = ComposedQuery::<(Text, BigInt)>::new(format!(
        "SELECT retries, count(*) FROM (SELECT CASE WHEN {IS_EXHAUSTED} THEN 'exhausted' ELSE 'retrying' END AS retries, \
         trace_id FROM {TABLE}"
    ));
    push_all(&mut statement, &conditions.all());
    statement.push(format!(" ORDER BY created_at DESC LIMIT {most}) {TABLE}"));
    push_all(&mut statement, version.as_slice());
    statement.push(" GROUP BY retries");
    let rows: Vec<(String, i64)> = on!(conn, c => statement.load(c).await)?;
    let mut counts = BTreeMap::from([("retrying".to_owned(), 0), ("exhausted".to_owned(), 0)]);
    counts.extend(rows);
    Ok(counts)
}
