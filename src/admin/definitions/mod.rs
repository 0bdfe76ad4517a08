//! The endpoints of definitions: workflows, channels and connectors, their versions, status and import.

mod activation_conflicts;
pub(crate) mod admin_entity;
mod canary_plan;
pub(crate) mod channels;
pub(crate) mod connector_calls;
pub(crate) mod connectors;
pub(crate) mod entities;
pub(crate) mod guards;
pub(crate) mod impact;
pub(crate) mod import;
pub(crate) mod loadability;
pub(crate) mod pauses;
pub(crate) mod rate_groups;
pub(crate) mod references;
pub(crate) mod rollouts;
pub(crate) mod status;
mod trial_request;
pub(crate) mod workflow_stats;
pub(crate) mod workflows;
