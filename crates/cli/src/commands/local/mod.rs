//! Commands that need no server.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod man;
