//! Keys of a page, read from an index that has the rows in the order of time.
//!
//! The rows of each value of its first column are a part of the index, and a page is merged from the newest, or oldest, rows
//! of each part. Conditions that the index does not serve may leave out any number of rows: then a call reads a bounded
//! number of them, and the page names the instant that it reached.

use chrono::NaiveDateTime;
use diesel::sql_types::{BigInt, Text, Timestamp as TimestampType};
use diesel_async::RunQueryDsl;
use svc_model::{Page, Timestamp};

use super::condition::{RowCondition, push_all};
use super::{ComposedQuery, Continuation};
use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::RowKey;
use crate::repo::keyset::KeysetCondition;
use crate::repo::traces::LenientTimestamp;

/// Parts of an index that one statement merges at most.
const MOST_PARTS: usize = 128;

/// Rows that one call sorts at most.
const MOST_SORTED: i64 = 10_000;

/// Values of conditions that a statement repeats at most, once for each part: SQLite takes 32,766 in all, and is slower.
const MOST_REPEATED: usize = 1_000;

/// The columns of a key.
const KEY: &str = "id, created_at";

/// A statement that finds the keys of rows.
type KeyQuery = ComposedQuery<(Text, TimestampType)>;

/// The id and the time of a row.
pub(in crate::repo) type LoadedKey = (String, LenientTimestamp);

/// The parts of an index: one for each value of its first column.
#[derive(Clone, Debug)]
pub(in crate::repo) struct IndexParts {
    column: &'static str,
    values: Vec<String>,
}

impl IndexParts {
    /// Selects the parts of these values; `None` for more than one statement may merge.
    pub(in crate::repo) fn new(column: &'static str, mut values: Vec<String>) -> Option<Self> {
        values.sort_unstable();
        values.dedup();
        (values.len() <= MOST_PARTS).then_some(Self { column, values })
    }
}

/// The way to the rows of a page.
#[derive(Clone, Debug)]
pub(in crate::repo) struct KeyScan {
    pub(in crate::repo) table: &'static str,
    /// The index, which has the rows of each part in the order of time. SQLite gets its name: its planner has no
    /// statistics, and chooses others.
    pub(in crate::repo) index: &'static str,
    /// The parts; `None` for an index of time alone.
    pub(in crate::repo) parts: Option<IndexParts>,
    /// Conditions that every row which is read fulfils, or that the index bounds.
    pub(in crate::repo) served: Vec<RowCondition>,
    /// Conditions that leave out rows which are read.
    pub(in crate::repo) others: Vec<RowCondition>,
    /// The place of the page before.
    pub(in crate::repo) after: Option<RowKey>,
    pub(in crate::repo) descending: bool,
    pub(in crate::repo) page: Page,
    /// Rows that a call reads at most if others are left out.
    pub(in crate::repo) most_read: i64,
}

/// The keys of a page.
#[derive(Debug, Default)]
pub(in crate::repo) struct FoundKeys {
    /// The keys, in their order.
    pub(in crate::repo) keys: Vec<RowKey>,
    /// The place at which the list goes on.
    pub(in crate::repo) next: Continuation,
}

impl FoundKeys {
    /// Cuts rows to the page, behind which there is one more if more rows follow. `end` is the key of the last row that the
    /// call was allowed to read. A row without a readable time has no key, and ends no list.
    pub(in crate::repo) fn cut(rows: Vec<LoadedKey>, limit: i64, end: Option<RowKey>) -> Self {
        let limit = usize::try_from(limit).unwrap_or_default();
        let more = rows.len() > limit;
        let keys = rows.into_iter().take(limit);
        let keys: Vec<RowKey> =
            keys.filter_map(|(id, created_at)| Some(RowKey { created_at: created_at.0?, id })).collect();
        let last = keys.last().filter(|_| more).cloned();
        Self { keys, next: Continuation::after(last, end) }
    }
}

