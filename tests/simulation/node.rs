//! A process of a simulated cluster. Its lease is the one of `svc_cluster::nodes`; the rest follows the actors.

use std::sync::Arc;
use std::time::Duration;

use svc_cluster::nodes::{LeaseProof, LeaseStep, NodeLease, SETTLING, Settings, scan_interval};
use svc_ledger::lease_fence;
use tokio::time::Instant;
use uuid::Uuid;

use super::action::{NodeAction, NodeTimer, SimulatedRun};
use super::configuration::NodeConfiguration;
use super::database::{Reply, Request, SimulatedDatabase};
use super::jobs::NodeJobs;
use super::random::SplitMix64;
use super::schedules::{self, NodeSchedules};

/// Length of the lease of a node.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// Time between two checks of the database.
pub(super) const PROBE: Duration = Duration::from_secs(1);

/// A process.
pub(super) struct SimulatedNode {
    settings: Settings,
    fence: Duration,
    lease: NodeLease,
    is_registered: bool,
    pub(super) jobs: NodeJobs,
    pub(super) schedules: NodeSchedules,
    pub(super) configuration: NodeConfiguration,
}

impl SimulatedNode {
    /// Creates a process that has read the definitions. Without `is_fenced` it believes in its leases for ten times their
    /// length, which is the mistake that the simulation has to find.
    pub(super) fn new(
        name: &str,
        database: &SimulatedDatabase,
        base: Instant,
        now: Instant,
        is_fenced: bool,
    ) -> Self {
        let id = Settings::new_id(name);
        let settings =
            Settings { id: id.clone(), version: "1", lease: LEASE, is_alone: false, needs: Vec::new() };
        let fence = if is_fenced { lease_fence(LEASE, settings.heartbeat()) } else { LEASE * 10 };
        Self {
            fence,
            lease: NodeLease { id: id.as_str().into(), proof: LeaseProof::Ended, settled_at: now },
            is_registered: false,
            jobs: NodeJobs::new(),
            schedules: NodeSchedules::new(base, id, database.cursors(), is_fenced),
            configuration: NodeConfiguration::new(database.epoch, database.versions.clone()),
            settings,
        }
    }

    /// Returns the current id.
    pub(super) fn id(&self) -> Arc<str> {
        Arc::clone(&self.lease.id)
    }

    /// Returns true if the node takes requests.
    pub(super) const fn is_registered(&self) -> bool {
        self.is_registered
    }

    /// Returns what the node runs.
    pub(super) fn runs(&self) -> Vec<SimulatedRun> {
        self.jobs.runs().chain(self.schedules.runs()).collect()
    }

    /// Returns true if the node may take over work and has a worker for it.
    pub(super) fn has_free_worker(&self, now: Instant) -> bool {
        self.jobs.has_free_worker(&self.lease, now)
    }

    /// Registers the node.
    pub(super) fn start(&self) -> Vec<NodeAction> {
        vec![self.register(Arc::clone(&self.lease.id), None)]
    }

    /// Ends the node in good order: what runs is dropped, then the lease is released.
    pub(super) fn stop(&mut self, now: Instant) -> Vec<NodeAction> {
        self.lease.proof = LeaseProof::Ended;
        let mut actions = self.drop_unproven(now);
        actions.push(NodeAction::Call(Request::Release { id: self.id() }));
        actions
    }

    /// Accepts a job. It is stored under the current id, whether the lease is proven or not.
    pub(super) fn accept(&self, job: u64) -> NodeAction {
        NodeAction::Call(Request::AcceptJob { job, owner: self.id() })
    }

    /// Changes a channel.
    pub(super) fn change(&mut self, channel: String, id: Uuid) -> Vec<NodeAction> {
        self.configuration.change(channel, id)
    }

    /// Drops what runs under a lease or a claim that is not proven.
    pub(super) fn drop_unproven(&mut self, now: Instant) -> Vec<NodeAction> {
        let mut actions = self.jobs.drop_unproven(&self.lease, now);
        actions.extend(self.schedules.drop_unproven(now));
        actions
    }

    pub(super) fn on_timer(&mut self, timer: NodeTimer, now: Instant) -> Vec<NodeAction> {
        match timer {
            NodeTimer::Probe => {
                vec![NodeAction::Call(Request::Probe), NodeAction::Timer(PROBE, NodeTimer::Probe)]
            }
            NodeTimer::Renew => vec![self.renew(now)],
            NodeTimer::Fence => Vec::new(),
            NodeTimer::Scan => self.jobs.scan(&self.lease, LEASE, now),
            NodeTimer::Poll(poll) => self.configuration.begin_polled_pass(poll).into_iter().collect(),
            NodeTimer::Reap => {
                vec![NodeAction::Call(Request::Reap), NodeAction::Timer(schedules::POLL, NodeTimer::Reap)]
            }
            NodeTimer::Claim => {
                let mut actions = vec![NodeAction::Timer(schedules::POLL, NodeTimer::Claim)];
                actions.extend(self.schedules.claim());
                actions
            }
            NodeTimer::Due(schedule) => self.schedules.due(schedule, now),
            NodeTimer::JobEnds(job, owner) => self.jobs.ends(job, &owner, &self.lease, now),
            NodeTimer::RenewClaim(key) => self.schedules.renew(key),
            NodeTimer::AttemptEnds(key) => self.schedules.ends(key),
        }
    }

