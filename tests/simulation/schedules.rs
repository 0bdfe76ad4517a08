//! The schedules of a simulated node: it plans what is due, claims occurrences, and runs them under a lease.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use svc_ledger::{ClaimKey, Cursor, Misfire, lease_fence, plan};
use tokio::time::Instant;
use uuid::Uuid;

use super::action::{NodeAction, NodeTimer, SimulatedRun};
use super::database::{CLAIM_LEASE, Request, time};
use super::random::SplitMix64;

/// Time between two polls for due occurrences.
pub(super) const POLL: Duration = Duration::from_secs(1);
/// Time between two renewals of a claim.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Occurrences that a node runs at the same time.
const WORKERS: usize = 4;
/// Instants of a schedule that are made up for.
const CATCH_UP: u32 = 10_000;
/// The shortest and the longest time of most runs.
const USUAL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// The shortest and the longest time of one run in a hundred: longer than the lease of a claim.
const LONG: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

struct RunningAttempt {
    key: ClaimKey,
    /// Instant at which the latest successful renewal was sent.
    renewed: Instant,
}

/// The schedules of one process.
pub(super) struct NodeSchedules {
    base: Instant,
    holder: String,
    fence: Duration,
    cursors: Vec<Cursor>,
    running: BTreeMap<Uuid, RunningAttempt>,
    starting: usize,
    is_claiming: bool,
}

impl NodeSchedules {
    pub(super) fn new(base: Instant, holder: String, cursors: Vec<Cursor>, is_fenced: bool) -> Self {
        let fence = if is_fenced { lease_fence(CLAIM_LEASE, HEARTBEAT) } else { CLAIM_LEASE * 10 };
        let (running, starting, is_claiming) = (BTreeMap::new(), 0, false);
        Self { base, holder, fence, cursors, running, starting, is_claiming }
    }

    /// Begins to follow every schedule.
    pub(super) fn begin(&self, now: Instant) -> Vec<NodeAction> {
        (0..self.cursors.len()).map(|schedule| self.wait(schedule, now)).collect()
    }

    /// Waits until a schedule is due.
    fn wait(&self, schedule: usize, now: Instant) -> NodeAction {
        let due = self.cursors[schedule].next_fire_at - time(self.base, now);
        NodeAction::Timer(due.to_std().unwrap_or_default(), NodeTimer::Due(schedule))
    }

    /// Plans what is due, and tries to put it on record.
    pub(super) fn due(&self, schedule: usize, now: Instant) -> Vec<NodeAction> {
        let from = self.cursors[schedule].next_fire_at;
        let instants = (0..).map(|second| from.and_utc() + Duration::from_secs(second));
        let plan =
            plan(from.and_utc(), time(self.base, now).and_utc(), POLL, Misfire::CatchUp(CATCH_UP), instants);
        let Some(next) = plan.next else { return Vec::new() };
        let fire: Vec<NaiveDateTime> = plan.fire.iter().map(DateTime::<Utc>::naive_utc).collect();
        if fire.is_empty() {
            return vec![self.wait(schedule, now)];
        }
        vec![NodeAction::Call(Request::Materialise { schedule, from, next: next.naive_utc(), fire })]
    }

    /// Takes the cursor as the database has it, and claims what this node has written.
    pub(super) fn take_cursor(
        &mut self,
        schedule: usize,
        cursor: Cursor,
        is_written: bool,
        now: Instant,
    ) -> Vec<NodeAction> {
        self.cursors[schedule] = cursor;
        let mut actions = vec![self.wait(schedule, now)];
        if is_written {
            actions.extend(self.claim());
        }
        actions
    }

    /// Claims as many occurrences as workers are free.
    pub(super) fn claim(&mut self) -> Vec<NodeAction> {
        let limit = WORKERS.saturating_sub(self.running.len() + self.starting);
        if limit == 0 || std::mem::replace(&mut self.is_claiming, true) {
            return Vec::new();
        }
        vec![NodeAction::Call(Request::Claim { holder: self.holder.clone(), limit })]
    }

    /// Starts what was claimed.
    pub(super) fn start_claimed(&mut self, claims: Vec<ClaimKey>) -> Vec<NodeAction> {
        self.is_claiming = false;
        self.starting += claims.len();
        claims.into_iter().map(|key| NodeAction::Call(Request::Start { key })).collect()
    }

    /// Runs an attempt whose start, the first renewal, was sent at `sent`.
    pub(super) fn record_start(
        &mut self,
        key: ClaimKey,
        is_started: bool,
        sent: Instant,
        now: Instant,
        random: &mut SplitMix64,
    ) -> Vec<NodeAction> {
        self.starting -= 1;
        if !is_started || now >= sent + self.fence {
            return Vec::new();
        }
        let (from, to) = if random.is_one_in(100) { LONG } else { USUAL };
        let actions = vec![
            NodeAction::Began(SimulatedRun::Occurrence(key.id)),
            NodeAction::Timer(random.between(from, to), NodeTimer::AttemptEnds(key.clone())),
            NodeAction::Timer(
                (sent + HEARTBEAT).saturating_duration_since(now),
                NodeTimer::RenewClaim(key.clone()),
            ),
            NodeAction::Timer((sent + self.fence).duration_since(now), NodeTimer::Fence),
        ];
        self.running.insert(key.id, RunningAttempt { key, renewed: sent });
        actions
    }

    /// Renews a claim.
    pub(super) fn renew(&self, key: ClaimKey) -> Vec<NodeAction> {
        if self.runs_under(&key) { vec![NodeAction::Call(Request::RenewClaim { key })] } else { Vec::new() }
    }

    /// Records the renewal of a claim; one that the database refused is lost.
    pub(super) fn record_renewal(
        &mut self,
        key: ClaimKey,
        is_held: bool,
        sent: Instant,
        now: Instant,
    ) -> Vec<NodeAction> {
        if !self.runs_under(&key) {
            return Vec::new();
        }
        if !is_held {
            self.running.remove(&key.id);
            return vec![NodeAction::Ended(SimulatedRun::Occurrence(key.id))];
        }
        let end = sent + self.fence;
        self.running.get_mut(&key.id).into_iter().for_each(|attempt| attempt.renewed = sent);
        vec![
            NodeAction::Timer(end.saturating_duration_since(now), NodeTimer::Fence),
            NodeAction::Timer((sent + HEARTBEAT).saturating_duration_since(now), NodeTimer::RenewClaim(key)),
        ]
    }

    /// The work of an attempt is done.
    pub(super) fn ends(&mut self, key: ClaimKey) -> Vec<NodeAction> {
        if !self.runs_under(&key) {
            return Vec::new();
        }
        self.running.remove(&key.id);
        vec![NodeAction::Ended(SimulatedRun::Occurrence(key.id)), NodeAction::Call(Request::Settle { key })]
    }

    /// Drops the runs whose claims may belong to others by now.
    pub(super) fn drop_unproven(&mut self, now: Instant) -> Vec<NodeAction> {
        let (fence, mut lost) = (self.fence, Vec::new());
        self.running.retain(|id, attempt| {
            let is_held = now < attempt.renewed + fence;
            if !is_held {
                lost.push(NodeAction::Ended(SimulatedRun::Occurrence(*id)));
            }
            is_held
        });
        lost
    }

    /// Returns the occurrences that run.
    pub(super) fn runs(&self) -> impl Iterator<Item = SimulatedRun> + '_ {
        self.running.keys().map(|id| SimulatedRun::Occurrence(*id))
    }

    fn runs_under(&self, key: &ClaimKey) -> bool {
        self.running.get(&key.id).is_some_and(|attempt| attempt.key == *key)
    }
}
