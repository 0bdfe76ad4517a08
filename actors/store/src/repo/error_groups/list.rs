//! Lists of error groups, and their end.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp as TimestampType};
use diesel_async::RunQueryDsl;
use svc_model::{Page, Timestamp};

use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::IDS_PER_QUERY;
use crate::repo::filters::{AnyOf, ComposedQuery, find_tagged, is_one_of};
use crate::repo::traces::LenientTimestamp;
use crate::schema::{error_groups, trace_dlq, traces};

/// Traces that a group shows as samples.
const SAMPLES: i64 = 5;

/// A filter on error groups. All given conditions must hold, each with any of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorGroupFilter {
    /// Name of the channel.
    pub channel: Option<AnyOf>,
    /// Tags, of which the channel has one.
    pub tag: Option<AnyOf>,
    /// Id of the workflow.
    pub workflow: Option<AnyOf>,
    /// Versions of the workflow in which failures count; any if there are none.
    pub versions: Vec<i64>,
    /// Id of the task.
    pub task: Option<AnyOf>,
    /// Code of the error.
    pub code: Option<AnyOf>,
    /// Id of the group.
    pub group: Option<AnyOf>,
    /// A part of the message, in whatever case.
    pub text: Option<String>,
    /// Earliest instant of the failures that count.
    pub since: Option<Timestamp>,
    /// End of the instants of the failures that count, exclusive.
    pub until: Option<Timestamp>,
}

/// A group with its failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroupRow {
    /// Its id.
    pub group: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the workflow.
    pub workflow: Option<String>,
    /// Id of the task.
    pub task: Option<String>,
    /// Code of the error.
    pub code: Option<String>,
    /// The normalised message.
    pub message: String,
    /// Number of failures.
    pub count: i64,
    /// Instant of the first failure that was written, whether its row is still there or not.
    pub first_seen: Timestamp,
    /// Instant of the last failure that counts.
    pub last_seen: Timestamp,
    /// Versions of the workflow that failed, in their order.
    pub versions: Vec<i64>,
    /// Ids of the newest traces.
    pub samples: Vec<String>,
}

/// A page of error groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroupPage {
    pub rows: Vec<ErrorGroupRow>,
    /// Number of groups on all pages.
    pub total: i64,
}

/// A table of failures. The index on its groups has all columns of the conditions, so that no row is read. The blank text
/// behind a status prevents SQLite from choosing the index on it.
struct FailureTable {
    name: &'static str,
    time: &'static str,
    condition: &'static str,
    /// The column of the trace of the failed run.
    trace: &'static str,
}

/// Every failure once.
const FAILURES: [FailureTable; 3] = [
    FailureTable { name: "trace_dlq", time: "created_at", condition: "", trace: "trace_dlq.trace_id" },
    FailureTable {
        name: "cron_occurrences",
        time: "scheduled_for",
        condition: " AND status || '' = 'failed'",
        trace: "cron_occurrences.trace_id",
    },
    FailureTable {
        name: "traces",
        time: "created_at",
        condition: " AND status || '' = 'failed' AND mode <> 'cron' AND attempt_of IS NULL \
             AND NOT EXISTS (SELECT 1 FROM trace_dlq l WHERE l.trace_id = traces.id) \
             AND NOT EXISTS (SELECT 1 FROM trace_dlq l WHERE l.attempt_of = traces.id)",
        trace: "traces.id",
    },
];

/// The failures of a group.
#[derive(Clone, Copy, Debug, Default)]
struct GroupCount {
    count: i64,
    last: Option<NaiveDateTime>,
}

type CountColumns = (Text, BigInt, Nullable<TimestampType>);

