//! What the actor is asked.

use std::sync::Arc;

use actix::Message;

use super::state::Want;
use crate::set::Slot;

/// Fetch a set if that is still necessary. Answered when the set is as it will be: the caller reads it itself.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Refresh {
    pub(crate) slot: Arc<Slot>,
    pub(crate) want: Want,
}
