//! The changes of traces on the hot path of requests.

use std::sync::Arc;

use svc_model::{ErrorGroup, WorkflowVersion};
use uuid::Uuid;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::traces::open::InsertedTrace;
use crate::repo::traces::{NewTrace, OpenTrace, Ownership, TraceEnd, bulk, statement};

/// A change of one row.
#[derive(Clone, Debug)]
pub(crate) enum TraceWrite {
    Insert(Arc<NewTrace>),
    /// Inserts the row of a run that has begun, with its end if that has come.
    InsertOpen(Arc<OpenTrace>),
    /// Changes pending to running.
    Start(Uuid, Option<WorkflowVersion>, Option<Ownership>),
    /// Restarts a run that another node left. The claim carries the incremented number of recoveries.
    Recover(Uuid, Ownership),
    Finish(TraceEnd),
    /// Stores the group of failures, or that it was seen again.
    Group(Arc<ErrorGroup>),
}

impl TraceWrite {
    /// Returns the row that it inserts. An open one has no further end then.
    pub(super) fn inserted_row(&self) -> Option<InsertedTrace<'_>> {
        match self {
            Self::Insert(trace) => Some((&**trace).into()),
            Self::InsertOpen(trace) => Some(trace.take()),
            Self::Start(..) | Self::Recover(..) | Self::Finish(_) | Self::Group(_) => None,
        }
    }

    /// Estimates the bytes of its content.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Insert(trace) => trace.bytes(),
            Self::InsertOpen(trace) => trace.bytes(),
            Self::Start(..) | Self::Recover(..) => 0,
            Self::Finish(end) => end.bytes(),
            Self::Group(group) => group.message.len(),
        }
    }

    /// Applies the change. Returns whether a row was changed.
    pub(crate) async fn apply(&self, conn: &mut Conn) -> Result<bool, StoreError> {
        let outcomes = Self::apply_all(&Arc::new(vec![self.clone()]), conn).await?;
        Ok(outcomes.first().is_some_and(|changed| *changed))
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
                Ok(c.spawn_blocking(move |c| statement::apply(&changes, c)).await?)
            }
            Conn::Postgres(c) => bulk::apply(changes, c).await,
        }
    }
}
