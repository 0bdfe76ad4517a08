//! The accepted work of a simulated node: its own, and what it takes over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use svc_cluster::nodes::{NodeLease, TAKEOVER_PAGE, WHOLE_SCAN_INTERVAL, scan_interval};
use tokio::time::Instant;

use super::action::{NodeAction, NodeTimer, SimulatedRun};
use super::database::Request;
use super::random::SplitMix64;

/// Jobs that a node runs at the same time.
pub(super) const WORKERS: usize = 4;
/// The shortest and the longest time of most jobs.
const USUAL: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// One job in so many takes long.
const LONG_SHARE: u64 = 20;
/// The shortest and the longest time of those.
const LONG: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));

struct WaitingJob {
    job: u64,
    owner: Arc<str>,
}

/// The jobs of one process.
pub(super) struct NodeJobs {
    waiting: VecDeque<WaitingJob>,
    running: BTreeMap<u64, Arc<str>>,
    beginning: usize,
    /// The largest number of jobs that were taken over at once.
    pub(super) largest_share: usize,
    /// The place from which the next page is read once there is room for it.
    page_waits: Option<Option<u64>>,
    whole_scan: Option<Instant>,
}

impl NodeJobs {
    pub(super) const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            beginning: 0,
            largest_share: 0,
            page_waits: None,
            whole_scan: None,
        }
    }

    /// Puts a job in line that this node has accepted.
    pub(super) fn enqueue_accepted(
        &mut self,
        job: u64,
        owner: Arc<str>,
        lease: &NodeLease,
        now: Instant,
    ) -> Vec<NodeAction> {
        self.waiting.push_back(WaitingJob { job, owner });
        self.begin_waiting(lease, now)
    }

    /// Begins jobs on free workers. The lease is proven before each.
    fn begin_waiting(&mut self, lease: &NodeLease, now: Instant) -> Vec<NodeAction> {
        let mut actions = Vec::new();
        while self.running.len() + self.beginning < WORKERS {
            let Some(WaitingJob { job, owner }) = self.waiting.pop_front() else { break };
            if lease.holds(&owner, now) {
                self.beginning += 1;
                actions.push(NodeAction::Call(Request::BeginJob { job, owner }));
            }
        }
        if self.room() > 0
            && let Some(after) = self.page_waits.take()
        {
            actions.push(self.read_page(lease, after));
        }
        actions
    }

    /// Begins a job if the database still grants it.
    pub(super) fn begin_job(
        &mut self,
        (job, owner): (u64, Arc<str>),
        is_own: bool,
        lease: &NodeLease,
        now: Instant,
    ) -> Vec<NodeAction> {
        self.beginning -= 1;
        let mut actions = Vec::new();
        if is_own && lease.holds(&owner, now) {
            let length = length(job);
            self.running.insert(job, Arc::clone(&owner));
            actions.push(NodeAction::Began(SimulatedRun::Job(job)));
            actions.push(NodeAction::Timer(length, NodeTimer::JobEnds(job, owner)));
        }
        actions.extend(self.begin_waiting(lease, now));
        actions
    }

    /// The work of a job is done.
    pub(super) fn ends(
        &mut self,
        job: u64,
        owner: &Arc<str>,
        lease: &NodeLease,
        now: Instant,
    ) -> Vec<NodeAction> {
        if self.running.get(&job) != Some(owner) {
            return Vec::new();
        }
        self.running.remove(&job);
        let write = NodeAction::Call(Request::EndJob { job, owner: Arc::clone(owner) });
        let mut actions = vec![NodeAction::Ended(SimulatedRun::Job(job)), write];
        actions.extend(self.begin_waiting(lease, now));
        actions
    }

    /// Drops the runs whose lease is not proven.
    pub(super) fn drop_unproven(&mut self, lease: &NodeLease, now: Instant) -> Vec<NodeAction> {
        let mut ended_runs = Vec::new();
        self.running.retain(|job, owner| {
            let is_held = lease.holds(owner, now);
            if !is_held {
                ended_runs.push(NodeAction::Ended(SimulatedRun::Job(*job)));
            }
            is_held
        });
        ended_runs
    }

    /// Returns the jobs that run.
    pub(super) fn runs(&self) -> impl Iterator<Item = SimulatedRun> + '_ {
        self.running.keys().map(|job| SimulatedRun::Job(*job))
    }

    /// Looks for nodes without a lease.
    pub(super) fn scan(&mut self, lease: &NodeLease, length: Duration, now: Instant) -> Vec<NodeAction> {
        if !Self::takes_over(lease, now) {
            return vec![NodeAction::Timer(scan_interval(length), NodeTimer::Scan)];
        }
        if self.whole_scan.is_none_or(|due| now >= due) {
            self.whole_scan = Some(now + WHOLE_SCAN_INTERVAL);
            return self.next_page(lease, None);
        }
        vec![NodeAction::Call(Request::HasOrphans)]
    }

    /// Returns true if a node with this lease may take over the work of others.
    fn takes_over(lease: &NodeLease, now: Instant) -> bool {
        lease.is_proven(now) && now >= lease.settled_at
    }

    /// Returns true if a worker is free for work of others.
    pub(super) fn has_free_worker(&self, lease: &NodeLease, now: Instant) -> bool {
        Self::takes_over(lease, now) && self.room() > 0
    }

    /// Returns the number of workers for which no job waits.
    fn room(&self) -> usize {
        WORKERS.saturating_sub(self.running.len() + self.beginning + self.waiting.len())
    }

    fn read_page(&self, lease: &NodeLease, after: Option<u64>) -> NodeAction {
        let limit = self.room().min(TAKEOVER_PAGE);
        NodeAction::Call(Request::ReadUnfinished { node: Arc::clone(&lease.id), after, limit })
    }

    /// Reads a page as soon as there is room for its jobs.
    pub(super) fn next_page(&mut self, lease: &NodeLease, after: Option<u64>) -> Vec<NodeAction> {
        if self.room() > 0 {
            return vec![self.read_page(lease, after)];
        }
        self.page_waits = Some(after);
        Vec::new()
    }

    /// Takes over the jobs of a page, or ends the scan.
    pub(super) fn page(&self, found: Vec<(u64, Arc<str>)>, lease: &NodeLease) -> Vec<NodeAction> {
        match found.is_empty() {
            true => vec![NodeAction::Call(Request::MarkEmptied)],
            false => vec![NodeAction::Call(Request::Adopt { node: Arc::clone(&lease.id), found })],
        }
    }

    /// Puts jobs in line that this node has taken over, and goes on behind the page.
    pub(super) fn enqueue_adopted(
        &mut self,
        owner: &Arc<str>,
        jobs: Vec<u64>,
        last: Option<u64>,
        lease: &NodeLease,
        now: Instant,
    ) -> Vec<NodeAction> {
        self.largest_share = self.largest_share.max(jobs.len());
        for job in jobs.into_iter().rev() {
            self.waiting.push_front(WaitingJob { job, owner: Arc::clone(owner) });
        }
        let mut actions = self.begin_waiting(lease, now);
        actions.extend(self.next_page(lease, last));
        actions
    }
}

/// Returns the time that a job takes, on whatever node.
fn length(job: u64) -> Duration {
    let mut random = SplitMix64::new(job);
    let (from, to) = if random.is_one_in(LONG_SHARE) { LONG } else { USUAL };
    random.between(from, to)
}
