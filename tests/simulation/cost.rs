//! The cost model of `docs/scaling.md`: the operations of a node on the database, and the statements of each.

use std::time::Duration;

use svc_cluster::nodes::{WHOLE_SCAN_INTERVAL, scan_interval};

/// An operation on the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// The check of the database each second.
    Probe,
    /// The registration of a node.
    Register,
    /// The renewal of a node's lease.
    Renew,
    /// The end of a node's lease.
    Release,
    /// The question for nodes without a lease.
    HasOrphans,
    /// The read of a page of unfinished work.
    ReadUnfinished,
    /// The takeover of a page.
    Adopt,
    /// The mark on nodes without unfinished work.
    MarkEmptied,
    /// The poll of the epoch.
    ReadEpoch,
    /// The read of what changed.
    ReadChanges,
    /// The load of what changed.
    Load,
    /// The record of the epoch that a node serves.
    RecordApplied,
    /// The change of a definition.
    Change,
    /// The storing, the begin and the end of a job.
    WriteJob,
    /// The pass of the reaper.
    Reap,
    /// The claim of due occurrences.
    Claim,
    /// The move of a cursor, by the node that was first.
    Materialise,
    /// The attempt to move a cursor that another node has moved.
    LoseCursor,
    /// The start, the renewal and the end of an attempt.
    WriteAttempt,
}

impl Operation {
    /// Returns the statements of one operation: begin, commit and the check of a pooled connection included. A write
    /// shares its transaction with others under load, and then needs less.
    pub(super) const fn statements(self) -> u64 {
        match self {
            Self::Probe | Self::ReadEpoch | Self::ReadChanges | Self::WriteJob => 2,
            Self::HasOrphans | Self::ReadUnfinished => 3,
            Self::LoseCursor => 4,
            Self::Renew | Self::Release | Self::RecordApplied => 5,
            Self::Reap | Self::Claim | Self::MarkEmptied => 6,
            Self::Load | Self::Materialise => 7,
            // Its part of the claim is one of them.
            Self::WriteAttempt | Self::Register => 8,
            Self::Adopt => 10,
            Self::Change => 12,
        }
    }
}

/// The intervals that determine the cost of a node without work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intervals {
    pub(super) lease: Duration,
    pub(super) heartbeat: Duration,
    pub(super) epoch_poll: Duration,
    pub(super) cron_poll: Duration,
    pub(super) probe: Duration,
}

/// Returns the statements in a second of `nodes` nodes without other work, on which `instants` instants become due in a
/// second, at the same moment, of schedules that all nodes serve.
pub(super) fn statements_per_second(nodes: f64, intervals: &Intervals, instants: f64) -> f64 {
    let rate = |every: Duration| 1.0 / every.as_secs_f64();
    let cost = |operation: Operation| operation.statements() as f64;
    // The jitter takes up to a fifth of the interval away, a tenth on average.
    let polls = rate(intervals.epoch_poll) / 0.9;
    let of_a_node = rate(intervals.probe) * cost(Operation::Probe)
        + rate(intervals.heartbeat) * cost(Operation::Renew)
        + rate(scan_interval(intervals.lease)) * cost(Operation::HasOrphans)
        + rate(WHOLE_SCAN_INTERVAL) * (cost(Operation::ReadUnfinished) + cost(Operation::MarkEmptied))
        + polls * cost(Operation::ReadEpoch)
        + rate(intervals.cron_poll) * (cost(Operation::Reap) + cost(Operation::Claim));
    // Every node tries to move each cursor, and one does.
    let of_an_instant = cost(Operation::Materialise)
        + (nodes - 1.0) * cost(Operation::LoseCursor)
        + 2.0 * cost(Operation::WriteAttempt);
    // Each node that has moved cursors claims at once what is due.
    let claims = nodes.min(instants) * cost(Operation::Claim);
    nodes * of_a_node + instants * of_an_instant + claims
}
