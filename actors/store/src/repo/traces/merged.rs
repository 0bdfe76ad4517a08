//! Rows in the order of time, merged from parts of indexes.
//!
//! The index of statuses has the rows of a channel in that order for each status and mode alone; the indexes of some
//! statuses have each of them. A page is merged from the newest, or oldest, rows of each part, so that it costs the same
//! however few of all rows match.

use diesel::sql_types::{Text, Timestamp as TimestampType};
use diesel_async::RunQueryDsl;
use svc_model::{Page, Timestamp};

use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::{ComposedQuery, LoadedKey};
use crate::repo::keyset::KeysetCondition;
use crate::repo::traces::{TraceMode, TraceStatus};

/// Parts of indexes that one statement merges at most.
const MOST_PARTS: usize = 128;

/// A statement that finds the keys of rows.
type KeyQuery = ComposedQuery<(Text, TimestampType)>;

/// The rows of some statuses, or of some channels, statuses and modes.
#[derive(Clone, Debug)]
pub(super) struct MergedRows {
    parts: Parts,
    /// True for later attempts at accepted work, too.
    pub(super) attempts: bool,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) after: Option<KeysetCondition>,
    pub(super) descending: bool,
    pub(super) limit: i64,
}

/// The parts of indexes that have their rows in the order of time.
#[derive(Clone, Debug)]
enum Parts {
    /// Statuses.
    Statuses(Vec<TraceStatus>),
    /// Channels, each with a status and a mode.
    Channels(Vec<(String, TraceStatus, TraceMode)>),
}

impl MergedRows {
    /// Selects the rows of some statuses; `None` for one that most rows may have, which has no index.
    pub(super) fn of_statuses(statuses: &[TraceStatus]) -> Option<Self> {
        let is_indexed = !statuses.contains(&TraceStatus::Completed);
        is_indexed.then(|| Self::new(Parts::Statuses(statuses.to_vec())))
    }

    /// Selects the rows of some channels; `None` for more than one statement may merge.
    pub(super) fn of_channels(
        channels: &[String],
        statuses: &[TraceStatus],
        modes: &[TraceMode],
    ) -> Option<Self> {
        let count = channels.len().checked_mul(statuses.len())?.checked_mul(modes.len())?;
        if count > MOST_PARTS {
            return None;
        }
        let mut parts = Vec::with_capacity(count);
        for channel in channels {
            for status in statuses {
                parts.extend(modes.iter().map(|mode| (channel.clone(), *status, *mode)));
            }
        }
        Some(Self::new(Parts::Channels(parts)))
    }

    const fn new(parts: Parts) -> Self {
        Self { parts, attempts: false, since: None, until: None, after: None, descending: true, limit: 0 }
    }

    /// Finds the keys of at most `limit` rows, in their order.
    pub(super) async fn find(&self, conn: &mut Conn) -> Result<Vec<LoadedKey>, StoreError> {
        let mut statement = match (&self.parts, conn.backend()) {
            (Parts::Statuses(statuses), _) if statuses.is_empty() => return Ok(Vec::new()),
            (Parts::Channels(parts), _) if parts.is_empty() => return Ok(Vec::new()),
            (Parts::Statuses(statuses), backend) => self.merge_statuses(statuses, backend),
            (Parts::Channels(parts), Backend::Sqlite) => self.merge_channels(parts),
            (Parts::Channels(parts), Backend::Postgres) => self.join_channels(parts),
        };
        statement.push(self.order());
        // One row more than a page has.
        statement.prepare_for_page(Page { limit: self.limit.saturating_sub(1), offset: 0 });
        Ok(on!(conn, c => statement.load(c).await)?)
    }

