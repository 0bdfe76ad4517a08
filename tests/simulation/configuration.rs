//! The configuration of a simulated node: the watcher of the epoch and the authors of changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use svc_cluster::epoch::testing::{plan_load, poll_pause, scope_of};
use svc_cluster::epoch::{LocalChange, LocalChanges};
use svc_store::{ChangedEntity, ConfigChange};
use uuid::Uuid;

use super::action::{NodeAction, NodeTimer};
use super::database::{LoadPurpose, Request};
use super::random::SplitMix64;

/// Longest time between two polls.
pub(super) const POLL: Duration = Duration::from_secs(2);

/// The configuration of one process.
pub(super) struct NodeConfiguration {
    pub(super) watermark: i64,
    current: i64,
    pub(super) served: BTreeMap<String, u64>,
    local: LocalChanges,
    authored: HashMap<Uuid, LocalChange>,
    told: Option<(Arc<str>, i64)>,
    failures: u32,
    is_passing: bool,
    /// Something was announced during the pass.
    is_announced: bool,
    poll: u64,
}

impl NodeConfiguration {
    /// Creates the configuration of a process that has read everything at its start.
    pub(super) fn new(epoch: i64, served: BTreeMap<String, u64>) -> Self {
        Self {
            watermark: epoch,
            current: epoch,
            served,
            local: LocalChanges::default(),
            authored: HashMap::new(),
            told: None,
            failures: 0,
            is_passing: false,
            is_announced: false,
            poll: 0,
        }
    }

    /// Begins a pass, now or after the one that is under way.
    pub(super) const fn begin_pass(&mut self) -> Option<NodeAction> {
        if std::mem::replace(&mut self.is_passing, true) {
            self.is_announced = true;
            return None;
        }
        Some(NodeAction::Call(Request::ReadEpoch))
    }

    /// Begins a pass unless a later poll has replaced this one.
    pub(super) const fn begin_polled_pass(&mut self, poll: u64) -> Option<NodeAction> {
        if poll == self.poll && !self.is_passing { self.begin_pass() } else { None }
    }

    pub(super) fn read_epoch(
        &mut self,
        epoch: i64,
        node: &Arc<str>,
        random: &mut SplitMix64,
    ) -> Vec<NodeAction> {
        self.current = epoch;
        if epoch == self.watermark {
            return self.tell(node, random);
        }
        vec![NodeAction::Call(Request::ReadChanges { after: self.watermark })]
    }

    /// Plans the load of what changed.
    pub(super) fn read_changes(
        &mut self,
        changes: &[ConfigChange],
        node: &Arc<str>,
        random: &mut SplitMix64,
    ) -> Vec<NodeAction> {
        let (target, changed) = plan_load(self.watermark, self.current, changes, &self.local);
        if changed.is_empty() {
            self.watermark = target;
            return self.tell(node, random);
        }
        vec![NodeAction::Call(Request::Load { changed, purpose: LoadPurpose::Watermark(target) })]
    }

    /// Serves what was loaded; nothing if the load failed.
    pub(super) fn finish_load(
        &mut self,
        definitions: Option<BTreeMap<String, u64>>,
        purpose: LoadPurpose,
        node: &Arc<str>,
        random: &mut SplitMix64,
    ) -> Vec<NodeAction> {
        let is_loaded = definitions.is_some();
        for (channel, version) in definitions.into_iter().flatten() {
            // A load that began earlier takes nothing back: loads of one process follow each other.
            let served = self.served.entry(channel).or_default();
            *served = version.max(*served);
        }
        match purpose {
            LoadPurpose::Watermark(epoch) if is_loaded => {
                self.watermark = epoch;
                self.tell(node, random)
            }
            LoadPurpose::Watermark(_) => {
                self.failures += 1;
                self.end_pass(random)
            }
            LoadPurpose::Author(id) => {
                let change = self.authored.remove(&id);
                // One that failed is dropped, and left to the watcher.
                change.filter(|_| is_loaded).into_iter().for_each(LocalChange::record_applied);
                self.begin_pass().into_iter().collect()
            }
        }
    }

    /// Records the epoch that this node serves, if that has changed.
    fn tell(&mut self, node: &Arc<str>, random: &mut SplitMix64) -> Vec<NodeAction> {
        self.failures = 0;
        let report = Some((Arc::clone(node), self.watermark));
        if self.told == report {
            return self.end_pass(random);
        }
        self.told = report;
        vec![NodeAction::Call(Request::RecordApplied)]
    }

    pub(super) fn end_pass(&mut self, random: &mut SplitMix64) -> Vec<NodeAction> {
        self.is_passing = false;
        if std::mem::take(&mut self.is_announced) {
            return self.begin_pass().into_iter().collect();
        }
        self.poll += 1;
        vec![NodeAction::Timer(
            poll_pause(POLL, self.failures, random.next_u64()),
            NodeTimer::Poll(self.poll),
        )]
    }

    /// Begins a change.
    pub(super) fn change(&mut self, channel: String, id: Uuid) -> Vec<NodeAction> {
        self.authored.insert(id, self.local.begin(id));
        vec![NodeAction::Call(Request::Change { channel, id })]
    }

    /// Loads a change that is committed; one whose author is gone is left to the watcher.
    pub(super) fn load_change(&mut self, channel: &str, id: Uuid, author_is_gone: bool) -> Vec<NodeAction> {
        if author_is_gone {
            self.authored.remove(&id);
            return self.begin_pass().into_iter().collect();
        }
        let changed = scope_of(&ChangedEntity::Channel(channel.to_owned()));
        vec![NodeAction::Call(Request::Load { changed, purpose: LoadPurpose::Author(id) })]
    }
}
