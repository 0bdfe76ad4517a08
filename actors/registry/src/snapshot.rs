//! The configuration that serves: immutable, replaced as a whole, with a cheap derivation of the next one.

use std::collections::HashMap;
use std::sync::Arc;

use actix_supervision::Address;
use serde_json::Value;
use svc_channels::{ChannelActor, CompiledChannel, WorkflowShadow};
use svc_engine::CompiledWorkflow;
use svc_model::{Channel, ChannelPause, ChannelType, Protocol, ServiceError, Timestamp};

use crate::routes::RouteTable;
use crate::secrets::UsedSecrets;
use crate::sharded_map::ShardedMap;
use crate::worker::{WorkerId, WorkerThread};

/// The pauses of channels, by their ids.
pub(crate) type PauseTable = HashMap<String, Arc<ChannelPause>>;

/// One loaded channel.
#[derive(Clone, Debug)]
pub struct LoadedChannel {
    /// The stored row it was loaded from.
    pub row: Arc<Channel>,
    /// The serving state.
    pub state: ChannelState,
    /// The pause, if it is paused. [`Snapshot::put`] sets it.
    pub(crate) pause: Option<Arc<ChannelPause>>,
    /// The name, shared with the index.
    pub(crate) name: Arc<str>,
    /// The id, shared with the index.
    pub(crate) id: Arc<str>,
}

/// The serving state of a channel.
#[derive(Clone, Debug)]
pub enum ChannelState {
    /// The channel serves.
    Serving(ServingChannel),
    /// The channel is refused at every ingress.
    Quarantined(Quarantine),
}

/// A channel with its actors.
#[derive(Clone, Debug)]
pub struct ServingChannel {
    /// The compiled channel that the actors run.
    pub compiled: Arc<CompiledChannel>,
    /// Its actor on every worker.
    pub(crate) actors: ChannelActors,
    /// The secrets it was built with.
    pub(crate) used_secrets: UsedSecrets,
}

/// The quarantine of a channel.
#[derive(Clone, Debug)]
pub struct Quarantine {
    /// The reason, for operators.
    pub reason: Arc<str>,
    /// Set when the actors failed too often: they still exist, and an operator's restart brings them back.
    pub(crate) actors: Option<ServingChannel>,
}

/// The actors of one channel, by worker number.
#[derive(Clone, Debug)]
pub(crate) struct ChannelActors {
    /// Path of the group that holds them.
    pub(crate) group: Arc<str>,
    list: Arc<[(usize, Address<ChannelActor>)]>,
}

