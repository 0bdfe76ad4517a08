//! Bodies about the reach of a change.

use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// The definitions that a change of one touches, with the traffic of the last 24 hours. All are of versions that serve;
    /// of the changed definition the latest version counts too.
    pub struct DefinitionImpact {
        /// The kind of the changed definition: `workflow`, `channel`, `connector` or `plugin`.
        pub kind: String,
        /// Its id.
        pub id: String,
        /// Its name.
        pub name: String,
        /// The time since which runs are counted.
        pub since: Timestamp,
        /// The channels, at most 100, the changed one first, then from the nearest to the farthest.
        pub channels: Vec<TouchedChannel>,
        /// Number of further channels, which are not listed.
        pub left_out: usize,
        /// The workflows.
        pub workflows: Vec<TouchedWorkflow>,
        /// Names of the channels that runs of the changed definition call.
        pub calls: Vec<String>,
        /// Names of the connectors that runs of the changed definition use, those of called channels included.
        pub connectors: Vec<String>,
        /// Ids of the workflows that compute the name of a channel that they call: they may call any of these channels.
        pub dynamic_callers: Vec<String>,
    }

    /// A channel that a change touches.
    pub struct TouchedChannel {
        /// Id of the channel.
        pub channel_id: String,
        /// Name of the channel.
        pub name: String,
        /// The reference that leads to the change: `itself`, `runs`, `calls`, `uses`, or `on_failure` for a channel whose
        /// failures are reported to one of these.
        pub how: String,
        /// The definition that it refers to; absent for the changed one.
        pub through: optional String,
        /// The transport.
        pub protocol: String,
        /// Methods of its route; absent if it takes all, or has none.
        pub methods: optional Vec<String>,
        /// Pattern of its route.
        pub route_pattern: optional String,
        /// Topic of its records.
        pub topic: optional String,
        /// Expression of its schedule.
        pub schedule: optional String,
        /// Its quota, as this node serves it.
        pub quota: optional TouchedQuota,
        /// Its runs.
        pub traffic: ChannelTraffic,
    }

    /// The quota of a channel that a change touches.
    pub struct TouchedQuota {
        /// Requests of a key within the window.
        pub limit: u64,
        /// The length of the window.
        pub per: String,
    }

    /// The runs of a channel that began within the time and have ended. Runs without a trace are not among them, nor calls
    /// by workflows, which are part of the run of the caller.
    pub struct ChannelTraffic {
        /// Number of runs; each attempt at accepted work is one.
        pub runs: i64,
        /// Number of those that failed.
        pub failed: i64,
        /// `true` if there are more runs than are counted: 20,000 of a status and origin.
        pub capped: bool,
        /// The 95th percentile of the durations of the newest 500 runs, in milliseconds.
        pub p95_ms: nullable f64,
    }

    /// A workflow that a change touches.
    pub struct TouchedWorkflow {
        /// Id of the workflow.
        pub workflow_id: String,
        /// Name of the workflow.
        pub name: String,
        /// The reference that leads to the change: `itself`, `calls` or `uses`.
        pub how: String,
        /// The definition that it refers to; absent for the changed one.
        pub through: optional String,
    }
}
