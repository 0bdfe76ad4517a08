//! Tokens against real servers on the loopback interface, over a real database.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod fetches;
mod kit;
mod refusals;
mod rotation;
mod storing;
