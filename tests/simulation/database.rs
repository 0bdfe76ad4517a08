//! The database of a simulated cluster: rows that change as the statements of the store change them, and a count of the
//! operations. What the store decides by the rules of the ledger is decided by the same rules here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};
use svc_cluster::epoch::ChangedEntities;
use svc_ledger::{
    AlignRequest, ClaimKey, ClaimOutcome, Cursor, Occurrence, Settlement, StartOutcome, StartRequest,
};
use svc_store::{ChangedEntity, ConfigChange};
use tokio::time::Instant;
use uuid::Uuid;

use super::cost::Operation;

/// Recorded changes that are kept: few, so that a node that was away finds a gap.
const KEPT: usize = 20;
/// Length of the lease of a claim.
pub(super) const CLAIM_LEASE: Duration = Duration::from_secs(20);
/// Leases of an occurrence that may expire.
const MAX_RECOVERIES: u32 = 1000;

/// A request of a node.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Probe,
    Register { id: Arc<str>, former: Option<Arc<str>>, lease: Duration },
    Renew { id: Arc<str>, lease: Duration },
    Release { id: Arc<str> },
    HasOrphans,
    ReadUnfinished { node: Arc<str>, after: Option<u64>, limit: usize },
    Adopt { node: Arc<str>, found: Vec<(u64, Arc<str>)> },
    MarkEmptied,
    ReadEpoch,
    ReadChanges { after: i64 },
    Load { changed: ChangedEntities, purpose: LoadPurpose },
    RecordApplied,
    Change { channel: String, id: Uuid },
    AcceptJob { job: u64, owner: Arc<str> },
    BeginJob { job: u64, owner: Arc<str> },
    EndJob { job: u64, owner: Arc<str> },
    Reap,
    Claim { holder: String, limit: usize },
    Materialise { schedule: usize, from: NaiveDateTime, next: NaiveDateTime, fire: Vec<NaiveDateTime> },
    Start { key: ClaimKey },
    RenewClaim { key: ClaimKey },
    Settle { key: ClaimKey },
}

/// The load for which definitions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadPurpose {
    /// The watcher moves its watermark to this epoch.
    Watermark(i64),
    /// The author of a change loads it.
    Author(Uuid),
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Done(bool),
    Epoch(i64),
    Changes(Vec<ConfigChange>),
    Definitions(BTreeMap<String, u64>),
    Page(Vec<(u64, Arc<str>)>),
    Adopted(Vec<u64>),
    Claims(Vec<ClaimKey>),
    Cursor { cursor: Cursor, is_written: bool },
}

struct NodeRecord {
    lease_until: Instant,
    is_emptied: bool,
}

/// Accepted work that has not ended.
struct OpenJob {
    owner: Arc<str>,
}

pub(super) struct SimulatedDatabase {
    base: Instant,
    nodes: BTreeMap<Arc<str>, NodeRecord>,
    open: BTreeMap<u64, OpenJob>,
    occurrences: BTreeMap<(NaiveDateTime, Uuid), Occurrence>,
    recorded: BTreeSet<(usize, NaiveDateTime)>,
    cursors: Vec<Cursor>,
    changes: VecDeque<ConfigChange>,
    pub(super) epoch: i64,
    pub(super) versions: BTreeMap<String, u64>,
    pub(super) counts: BTreeMap<Operation, u64>,
    /// Jobs that completed.
    pub(super) completed: u64,
    /// Occurrences that completed.
    pub(super) settled: u64,
    /// Writes under a lost lease or claim, which changed nothing.
    pub(super) refused_writes: u64,
    /// Instants that were recorded twice.
    pub(super) duplicates: u64,
    number: u128,
}

impl SimulatedDatabase {
    pub(super) fn new(base: Instant, schedules: usize) -> Self {
        let cursors = (0..schedules).map(|number| Cursor::begin(&align(number))).collect();
        Self {
            base,
            nodes: BTreeMap::new(),
            open: BTreeMap::new(),
            occurrences: BTreeMap::new(),
            recorded: BTreeSet::new(),
            cursors,
            changes: VecDeque::new(),
            epoch: 0,
            versions: BTreeMap::new(),
            counts: BTreeMap::new(),
            completed: 0,
            settled: 0,
            refused_writes: 0,
            duplicates: 0,
            number: 0,
        }
    }

