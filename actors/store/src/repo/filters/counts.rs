//! Counts of rows by status, from indexes and over a bounded number of rows.

use std::collections::BTreeMap;

use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use svc_model::Timestamp;

use super::AnyOf;
use super::composed::ComposedQuery;
use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;

/// The highest count of a status. It means as many rows or more.
const MOST_COUNTED: i64 = 10_000;

/// The newest rows of a range of time that are counted if no index counts all of them.
const NEWEST: i64 = 20_000;

/// The column of the work of a later attempt, which few rows have: a condition on it leaves an index as good as it was.
const ATTEMPT: &str = "attempt_of";

/// A statement that counts rows by status.
type CountQuery = ComposedQuery<(Text, BigInt)>;

/// Returns the condition that a column is one of the numbers; `None` without numbers.
pub(in crate::repo) fn is_one_of(column: &'static str, numbers: &[i64]) -> Option<(&'static str, String)> {
    let texts: Vec<_> = numbers.iter().map(i64::to_string).collect();
    (!texts.is_empty()).then(|| (column, format!("{column} IN ({})", texts.join(", "))))
}

/// Rows to count by status.
#[derive(Clone, Debug)]
pub(in crate::repo) struct StatusCount<'a> {
    /// The table.
    pub(in crate::repo) table: &'static str,
    /// The column of time that `since` and `until` bound.
    pub(in crate::repo) time: &'static str,
    /// The operator of `until`.
    pub(in crate::repo) until_operator: &'static str,
    /// The statuses to count.
    pub(in crate::repo) statuses: Vec<&'static str>,
    /// The conditions: a column and its values.
    pub(in crate::repo) conditions: Vec<(&'static str, &'a AnyOf)>,
    /// Conditions of text alone, each with the column that it reads.
    pub(in crate::repo) texts: Vec<(&'static str, String)>,
    /// The column that the index of statuses has next.
    pub(in crate::repo) indexed: &'static str,
    /// The columns whose indexes find the few rows that match: all of them count, not the newest of the table.
    pub(in crate::repo) selective: &'static [&'static str],
    pub(in crate::repo) since: Option<Timestamp>,
    pub(in crate::repo) until: Option<Timestamp>,
}

impl StatusCount<'_> {
    /// Counts the rows of each status, none of which is left out.
    pub(in crate::repo) async fn count(&self, conn: &mut Conn) -> Result<BTreeMap<String, i64>, StoreError> {
        let mut counts: BTreeMap<String, i64> =
            self.statuses.iter().map(|status| ((*status).to_owned(), 0)).collect();
        let has_range = self.since.is_some() || self.until.is_some();
        let by_index = !has_range
            && self.texts.iter().all(|(column, _)| *column == ATTEMPT)
            && self.conditions.iter().all(|(column, _)| *column == self.indexed);
        if !by_index {
            let rows: Vec<(String, i64)> = on!(conn, c => self.count_by_time().load(c).await)?;
            set_counts(&mut counts, rows);
            return Ok(counts);
        }
        let attempts = match self.texts.is_empty() {
            true => Some(BTreeMap::new()),
            false => self.count_attempts(conn).await?,
        };
        for status in &self.statuses {
            let of_status =
                attempts.as_ref().map(|attempts| attempts.get(*status).copied().unwrap_or_default());
            let statement = self.count_by_index(status, of_status);
            let rows: Vec<(String, i64)> = on!(conn, c => statement.load(c).await)?;
            let left_out = of_status.unwrap_or_default();
            set_counts(
                &mut counts,
                rows.into_iter().map(|(status, count)| (status, count.saturating_sub(left_out).max(0))),
            );
        }
        Ok(counts)
    }

    /// Counts the later attempts of each status, which an index has; `None` if they are too many to count.
    async fn count_attempts(&self, conn: &mut Conn) -> Result<Option<BTreeMap<String, i64>>, StoreError> {
        let index = match conn.backend() {
            Backend::Sqlite => " INDEXED BY traces_attempt_statuses",
            Backend::Postgres => "",
        };
        let mut statement = CountQuery::new(format!(
            "SELECT status, count(*) FROM (SELECT status FROM {}{index} WHERE {ATTEMPT} IS NOT NULL",
            self.table
        ));
        for (column, values) in &self.conditions {
            statement.push(" AND ");
            statement.push_any_of(column, values);
        }
        statement.push(format!(" LIMIT {NEWEST}) counted GROUP BY status"));
        let rows: Vec<(String, i64)> = on!(conn, c => statement.load(c).await)?;
        let all: i64 = rows.iter().map(|(_, count)| count).sum();
        Ok((all < NEWEST).then(|| rows.into_iter().collect()))
    }

    /// Counts the rows of a status by the index of statuses. It has later attempts too, so that those that were counted are
    /// counted here on top; if their number is not known, each row is read for it.
    fn count_by_index(&self, status: &str, attempts: Option<i64>) -> CountQuery {
        let mut statement = CountQuery::new(format!(
            "SELECT '{status}', count(*) FROM (SELECT 1 FROM {} WHERE status = '{status}'",
            self.table
        ));
        for (column, values) in &self.conditions {
            statement.push(" AND ");
            statement.push_any_of(column, values);
        }
        for (_, text) in self.texts.iter().filter(|_| attempts.is_none()) {
            statement.push(format!(" AND {text}"));
        }
        let most = MOST_COUNTED.saturating_add(attempts.unwrap_or_default());
        statement.push(format!(" LIMIT {most}) counted"));
        if most != MOST_COUNTED {
            statement.prepare_each_time();
        }
        statement
    }

    /// Counts the newest rows of the range; of rows that an index finds, the newest that match.
    fn count_by_time(&self) -> CountQuery {
        let is_selective = self.conditions.iter().any(|(column, _)| self.selective.contains(column));
        let mut columns = vec!["status"];
        if !is_selective {
            columns.extend(self.conditions.iter().map(|(column, _)| *column));
            columns.extend(self.texts.iter().map(|(column, _)| *column));
            columns.sort_unstable();
            columns.dedup();
        }
        let mut statement = CountQuery::new(format!(
            "SELECT status, count(*) FROM (SELECT {} FROM {}",
            columns.join(", "),
            self.table
        ));
        let mut link = " WHERE ";
        for (bound, operator) in [(self.since, ">="), (self.until, self.until_operator)] {
            if let Some(instant) = bound {
                statement.push(format!("{link}{} {operator} ", self.time));
                statement.push_time(instant.naive());
                link = " AND ";
            }
        }
        if is_selective {
            self.push_conditions(&mut statement, link);
        }
        statement.push(format!(" ORDER BY {} DESC LIMIT {NEWEST}) counted", self.time));
        if !is_selective {
            self.push_conditions(&mut statement, " WHERE ");
        }
        statement.push(" GROUP BY status");
        statement
    }

    fn push_conditions(&self, statement: &mut CountQuery, first: &str) {
        let mut link = first;
        for (column, values) in &self.conditions {
            statement.push(link);
            statement.push_any_of(column, values);
            link = " AND ";
        }
        for (_, text) in &self.texts {
            statement.push(format!("{link}{text}"));
            link = " AND ";
        }
    }
}

/// Sets the counts of the statuses that are counted.
fn set_counts(counts: &mut BTreeMap<String, i64>, rows: impl IntoIterator<Item = (String, i64)>) {
    for (status, count) in rows {
        if let Some(counted) = counts.get_mut(&status) {
            *counted = count;
        }
    }
}
