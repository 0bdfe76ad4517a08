//! Growing pauses between attempts.

use std::time::Duration;

use actix_supervision::Backoff;

/// Delays while the database cannot be reached.
pub(crate) const DATABASE_BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
