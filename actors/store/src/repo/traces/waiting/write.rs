//! The terms of waiting work, written beside its row.

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, Bool, Double, Nullable, Text, Timestamp};
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

/// The terms of many rows of PostgreSQL, by column.
#[derive(Default)]
pub(in crate::repo::traces) struct WaitColumns<'a> {
    ids: Vec<String>,
    reasons: Vec<&'static str>,
    instants: Vec<Option<NaiveDateTime>>,
    delays: Vec<Option<f64>>,
    is_chosen: Vec<bool>,
    channels: Vec<Option<&'a str>>,
    keys: Vec<Option<&'a str>>,
}

impl<'a> WaitColumns<'a> {
    pub(in crate::repo::traces) fn push(&mut self, trace: &'a NewTrace, terms: &'a WaitTerms) {
        let (instant, delay) = match terms.due {
            Some(DueTime::At(instant)) => (Some(instant.naive()), None),
            Some(DueTime::After(delay)) => (None, Some(delay.as_secs_f64())),
            None => (None, None),
        };
        self.ids.push(trace.id.to_string());
        self.reasons.push(terms.reason.name());
        self.instants.push(instant);
        self.delays.push(delay);
        self.is_chosen.push(terms.reason == WaitReason::Scheduled);
        self.channels.push(trace.channel_id.as_deref().filter(|_| terms.share.is_some()));
        self.keys.push(terms.share.as_deref());
    }

    pub(in crate::repo::traces) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl QueryFragment<Pg> for WaitColumns<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        // The clock is read once for each row, so that both instants of a row are the same.
        out.push_sql(
            "UPDATE traces SET waiting = w.reason, waits_until = w.due, \
             deliver_at = CASE WHEN w.is_chosen THEN w.due END, queue_channel = w.channel, queue_key = w.key \
             FROM (SELECT id, reason, is_chosen, channel, key, coalesce(instant, \
             (clock_timestamp() AT TIME ZONE 'utc') + make_interval(secs => delay)) AS due FROM unnest(",
        );
        out.push_bind_param::<Array<Text>, _>(&self.ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.reasons)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Nullable<Timestamp>>, _>(&self.instants)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Nullable<Double>>, _>(&self.delays)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Bool>, _>(&self.is_chosen)?;
        for texts in [&self.channels, &self.keys] {
            out.push_sql(", ");
            out.push_bind_param::<Array<Nullable<Text>>, _>(texts)?;
        }
        out.push_sql(
            ") AS u (id, reason, instant, delay, is_chosen, channel, key)) AS w WHERE traces.id = w.id",
        );
        Ok(())
    }
}

impl QueryId for WaitColumns<'_> {
    type QueryId = WaitColumns<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}