impl ChannelActors {
    pub(crate) fn new(group: Arc<str>, actors: Vec<(usize, Address<ChannelActor>)>) -> Self {
        Self { group, list: actors.into() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(usize, Address<ChannelActor>)> {
        self.list.iter()
    }

    /// Returns the actor on a worker, or the one `turn` places after it. A caller that is not on a worker, or on one that is
    /// still joining, starts with the first.
    fn for_worker(&self, worker: Option<WorkerId>, turn: usize) -> Option<&Address<ChannelActor>> {
        let own = worker.and_then(|WorkerId(number)| self.list.iter().position(|(id, _)| *id == number));
        let at = (own.unwrap_or_default() + turn).checked_rem(self.list.len())?;
        self.list.get(at).map(|(_, address)| address)
    }
}

impl LoadedChannel {
    /// The name callers use.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The quarantine, when there is one.
    pub fn quarantine(&self) -> Option<&Quarantine> {
        match &self.state {
            ChannelState::Quarantined(quarantine) => Some(quarantine),
            ChannelState::Serving(_) => None,
        }
    }

    /// Returns the pause, if the channel is paused.
    pub fn pause(&self) -> Option<&Arc<ChannelPause>> {
        self.pause.as_ref()
    }

    /// The methods it declares; none means every method of its route.
    pub(crate) fn methods(&self) -> &[String] {
        self.row.content.methods.as_deref().unwrap_or_default()
    }

    /// Returns `true` if requests reach the channel by its name. Read from the row, because a quarantined channel has no
    /// compiled configuration.
    pub(crate) fn answers_to_name(&self) -> bool {
        self.row.content.config["request"]["by_name"] != false
    }

    /// Returns the origins of pages that may read its answers, if it lists its own. Those of a quarantined channel, which
    /// has no compiled configuration, are read from the row, in which references to declared values match no origin.
    pub fn cors_origins(&self) -> Option<&[Value]> {
        match self.compiled_channel() {
            Some(compiled) => compiled.cors_origins(),
            None => self.row.content.config["request"]["cors_origins"].as_array().map(Vec::as_slice),
        }
    }

    /// Returns `true` for a scheduled channel.
    pub fn is_cron(&self) -> bool {
        self.row.content.protocol == Protocol::Cron
    }

    /// Returns the topic whose records the channel takes in, if it is a channel of Kafka or an asynchronous one that names a
    /// topic.
    pub fn topic(&self) -> Option<&str> {
        let content = &self.row.content;
        let takes_records = match content.protocol {
            Protocol::Kafka => true,
            Protocol::Cron => false,
            Protocol::Rest | Protocol::Http => content.channel_type == ChannelType::Async,
        };
        content.topic.as_deref().filter(|topic| takes_records && !topic.trim().is_empty())
    }

    /// Returns the compiled channel, also while supervision quarantines its actors.
    pub fn compiled_channel(&self) -> Option<&Arc<CompiledChannel>> {
        self.serving().map(|serving| &serving.compiled)
    }

    /// Returns the actor that serves a request of a worker's thread.
    ///
    /// # Errors
    /// 503 for a quarantined channel and while no worker has joined.
    pub fn actor(&self, worker: Option<WorkerId>) -> Result<&Address<ChannelActor>, ServiceError> {
        self.actor_after(worker, 0)
    }

    /// As [`actor`](Self::actor), but the one `turn` workers further: for a message that another actor handed back.
    pub(crate) fn actor_after(
        &self,
        worker: Option<WorkerId>,
        turn: usize,
    ) -> Result<&Address<ChannelActor>, ServiceError> {
        match &self.state {
            ChannelState::Serving(serving) => {
                serving.actors.for_worker(worker, turn).ok_or_else(|| self.no_worker())
            }
            ChannelState::Quarantined(_) => Err(svc_channels::refusal::quarantined()),
        }
    }

    /// Builds the 503 of a channel that no worker serves yet.
    pub(crate) fn no_worker(&self) -> ServiceError {
        ServiceError::unavailable(format!("Channel '{}' is starting", self.name)).with_retry_after(1)
    }

    /// Returns the channel with its actors, running or quarantined by supervision.
    pub(crate) fn serving(&self) -> Option<&ServingChannel> {
        match &self.state {
            ChannelState::Serving(serving) => Some(serving),
            ChannelState::Quarantined(quarantine) => quarantine.actors.as_ref(),
        }
    }
}

/// One active workflow that channels use.
#[derive(Debug)]
pub(crate) struct LoadedWorkflow {
    /// Its active versions, newest first.
    pub(crate) versions: Vec<LoadedVersion>,
    /// The version that runs as the shadow of another one, if its rollout asks for it.
    pub(crate) shadow: Option<LoadedShadow>,
}

/// The shadow of a workflow.
#[derive(Clone, Debug)]
pub(crate) struct LoadedShadow {
    /// The shadow, compiled.
    pub(crate) compiled: WorkflowShadow,
    /// Hash of the content.
    pub(crate) hash: String,
    /// The secrets it was compiled with.
    pub(crate) used_secrets: UsedSecrets,
}

impl LoadedShadow {
    fn runs_same_as(&self, other: &Self) -> bool {
        let parts = |shadow: &Self| (shadow.hash.clone(), shadow.used_secrets.clone());
        let (own, others) = (&self.compiled.flow.versions, &other.compiled.flow.versions);
        self.compiled.terms == other.compiled.terms
            && parts(self) == parts(other)
            && own.iter().zip(others).all(|((one, _), (other, _))| calls_same_plugins(one, other))
    }
}

/// Returns `false` for a workflow that was compiled anew and calls plugins, which may have other components now.
fn calls_same_plugins(one: &Arc<CompiledWorkflow>, other: &Arc<CompiledWorkflow>) -> bool {
    !one.calls_plugins() || Arc::ptr_eq(one, other)
}

/// One active version of a workflow.
#[derive(Clone, Debug)]
pub(crate) struct LoadedVersion {
    pub(crate) version: i64,
    pub(crate) rollout: i64,
    pub(crate) updated_at: Timestamp,
    /// Hash of the content: equal content is never compiled twice.
    pub(crate) hash: String,
    /// The secrets it was compiled with.
    pub(crate) used_secrets: UsedSecrets,
    /// Names of the connectors its tasks use.
    pub(crate) connectors: Arc<[String]>,
    /// The compiled version, or the reason why there is none.
    pub(crate) compiled: Result<Arc<CompiledWorkflow>, Arc<str>>,
}

impl LoadedVersion {
    /// Returns `true` if it compiled and calls a function of a plugin.
    pub(crate) fn calls_plugins(&self) -> bool {
        self.compiled.as_ref().is_ok_and(|compiled| compiled.calls_plugins())
    }

    /// Returns `true` if a message would run the same way in both.
    fn runs_same_as(&self, other: &Self) -> bool {
        let parts = |version: &Self| (version.version, version.rollout);
        let is_called_alike = match (&self.compiled, &other.compiled) {
            (Ok(one), Ok(other)) => calls_same_plugins(one, other),
            _ => true,
        };
        parts(self) == parts(other)
            && self.hash == other.hash
            && self.used_secrets == other.used_secrets
            && is_called_alike
    }

    /// Returns the values that change in the store when a version changes.
    pub(crate) fn revision(&self) -> (i64, i64, Timestamp) {
        (self.version, self.rollout, self.updated_at)
    }
}

impl LoadedWorkflow {
    /// Returns `true` if every version compiled.
    pub(crate) fn is_compiled(&self) -> bool {
        self.versions.iter().all(|version| version.compiled.is_ok())
    }

    /// Returns `true` if a message would run the same way in both.
    pub(crate) fn runs_same_as(&self, other: &Self) -> bool {
        self.is_compiled()
            && other.is_compiled()
            && self.versions.len() == other.versions.len()
            && self.versions.iter().zip(&other.versions).all(|(one, other)| one.runs_same_as(other))
            && match (&self.shadow, &other.shadow) {
                (Some(one), Some(other)) => one.runs_same_as(other),
                (one, other) => one.is_none() && other.is_none(),
            }
    }
}

/// A complete configuration. A clone shares everything; changing the clone copies only what the change touches.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(crate) generation: u64,
    pub(crate) workers: Arc<[WorkerThread]>,
    pub(crate) workflows: ShardedMap<Arc<str>, Arc<LoadedWorkflow>>,
    names: ShardedMap<Arc<str>, Arc<LoadedChannel>>,
    /// Scheduled channels by id.
    cron: ShardedMap<Arc<str>, Arc<LoadedChannel>>,
    /// Channels that name a topic, by id.
    topics: ShardedMap<Arc<str>, Arc<LoadedChannel>>,
    ids: ShardedMap<Arc<str>, Arc<LoadedChannel>>,
    pub(crate) routes: RouteTable,
    quarantined: usize,
    /// Number of channels that list their own origins.
    cors_lists: usize,
    /// The pauses, also of channels that this snapshot does not have.
    pauses: Arc<PauseTable>,
}

impl Snapshot {
    /// Returns the generation, which grows with every change; 0 before the first load.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn channel_by_name(&self, name: &str) -> Option<&Arc<LoadedChannel>> {
        self.names.get(name)
    }

