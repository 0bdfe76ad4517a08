//! Messages of the writer.

use actix::Message;

use crate::error::StoreError;
use crate::writer::unit::UnitWork;

/// Runs a unit in the next transaction; its failure rolls back nothing else, and answers after the commit.
pub(crate) struct RunUnit<T> {
    pub(crate) work: UnitWork<T>,
}

impl<T: Send + 'static> Message for RunUnit<T> {
    type Result = Result<T, StoreError>;
}
