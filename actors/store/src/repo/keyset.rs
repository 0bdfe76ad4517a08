//! Keyset pagination: the next page begins after the last row of the previous one, regardless of writes in
//! between.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{NaiveDateTime, Timelike};
use diesel::QueryResult;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Text, Timestamp};
use diesel::sqlite::Sqlite;
use svc_model::ServiceError;

/// The key of the last row of a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// Creation time of the last row.
    pub created_at: NaiveDateTime,
    pub id: String,
}

impl RowKey {
    /// Writes the key as a text that a row may keep.
    pub fn to_position(&self) -> String {
        format!("{} {}", self.created_at.format(FORMAT), self.id)
    }

    /// Reads the text of a row.
    pub fn from_position(text: &str) -> Option<Self> {
        let (created_at, id) = text.split_once(' ')?;
        let created_at = NaiveDateTime::parse_from_str(created_at, FORMAT).ok()?;
        Some(Self { created_at, id: id.to_owned() })
    }
}

/// The list that a cursor belongs to, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorKind {
    Traces,
    TracesOldestFirst,
    DeadLetters,
    DeadLettersOldestFirst,
    Occurrences,
    OccurrencesOldestFirst,
    Audit,
    AuditOldestFirst,
}

impl CursorKind {
    /// Returns the mark within a cursor.
    const fn mark(self) -> &'static str {
        match self {
            Self::Traces => "t",
            Self::TracesOldestFirst => "t+",
            Self::DeadLetters => "d",
            Self::DeadLettersOldestFirst => "d+",
            Self::Occurrences => "o",
            Self::OccurrencesOldestFirst => "o+",
            Self::Audit => "a",
            Self::AuditOldestFirst => "a+",
        }
    }
}

/// Text form of the creation time inside a cursor, with microseconds.
const FORMAT: &str = "%Y-%m-%dT%H:%M:%S%.6f";

/// Encodes the key as a cursor for callers.
pub(super) fn encode(kind: CursorKind, key: &RowKey) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {} {}", kind.mark(), key.created_at.format(FORMAT), key.id))
}

/// Decodes the cursor of a caller.
///
/// # Errors
/// 400 for a text that holds no key of this kind: no base64, the mark of another list or direction, no creation time, or an
/// id with U+0000.
pub(super) fn decode(kind: CursorKind, cursor: &str) -> Result<RowKey, ServiceError> {
    let key = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (mark, key) = text.split_once(' ')?;
        let (created_at, id) = key.split_once(' ')?;
        let created_at = NaiveDateTime::parse_from_str(created_at, FORMAT).ok()?;
        (mark == kind.mark() && !id.contains('\0')).then(|| RowKey { created_at, id: id.to_owned() })
    };
    key().ok_or_else(|| {
        ServiceError::validation("query parameter 'cursor' is not one that a page of this list told")
    })
}

/// The SQL condition that selects the rows after a key, in one direction. It compares pairs of creation time
/// and id, which an index on both columns serves. Diesel cannot express such a comparison, hence the
/// hand-written fragment.
#[derive(Clone, Debug)]
pub(super) struct KeysetCondition {
    order: KeyOrder,
    created_at: NaiveDateTime,
    /// The creation time as SQLite compares it: text with milliseconds, the resolution of its clock, or with
    /// microseconds if the key has them.
    text: String,
    /// The other text that SQLite has for a whole second: one without a fraction, as a bound value is written.
    whole_second: Option<String>,
    id: String,
}

/// The place of the selected rows.
#[derive(Clone, Copy, Debug)]
enum KeyOrder {
    Before,
    UpTo,
    After,
    From,
}

impl KeyOrder {
    /// Returns the operator between the pairs.
    const fn operator(self) -> &'static str {
        match self {
            Self::Before => "<",
            Self::UpTo => "<=",
            Self::After => ">",
            Self::From => ">=",
        }
    }
}

impl KeysetCondition {
    /// Selects the rows that follow `key` in descending order.
    pub(super) fn newest_first(key: RowKey) -> Self {
        Self::new(key, KeyOrder::Before)
    }

    /// Selects the rows that follow `key` in ascending order.
    pub(super) fn oldest_first(key: RowKey) -> Self {
        Self::new(key, KeyOrder::After)
    }

