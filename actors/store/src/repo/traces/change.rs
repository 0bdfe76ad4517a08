//! The changes of traces on the hot path of requests.

use std::sync::Arc;

use diesel::prelude::ExpressionMethods;
use diesel::{QueryResult, SqliteConnection};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::traces::statement::{FinishStatement, RecoverStatement, StartStatement};
use crate::repo::traces::{NewTrace, Ownership, TraceEnd, bulk};
use crate::schema::traces;

/// A change of one row.
#[derive(Clone, Debug)]
pub(crate) enum TraceWrite {
    Insert(NewTrace),
    /// Changes pending to running.
    Start(Uuid, Option<Ownership>),
    /// Restarts a run that another node left. The claim carries the incremented number of recoveries.
    Recover(Uuid, Ownership),
    Finish(TraceEnd),
}

impl TraceWrite {
    /// Estimates the bytes of its content.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Insert(trace) => trace.bytes(),
            Self::Start(..) | Self::Recover(..) => 0,
            Self::Finish(end) => end.bytes(),
        }
    }

    /// Applies the change. Returns whether a row was changed.
    pub(crate) async fn apply(&self, conn: &mut Conn) -> Result<bool, StoreError> {
        let changed = match self {
            Self::Insert(trace) => on!(conn, c => insert!(trace).execute(c).await)?,
            Self::Start(id, claim) => on!(conn, c => StartStatement::new(*id, claim).execute(c).await)?,
            Self::Recover(id, claim) => on!(conn, c => RecoverStatement::new(*id, claim).execute(c).await)?,
            Self::Finish(end) => on!(conn, c => FinishStatement::new(end).execute(c).await)?,
        };
        Ok(changed > 0)
    }

    /// Applies all changes, in the order of the life of a row. Returns for each whether a row was changed.
    /// After an error, any part of them may have been applied.
    pub(crate) async fn apply_all(
        changes: &Arc<Vec<Self>>,
        conn: &mut Conn,
    ) -> Result<Vec<bool>, StoreError> {
        match conn {
            Conn::Sqlite(c) => {
                let changes = Arc::clone(changes);
                Ok(c.spawn_blocking(move |c| changes.iter().map(|change| change.apply_to(c)).collect())
                    .await?)
            }
            Conn::Postgres(c) => bulk::apply(changes, c).await,
        }
    }

    /// Applies the change without a future: the statements are prepared once and run synchronously.
    fn apply_to(&self, c: &mut SqliteConnection) -> QueryResult<bool> {
        let changed = match self {
            Self::Insert(trace) => diesel::RunQueryDsl::execute(insert!(trace), c),
            Self::Start(id, claim) => diesel::RunQueryDsl::execute(StartStatement::new(*id, claim), c),
            Self::Recover(id, claim) => diesel::RunQueryDsl::execute(RecoverStatement::new(*id, claim), c),
            Self::Finish(end) => diesel::RunQueryDsl::execute(FinishStatement::new(end), c),
        };
        changed.map(|rows| rows > 0)
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
            traces::owner.eq(trace.owner.as_deref()),
            traces::workflow_id.eq(trace.workflow.as_ref().map(|workflow| &*workflow.id)),
            traces::workflow_version.eq(trace.workflow.as_ref().map(|workflow| workflow.version)),
        ))
    }};
}
use insert;