    /// Returns the statement for statuses. For SQLite it names the index, which its planner would pass over by old statistics.
    fn merge_statuses(&self, statuses: &[TraceStatus], backend: Backend) -> KeyQuery {
        let mut statement = KeyQuery::new("SELECT id, created_at FROM (");
        for (place, status) in statuses.iter().enumerate() {
            let index = match (backend, status) {
                (Backend::Postgres, _) => "",
                (_, TraceStatus::Failed) => " INDEXED BY traces_failed",
                (_, TraceStatus::Pending | TraceStatus::Running | TraceStatus::Completed) => {
                    " INDEXED BY traces_status"
                }
                _ => " INDEXED BY traces_resting",
            };
            let link = if place > 0 { " UNION ALL " } else { "" };
            statement.push(format!(
                "{link}SELECT * FROM (SELECT id, created_at FROM traces{index} WHERE status = '{}'",
                status.name()
            ));
            self.push_conditions(&mut statement);
            statement.push(self.order());
            statement.push(") part");
        }
        statement.push(") merged");
        statement
    }

    /// Returns the statement of SQLite for channels, which has no lateral joins. It names the index: that of failed rows
    /// looks as good to the planner, and has no channel.
    fn merge_channels(&self, parts: &[(String, TraceStatus, TraceMode)]) -> KeyQuery {
        let mut statement = KeyQuery::new("SELECT id, created_at FROM (");
        for (place, (channel, status, mode)) in parts.iter().enumerate() {
            let link = if place > 0 { " UNION ALL " } else { "" };
            statement.push(format!(
                "{link}SELECT * FROM (SELECT id, created_at FROM traces INDEXED BY traces_status \
                 WHERE status = '{}' AND mode = '{}' AND channel = ",
                status.name(),
                mode.name()
            ));
            statement.push_text(channel.clone());
            self.push_conditions(&mut statement);
            statement.push(self.order());
            statement.push(") part");
        }
        statement.push(") merged");
        statement
    }

    /// Returns the statement of PostgreSQL for channels, which plans all parts once.
    fn join_channels(&self, parts: &[(String, TraceStatus, TraceMode)]) -> KeyQuery {
        let mut statement = KeyQuery::new("SELECT id, created_at FROM (VALUES ");
        for (place, (channel, status, mode)) in parts.iter().enumerate() {
            statement.push(if place > 0 { ", (" } else { "(" });
            statement.push_text(channel.clone());
            statement.push(format!(", '{}', '{}')", status.name(), mode.name()));
        }
        statement.push(
            ") AS part (channel, status, mode) CROSS JOIN LATERAL (SELECT id, created_at FROM traces t \
             WHERE t.status = part.status AND t.mode = part.mode AND t.channel = part.channel",
        );
        self.push_conditions(&mut statement);
        statement.push(self.order());
        statement.push(") merged");
        statement
    }

    fn push_conditions(&self, statement: &mut KeyQuery) {
        if !self.attempts {
            statement.push(" AND attempt_of IS NULL");
        }
        for (bound, operator) in [(self.since, ">="), (self.until, "<")] {
            if let Some(instant) = bound {
                statement.push(format!(" AND created_at {operator} "));
                statement.push_time(instant.naive());
            }
        }
        if let Some(after) = &self.after {
            statement.push(" AND ");
            statement.push_key(after.clone());
        }
    }

    fn order(&self) -> String {
        let direction = if self.descending { "DESC" } else { "ASC" };
        format!(" ORDER BY created_at {direction}, id {direction} LIMIT {}", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_parts_are_not_merged() {
        let channels: Vec<String> = (0..5).map(|number| number.to_string()).collect();
        let (statuses, modes) = (TraceStatus::ALL, TraceMode::ALL);
        assert!(MergedRows::of_channels(&channels, &statuses, &modes).is_none());
        assert!(MergedRows::of_channels(&channels[..4], &statuses, &modes).is_some());
    }

    #[test]
    fn status_of_most_rows_is_not_merged() {
        assert!(MergedRows::of_statuses(&TraceStatus::ALL).is_none());
        assert!(MergedRows::of_statuses(&[TraceStatus::Failed, TraceStatus::Retrying]).is_some());
    }
}
