//! What the writer is asked.

use actix::Message;

use crate::error::StoreError;
use crate::writer::unit::Work;

/// Do this in the next transaction, in a savepoint of its own, and answer after the commit.
pub(crate) struct Write<T> {
    pub(crate) work: Work<T>,
}

impl<T: Send + 'static> Message for Write<T> {
    type Result = Result<T, StoreError>;
}
