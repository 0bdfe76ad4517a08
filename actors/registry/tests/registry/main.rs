//! What the registry promises, on a real database.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod calls;
mod jobs;
mod kit;
mod reloads;
mod resolution;
mod supervision;
