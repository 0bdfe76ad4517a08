//! The wall clock of an engine.

use std::sync::Arc;

use chrono::{DateTime, Utc};

/// The source of wall-clock time of all runs of an engine.
pub(crate) type EngineClock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// Returns the time of the system clock.
#[expect(clippy::disallowed_methods, reason = "the default clock")]
pub(crate) fn system_time() -> DateTime<Utc> {
    Utc::now()
}