impl KeyScan {
    /// Finds the keys of a page.
    pub(in crate::repo) async fn find(&self, conn: &mut Conn) -> Result<FoundKeys, StoreError> {
        if self.parts.as_ref().is_some_and(|parts| parts.values.is_empty()) {
            return Ok(FoundKeys::default());
        }
        // A page by offset is read whole, as in earlier releases.
        let end = match self.others.is_empty() || self.page.offset != 0 {
            true => None,
            false => self.find_end(conn).await?,
        };
        let most = self.page.limit.saturating_add(1);
        let reach = most.saturating_add(self.page.offset);
        let (others, lists) = self.share_values(conn.backend());
        let merge = Merge {
            columns: KEY,
            lists,
            others: &others,
            end: end.clone(),
            of_part: format!("LIMIT {reach}"),
            limit: format!("LIMIT {most} OFFSET {}", self.page.offset),
        };
        let mut statement = self.merge(conn.backend(), &merge);
        statement.prepare_for_page(self.page);
        let keys = load(conn, statement).await?;
        Ok(FoundKeys::cut(keys, self.page.limit, end))
    }

    /// Returns the place up to which this call may read, if as many rows follow: before all rows of an instant, which has no
    /// id, since few indexes have ids. Each part has its share of the rows; the first that is read to its end ends the call.
    async fn find_end(&self, conn: &mut Conn) -> Result<Option<RowKey>, StoreError> {
        let mut end = self.find_end_instant(conn, &[]).await?;
        if let Some(after) = &self.after
            && !self.descending
            && end == Some(after.created_at)
        {
            // Oldest first, the rows of that instant are left for the next call. This one begins among them: it has to
            // get on.
            let later = [RowCondition::Time("created_at", ">", Timestamp::from_naive(after.created_at))];
            end = self.find_end_instant(conn, &later).await?.filter(|end| *end > after.created_at);
        }
        Ok(end.map(|created_at| RowKey { created_at, id: String::new() }))
    }

    /// Returns the instant of the last row of the share of a part, of those that fulfil further conditions.
    async fn find_end_instant(
        &self,
        conn: &mut Conn,
        others: &[RowCondition],
    ) -> Result<Option<NaiveDateTime>, StoreError> {
        let parts = self.parts.as_ref().map_or(1, |parts| parts.values.len());
        let share = self.most_read / i64::try_from(parts).unwrap_or(i64::MAX).max(1);
        let skipped = share.saturating_sub(1).max(0);
        let of_part = format!("LIMIT 1 OFFSET {skipped}");
        let merge = Merge { columns: "created_at", others, of_part, ..Merge::default() };
        let statement: ComposedQuery<TimestampType> = self.merge(conn.backend(), &merge);
        let instants: Vec<LenientTimestamp> = on!(conn, c => statement.load(c).await)?;
        Ok(<[_]>::first(&instants).and_then(|instant| instant.0))
    }

    /// Returns the conditions that leave out rows. SQLite has them once for each part: if that makes too many values, they
    /// are in lists of the statement, which are returned too.
    fn share_values(&self, backend: Backend) -> (Vec<RowCondition>, Vec<Vec<String>>) {
        let parts = self.parts.as_ref().map_or(1, |parts| parts.values.len());
        let values: usize = self.others.iter().map(RowCondition::count_values).sum();
        if backend == Backend::Postgres || values.saturating_mul(parts) <= MOST_REPEATED {
            return (self.others.clone(), Vec::new());
        }
        let mut lists = Vec::new();
        let share = |condition: &RowCondition| match condition.in_list(&format!("list{}", lists.len())) {
            Some((shared, values)) => {
                lists.push(values);
                shared
            }
            None => condition.clone(),
        };
        let others = self.others.iter().map(share).collect();
        (others, lists)
    }

