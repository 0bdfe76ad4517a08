//! The bound of the rows that one call reads.

use svc_model::Timestamp;

use crate::repo::RowKey;

/// Rows that one call reads at most for conditions that no index serves.
pub(in crate::repo) const MOST_SCANNED: i64 = 20_000;

/// The same for conditions on workflows and ranges of time, whose pages are due as fast as those of an index.
pub(in crate::repo) const MOST_SCANNED_FAST: i64 = 10_000;

/// The same for conditions that look up another row for each, whose pages are due as fast: a lookup takes some
/// microseconds.
pub(in crate::repo) const MOST_LOOKED_UP: i64 = 250;

/// The place at which a list is read on, and the instant up to which it was read for a page that is not full.
#[derive(Debug, Default)]
pub(in crate::repo) struct Continuation {
    pub(in crate::repo) key: Option<RowKey>,
    pub(in crate::repo) scanned_until: Option<Timestamp>,
}

impl Continuation {
    /// Returns the place after a page. `last` is the key of its last row if more rows follow; `end` that of the last row
    /// which the call was allowed to read.
    pub(in crate::repo) fn after(last: Option<RowKey>, end: Option<RowKey>) -> Self {
        match (last, end) {
            (Some(last), _) => Self { key: Some(last), scanned_until: None },
            (None, Some(end)) => {
                let scanned_until = Some(Timestamp::from_naive(end.created_at));
                Self { key: Some(end), scanned_until }
            }
            (None, None) => Self::default(),
        }
    }
}
