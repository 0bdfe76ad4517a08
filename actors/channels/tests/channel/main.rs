//! What a channel promises its callers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answers;
mod definitions;
mod guards;
mod kit;