/// Counts the failures of every group.
async fn count(
    conn: &mut Conn,
    filter: &ErrorGroupFilter,
) -> Result<HashMap<String, GroupCount>, StoreError> {
    let mut counts: HashMap<String, GroupCount> = HashMap::new();
    for FailureTable { name, time, condition, trace } in FAILURES {
        let mut query = ComposedQuery::<CountColumns>::new(format!(
            "SELECT error_group, count(*), max({time}) FROM {name} WHERE error_group IS NOT NULL{condition}"
        ));
        for (bound, operator) in [(filter.since, ">="), (filter.until, "<")] {
            if let Some(instant) = bound {
                query.push(format!(" AND {time} {operator} "));
                query.push_time(instant.naive());
            }
        }
        if let Some(groups) = &filter.group {
            query.push(" AND ");
            query.push_any_of("error_group", groups);
        }
        if let Some((_, is_version)) = is_one_of("t.workflow_version", &filter.versions) {
            let failed_run = format!("SELECT 1 FROM traces t WHERE t.id = {trace} AND {is_version}");
            query.push(format!(" AND EXISTS ({failed_run})"));
        }
        query.push(" GROUP BY error_group");
        let rows: Vec<(String, i64, Option<LenientTimestamp>)> = on!(conn, c => query.load(c).await)?;
        for (group, count, last) in rows {
            let counted = counts.entry(group).or_default();
            counted.count += count;
            counted.last = counted.last.max(last.and_then(|last| last.0));
        }
    }
    Ok(counts)
}

type LoadedGroup = (String, String, Option<String>, Option<String>, Option<String>, String, LenientTimestamp);

/// Returns the groups that have failures and match.
async fn find_matching(
    conn: &mut Conn,
    filter: &ErrorGroupFilter,
    counts: &HashMap<String, GroupCount>,
) -> Result<Vec<ErrorGroupRow>, StoreError> {
    let tagged = match &filter.tag {
        Some(tags) => Some(find_tagged(conn, tags).await?.names),
        None => None,
    };
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    let has = |values: Option<&AnyOf>, value: Option<&String>| {
        values.is_none_or(|values| value.is_some_and(|value| values.values().contains(value)))
    };
    let mut groups = Vec::new();
    let ids: Vec<&String> = counts.keys().collect();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let rows = error_groups::table.filter(error_groups::id.eq_any(ids.to_vec())).select((
            error_groups::id,
            error_groups::channel,
            error_groups::workflow_id,
            error_groups::task_id,
            error_groups::code,
            error_groups::message,
            error_groups::first_seen,
        ));
        let rows: Vec<LoadedGroup> = on!(conn, c => rows.load(c).await)?;
        groups.extend(rows.into_iter().filter_map(|columns| {
            let (group, channel, workflow, task, code, message, first_seen) = columns;
            let matches = has(filter.channel.as_ref(), Some(&channel))
                && has(tagged.as_ref(), Some(&channel))
                && has(filter.workflow.as_ref(), workflow.as_ref())
                && has(filter.task.as_ref(), task.as_ref())
                && has(filter.code.as_ref(), code.as_ref())
                && text.as_ref().is_none_or(|text| message.to_lowercase().contains(text));
            let GroupCount { count, last } = counts.get(&group).copied().filter(|_| matches)?;
            let first_seen = first_seen.into_timestamp()?;
            // An occurrence may fail long after the instant at which it was due.
            let last_seen = last.map_or(first_seen, |last| Timestamp::from_naive(last).max(first_seen));
            let (versions, samples) = (Vec::new(), Vec::new());
            Some(ErrorGroupRow {
                group,
                channel,
                workflow,
                task,
                code,
                message,
                count,
                first_seen,
                last_seen,
                versions,
                samples,
            })
        }));
    }
    Ok(groups)
}

pub(super) async fn list(
    conn: &mut Conn,
    filter: ErrorGroupFilter,
    page: Page,
) -> Result<ErrorGroupPage, StoreError> {
    let counts = count(conn, &filter).await?;
    let mut groups = find_matching(conn, &filter, &counts).await?;
    groups.sort_unstable_by(|one, other| {
        let order = |row: &ErrorGroupRow| (row.count, row.last_seen);
        order(other).cmp(&order(one)).then_with(|| one.group.cmp(&other.group))
    });
    let total = i64::try_from(groups.len()).unwrap_or(i64::MAX);
    let (offset, limit) =
        (usize::try_from(page.offset).unwrap_or(usize::MAX), usize::try_from(page.limit).unwrap_or_default());
    let mut rows: Vec<_> = groups.into_iter().skip(offset).take(limit).collect();
    add_versions(conn, &mut rows).await?;
    for row in &mut rows {
        row.samples = list_samples(conn, &row.group).await?;
    }
    Ok(ErrorGroupPage { rows, total })
}

