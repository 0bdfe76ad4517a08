//! The clock of the database, as an expression of its queries. Times that several nodes compare come from it,
//! so that nodes with different clocks agree.

use std::time::Duration;

use chrono::{NaiveDateTime, SubsecRound, Utc};
use diesel::QueryResult;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Double, Text, Timestamp};
use diesel::sqlite::Sqlite;
use diesel_async::RunQueryDsl;

use crate::conn::{Conn, on};
use crate::error::StoreError;

/// The current instant. SQLite has milliseconds, PostgreSQL microseconds.
#[derive(Clone, Copy, Debug, QueryId)]
pub(crate) struct Now;

/// The instant this many seconds from now; in the past if negative.
#[derive(Clone, Debug, QueryId)]
pub(crate) struct FromNow {
    seconds: f64,
    /// The offset as a SQLite date modifier.
    modifier: String,
}

impl FromNow {
    pub(crate) fn seconds(seconds: f64) -> Self {
        Self { seconds, modifier: format!("{seconds:+.6} seconds") }
    }

    fn hours_ago(hours: u64) -> Self {
        // No database has dates beyond this.
        const LONGEST: u64 = 24 * 365 * 1000;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let hours = hours.min(LONGEST) as f64;
        Self::seconds(-3600.0 * hours)
    }
}

macro_rules! instant {
    ($($name:ident),*) => {$(
        impl Expression for $name {
            type SqlType = Timestamp;
        }
        impl<QS> AppearsOnTable<QS> for $name {}
        impl<QS> SelectableExpression<QS> for $name {}
        impl<GB> ValidGrouping<GB> for $name {
            type IsAggregate = is_aggregate::Never;
        }
    )*};
}
instant!(Now, FromNow);

impl QueryFragment<Sqlite> for Now {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("strftime('%Y-%m-%d %H:%M:%f', 'now')");
        Ok(())
    }
}

impl QueryFragment<Pg> for Now {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("(clock_timestamp() AT TIME ZONE 'utc')");
        Ok(())
    }
}

impl QueryFragment<Sqlite> for FromNow {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("strftime('%Y-%m-%d %H:%M:%f', 'now', ");
        out.push_bind_param::<Text, _>(&self.modifier)?;
        out.push_sql(")");
        Ok(())
    }
}

impl QueryFragment<Pg> for FromNow {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("((clock_timestamp() AT TIME ZONE 'utc') + make_interval(secs => ");
        out.push_bind_param::<Double, _>(&self.seconds)?;
        out.push_sql("))");
        Ok(())
    }
}

/// Reads the instant this many hours ago, to be bound in a condition. PostgreSQL treats its clock as a value
/// that may differ from row to row, so a comparison with the clock scans every row; a comparison with a bound
/// value uses an index.
pub(crate) async fn hours_ago(conn: &mut Conn, hours: u64) -> Result<NaiveDateTime, StoreError> {
    Ok(on!(conn, c => diesel::select(FromNow::hours_ago(hours)).get_result(c).await)?)
}

/// Reads the instant that lies `elapsed` before now, to be bound in a condition like [`hours_ago`].
pub(crate) async fn before_now(conn: &mut Conn, elapsed: Duration) -> Result<NaiveDateTime, StoreError> {
    let then = FromNow::seconds(-elapsed.as_secs_f64());
    Ok(on!(conn, c => diesel::select(then).get_result(c).await)?)
}

/// Reads the clock. That of SQLite is the clock of this process, in milliseconds, and needs no statement.
pub(crate) async fn now(conn: &mut Conn) -> Result<NaiveDateTime, StoreError> {
    match conn {
        Conn::Sqlite(_) => Ok(sqlite_now()),
        Conn::Postgres(c) => Ok(diesel::select(Now).get_result(&mut **c).await?),
    }
}

/// Returns the instant that SQLite would: it truncates to milliseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock of SQLite, which a statement would read, cannot be moved either"
)]
pub(crate) fn sqlite_now() -> NaiveDateTime {
    Utc::now().naive_utc().trunc_subsecs(3)
}
