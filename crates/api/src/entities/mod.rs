//! Bodies about what is defined: workflows, channels, connectors, packages, and the functions that they call.

pub(crate) mod channel_guards;
pub(crate) mod channels;
pub(crate) mod connectors;
pub(crate) mod consumers;
pub(crate) mod definitions;
pub(crate) mod functions;
pub(crate) mod impact;
pub(crate) mod import;
pub(crate) mod lifecycle;
pub(crate) mod packages;
pub(crate) mod plugins;
pub(crate) mod rollouts;
pub(crate) mod validation;
pub(crate) mod workflows;
