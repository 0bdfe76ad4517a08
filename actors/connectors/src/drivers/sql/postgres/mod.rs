//! PostgreSQL.

mod bind;
mod column;
mod connect;
mod error;
mod read;
mod session;
mod target;
mod utc;

pub(super) use connect::PostgresManager;
pub(super) use target::PostgresTarget;
