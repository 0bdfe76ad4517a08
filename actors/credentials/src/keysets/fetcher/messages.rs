//! The messages of the actor.

use std::sync::Arc;

use actix::Message;

use super::state::Want;
use crate::keysets::set::SharedKeySetSlot;

/// Begin to fetch a set if that is still necessary. Answered at once: its end shows in the set.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Refresh {
    pub(crate) slot: Arc<SharedKeySetSlot>,
    pub(crate) want: Want,
}
