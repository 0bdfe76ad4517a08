//! SQLite files, and SQLite in memory.

mod connect;
mod error;
mod own;
mod read;
mod session;
mod target;

pub(super) use connect::Manager;
pub use own::OwnDatabase;
pub(super) use session::run;
pub(super) use target::SqliteTarget;
