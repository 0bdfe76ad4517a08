//! Tests of the dialect, from authored documents to the statements of each database.

#![expect(clippy::unwrap_used, reason = "tests")]

mod binding;
mod injection;
mod reading;
mod statements;
mod writing;
