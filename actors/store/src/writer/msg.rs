//! What the writer is asked.

use actix::Message;
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::repo::Change;
use crate::writer::rows::Changed;
use crate::writer::unit::Work;

/// Do this in the next transaction, in a savepoint of its own, and answer after the commit.
pub(crate) struct Write<T> {
    pub(crate) work: Work<T>,
}

impl<T: Send + 'static> Message for Write<T> {
    type Result = Result<T, StoreError>;
}

/// Make this change in the next transaction, together with those of others, and tell the caller after the commit.
///
/// It carries its caller, so that an answer goes straight to the thread that waits for it: there are many of these.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct WriteRow {
    pub(crate) change: Change,
    pub(crate) caller: oneshot::Sender<Changed>,
}
