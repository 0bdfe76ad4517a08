//! The changes of traces that are made on the way of requests.

use diesel::prelude::*;
use diesel::sql_types::{Nullable, Timestamp};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::clock::{FromNow, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::{NewTrace, TraceEnd, TraceStatus};
use crate::schema::traces;

define_sql_function! {
    /// The first, or the second where that is absent.
    fn coalesce(first: Nullable<Timestamp>, second: Timestamp) -> Nullable<Timestamp>;
}

/// A change of one row.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Change {
    Insert(NewTrace),
    Start(Uuid),
    Finish(TraceEnd),
}

impl Change {
    /// Makes it; answers whether a row was changed.
    pub(in crate::repo) async fn apply(&self, conn: &mut Conn) -> Result<bool, StoreError> {
        let changed = match self {
            Self::Insert(trace) => on!(conn, c => insert!(trace).execute(c).await)?,
            Self::Start(id) => on!(conn, c => start!(id).execute(c).await)?,
            Self::Finish(end) => on!(conn, c => finish!(end).execute(c).await)?,
        };
        Ok(changed > 0)
    }
}

macro_rules! insert {
    ($trace:expr) => {{
        let trace: &NewTrace = $trace;
        diesel::insert_into(traces::table).values((
            traces::id.eq(trace.id.to_string()),
            traces::channel.eq(&*trace.channel),
            traces::channel_id.eq(trace.channel_id.as_deref()),
            traces::mode.eq(trace.mode.name()),
            traces::status.eq(trace.status.name()),
            traces::input_json.eq(trace.input_json.as_deref()),
            traces::result_json.eq(trace.result_json.as_deref()),
            traces::error_message.eq(trace.error_message.as_deref()),
            traces::duration_ms.eq(trace.duration_ms),
            traces::started_at.eq(trace.started_at),
            traces::completed_at.eq(trace.completed_at),
            traces::task_trace_json.eq(trace.task_trace_json.as_deref()),
            traces::access_token_hash.eq(trace.access_token_hash.as_deref()),
        ))
    }};
}

macro_rules! start {
    ($id:expr) => {
        diesel::update(traces::table)
            .filter(traces::id.eq($id.to_string()))
            .filter(traces::status.eq(TraceStatus::Pending.name()))
            .set((traces::status.eq(TraceStatus::Running.name()), traces::started_at.eq(Now.nullable())))
    };
}

macro_rules! finish {
    ($end:expr) => {{
        let end: &TraceEnd = $end;
        let began = FromNow::seconds(-end.duration_ms.unwrap_or_default() / 1000.0);
        diesel::update(traces::table)
            .filter(traces::id.eq(end.id.to_string()))
            .filter(
                traces::status
                    .eq(TraceStatus::Pending.name())
                    .or(traces::status.eq(TraceStatus::Running.name())),
            )
            .set((
                traces::status.eq(end.status.name()),
                traces::result_json.eq(end.result_json.as_deref()),
                traces::error_message.eq(end.error_message.as_deref()),
                traces::duration_ms.eq(end.duration_ms),
                traces::started_at.eq(coalesce(traces::started_at, began)),
                traces::completed_at.eq(Now.nullable()),
                traces::task_trace_json.eq(end.task_trace_json.as_deref()),
            ))
    }};
}
use {finish, insert, start};