    /// Handles the answer to a request that was sent at `sent`; `None` if it failed.
    pub(super) fn on_reply(
        &mut self,
        request: Request,
        reply: Option<Reply>,
        sent: Instant,
        now: Instant,
        random: &mut SplitMix64,
    ) -> Vec<NodeAction> {
        match (request, reply) {
            (Request::Register { id, former, .. }, Some(_)) => {
                self.record_registration(id, former.is_some(), sent, now, random)
            }
            (Request::Renew { .. }, Some(Reply::Done(is_held))) => self.record_renewal(is_held, sent, now),
            (Request::HasOrphans, Some(Reply::Done(true))) => self.jobs.next_page(&self.lease, None),
            (Request::HasOrphans | Request::MarkEmptied, _) => {
                vec![NodeAction::Timer(scan_interval(LEASE), NodeTimer::Scan)]
            }
            (Request::ReadUnfinished { .. }, Some(Reply::Page(page))) => self.jobs.page(page, &self.lease),
            (Request::Adopt { node, found }, Some(Reply::Adopted(jobs))) => {
                let last = found.last().map(|(job, _)| *job);
                self.jobs.enqueue_adopted(&node, jobs, last, &self.lease, now)
            }
            (Request::ReadEpoch, Some(Reply::Epoch(epoch))) => {
                self.configuration.read_epoch(epoch, &self.lease.id, random)
            }
            (Request::ReadChanges { .. }, Some(Reply::Changes(changes))) => {
                self.configuration.read_changes(&changes, &self.lease.id, random)
            }
            (Request::Load { purpose, .. }, reply) => {
                let definitions = match reply {
                    Some(Reply::Definitions(definitions)) => Some(definitions),
                    _ => None,
                };
                self.configuration.finish_load(definitions, purpose, &self.lease.id, random)
            }
            (Request::RecordApplied, _) => self.configuration.end_pass(random),
            (Request::Change { channel, id }, Some(_)) => {
                self.configuration.load_change(&channel, id, random.is_one_in(5))
            }
            (Request::AcceptJob { job, owner }, Some(_)) => {
                self.jobs.enqueue_accepted(job, owner, &self.lease, now)
            }
            (Request::BeginJob { job, owner }, Some(Reply::Done(is_own))) => {
                self.jobs.begin_job((job, owner), is_own, &self.lease, now)
            }
            (Request::Claim { .. }, Some(Reply::Claims(claims))) => self.schedules.start_claimed(claims),
            (Request::Materialise { schedule, .. }, Some(Reply::Cursor { cursor, is_written })) => {
                self.schedules.take_cursor(schedule, cursor, is_written, now)
            }
            (Request::Start { key }, Some(Reply::Done(is_started))) => {
                self.schedules.record_start(key, is_started, sent, now, random)
            }
            (Request::RenewClaim { key }, Some(Reply::Done(is_held))) => {
                self.schedules.record_renewal(key, is_held, sent, now)
            }
            _ => Vec::new(),
        }
    }

    fn register(&self, id: Arc<str>, former: Option<Arc<str>>) -> NodeAction {
        NodeAction::Call(Request::Register { id, former, lease: LEASE })
    }

    /// Renews the lease, or registers the node under a new id if the lease is lost.
    fn renew(&self, now: Instant) -> NodeAction {
        match self.lease.next_step(now, self.settings.heartbeat()) {
            LeaseStep::Renew(_) => NodeAction::Call(Request::Renew { id: self.id(), lease: LEASE }),
            LeaseStep::Register => self.register(self.settings.next_id().into(), Some(self.id())),
        }
    }

    fn record_renewal(&mut self, is_held: bool, sent: Instant, now: Instant) -> Vec<NodeAction> {
        if is_held {
            self.lease.renew(sent, self.fence, now);
        } else {
            self.lease.proof = LeaseProof::Ended;
        }
        let mut actions = self.drop_unproven(now);
        actions.extend(self.wait_for_renewal(sent, now));
        actions
    }

    /// Begins under an id whose lease was requested at `sent`.
    fn record_registration(
        &mut self,
        id: Arc<str>,
        is_replacement: bool,
        sent: Instant,
        now: Instant,
        random: &mut SplitMix64,
    ) -> Vec<NodeAction> {
        let settled_at = if is_replacement { now + SETTLING } else { sent };
        self.lease = NodeLease { id, proof: LeaseProof::Until(sent + self.fence), settled_at };
        let mut actions = self.wait_for_renewal(sent, now);
        if !std::mem::replace(&mut self.is_registered, true) {
            let mut spread = || random.between(Duration::ZERO, PROBE);
            actions.push(NodeAction::Timer(spread(), NodeTimer::Probe));
            actions.push(NodeAction::Timer(spread(), NodeTimer::Scan));
            actions.push(NodeAction::Timer(spread(), NodeTimer::Reap));
            actions.push(NodeAction::Timer(spread(), NodeTimer::Claim));
            actions.extend(self.configuration.begin_pass());
            actions.extend(self.schedules.begin(now));
        }
        actions
    }

    fn wait_for_renewal(&self, sent: Instant, now: Instant) -> Vec<NodeAction> {
        let next = self.lease.next_renewal(sent, self.settings.heartbeat());
        let mut actions = vec![NodeAction::Timer(next.saturating_duration_since(now), NodeTimer::Renew)];
        if let LeaseProof::Until(end) = self.lease.proof {
            actions.push(NodeAction::Timer(end.saturating_duration_since(now), NodeTimer::Fence));
        }
        actions
    }
}
