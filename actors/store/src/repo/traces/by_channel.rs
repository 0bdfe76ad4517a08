//! Rows of channels in the order of time.
//!
//! The index of statuses has the rows of a channel in that order for each status and mode alone. A page is merged from the
//! newest, or oldest, rows of each, so that it costs the same however few of all rows are of the channel.

use diesel::sql_types::{Text, Timestamp as TimestampType};
use diesel_async::RunQueryDsl;
use svc_model::Timestamp;

use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::RowKey;
use crate::repo::filters::ComposedQuery;
use crate::repo::keyset::KeysetCondition;
use crate::repo::traces::LenientTimestamp;

/// Ranges of the index that one statement merges at most.
const MOST_RANGES: usize = 112;

/// A statement that finds the keys of rows.
type KeyQuery = ComposedQuery<(Text, TimestampType)>;

/// A part of the index that has its rows in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct IndexRange {
    channel: String,
    status: &'static str,
    mode: &'static str,
}

/// The rows of some channels, statuses and modes.
#[derive(Clone, Debug)]
pub(super) struct ChannelRows {
    ranges: Vec<IndexRange>,
    /// True for later attempts at accepted work, too.
    pub(super) attempts: bool,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    pub(super) after: Option<KeysetCondition>,
    pub(super) descending: bool,
    pub(super) limit: i64,
}

impl ChannelRows {
    /// Returns `None` if they are more ranges than one statement may merge.
    pub(super) fn new(
        channels: &[String],
        statuses: &[&'static str],
        modes: &[&'static str],
    ) -> Option<Self> {
        let count = channels.len().checked_mul(statuses.len())?.checked_mul(modes.len())?;
        if count > MOST_RANGES {
            return None;
        }
        let mut ranges = Vec::with_capacity(count);
        for channel in channels {
            for &status in statuses {
                ranges.extend(modes.iter().map(|&mode| IndexRange {
                    channel: channel.clone(),
                    status,
                    mode,
                }));
            }
        }
        Some(Self {
            ranges,
            attempts: false,
            since: None,
            until: None,
            after: None,
            descending: true,
            limit: 0,
        })
    }

    /// Finds the keys of at most `limit` rows, in their order.
    pub(super) async fn find(&self, conn: &mut Conn) -> Result<Vec<RowKey>, StoreError> {
        if self.ranges.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = match conn.backend() {
            Backend::Sqlite => self.merge(),
            Backend::Postgres => self.join(),
        };
        statement.push(self.order());
        let rows: Vec<(String, LenientTimestamp)> = on!(conn, c => statement.load(c).await)?;
        Ok(rows
            .into_iter()
            .filter_map(|(id, created_at)| Some(RowKey { created_at: created_at.0?, id }))
            .collect())
    }

    /// Returns the statement of SQLite, which has no lateral joins. It names the index: that of failed rows looks as good to
    /// the planner, and has no channel.
    fn merge(&self) -> KeyQuery {
        let mut statement = KeyQuery::new("SELECT id, created_at FROM (");
        for (place, IndexRange { channel, status, mode }) in self.ranges.iter().enumerate() {
            let link = if place > 0 { " UNION ALL " } else { "" };
            statement.push(format!(
                "{link}SELECT * FROM (SELECT id, created_at FROM traces INDEXED BY traces_status \
                 WHERE status = '{status}' AND mode = '{mode}' AND channel = "
            ));
            statement.push_text(channel.clone());
            self.push_conditions(&mut statement);
            statement.push(self.order());
            statement.push(")");
        }
        statement.push(") merged");
        statement
    }

    /// Returns the statement of PostgreSQL, which plans the part of all ranges once.
    fn join(&self) -> KeyQuery {
        let mut statement = KeyQuery::new("SELECT id, created_at FROM (VALUES ");
        for (place, IndexRange { channel, status, mode }) in self.ranges.iter().enumerate() {
            statement.push(if place > 0 { ", (" } else { "(" });
            statement.push_text(channel.clone());
            statement.push(format!(", '{status}', '{mode}')"));
        }
        statement.push(
            ") AS r (channel, status, mode) CROSS JOIN LATERAL (SELECT id, created_at FROM traces t \
             WHERE t.status = r.status AND t.mode = r.mode AND t.channel = r.channel",
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
    fn too_many_ranges_are_not_merged() {
        let channels: Vec<String> = (0..5).map(|number| number.to_string()).collect();
        let (statuses, modes) = (["completed"; 7], ["sync"; 4]);
        assert!(ChannelRows::new(&channels, &statuses, &modes).is_none());
        let four = ChannelRows::new(&channels[..4], &statuses, &modes).unwrap();
        assert_eq!(four.ranges.len(), MOST_RANGES);
    }
}
