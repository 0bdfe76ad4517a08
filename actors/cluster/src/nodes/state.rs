//! The lease as far as its holder can prove it: pure, no clock, no I/O. Public so that simulations of clusters can drive
//! it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// The validity of the proof of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseProof {
    /// Valid until the lease is released: no other process can use the database.
    Unlimited,
    /// Valid until this instant, unless renewed before.
    Until(Instant),
    /// No longer valid.
    Ended,
}

/// The id of a node, with the proof of its lease.
#[derive(Clone, Debug)]
pub struct NodeLease {
    /// The id of the node. It changes when the lease is lost.
    pub id: Arc<str>,
    /// The proof of its lease.
    pub proof: LeaseProof,
    /// Earliest instant at which the work of other nodes may be taken over.
    pub settled_at: Instant,
}

/// The next act of the holder of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// Renew the lease. A result that is not known by this instant is too late.
    Renew(Instant),
    /// Register the node under a new id: the lease is lost.
    Register,
}

impl NodeLease {
    /// Returns what the holder of the lease has to do at `now`.
    pub fn next_step(&self, now: Instant, heartbeat: Duration) -> LeaseStep {
        match self.proof {
            LeaseProof::Until(end) if now < end => LeaseStep::Renew(end),
            LeaseProof::Unlimited => LeaseStep::Renew(now + heartbeat),
            LeaseProof::Until(_) | LeaseProof::Ended => LeaseStep::Register,
        }
    }

    /// Returns whether the lease is proven at `now`.
    pub fn is_proven(&self, now: Instant) -> bool {
        match self.proof {
            LeaseProof::Unlimited => true,
            LeaseProof::Until(end) => now < end,
            LeaseProof::Ended => false,
        }
    }

    /// Returns whether the lease of `id` is proven at `now`.
    pub fn holds(&self, id: &str, now: Instant) -> bool {
        *self.id == *id && self.is_proven(now)
    }

    /// Records a successful renewal that was sent at `sent` and is known at `now`. A proof that expired in
    /// between is not restored, because the work under it was dropped.
    pub fn renew(&mut self, sent: Instant, fence: Duration, now: Instant) {
        if let LeaseProof::Until(end) = self.proof {
            self.proof = if now < end { LeaseProof::Until(end.max(sent + fence)) } else { LeaseProof::Ended };
        }
    }

    /// Returns the instant of the renewal that follows the one sent at `sent`, at the latest the end of the
    /// proof.
    pub fn next_renewal(&self, sent: Instant, heartbeat: Duration) -> Instant {
        match self.proof {
            LeaseProof::Unlimited => sent + heartbeat,
            LeaseProof::Until(end) => (sent + heartbeat).min(end),
            LeaseProof::Ended => sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FENCE: Duration = Duration::from_secs(10);
    const HEARTBEAT: Duration = Duration::from_secs(5);

    fn standing(proof: LeaseProof, begun: Instant) -> NodeLease {
        NodeLease { id: "n:1".into(), proof, settled_at: begun }
    }

    #[test]
    fn lease_is_proven_from_its_last_sent_renewal() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut standing = standing(LeaseProof::Until(at(10)), begun);
        assert!(standing.holds("n:1", at(9)) && !standing.holds("n:1", at(10)));
        assert!(!standing.holds("n:2", begun), "another id");
        standing.renew(at(5), FENCE, at(9));
        assert_eq!(standing.proof, LeaseProof::Until(at(15)));
        standing.renew(at(4), FENCE, at(9));
        assert_eq!(standing.proof, LeaseProof::Until(at(15)), "an older answer takes nothing back");
    }

    #[test]
    fn lost_lease_is_never_proven_again() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut standing = standing(LeaseProof::Until(at(10)), begun);
        standing.renew(at(9), FENCE, at(11));
        assert_eq!(standing.proof, LeaseProof::Ended, "the answer came too late");
        standing.renew(at(12), FENCE, at(12));
        assert!(!standing.is_proven(at(12)));
    }

    #[test]
    fn last_renewal_is_at_end_of_proof() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let lease = standing(LeaseProof::Until(at(12)), begun);
        let next = [0, 5, 10].map(|sent| lease.next_renewal(at(sent), HEARTBEAT));
        assert_eq!(next, [at(5), at(10), at(12)]);
        assert_eq!(standing(LeaseProof::Unlimited, begun).next_renewal(at(100), HEARTBEAT), at(105));
    }

    #[test]
    fn proven_lease_is_renewed_expired_one_registered_anew() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let lease = standing(LeaseProof::Until(at(12)), begun);
        assert_eq!(lease.next_step(at(11), HEARTBEAT), LeaseStep::Renew(at(12)));
        assert_eq!(lease.next_step(at(12), HEARTBEAT), LeaseStep::Register);
        assert_eq!(
            standing(LeaseProof::Unlimited, begun).next_step(at(1), HEARTBEAT),
            LeaseStep::Renew(at(6))
        );
        assert_eq!(standing(LeaseProof::Ended, begun).next_step(begun, HEARTBEAT), LeaseStep::Register);
    }

    #[test]
    fn lease_of_who_is_alone_needs_no_proof() {
        let begun = Instant::now();
        let mut standing = standing(LeaseProof::Unlimited, begun);
        standing.renew(begun, FENCE, begun);
        assert!(standing.is_proven(begun + Duration::from_secs(1 << 20)));
    }
}
