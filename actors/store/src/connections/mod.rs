//! Connections to the database: how they are opened, pooled, probed and classified.

pub(crate) mod connection_manager;
pub(crate) mod listener;
pub(crate) mod pool;
pub(crate) mod prepared;
pub(crate) mod probe;
pub(crate) mod retry_window;
pub(crate) mod sqlstate;
