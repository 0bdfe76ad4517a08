//! The guards of a channel as operators see them: the refusals that they counted, and a trial of a request.

mod refusal_counts;
mod trial;

pub use refusal_counts::{CountedRefusal, RefusalTotals};
pub(crate) use refusal_counts::{PAUSE, PAUSED, RefusalCounts};
pub use trial::{GuardTrial, TrialRefusal, TrialResult, TriedGuard};
