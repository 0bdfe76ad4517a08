//! Admission control of a node: its state, and the number of calls in flight.
//!
//! One atomic counts the calls of all clones of an address, so the bound is strict. A call counts as in
//! flight from its admission until its outcome is known and the work for it has ended, whether or not its
//! caller still waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::clock::TreeClock;
use crate::error::CallErrorKind;
use crate::state::NodeState;
use parking_lot::Mutex;

#[derive(Debug)]
pub(crate) struct AdmissionControl {
    state: AtomicU8,
    in_flight: AtomicUsize,
    high_water: AtomicUsize,
    bound: usize,
    pub(crate) tree_clock: TreeClock,
    /// End of the backoff in microseconds since the start of the tree; 0 outside a backoff.
    retry_at: AtomicU64,
    reason: Mutex<Option<Arc<str>>>,
}

impl AdmissionControl {
    pub(crate) fn new(bound: usize, tree_clock: TreeClock) -> Self {
        Self {
            state: AtomicU8::new(NodeState::Starting as u8),
            in_flight: AtomicUsize::new(0),
            high_water: AtomicUsize::new(0),
            bound,
            tree_clock,
            retry_at: AtomicU64::new(0),
            reason: Mutex::new(None),
        }
    }

    pub(crate) fn state(&self) -> NodeState {
        NodeState::ALL[usize::from(self.state.load(Ordering::Acquire))]
    }

    /// Enters a state other than quarantine and backoff.
    pub(crate) fn enter(&self, state: NodeState) {
        self.retry_at.store(0, Ordering::Release);
        self.state.store(state as u8, Ordering::Release);
        if state != NodeState::Quarantined {
            *self.reason.lock() = None;
        }
    }

    /// Refuses calls until the backoff ends, `until` after the start of the tree.
    pub(crate) fn back_off(&self, until: Duration) {
        self.enter(NodeState::Restarting);
        let micros = u64::try_from(until.as_micros()).unwrap_or(u64::MAX);
        self.retry_at.store(micros, Ordering::Release);
    }

    pub(crate) fn quarantine(&self, reason: Arc<str>) {
        *self.reason.lock() = Some(reason);
        self.enter(NodeState::Quarantined);
    }

    pub(crate) fn reason(&self) -> Option<Arc<str>> {
        self.reason.lock().clone()
    }

    /// Returns the rest of the backoff, if there is one.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self.retry_at.load(Ordering::Acquire) {
            0 => None,
            micros => Some(Duration::from_micros(micros).saturating_sub(self.tree_clock.elapsed())),
        }
    }

    /// Admits a call and counts it as in flight.
    pub(crate) fn admit(&self) -> Result<(), CallErrorKind> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let enter = |count: usize| (count < self.bound).then_some(count + 1);
        let before = self
            .in_flight
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, enter)
            .map_err(|_| CallErrorKind::Full)?;
        if before >= self.high_water.load(Ordering::Relaxed) {
            self.high_water.fetch_max(before + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the reason why a call is not admitted now, the bound aside.
    pub(crate) fn refusal(&self) -> Option<CallErrorKind> {
        match self.state() {
            NodeState::Starting | NodeState::Running => None,
            // Once the announced time has passed, calls queue, even if the supervisor's timer is late.
            NodeState::Restarting => self
                .retry_after()
                .filter(|left| !left.is_zero())
                .map(|retry_after| CallErrorKind::Restarting { retry_after }),
            NodeState::Quarantined => {
                let reason = self.reason().unwrap_or_else(|| "quarantined".into());
                Some(CallErrorKind::Quarantined { reason })
            }
            NodeState::Draining => Some(CallErrorKind::Draining),
            NodeState::Stopped => Some(CallErrorKind::Stopped),
        }
    }

    pub(crate) fn release(&self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    pub(crate) fn high_water(&self) -> usize {
        self.high_water.load(Ordering::Relaxed)
    }

    pub(crate) fn bound(&self) -> usize {
        self.bound
    }
}
