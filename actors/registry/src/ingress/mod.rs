//! The registry as its callers see it: the queue of accepted jobs, Kafka and cron, and the channels of failures.

pub(crate) mod failure_reports;
pub(crate) mod failure_target;
mod jobs;
mod pinned_versions;
mod records;
mod repeated_failures;
mod scheduled_runs;
mod unknown_channels;

pub(crate) use unknown_channels::UnknownChannels;
