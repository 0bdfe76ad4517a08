//! PostgreSQL.

mod bind;
mod connect;
mod error;
mod read;
mod session;
mod target;

pub(super) use connect::Manager;
pub(super) use target::PostgresTarget;
