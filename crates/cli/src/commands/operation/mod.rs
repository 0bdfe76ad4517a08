//! Commands that show and operate the server itself.

pub(crate) mod actors;
pub(crate) mod audit_logs;
pub(crate) mod backups;
pub(crate) mod cache;
pub(crate) mod engine;
pub(crate) mod functions;
pub(crate) mod health;
pub(crate) mod kafka;
pub(crate) mod live;
pub(crate) mod metrics;
pub(crate) mod nodes;
pub(crate) mod webhooks;
pub(crate) mod whoami;
