//! The requests of a simulated node to its world.

use std::sync::Arc;
use std::time::Duration;

use svc_ledger::ClaimKey;
use uuid::Uuid;

use super::database::Request;

/// Work that must run on one node at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SimulatedRun {
    Job(u64),
    Occurrence(Uuid),
}

/// A wish of a node.
#[derive(Clone, Debug)]
pub(super) enum NodeAction {
    /// Send a request to the database.
    Call(Request),
    /// Notify the node after a time.
    Timer(Duration, NodeTimer),
    /// The node runs something from now on.
    Began(SimulatedRun),
    /// The node runs it no longer.
    Ended(SimulatedRun),
}

/// A timer of a node.
#[derive(Clone, Debug)]
pub(super) enum NodeTimer {
    Probe,
    Renew,
    /// A lease or a claim may no longer be proven.
    Fence,
    Scan,
    /// The poll of the epoch with this number; a later one replaces it.
    Poll(u64),
    Reap,
    Claim,
    Due(usize),
    JobEnds(u64, Arc<str>),
    RenewClaim(ClaimKey),
    AttemptEnds(ClaimKey),
}
