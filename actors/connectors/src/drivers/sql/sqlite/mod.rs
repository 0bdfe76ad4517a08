//! SQLite files, and SQLite in memory.

mod connect;
mod error;
mod own;
mod read;
mod session;
mod target;

pub(super) use connect::{SqliteManager, prepare_all};
pub(crate) use own::check_own_files;
pub(super) use session::run;
pub(super) use target::SqliteTarget;
