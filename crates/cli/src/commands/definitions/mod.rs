//! Commands of workflows, channels, connectors, consumers, plugins and packages, with the steps they have in common.

pub(crate) mod channels;
mod connector_calls;
pub(crate) mod connectors;
pub(crate) mod consumers;
mod definition_backtest;
mod definition_diff;
mod guards;
mod impact;
mod import;
mod lifecycle;
pub(crate) mod packages;
pub(crate) mod plugins;
pub(crate) mod rollout;
mod validation;
mod workflow_stats;
pub(crate) mod workflows;
