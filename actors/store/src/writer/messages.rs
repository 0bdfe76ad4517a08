//! The messages of the writer.

use actix::Message;
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::repo::TraceWrite;
use crate::writer::rows::RowResult;
use crate::writer::unit::UnitWork;

/// Do this in the next transaction, in a savepoint of its own, and answer after the commit.
pub(crate) struct RunUnit<T> {
    pub(crate) work: UnitWork<T>,
}

impl<T: Send + 'static> Message for RunUnit<T> {
    type Result = Result<T, StoreError>;
}

/// Make this change in the next transaction, together with those of others, and tell the caller after the commit.
///
/// It carries its caller, so that an answer goes straight to the thread that waits for it: there are many of these.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct WriteRow {
    pub(crate) change: TraceWrite,
    pub(crate) caller: oneshot::Sender<RowResult>,
}
