//! The guarantees of the registry, on a real database.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod calls;
mod counting;
mod jobs;
mod kit;
mod pauses;
mod records;
mod reloads;
mod resolution;
mod supervision;
