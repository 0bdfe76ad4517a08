//! The messages of the actor.

use std::sync::Arc;

use actix::Message;

use crate::tokens::slot::SharedTokenSlot;
use crate::tokens::state::TokenResult;

/// Obtain a token, unless a fetch has ended since there were `seen` of them.
#[derive(Message)]
#[rtype(result = "TokenResult")]
pub(crate) struct Fetch {
    pub(crate) slot: Arc<SharedTokenSlot>,
    pub(crate) seen: u64,
}

/// Go on trying to store tokens that could not be stored.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Save(pub(crate) Arc<SharedTokenSlot>);
