//! Messages of the writer.

use actix::Message;
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::repo::TraceWrite;
use crate::writer::rows::RowResult;
use crate::writer::unit::UnitWork;

/// Runs a unit in the next transaction, in a savepoint of its own, and answers after the commit.
pub(crate) struct RunUnit<T> {
    pub(crate) work: UnitWork<T>,
}

impl<T: Send + 'static> Message for RunUnit<T> {
    type Result = Result<T, StoreError>;
}

/// Makes a change in the next transaction, together with those of others, and answers the caller after the commit.
///
/// The message carries its caller, so that the answer goes directly to the waiting thread: there are many of these.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct WriteRow {
    pub(crate) change: TraceWrite,
    pub(crate) caller: oneshot::Sender<RowResult>,
}