    /// Returns the number of jobs that have not ended.
    pub(super) fn open_jobs(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of occurrences that have not ended.
    pub(super) fn open_occurrences(&self) -> usize {
        self.occurrences.len()
    }

    /// Returns the statements so far.
    pub(super) fn statements(&self) -> u64 {
        self.counts.iter().map(|(operation, count)| operation.statements() * count).sum()
    }

    /// Returns the cursors, as a node reads them at its start.
    pub(super) fn cursors(&self) -> Vec<Cursor> {
        self.cursors.clone()
    }

    /// Carries out a request at `now`.
    pub(super) fn execute(&mut self, request: &Request, now: Instant) -> Reply {
        let (operation, reply) = self.perform(request, now);
        *self.counts.entry(operation).or_default() += 1;
        reply
    }

    fn perform(&mut self, request: &Request, now: Instant) -> (Operation, Reply) {
        match request {
            Request::Probe => (Operation::Probe, Reply::Done(true)),
            Request::Reap => (Operation::Reap, Reply::Done(true)),
            Request::RecordApplied => (Operation::RecordApplied, Reply::Done(true)),
            Request::Register { id, former, lease } => {
                self.register(id, former.as_ref(), now + *lease, now);
                (Operation::Register, Reply::Done(true))
            }
            Request::Renew { id, lease } => {
                let row = self.nodes.get_mut(id).filter(|row| row.lease_until >= now);
                let is_held = row.map(|row| row.lease_until = now + *lease).is_some();
                (Operation::Renew, Reply::Done(is_held))
            }
            Request::Release { id } => {
                self.end_lease(id, now);
                (Operation::Release, Reply::Done(true))
            }
            Request::HasOrphans => {
                let has = self.nodes.values().any(|row| row.lease_until < now && !row.is_emptied);
                (Operation::HasOrphans, Reply::Done(has))
            }
            Request::ReadUnfinished { node, after, limit } => {
                let from = after.map_or(0, |job| job + 1);
                let orphans = self
                    .open
                    .range(from..)
                    .filter(|(_, job)| job.owner != *node && self.is_dead(&job.owner, now));
                let page = orphans.take(*limit).map(|(id, job)| (*id, Arc::clone(&job.owner)));
                (Operation::ReadUnfinished, Reply::Page(page.collect()))
            }
            Request::Adopt { node, found } => {
                (Operation::Adopt, Reply::Adopted(self.adopt(node, found, now)))
            }
            Request::MarkEmptied => {
                let owners: BTreeSet<_> = self.open.values().map(|job| Arc::clone(&job.owner)).collect();
                let dead =
                    self.nodes.iter_mut().filter(|(id, row)| row.lease_until < now && !owners.contains(*id));
                dead.for_each(|(_, row)| row.is_emptied = true);
                (Operation::MarkEmptied, Reply::Done(true))
            }
            Request::ReadEpoch => (Operation::ReadEpoch, Reply::Epoch(self.epoch)),
            Request::ReadChanges { after } => {
                let changes = self.changes.iter().filter(|change| change.epoch > *after).cloned().collect();
                (Operation::ReadChanges, Reply::Changes(changes))
            }
            Request::Load { changed, .. } => (Operation::Load, Reply::Definitions(self.definitions(changed))),
            Request::Change { channel, id } => {
                self.change(channel, *id);
                (Operation::Change, Reply::Done(true))
            }
            Request::AcceptJob { job, owner } => {
                self.open.insert(*job, OpenJob { owner: Arc::clone(owner) });
                // A row may be written in the name of a node that was found empty.
                self.nodes.get_mut(owner).into_iter().for_each(|row| row.is_emptied = false);
                (Operation::WriteJob, Reply::Done(true))
            }
            Request::BeginJob { job, owner } => {
                let is_own = self.owns(*job, owner);
                self.refused_writes += u64::from(!is_own);
                (Operation::WriteJob, Reply::Done(is_own))
            }
            Request::EndJob { job, owner } => {
                let is_own = self.owns(*job, owner);
                if is_own {
                    self.open.remove(job);
                    self.completed += 1;
                } else {
                    self.refused_writes += 1;
                }
                (Operation::WriteJob, Reply::Done(is_own))
            }
            Request::Claim { holder, limit } => {
                (Operation::Claim, Reply::Claims(self.claim(holder, *limit, now)))
            }
            Request::Materialise { schedule, from, next, fire } => {
                let is_written = self.materialise(*schedule, *from, *next, fire);
                let operation = if is_written { Operation::Materialise } else { Operation::LoseCursor };
                (operation, Reply::Cursor { cursor: self.cursors[*schedule].clone(), is_written })
            }
            Request::Start { key } => {
                let start = StartRequest {
                    version: 1,
                    singleton: None,
                    waits_for_slot: false,
                    trace_id: None,
                    lease: CLAIM_LEASE,
                    now: self.time(now),
                };
                let is_started = self
                    .occurrence(key.id)
                    .is_some_and(|row| matches!(row.start(key, start), StartOutcome::Running(_)));
                self.refused_writes += u64::from(!is_started);
                (Operation::WriteAttempt, Reply::Done(is_started))
            }
            Request::RenewClaim { key } => {
                let now = self.time(now);
                let renewed =
                    self.occurrence(key.id).is_some_and(|row| row.renew(key, None, CLAIM_LEASE, now));
                (Operation::WriteAttempt, Reply::Done(renewed))
            }
            Request::Settle { key } => {
                let now = self.time(now);
                let settled = self.occurrence(key.id).and_then(|row| {
                    row.settle(key, Settlement::completed(), now).then_some((row.scheduled_for, row.id))
                });
                match settled {
                    Some(row) => drop(self.occurrences.remove(&row)),
                    None => self.refused_writes += 1,
                }
                self.settled += u64::from(settled.is_some());
                (Operation::WriteAttempt, Reply::Done(settled.is_some()))
            }
        }
    }

    fn register(&mut self, id: &Arc<str>, former: Option<&Arc<str>>, lease_until: Instant, now: Instant) {
        self.nodes.insert(Arc::clone(id), NodeRecord { lease_until, is_emptied: false });
        if let Some(former) = former {
            self.end_lease(former, now);
            self.nodes.get_mut(former).into_iter().for_each(|row| row.is_emptied = false);
        }
    }

    fn end_lease(&mut self, id: &Arc<str>, now: Instant) {
        let just_before = now.checked_sub(Duration::from_millis(1)).unwrap_or(now);
        let live = self.nodes.get_mut(id).filter(|row| row.lease_until >= now);
        live.into_iter().for_each(|row| row.lease_until = just_before);
    }

    fn is_dead(&self, id: &Arc<str>, now: Instant) -> bool {
        self.nodes.get(id).is_none_or(|row| row.lease_until < now)
    }

    fn owns(&self, job: u64, owner: &Arc<str>) -> bool {
        self.open.get(&job).is_some_and(|row| row.owner == *owner)
    }

    fn adopt(&mut self, node: &Arc<str>, found: &[(u64, Arc<str>)], now: Instant) -> Vec<u64> {
        let mut adopted = Vec::new();
        for (job, owner) in found {
            if self.owns(*job, owner) && self.is_dead(owner, now) {
                self.open.insert(*job, OpenJob { owner: Arc::clone(node) });
                adopted.push(*job);
            }
        }
        adopted
    }

    fn change(&mut self, channel: &str, id: Uuid) {
        self.epoch += 1;
        *self.versions.entry(channel.to_owned()).or_default() += 1;
        let entity = ChangedEntity::Channel(channel.to_owned());
        self.changes.push_back(ConfigChange { epoch: self.epoch, entity, change_id: id.to_string() });
        if self.changes.len() > KEPT {
            self.changes.pop_front();
        }
    }

    fn definitions(&self, changed: &ChangedEntities) -> BTreeMap<String, u64> {
        let is_read = |channel: &String| changed.everything || changed.channels.contains(channel);
        let read = self.versions.iter().filter(|(channel, _)| is_read(channel));
        read.map(|(channel, version)| (channel.clone(), *version)).collect()
    }

    fn claim(&mut self, holder: &str, limit: usize, now: Instant) -> Vec<ClaimKey> {
        let now = self.time(now);
        let mut claims = Vec::new();
        for row in self.occurrences.values_mut() {
            if claims.len() == limit {
                break;
            }
            if let ClaimOutcome::Taken { .. } = row.claim(holder, CLAIM_LEASE, MAX_RECOVERIES, now) {
                claims.extend(row.key());
            }
        }
        claims
    }

    fn materialise(
        &mut self,
        schedule: usize,
        from: NaiveDateTime,
        next: NaiveDateTime,
        fire: &[NaiveDateTime],
    ) -> bool {
        if !self.cursors[schedule].advance(1, from, next) {
            return false;
        }
        for instant in fire {
            self.duplicates += u64::from(!self.recorded.insert((schedule, *instant)));
            self.number += 1;
            let id = Uuid::from_u128(self.number);
            self.occurrences.insert((*instant, id), Occurrence::pending(id, *instant));
        }
        true
    }

    fn occurrence(&mut self, id: Uuid) -> Option<&mut Occurrence> {
        self.occurrences.values_mut().find(|row| row.id == id)
    }

    /// Returns the time of the database clock.
    fn time(&self, now: Instant) -> NaiveDateTime {
        time(self.base, now)
    }
}

/// Returns the time of the database clock at an instant of a simulation that began at `base`.
pub(super) fn time(base: Instant, now: Instant) -> NaiveDateTime {
    let start = DateTime::UNIX_EPOCH.naive_utc() + Duration::from_secs(1_800_000_000);
    start + now.duration_since(base)
}

fn align(number: usize) -> AlignRequest {
    AlignRequest {
        channel_id: format!("c{number}"),
        version: 1,
        config_hash: String::new(),
        next_fire_at: DateTime::UNIX_EPOCH.naive_utc() + Duration::from_secs(1_800_000_005),
        forsaken_before: None,
        latest: None,
    }
}
