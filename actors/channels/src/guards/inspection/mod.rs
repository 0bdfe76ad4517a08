//! The guards of a channel as operators see them: the refusals that they counted, and a trial of a request.

mod refusal_counts;
mod trial;

pub(crate) use refusal_counts::RefusalCounts;
pub use refusal_counts::{CountedRefusal, RefusalTotals};
pub use trial::{GuardTrial, TrialRefusal, TrialResult, TriedGuard};
pub(crate) use trial::{PAUSE, PAUSED};
