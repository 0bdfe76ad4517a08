//! The state of guards that every node shares: kept answers and the counts of quotas.

mod kept_answers;
mod quota_counts;

pub use kept_answers::KeptAnswers;
pub use quota_counts::{QuotaCounts, QuotaRequest, QuotaReservation, QuotaSlice, QuotaUsage};
