//! The last commit of partitions that are given up. Pure, no I/O.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// The last commit of partitions that are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastCommit {
    /// None: the group has given them to others.
    Skipped,
    /// While the group waits for this member, which gives them up.
    InRebalance,
    /// Before the member leaves its group.
    BeforeLeaving,
}

impl LastCommit {
    /// Returns `true` if an error may pass by itself. The group takes no commit of a member that it has shut out; one
    /// that refuses commits while it rebalances goes on to do so until its members have given their partitions up.
    pub(super) fn outlasts(self, error: &KafkaError) -> bool {
        use RDKafkaErrorCode as Code;
        match error.rdkafka_error_code() {
            Some(Code::UnknownMemberId | Code::IllegalGeneration | Code::FencedInstanceId) => false,
            Some(Code::RebalanceInProgress) => self == Self::BeforeLeaving,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rebalance_is_not_held_up_by_refused_commit() {
        let outlasts = |commit: LastCommit, code| commit.outlasts(&KafkaError::ConsumerCommit(code));
        let rebalancing = RDKafkaErrorCode::RebalanceInProgress;
        assert!(!outlasts(LastCommit::InRebalance, rebalancing));
        assert!(outlasts(LastCommit::BeforeLeaving, rebalancing));
        for commit in [LastCommit::InRebalance, LastCommit::BeforeLeaving] {
            assert!(outlasts(commit, RDKafkaErrorCode::RequestTimedOut));
            assert!(!outlasts(commit, RDKafkaErrorCode::IllegalGeneration));
        }
    }
}