    /// Selects the rows up to `key` in descending order, and its own.
    pub(super) fn newest_first_up_to(key: RowKey) -> Self {
        Self::new(key, KeyOrder::From)
    }

    /// Selects the rows up to `key` in ascending order, and its own.
    pub(super) fn oldest_first_up_to(key: RowKey) -> Self {
        Self::new(key, KeyOrder::UpTo)
    }

    fn new(key: RowKey, order: KeyOrder) -> Self {
        let nanosecond = key.created_at.nanosecond();
        let is_fine = !nanosecond.is_multiple_of(1_000_000);
        let format = |format: &str| key.created_at.format(format).to_string();
        let text = format(if is_fine { "%Y-%m-%d %H:%M:%S%.6f" } else { "%Y-%m-%d %H:%M:%S%.3f" });
        let whole_second = (nanosecond == 0).then(|| format("%Y-%m-%d %H:%M:%S"));
        Self { order, created_at: key.created_at, text, whole_second, id: key.id }
    }

    /// Writes the comparison with a whole second, all of whose rows are between its two texts.
    fn walk_whole_second<'b>(
        &'b self,
        whole_second: &'b String,
        mut out: AstPass<'_, 'b, Sqlite>,
    ) -> QueryResult<()> {
        let (bound, last, strict, first) = match self.order {
            KeyOrder::Before | KeyOrder::UpTo => ("<=", &self.text, "<", whole_second),
            KeyOrder::After | KeyOrder::From => (">=", whole_second, ">", &self.text),
        };
        out.push_sql("(created_at ");
        out.push_sql(bound);
        out.push_sql(" ");
        out.push_bind_param::<Text, _>(last)?;
        out.push_sql(" AND (created_at ");
        out.push_sql(strict);
        out.push_sql(" ");
        out.push_bind_param::<Text, _>(first)?;
        out.push_sql(" OR id ");
        out.push_sql(self.order.operator());
        out.push_sql(" ");
        out.push_bind_param::<Text, _>(&self.id)?;
        out.push_sql("))");
        Ok(())
    }
}

impl Expression for KeysetCondition {
    type SqlType = Bool;
}
impl<QS> AppearsOnTable<QS> for KeysetCondition {}
impl<QS> SelectableExpression<QS> for KeysetCondition {}
impl<GB> ValidGrouping<GB> for KeysetCondition {
    type IsAggregate = is_aggregate::Never;
}
/// The two directions have different texts and must not share a prepared statement.
impl QueryId for KeysetCondition {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Sqlite> for KeysetCondition {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        if let Some(whole_second) = &self.whole_second {
            return self.walk_whole_second(whole_second, out);
        }
        out.push_sql("(created_at, id) ");
        out.push_sql(self.order.operator());
        out.push_sql(" (");
        out.push_bind_param::<Text, _>(&self.text)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.id)?;
        out.push_sql(")");
        Ok(())
    }
}

impl QueryFragment<Pg> for KeysetCondition {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("(created_at, id) ");
        out.push_sql(self.order.operator());
        out.push_sql(" (");
        out.push_bind_param::<Timestamp, _>(&self.created_at)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.id)?;
        out.push_sql(")");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_round_trips_through_the_caller() {
        for time in ["2026-01-01T00:00:00.000000", "2026-01-01T23:59:59.123456"] {
            let created_at = NaiveDateTime::parse_from_str(time, FORMAT).unwrap();
            let key = RowKey { created_at, id: "with a blank".into() };
            let cursor = encode(CursorKind::Traces, &key);
            assert_eq!(decode(CursorKind::Traces, &cursor).unwrap(), key);
            for other in [CursorKind::TracesOldestFirst, CursorKind::DeadLetters, CursorKind::Audit] {
                assert_eq!(decode(other, &cursor).unwrap_err().status(), 400, "{other:?}");
            }
        }
    }

    #[test]
    fn invalid_cursor_is_a_caller_error() {
        let made = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for bad in [
            String::new(),
            "%%".into(),
            made("x"),
            made("t today a"),
            made("2026-01-01T00:00:00.000000 a"),
            made("t 2026-01-01T00:00:00 a\0"),
        ] {
            assert_eq!(decode(CursorKind::Traces, &bad).unwrap_err().status(), 400, "{bad}");
        }
    }
}
