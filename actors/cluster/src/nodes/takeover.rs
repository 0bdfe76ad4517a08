//! The pace at which the work of nodes without a lease is taken over.

use std::time::Duration;

/// Most rows that are read and taken over at once, if as many workers are free. Each may be as large as a payload.
pub const TAKEOVER_PAGE: usize = 20;
/// Time between two scans of all unfinished rows, even if no node is known to have lost its lease: a frozen process may
/// have written a row in the name of a node whose work was taken over long ago.
pub const WHOLE_SCAN_INTERVAL: Duration = Duration::from_secs(60);
/// Time after a lost lease during which a node takes over no work of others. Nodes that lost their leases in the same
/// outage, and the pending writes of this node, come first.
pub const SETTLING: Duration = Duration::from_secs(5);
/// Number of scans for nodes without a lease in the length of one lease.
const SCANS_PER_LEASE: u32 = 6;

/// Returns the time between two scans for nodes without a lease of this length.
pub fn scan_interval(lease: Duration) -> Duration {
    lease / SCANS_PER_LEASE
}
