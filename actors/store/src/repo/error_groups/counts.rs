//! Counts of failures by group and minute of the clock of the database.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use svc_model::Timestamp;

use crate::bulk_statement::{Numbers, Texts, bulk_statement};
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::ComposedQuery;
use crate::repo::traces::LenientTimestamp;
use crate::schema::{error_counts, error_groups};

/// Longest window of a list, in minutes.
pub const COUNTED_MINUTES: u32 = 60;
/// Minutes after which a count is deleted.
const KEPT_MINUTES: i64 = 2 * COUNTED_MINUTES as i64;

/// The failures of one group in the last minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroupCount {
    /// Id of the group.
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
    /// Failures in the window.
    pub count: i64,
    /// Instant of the first failure that was written.
    pub first_seen: Timestamp,
    /// Begin of the last minute with a failure.
    pub last_minute: Timestamp,
    /// Failures of each minute, the oldest first; the last one goes on.
    pub minutes: Vec<i64>,
}

/// The groups with the most failures of the last minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentErrors {
    /// The groups, those with the most failures first.
    pub groups: Vec<ErrorGroupCount>,
    /// Number of groups with failures.
    pub total: i64,
    /// Number of failures of all groups.
    pub failures: i64,
}

/// Reads the number of the minute.
async fn minute_now(conn: &mut Conn) -> Result<i64, StoreError> {
    Ok(clock::now(conn).await?.and_utc().timestamp().div_euclid(60))
}

fn begin_of_minute(minute: i64) -> Option<Timestamp> {
    chrono::DateTime::from_timestamp(minute * 60, 0).map(|at| Timestamp::from_naive(at.naive_utc()))
}

/// One addition to a count.
struct CountRow<'a> {
    minute: i64,
    group: &'a str,
    failures: i64,
}

bulk_statement! {
    /// Counts to add.
    AddCounts(row: CountRow<'a>),
    "INSERT INTO error_counts (minute, error_group, failures) SELECT * FROM unnest(",
    ") ON CONFLICT (minute, error_group) DO UPDATE SET failures = error_counts.failures + excluded.failures",
    minutes: Numbers = i64 => row.minute,
    groups: Texts = &'a str => row.group,
    failures: Numbers = i64 => row.failures,
}

/// Adds failures to the counts of this minute, in the order of the groups: transactions that add to the same ones wait for
/// one another in this order.
pub(super) async fn add(conn: &mut Conn, counts: &[(String, i64)]) -> Result<(), StoreError> {
    let minute = minute_now(conn).await?;
    let rows: Vec<CountRow<'_>> =
        counts.iter().map(|(group, failures)| CountRow { minute, group, failures: *failures }).collect();
    match conn {
        Conn::Sqlite(c) => {
            for row in &rows {
                let values = (
                    error_counts::minute.eq(row.minute),
                    error_counts::error_group.eq(row.group),
                    error_counts::failures.eq(row.failures),
                );
                let sum =
                    error_counts::failures.eq(error_counts::failures + excluded(error_counts::failures));
                diesel::insert_into(error_counts::table)
                    .values(values)
                    .on_conflict((error_counts::minute, error_counts::error_group))
                    .do_update()
                    .set(sum)
                    .execute(c)
                    .await?;
            }
        }
        Conn::Postgres(c) => {
            RunQueryDsl::execute(AddCounts::new(&rows), &mut **c).await?;
        }
    }
    Ok(())
}

/// Deletes the counts that no list shows any more.
pub(super) async fn delete_old(conn: &mut Conn) -> Result<(), StoreError> {
    let oldest = minute_now(conn).await? - KEPT_MINUTES;
    let old = error_counts::table.filter(error_counts::minute.lt(oldest));
    on!(conn, c => diesel::delete(old).execute(c).await)?;
    Ok(())
}

type LoadedGroup = (String, String, Option<String>, Option<String>, Option<String>, String, LenientTimestamp);

/// Returns the groups with the most failures of the last `minutes`, this one included, at most `limit`.
pub(super) async fn recent(conn: &mut Conn, minutes: u32, limit: usize) -> Result<RecentErrors, StoreError> {
    let minutes = i64::from(minutes.clamp(1, COUNTED_MINUTES));
    let first = minute_now(conn).await? - minutes + 1;
    let sums = format!(
        "SELECT error_group, CAST(sum(failures) AS BIGINT) FROM error_counts WHERE minute >= {first} GROUP BY error_group"
    );
    let mut query = ComposedQuery::<(Text, BigInt)>::new(sums);
    query.prepare_each_time();
    let mut sums: Vec<(String, i64)> = on!(conn, c => query.load(c).await)?;
    let (total, failures) =
        (i64::try_from(sums.len()).unwrap_or(i64::MAX), sums.iter().map(|(_, sum)| sum).sum());
    sums.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    sums.truncate(limit);
    let ids: Vec<&str> = sums.iter().map(|(group, _)| group.as_str()).collect();
    let by_minute = error_counts::table
        .filter(error_counts::minute.ge(first))
        .filter(error_counts::error_group.eq_any(ids.clone()))
        .select((error_counts::error_group, error_counts::minute, error_counts::failures));
    let counted: Vec<(String, i64, i64)> = on!(conn, c => by_minute.load(c).await)?;
    let facts = error_groups::table.filter(error_groups::id.eq_any(ids)).select((
        error_groups::id,
        error_groups::channel,
        error_groups::workflow_id,
        error_groups::task_id,
        error_groups::code,
        error_groups::message,
        error_groups::first_seen,
    ));
    let facts: Vec<LoadedGroup> = on!(conn, c => facts.load(c).await)?;
    let mut facts: HashMap<String, LoadedGroup> =
        facts.into_iter().map(|columns| (columns.0.clone(), columns)).collect();
    let groups = sums.into_iter().filter_map(|(group, count)| {
        let counted = counted.iter().filter(|(of, ..)| *of == group);
        to_group(facts.remove(&group)?, count, counted, CountedWindow { first, minutes })
    });
    Ok(RecentErrors { groups: groups.collect(), total, failures })
}

/// The minutes of a list.
#[derive(Clone, Copy)]
struct CountedWindow {
    /// The number of the first one.
    first: i64,
    minutes: i64,
}

/// Makes a group of its facts and of its counts in a window.
fn to_group<'c>(
    columns: LoadedGroup,
    count: i64,
    counted: impl Iterator<Item = &'c (String, i64, i64)>,
    window: CountedWindow,
) -> Option<ErrorGroupCount> {
    let (group, channel, workflow, task, code, message, first_seen) = columns;
    let CountedWindow { first, minutes } = window;
    let mut minutes = vec![0; usize::try_from(minutes).ok()?];
    let mut last = first;
    for (_, minute, failures) in counted {
        if let Some(slot) = usize::try_from(minute - first).ok().and_then(|at| minutes.get_mut(at)) {
            *slot += failures;
            last = last.max(*minute);
        }
    }
    let (first_seen, last_minute) = (first_seen.into_timestamp()?, begin_of_minute(last)?);
    Some(ErrorGroupCount {
        group,
        channel,
        workflow,
        task,
        code,
        message,
        count,
        first_seen,
        last_minute,
        minutes,
    })
}