    pub fn channel_by_id(&self, id: &str) -> Option<&Arc<LoadedChannel>> {
        self.ids.get(id)
    }

    /// Every loaded channel, in no order.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<LoadedChannel>> {
        self.ids.iter().map(|(_, entry)| entry)
    }

    /// Returns every scheduled channel, in no order.
    pub fn cron_channels(&self) -> impl Iterator<Item = &Arc<LoadedChannel>> {
        self.cron.iter().map(|(_, entry)| entry)
    }

    /// Returns the number of scheduled channels, the quarantined ones included.
    pub fn cron_count(&self) -> usize {
        self.cron.len()
    }

    /// Returns the ids of the scheduled channels that differ from an `earlier` snapshot. The cost follows the number of
    /// changes, not the number of channels.
    pub fn cron_changes(&self, earlier: &Self) -> Vec<Arc<str>> {
        self.cron.changed_keys(&earlier.cron, Arc::ptr_eq)
    }

    /// Returns every channel that takes the records of a topic, in no order.
    pub fn topic_channels(&self) -> impl Iterator<Item = &Arc<LoadedChannel>> {
        self.topics.iter().map(|(_, entry)| entry)
    }

    /// Returns the number of loaded channels, the quarantined ones included.
    pub fn channels_count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of quarantined channels in constant time, unlike [`quarantined_channels`](Self::quarantined_channels).
    pub fn quarantined_count(&self) -> usize {
        self.quarantined
    }

    /// Returns the quarantined channels in the order of their names.
    pub fn quarantined_channels(&self) -> Vec<(&Arc<LoadedChannel>, &Quarantine)> {
        let mut quarantined: Vec<_> =
            self.channels().filter_map(|entry| Some((entry, entry.quarantine()?))).collect();
        quarantined.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        quarantined
    }

    /// Returns the paused channels in the order of their names.
    pub fn paused_channels(&self) -> Vec<(&Arc<LoadedChannel>, &Arc<ChannelPause>)> {
        let entries = self.pauses.keys().filter_map(|id| self.ids.get(id.as_str()));
        let mut paused: Vec<_> = entries.filter_map(|entry| Some((entry, entry.pause()?))).collect();
        paused.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        paused
    }

    /// Returns the pause of the channel of that id, whether or not it is active.
    pub fn pause_of(&self, id: &str) -> Option<&Arc<ChannelPause>> {
        self.pauses.get(id)
    }

    /// Returns `true` if some channel lists its own origins.
    pub fn has_cors_lists(&self) -> bool {
        self.cors_lists > 0
    }

    /// Returns `true` if some channel is paused.
    pub fn has_pauses(&self) -> bool {
        !self.pauses.is_empty()
    }

    /// Returns `true` if some pause ends by itself.
    pub fn has_timed_pause(&self) -> bool {
        self.pauses.values().any(|pause| pause.until.is_some())
    }

    /// Returns the names of the connectors that the loaded versions of a workflow use, each once.
    pub fn connectors_of_workflow(&self, id: &str) -> Vec<String> {
        let versions =
            self.workflows.get(id).map(|workflow| workflow.versions.as_slice()).unwrap_or_default();
        let mut names: Vec<_> =
            versions.iter().flat_map(|version| version.connectors.iter().cloned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the number of loaded workflows.
    pub fn workflows_count(&self) -> usize {
        self.workflows.len()
    }

    /// Replaces the pauses. Channels whose pause has changed get a new entry.
    pub(crate) fn set_pauses(&mut self, pauses: &Arc<PauseTable>) {
        let before = std::mem::replace(&mut self.pauses, Arc::clone(pauses));
        let touched = before.keys().chain(pauses.keys());
        let touched = touched.filter(|id| before.get(*id) != pauses.get(*id));
        let entries: Vec<_> = touched.filter_map(|id| self.ids.get(id.as_str()).cloned()).collect();
        for entry in entries {
            self.put(entry);
        }
    }

    /// Returns the entry with the pause of its channel.
    fn with_pause(&self, entry: Arc<LoadedChannel>) -> Arc<LoadedChannel> {
        let pause = self.pauses.get(&*entry.id);
        if entry.pause.as_ref() == pause {
            return entry;
        }
        Arc::new(LoadedChannel { pause: pause.cloned(), ..(*entry).clone() })
    }

    /// Inserts a channel, in place of the one with the same id.
    pub(crate) fn put(&mut self, entry: Arc<LoadedChannel>) {
        let entry = self.with_pause(entry);
        self.remove(&entry.id);
        self.quarantined += usize::from(entry.quarantine().is_some());
        self.cors_lists += usize::from(entry.cors_origins().is_some());
        self.routes.insert(&entry);
        self.names.insert(Arc::clone(&entry.name), Arc::clone(&entry));
        if entry.is_cron() {
            self.cron.insert(Arc::clone(&entry.id), Arc::clone(&entry));
        }
        if entry.topic().is_some() {
            self.topics.insert(Arc::clone(&entry.id), Arc::clone(&entry));
        }
        self.ids.insert(Arc::clone(&entry.id), entry);
    }

    /// Removes a channel.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Arc<LoadedChannel>> {
        let entry = self.ids.remove(id)?;
        self.cron.remove(id);
        self.topics.remove(id);
        self.quarantined -= usize::from(entry.quarantine().is_some());
        self.cors_lists -= usize::from(entry.cors_origins().is_some());
        self.routes.remove(&entry);
        // The name may by now belong to another channel, when two swapped theirs.
        if self.names.get(&entry.name).is_some_and(|named| named.id == entry.id) {
            self.names.remove(&entry.name);
        }
        Some(entry)
    }
}
