//! The assembly of a service: its parts, the table of the tree made from them, the start, and the state that all handlers
//! share.

pub(crate) mod cluster;
pub(crate) mod cluster_store;
mod components;
pub(crate) mod consumers;
pub(crate) mod context;
pub(crate) mod engine;
pub(crate) mod live_settings;
pub(crate) mod metrics;
pub(crate) mod parts;
pub(crate) mod plugins;
pub(crate) mod propagation;
pub(crate) mod resources;
pub(crate) mod row;
pub mod settings;
mod settings_reload;
pub(crate) mod span_export;
pub(crate) mod start;
pub mod state;
pub(crate) mod stored_answers;
pub(crate) mod stored_quotas;
pub(crate) mod tree;
