//! A process of a simulated cluster. Its lease is the one of `svc_nodes`; the rest follows the actors.

use std::sync::Arc;
use std::time::Duration;

use svc_ledger::lease_fence;
use svc_nodes::{LeaseProof, LeaseStep, NodeLease, SETTLING, Settings, scan_interval};
use tokio::time::Instant;
use uuid::Uuid;

use super::act::{Act, Run, Timer};
use super::configuration::NodeConfiguration;
use super::database::{Reply, Request, SimulatedDatabase};
use super::jobs::NodeJobs;
use super::random::Random;
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
    pub(super) fn runs(&self) -> Vec<Run> {
        self.jobs.runs().chain(self.schedules.runs()).collect()
    }

    /// Registers the node.
    pub(super) fn start(&self) -> Vec<Act> {
        vec![self.register(Arc::clone(&self.lease.id), None)]
    }

    /// Ends the node in good order: what runs is dropped, then the lease is released.
    pub(super) fn stop(&mut self, now: Instant) -> Vec<Act> {
        self.lease.proof = LeaseProof::Ended;
        let mut acts = self.drop_unproven(now);
        acts.push(Act::Call(Request::Release { id: self.id() }));
        acts
    }

    /// Accepts a job. It is stored under the current id, whether the lease is proven or not.
    pub(super) fn accept(&self, job: u64) -> Act {
        Act::Call(Request::AcceptJob { job, owner: self.id() })
    }

    /// Changes a channel.
    pub(super) fn change(&mut self, channel: String, id: Uuid) -> Vec<Act> {
        self.configuration.change(channel, id)
    }

    /// Drops what runs under a lease or a claim that is not proven.
    pub(super) fn drop_unproven(&mut self, now: Instant) -> Vec<Act> {
        let mut acts = self.jobs.drop_unproven(&self.lease, now);
        acts.extend(self.schedules.drop_unproven(now));
        acts
    }

    pub(super) fn on_timer(&mut self, timer: Timer, now: Instant) -> Vec<Act> {
        match timer {
            Timer::Probe => vec![Act::Call(Request::Probe), Act::Timer(PROBE, Timer::Probe)],
            Timer::Renew => vec![self.renew(now)],
            Timer::Fence => Vec::new(),
            Timer::Scan => self.jobs.scan(&self.lease, LEASE, now),
            Timer::Poll(poll) => self.configuration.polled(poll).into_iter().collect(),
            Timer::Reap => vec![Act::Call(Request::Reap), Act::Timer(schedules::POLL, Timer::Reap)],
            Timer::Claim => {
                let mut acts = vec![Act::Timer(schedules::POLL, Timer::Claim)];
                acts.extend(self.schedules.claim());
                acts
            }
            Timer::Due(schedule) => self.schedules.due(schedule, now),
            Timer::JobEnds(job, owner) => self.jobs.ends(job, &owner, &self.lease, now),
            Timer::RenewClaim(key) => self.schedules.renew(key),
            Timer::AttemptEnds(key) => self.schedules.ends(key),
        }
    }

    /// Handles the answer to a request that was sent at `sent`; `None` if it failed.
    pub(super) fn on_reply(
        &mut self,
        request: Request,
        reply: Option<Reply>,
        sent: Instant,
        now: Instant,
        random: &mut Random,
    ) -> Vec<Act> {
        match (request, reply) {
            (Request::Register { id, former, .. }, Some(_)) => {
                self.registered(id, former.is_some(), sent, now, random)
            }
            (Request::Renew { .. }, Some(Reply::Done(is_held))) => self.renewed(is_held, sent, now),
            (Request::HasOrphans, Some(Reply::Done(true))) => self.jobs.next_page(&self.lease, None),
            (Request::HasOrphans | Request::MarkEmptied, _) => {
                vec![Act::Timer(scan_interval(LEASE), Timer::Scan)]
            }
            (Request::ReadUnfinished { .. }, Some(Reply::Page(page))) => self.jobs.page(page, &self.lease),
            (Request::Adopt { node, found }, Some(Reply::Adopted(jobs))) => {
                let last = found.last().map(|(job, _)| *job);
                self.jobs.adopted(&node, jobs, last, &self.lease, now)
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
                self.configuration.loaded(definitions, purpose, &self.lease.id, random)
            }
            (Request::RecordApplied, _) => self.configuration.end_pass(random),
            (Request::Change { channel, id }, Some(_)) => {
                self.configuration.changed(&channel, id, random.is_one_in(5))
            }
            (Request::AcceptJob { job, owner }, Some(_)) => self.jobs.accepted(job, owner, &self.lease, now),
            (Request::BeginJob { job, owner }, Some(Reply::Done(is_own))) => {
                self.jobs.begun((job, owner), is_own, &self.lease, now)
            }
            (Request::Claim { .. }, Some(Reply::Claims(claims))) => self.schedules.claimed(claims),
            (Request::Materialise { schedule, .. }, Some(Reply::Cursor { cursor, is_written })) => {
                self.schedules.moved(schedule, cursor, is_written, now)
            }
            (Request::Start { key }, Some(Reply::Done(is_started))) => {
                self.schedules.started(key, is_started, sent, now, random)
            }
            (Request::RenewClaim { key }, Some(Reply::Done(is_held))) => {
                self.schedules.renewed(key, is_held, sent, now)
            }
            _ => Vec::new(),
        }
    }

    fn register(&self, id: Arc<str>, former: Option<Arc<str>>) -> Act {
        Act::Call(Request::Register { id, former, lease: LEASE })
    }

    /// Renews the lease, or registers the node under a new id if the lease is lost.
    fn renew(&self, now: Instant) -> Act {
        match self.lease.next_step(now, self.settings.heartbeat()) {
            LeaseStep::Renew(_) => Act::Call(Request::Renew { id: self.id(), lease: LEASE }),
            LeaseStep::Register => self.register(self.settings.next_id().into(), Some(self.id())),
        }
    }

    fn renewed(&mut self, is_held: bool, sent: Instant, now: Instant) -> Vec<Act> {
        if is_held {
            self.lease.renew(sent, self.fence, now);
        } else {
            self.lease.proof = LeaseProof::Ended;
        }
        let mut acts = self.drop_unproven(now);
        acts.extend(self.wait_for_renewal(sent, now));
        acts
    }

    /// Begins under an id whose lease was requested at `sent`.
    fn registered(
        &mut self,
        id: Arc<str>,
        is_replacement: bool,
        sent: Instant,
        now: Instant,
        random: &mut Random,
    ) -> Vec<Act> {
        let settled_at = if is_replacement { now + SETTLING } else { sent };
        self.lease = NodeLease { id, proof: LeaseProof::Until(sent + self.fence), settled_at };
        let mut acts = self.wait_for_renewal(sent, now);
        if !std::mem::replace(&mut self.is_registered, true) {
            let mut spread = || random.between(Duration::ZERO, PROBE);
            acts.push(Act::Timer(spread(), Timer::Probe));
            acts.push(Act::Timer(spread(), Timer::Scan));
            acts.push(Act::Timer(spread(), Timer::Reap));
            acts.push(Act::Timer(spread(), Timer::Claim));
            acts.extend(self.configuration.announced());
            acts.extend(self.schedules.begin(now));
        }
        acts
    }

    fn wait_for_renewal(&self, sent: Instant, now: Instant) -> Vec<Act> {
        let next = self.lease.next_renewal(sent, self.settings.heartbeat());
        let mut acts = vec![Act::Timer(next.saturating_duration_since(now), Timer::Renew)];
        if let LeaseProof::Until(end) = self.lease.proof {
            acts.push(Act::Timer(end.saturating_duration_since(now), Timer::Fence));
        }
        acts
    }
}