/// Adds the versions of the workflow that failed.
async fn add_versions(conn: &mut Conn, rows: &mut [ErrorGroupRow]) -> Result<(), StoreError> {
    let mut versions: HashMap<String, Vec<i64>> = HashMap::new();
    let ids: Vec<String> = rows.iter().map(|row| row.group.clone()).collect();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let failed = traces::table
            .filter(traces::error_group.eq_any(ids.to_vec()))
            .filter(traces::workflow_version.is_not_null())
            .select((traces::error_group.assume_not_null(), traces::workflow_version.assume_not_null()))
            .distinct();
        let found: Vec<(String, i64)> = on!(conn, c => failed.load(c).await)?;
        for (group, version) in found {
            versions.entry(group).or_default().push(version);
        }
    }
    for row in rows {
        row.versions = versions.remove(&row.group).unwrap_or_default();
        row.versions.sort_unstable();
    }
    Ok(())
}

/// Condition on a trace whose work has failed so far, each work once. Work that was cancelled, or that a later attempt
/// completed, keeps the group of its attempts, but is no failure. The blank text is that of [`FAILURES`].
const IS_FAILURE: &str = "status || '' IN ('failed', 'retrying') AND attempt_of IS NULL";

async fn list_samples(conn: &mut Conn, group: &str) -> Result<Vec<String>, StoreError> {
    let newest = traces::table
        .filter(traces::error_group.eq(group))
        .filter(sql::<Bool>(IS_FAILURE))
        .order((traces::created_at.desc(), traces::id.desc()))
        .limit(SAMPLES)
        .select(traces::id);
    let samples: Vec<String> = on!(conn, c => newest.load(c).await)?;
    if !samples.is_empty() {
        return Ok(samples);
    }
    // The letter of work that was cancelled with a report: its trace has not failed.
    let letters = trace_dlq::table
        .filter(trace_dlq::error_group.eq(group))
        .order((trace_dlq::created_at.desc(), trace_dlq::id.desc()))
        .limit(SAMPLES)
        .select((trace_dlq::trace_id, trace_dlq::attempt_of));
    let letters: Vec<(String, Option<String>)> = on!(conn, c => letters.load(c).await)?;
    let works: Vec<String> = letters.into_iter().map(|(trace, work)| work.unwrap_or(trace)).collect();
    // Letters are kept longer than traces.
    let kept = traces::table
        .filter(traces::id.eq_any(works))
        .order((traces::created_at.desc(), traces::id.desc()))
        .select(traces::id);
    Ok(on!(conn, c => kept.load(c).await)?)
}

/// Condition on a group that no row names.
const UNNAMED: &str = "NOT EXISTS (SELECT 1 FROM traces f WHERE f.error_group = error_groups.id) \
     AND NOT EXISTS (SELECT 1 FROM trace_dlq f WHERE f.error_group = error_groups.id) \
     AND NOT EXISTS (SELECT 1 FROM cron_occurrences f WHERE f.error_group = error_groups.id)";

/// Deletes at most `chunk` rows, and returns their number. A process stores a group again long before it may be deleted, if
/// failures of it go on.
pub(super) async fn delete_expired(conn: &mut Conn, hours: u64, chunk: i64) -> Result<u64, StoreError> {
    let old = error_groups::seen_at.lt(clock::hours_ago(conn, hours.max(1)).await?);
    let expired = error_groups::table
        .filter(old)
        .filter(sql::<Bool>(UNNAMED))
        .order(error_groups::seen_at)
        .limit(chunk)
        .select(error_groups::id);
    let ids: Vec<String> = on!(conn, c => expired.load(c).await)?;
    let deleted = on!(conn, c => {
        diesel::delete(error_groups::table.filter(error_groups::id.eq_any(ids))).execute(c).await
    })?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
