//! Commands of workflows, channels, connectors and packages, with the steps they have in common.

pub(crate) mod channels;
pub(crate) mod connectors;
mod definition_diff;
mod import;
mod lifecycle;
pub(crate) mod packages;
mod validation;
pub(crate) mod workflows;
