//! Documents, from what an author wrote to the statements of each database.

#![expect(clippy::unwrap_used, reason = "tests")]

mod binding;
mod injection;
mod reading;
mod statements;
mod writing;