    /// Returns the statement that merges the parts.
    fn merge<ST>(&self, backend: Backend, merge: &Merge<'_>) -> ComposedQuery<ST> {
        let (table, index) = (self.table, self.index);
        let Merge { columns, of_part, limit, .. } = merge;
        let mut statement = ComposedQuery::new("");
        for (place, values) in merge.lists.iter().enumerate() {
            statement.push(if place == 0 { "WITH " } else { ", " });
            statement.push(format!("list{place} (value) AS (VALUES ("));
            statement.push_texts(values, "), (");
            statement.push("))");
        }
        statement.push(format!(" SELECT {columns} FROM ("));
        match (&self.parts, backend) {
            (None, _) => {
                let hint =
                    if backend == Backend::Sqlite { format!(" INDEXED BY {index}") } else { String::new() };
                statement.push(format!("SELECT {columns} FROM {table}{hint} WHERE 1 = 1"));
                self.push_conditions(&mut statement, backend, merge);
                statement.push(format!("{} {of_part}", self.order("", columns)));
            }
            (Some(IndexParts { column, values }), Backend::Sqlite) => {
                for (place, value) in values.iter().enumerate() {
                    let link = if place > 0 { " UNION ALL " } else { "" };
                    statement.push(format!(
                        "{link}SELECT * FROM (SELECT {columns} FROM {table} INDEXED BY {index} WHERE {column} = "
                    ));
                    statement.push_text(value.clone());
                    self.push_conditions(&mut statement, backend, merge);
                    statement.push(format!("{} {of_part}) part", self.order("", columns)));
                }
            }
            // As a range of the column, which is first in the order too: no other index has that order. By its statistics
            // the planner might walk the rows of all values, and find none of this one.
            (Some(IndexParts { column, values }), Backend::Postgres) => {
                statement.push(format!("SELECT {columns} FROM (VALUES "));
                for (place, value) in values.iter().enumerate() {
                    statement.push(if place > 0 { ", (" } else { "(" });
                    statement.push_text(value.clone());
                    statement.push(")");
                }
                statement.push(format!(
                    ") AS part (value) CROSS JOIN LATERAL (SELECT {columns} FROM {table} \
                     WHERE {column} >= part.value AND {column} <= part.value"
                ));
                self.push_conditions(&mut statement, backend, merge);
                statement.push(format!("{} {of_part}) found", self.order(column, columns)));
            }
        }
        statement.push(format!(") merged{} {limit}", self.order("", columns)));
        statement
    }

    fn push_conditions<ST>(&self, statement: &mut ComposedQuery<ST>, backend: Backend, merge: &Merge<'_>) {
        for condition in &self.served {
            statement.push(" AND ");
            condition.push_to(statement);
        }
        // PostgreSQL estimates how many rows are left, and may read and sort all for few: it cannot estimate an expression.
        let (before, behind) = match backend {
            Backend::Sqlite => (" AND ", ""),
            Backend::Postgres => (" AND COALESCE((", "), FALSE)"),
        };
        for condition in merge.others {
            statement.push(before);
            condition.push_to(statement);
            statement.push(behind);
        }
        let after = self.after.clone().map(|key| match self.descending {
            true => KeysetCondition::newest_first(key),
            false => KeysetCondition::oldest_first(key),
        });
        let up_to = merge.end.clone().map(|key| match self.descending {
            true => KeysetCondition::newest_first_up_to(key),
            false => KeysetCondition::oldest_first_up_to(key),
        });
        for key in [after, up_to].into_iter().flatten() {
            statement.push(" AND ");
            statement.push_key(key);
        }
    }

    /// Returns the order by the columns of time and id that are read, and by a column before them if one is named.
    fn order(&self, column: &str, columns: &str) -> String {
        let direction = if self.descending { "DESC" } else { "ASC" };
        let first = if column.is_empty() { String::new() } else { format!("{column} {direction}, ") };
        let id = if columns == KEY { format!(", id {direction}") } else { String::new() };
        format!(" ORDER BY {first}created_at {direction}{id}")
    }
}

