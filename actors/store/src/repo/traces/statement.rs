//! Changes of one trace, as statements that are prepared once: the query builder has no updates that it would keep.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Double, Nullable, Text};
use diesel::sqlite::Sqlite;
use uuid::Uuid;

use crate::clock::{FromNow, Now};
use crate::repo::traces::TraceEnd;

/// Pending becomes running.
pub(super) struct Start {
    id: String,
}

impl Start {
    pub(super) fn new(id: Uuid) -> Self {
        Self { id: id.to_string() }
    }
}

/// Pending or running becomes what the end says.
pub(super) struct Finish<'a> {
    id: String,
    end: &'a TraceEnd,
    status: &'static str,
    /// What a row that was never marked as running began at.
    began: FromNow,
}

impl<'a> Finish<'a> {
    pub(super) fn new(end: &'a TraceEnd) -> Self {
        let began = FromNow::seconds(-end.duration_ms.unwrap_or_default() / 1000.0);
        Self { id: end.id.to_string(), end, status: end.status.name(), began }
    }
}

macro_rules! statements {
    ($($db:ty),*) => {$(
        impl QueryFragment<$db> for Start {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $db>) -> QueryResult<()> {
                out.push_sql("UPDATE traces SET status = 'running', started_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(", updated_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(" WHERE status = 'pending' AND id = ");
                out.push_bind_param::<Text, _>(&self.id)
            }
        }

        impl QueryFragment<$db> for Finish<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $db>) -> QueryResult<()> {
                out.push_sql("UPDATE traces SET status = ");
                out.push_bind_param::<Text, _>(self.status)?;
                out.push_sql(", result_json = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.end.result_json)?;
                out.push_sql(", error_message = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.end.error_message)?;
                out.push_sql(", duration_ms = ");
                out.push_bind_param::<Nullable<Double>, _>(&self.end.duration_ms)?;
                out.push_sql(", task_trace_json = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.end.task_trace_json)?;
                out.push_sql(", started_at = coalesce(started_at, ");
                QueryFragment::<$db>::walk_ast(&self.began, out.reborrow())?;
                out.push_sql("), completed_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(", updated_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(" WHERE status IN ('pending', 'running') AND id = ");
                out.push_bind_param::<Text, _>(&self.id)
            }
        }
    )*};
}
statements!(Sqlite, Pg);

impl QueryId for Start {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryId for Finish<'_> {
    type QueryId = Finish<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<C> diesel::RunQueryDsl<C> for Start {}
impl<C> diesel::RunQueryDsl<C> for Finish<'_> {}
