//! The way of a message to an actor: its address, its admission, its envelope, its mailbox.

pub(crate) mod address;
pub(crate) mod admission;
pub(crate) mod envelope;
pub(crate) mod names;
pub(crate) mod side_mailbox;
