//! The assembly of a service: the start, the table of the tree, the settings of each part, and the state that all handlers
//! share.

pub(crate) mod cluster;
pub(crate) mod cluster_store;
pub(crate) mod jobs;
pub(crate) mod kafka;
pub(crate) mod live_settings;
pub(crate) mod parts;
pub(crate) mod propagation;
pub mod settings;
mod settings_reload;
pub(crate) mod span_export;
pub(crate) mod start;
pub mod state;
pub(crate) mod tree;
