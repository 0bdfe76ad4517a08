//! The terms of waiting work, written after its row in SQLite.

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Nullable, Text};
use diesel::sqlite::Sqlite;

use super::model::{DueTime, WaitReason, WaitTerms};
use crate::repo::traces::NewTrace;

/// Writes the terms of one row of SQLite.
pub(in crate::repo::traces) struct WaitStatement<'a> {
    id: String,
    terms: &'a WaitTerms,
    reason: &'static str,
    /// The instant before which it does not run.
    due: Option<String>,
    /// The instant that its submitter chose.
    deliver_at: Option<String>,
    channel_id: Option<&'a str>,
}

impl<'a> WaitStatement<'a> {
    pub(in crate::repo::traces) fn new(
        trace: &'a NewTrace,
        terms: &'a WaitTerms,
        now: NaiveDateTime,
    ) -> Self {
        let due = terms.due.map(|due| match due {
            DueTime::At(instant) => instant.naive(),
            DueTime::After(delay) => {
                let delay = chrono::Duration::from_std(delay).unwrap_or_default();
                now.checked_add_signed(delay).unwrap_or(now)
            }
        });
        let due = due.map(|due| due.to_string());
        Self {
            id: trace.id.to_string(),
            terms,
            reason: terms.reason.name(),
            deliver_at: due.clone().filter(|_| terms.reason == WaitReason::Scheduled),
            due,
            channel_id: trace.channel_id.as_deref().filter(|_| terms.share.is_some()),
        }
    }
}

impl QueryFragment<Sqlite> for WaitStatement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("UPDATE OR FAIL traces SET waiting = ");
        out.push_bind_param::<Text, _>(self.reason)?;
        out.push_sql(", waits_until = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.due)?;
        out.push_sql(", deliver_at = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.deliver_at)?;
        out.push_sql(", queue_channel = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.channel_id)?;
        out.push_sql(", queue_key = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.terms.share)?;
        out.push_sql(" WHERE id = ");
        out.push_bind_param::<Text, _>(&self.id)
    }
}

impl QueryId for WaitStatement<'_> {
    type QueryId = WaitStatement<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<C> RunQueryDsl<C> for WaitStatement<'_> {}
