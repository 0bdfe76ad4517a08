//! The events of the live stream, and the figures of nodes.
//!
//! The stream is text of server-sent events. Each has a name, and one of these types as its data: [`LivePicture`] is the
//! data of `picture`, [`LiveChanges`] of `changes`, [`LiveEnd`] of `end`.

use serde::{Deserialize, Serialize};
use svc_model::Timestamp;
use utoipa::ToSchema;

/// The data of the event `picture`: everything at one instant. It replaces what came before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LivePicture {
    /// The node that all of it is about, but for the counts of the database.
    pub node: LiveNode,
    /// Time of the picture.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The messages of all channels.
    pub traffic: LiveTraffic,
    /// The channels with messages, those with the most first.
    pub channels: Vec<LiveChannel>,
    /// Number of channels with messages that were left out.
    pub channels_left_out: usize,
    /// The supervision tree.
    pub tree: LiveTree,
    /// Accepted work, dead letters and schedules.
    pub counts: LiveCounts,
    /// The history that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub history: Option<LiveHistory>,
}

/// The data of the event `changes`, once a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveChanges {
    /// Time of the sample.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The messages of all channels since the sample before.
    pub traffic: LiveTraffic,
    /// The channels with messages since then, those with the most first. One that is not in the list had none.
    pub channels: Vec<LiveChannel>,
    /// Number of channels with messages that were left out.
    pub channels_left_out: usize,
    /// The changes of the supervision tree.
    pub tree: LiveTreeChanges,
    /// Accepted work, dead letters and schedules.
    pub counts: LiveCounts,
    /// Runs that ended since then, those that did not complete first.
    pub runs: Vec<LiveRun>,
    /// Number of ended runs that were left out.
    pub runs_left_out: u64,
}

/// The data of the event `end`, the last one of a stream that the server ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveEnd {
    /// `draining`: the node is stopping. `key_withdrawn`: the key is no longer accepted. `once`: no more was asked for.
    pub reason: String,
}

/// The node of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveNode {
    /// Its id, as in the list of nodes.
    pub id: String,
    /// Its name, configured or generated at the start.
    pub name: String,
    /// Version of `svc-server`.
    pub version: String,
    /// Seconds since the start of the process.
    pub uptime_secs: u64,
}

/// Messages of one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveTraffic {
    /// Messages a second, whatever their end.
    pub requests: f64,
    /// Messages a second that failed or reached their deadline.
    pub errors: f64,
    /// Messages a second without an acceptable credential, or seen before.
    pub refused: f64,
    /// Median of the durations in milliseconds, estimated from the buckets of the histogram; `null` without messages.
    #[schema(required = true)]
    pub p50_ms: Option<f64>,
    /// The duration in milliseconds that 99 of 100 messages do not exceed, estimated alike.
    #[schema(required = true)]
    pub p99_ms: Option<f64>,
}

/// Messages of one channel in one period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveChannel {
    /// Name of the channel.
    pub channel: String,
    /// Messages a second, whatever their end.
    pub requests: f64,
    /// Messages a second that failed or reached their deadline.
    pub errors: f64,
    /// Messages a second without an acceptable credential, or seen before.
    pub refused: f64,
    /// The duration in milliseconds that 99 of 100 messages do not exceed, estimated from the buckets of the histogram.
    #[schema(required = true)]
    pub p99_ms: Option<f64>,
}

/// Sums over all nodes of the supervision tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveTreeTotals {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of nodes that run.
    pub running: usize,
    /// Number of nodes in quarantine.
    pub quarantined: usize,
    /// Restarts of all actors since the start.
    pub restarts: u64,
    /// Calls in flight in all mailboxes.
    pub mailbox_depth: usize,
}

/// The supervision tree: its sums, every node with something to report, and the others while there are few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveTree {
    /// The sums over all nodes.
    pub totals: LiveTreeTotals,
    /// The nodes, those with something to report first.
    pub nodes: Vec<LiveActor>,
    /// Number of nodes that were left out.
    pub left_out: usize,
}

/// The changes of the supervision tree since the event before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveTreeChanges {
    /// The sums over all nodes.
    pub totals: LiveTreeTotals,
    /// Nodes that are new or differ.
    pub changed: Vec<LiveActor>,
    /// Paths of nodes that are no longer shown.
    pub gone: Vec<String>,
    /// Number of nodes that were left out.
    pub left_out: usize,
}