/// The rows that a statement merges, of all that an index has.
struct Merge<'a> {
    /// The columns: those of the key, or time alone.
    columns: &'static str,
    /// Values that the conditions have in lists of the statement.
    lists: Vec<Vec<String>>,
    others: &'a [RowCondition],
    /// The place up to which rows are read.
    end: Option<RowKey>,
    /// The limit of each part, and that of all.
    of_part: String,
    limit: String,
}

impl Default for Merge<'_> {
    fn default() -> Self {
        Self {
            columns: KEY,
            lists: Vec::new(),
            others: &[],
            end: None,
            of_part: String::new(),
            limit: "LIMIT 1".to_owned(),
        }
    }
}

/// Few rows that another index finds: they are read whole and sorted.
#[derive(Clone, Debug)]
pub(in crate::repo) struct SortedScan {
    /// Conditions that the index serves.
    pub(in crate::repo) selected: Vec<RowCondition>,
    /// The list, with its other conditions.
    pub(in crate::repo) scan: KeyScan,
}

impl SortedScan {
    /// Finds the keys of a page; `None` if the index finds more rows than a call sorts.
    pub(in crate::repo) async fn find(&self, conn: &mut Conn) -> Result<Option<FoundKeys>, StoreError> {
        let scan = &self.scan;
        let mut count =
            ComposedQuery::<BigInt>::new(format!("SELECT count(*) FROM (SELECT 1 FROM {}", scan.table));
        push_all(&mut count, &self.selected);
        count.push(format!(" LIMIT {MOST_SORTED}) counted"));
        let counted: Vec<i64> = on!(conn, c => count.load(c).await)?;
        if <[_]>::first(&counted).is_none_or(|counted| *counted >= MOST_SORTED) {
            return Ok(None);
        }
        let mut statement =
            KeyQuery::new(format!("SELECT id, created_at FROM (SELECT * FROM {}", scan.table));
        push_all(&mut statement, &self.selected);
        // Neither planner looks through an offset: it might walk the index of the order.
        let fence = if conn.backend() == Backend::Sqlite { " LIMIT -1 OFFSET 0" } else { " OFFSET 0" };
        statement.push(format!("{fence}) {} WHERE 1 = 1", scan.table));
        let merge = Merge { others: &scan.others, ..Merge::default() };
        scan.push_conditions(&mut statement, conn.backend(), &merge);
        let most = scan.page.limit.saturating_add(1);
        statement.push(format!("{} LIMIT {most} OFFSET {}", scan.order("", KEY), scan.page.offset));
        statement.prepare_for_page(scan.page);
        let keys = load(conn, statement).await?;
        Ok(Some(FoundKeys::cut(keys, scan.page.limit, None)))
    }
}

/// Counts all rows that match.
pub(in crate::repo) async fn count_all(
    conn: &mut Conn,
    table: &str,
    conditions: &[RowCondition],
) -> Result<i64, StoreError> {
    let mut statement = ComposedQuery::<BigInt>::new(format!("SELECT count(*) FROM {table}"));
    push_all(&mut statement, conditions);
    let counted: Vec<i64> = on!(conn, c => statement.load(c).await)?;
    Ok(counted.into_iter().sum())
}

async fn load(conn: &mut Conn, statement: KeyQuery) -> Result<Vec<LoadedKey>, StoreError> {
    Ok(on!(conn, c => statement.load(c).await)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_parts_are_not_merged() {
        let values = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert!(IndexParts::new("status", values(MOST_PARTS)).is_some());
        assert!(IndexParts::new("status", values(MOST_PARTS + 1)).is_none());
        let twice = vec!["a".to_owned(); MOST_PARTS + 1];
        assert_eq!(IndexParts::new("status", twice).map(|parts| parts.values.len()), Some(1));
    }
}
