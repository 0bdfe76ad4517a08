//! MySQL and MariaDB.

mod bind;
mod connect;
mod error;
mod read;
mod session;
mod target;

pub(super) use connect::MySqlManager;
pub(super) use target::MySqlTarget;