/// A node of the supervision tree at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveActor {
    /// The path of the node.
    pub path: String,
    /// `starting`, `running`, `restarting`, `quarantined`, `draining` or `stopped`.
    pub state: String,
    /// Number of the instance that runs or ran last.
    pub generation: u64,
    /// Restarts over the life of the node.
    pub restarts: u64,
    /// Calls in flight.
    pub mailbox_depth: usize,
    /// Maximum number of calls in flight.
    pub mailbox_bound: usize,
    /// The reason of the quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// Counts of work. Those of the database are the service's, as this node counted them last: within the poll intervals of
/// the queue, the dead letters and the schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveCounts {
    /// Accepted jobs in the queue of this node.
    pub queue_depth: u64,
    /// Workers of this node that run a job.
    pub workers_active: u64,
    /// Workers of this node.
    pub workers_total: u64,
    /// Accepted work that waits for the resume of its channel.
    pub waiting_paused: u64,
    /// Accepted work that waits for its time.
    pub waiting_scheduled: u64,
    /// Accepted work that waits for its share.
    pub waiting_share: u64,
    /// Accepted work that waits for its next retry.
    pub waiting_retrying: u64,
    /// Dead letters that wait for a retry.
    pub dead_letters_waiting: u64,
    /// Dead letters without a retry left.
    pub dead_letters_exhausted: u64,
    /// Occurrences of schedules that are due and wait for a worker.
    pub occurrences_due: u64,
    /// Seconds for which the oldest of them has been due; `null` if none waits, or on a node without schedules.
    #[schema(required = true)]
    pub oldest_due_secs: Option<i64>,
    /// Channels that this node serves.
    pub channels: usize,
    /// Channels in quarantine.
    pub channels_quarantined: usize,
    /// Channels that are paused.
    pub channels_paused: usize,
}

/// The end of a run on the node of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveRun {
    /// Id of the run: that of its trace, if it is traced.
    pub id: String,
    /// Time of the end.
    #[schema(value_type = String, format = DateTime)]
    pub ended_at: Timestamp,
    /// Name of the channel.
    pub channel: String,
    /// `sync`, `async`, `cron`, `kafka` or `call`.
    pub mode: String,
    /// Id of the workflow, if one was chosen.
    #[schema(required = true)]
    pub workflow: Option<String>,
    /// Version of the workflow.
    #[schema(required = true)]
    pub version: Option<i64>,
    /// `completed`, `failed`, `timed_out` or `cancelled`.
    pub status: String,
    /// Code of the error by which it failed.
    #[schema(required = true)]
    pub error_code: Option<String>,
    /// Its duration in milliseconds.
    pub took_ms: f64,
}

/// The history of the messages of all channels, as far as the memory of the node reaches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveHistory {
    /// A point for each second of the last hour in which somebody watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub seconds: Option<LiveSeries>,
    /// A point for each minute of the last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub minutes: Option<LiveSeries>,
}

/// Points of one resolution, the oldest first; each list has a value for each point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveSeries {
    /// End of the period of the point, in seconds since 1970. Periods without a point are left out.
    pub times: Vec<i64>,
    /// Messages a second.
    pub requests: Vec<f64>,
    /// Messages a second that failed or reached their deadline.
    pub errors: Vec<f64>,
    /// The duration in milliseconds that 99 of 100 messages did not exceed; `null` without messages.
    pub p99_ms: Vec<Option<f64>>,
}

/// The figures of a node, which it writes every ten seconds if the console is on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeFigures {
    /// Seconds since the node wrote them.
    #[serde(default)]
    pub age_secs: u64,
    /// The messages of all channels in the ten seconds before.
    pub traffic: LiveTraffic,
    /// The channels with messages in them, those with the most first.
    pub channels: Vec<LiveChannel>,
    /// Number of channels with messages that were left out.
    pub channels_left_out: usize,
    /// Names of channels in quarantine.
    pub quarantined: Vec<String>,
    /// Number of channels in quarantine that were left out.
    pub quarantined_left_out: usize,
    /// The sums over the supervision tree.
    pub tree: LiveTreeTotals,
}
