//! Bodies about the server itself: its state, its nodes, its audit log and its backups.

pub(crate) mod actors;
pub(crate) mod audit;
pub(crate) mod backups;
pub(crate) mod caches;
pub(crate) mod config;
pub(crate) mod dev;
pub(crate) mod engine;
pub(crate) mod live;
pub(crate) mod nodes;
pub(crate) mod operational;
pub(crate) mod webhooks;
