//! The pure part: from counters and gauges to rates, sums and changes. Without clock and I/O.

pub(crate) mod history;
pub(crate) mod traffic;
pub(crate) mod tree;
