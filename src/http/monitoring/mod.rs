//! The endpoints of operation: health, metrics, the tree of actors.

pub(crate) mod access_sample;
pub(crate) mod actors;
pub(crate) mod exposition;
pub(crate) mod health;
pub(crate) mod level_metrics;
pub(crate) mod metrics;
mod process;
pub(crate) mod tree_metrics;
