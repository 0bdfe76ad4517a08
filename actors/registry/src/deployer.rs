//! The actors of channels, as the registry deploys, replaces and retires them.
//!
//! The actors of one deployment are a group: `{id}`, or `{id}~2` and so on while an older one still drains. Nothing
//! here waits for a worker's thread longer than [`ACTOR_TIMEOUT`].

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Address, ChildSpec, ExhaustedAction, GroupSpec, NodeState, RestartPolicy, SpawnError, Tree,
};
use futures_util::future::join_all;
use svc_channels::{ChannelActor, CompiledChannel};
use tokio::time::timeout;

use crate::snapshot::{ChannelActors, LoadedChannel};
use crate::worker::WorkerThread;

/// How long actors may take to go over to another definition or to end, before the work goes on without them.
const ACTOR_TIMEOUT: Duration = Duration::from_secs(2);

/// How channel actors are supervised.
#[derive(Clone, Debug)]
pub struct ChannelPolicy {
    /// Path of the group they live below; it exists before the registry starts.
    pub group: String,
    /// Restart budget of one channel, all its threads together. Used up, the channel is quarantined.
    pub budget: RestartPolicy,
    /// Messages in flight in one channel on one thread.
    pub mailbox: usize,
    /// How long a retired or replaced actor may finish what it began.
    pub drain: Duration,
    /// Path of the group of schedules, which are named by the ids of their channels: one that is quarantined
    /// quarantines its channel. `None` where nothing runs by the clock.
    pub schedules: Option<String>,
    /// Paths of the nodes that runs use: started before the channels and drained after them.
    pub needs: Vec<String>,
}

impl Default for ChannelPolicy {
    fn default() -> Self {
        Self {
            group: "channels".to_owned(),
            budget: RestartPolicy::default(),
            mailbox: 8192,
            drain: Duration::from_secs(30),
            schedules: None,
            needs: Vec::new(),
        }
    }
}

/// Deploys, replaces and retires. Keeps nothing: what runs is in the snapshot and in the tree.
#[derive(Clone)]
pub(crate) struct ChannelDeployer {
    tree: Tree,
    policy: ChannelPolicy,
}

impl ChannelDeployer {
    pub(crate) fn new(tree: Tree, policy: ChannelPolicy) -> Self {
        Self { tree, policy }
    }

    /// Whether all channels are on their way out, because the process ends.
    pub(crate) fn is_ending(&self) -> bool {
        let group = self.tree.node(&self.policy.group);
        group.is_none_or(|group| matches!(group.state, NodeState::Draining | NodeState::Stopped))
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The channel an event's path belongs to.
    pub(crate) fn channel_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below = |group: &str| path.strip_prefix(group)?.strip_prefix('/');
        match below(&self.policy.group) {
            Some(rest) => rest.split(['/', '~']).next(),
            None => below(self.policy.schedules.as_deref()?),
        }
    }

    /// Why the schedule of a channel is kept from running, if supervision does.
    pub(crate) fn quarantine_of_schedule(&self, entry: &LoadedChannel) -> Option<Arc<str>> {
        let group = self.policy.schedules.as_deref().filter(|_| entry.is_cron())?;
        let node = self.tree.node(&format!("{group}/{}", entry.id()))?;
        let quarantined = node.state == NodeState::Quarantined;
        quarantined.then(|| format!("its schedule: {}", node.quarantine_reason.unwrap_or_default()).into())
    }

    /// Starts a channel on every worker whose thread lives, beside an older deployment if there is one. Waits for no
    /// worker: calls queue until its actor has started.
    ///
    /// # Errors
    /// Why it could not be placed in the tree.
    pub(crate) async fn deploy(
        &self,
        id: &str,
        definition: &Arc<CompiledChannel>,
        workers: &[WorkerThread],
    ) -> Result<Deployment, SpawnError> {
        let group = self.group(id).await?;
        let spawned = workers.iter().map(async |worker| {
            let spawned = self.spawn(&group, definition, worker).await;
            spawned.map_err(|error| (worker.id, error))
        });
        let (mut actors, mut gone) = (Vec::new(), Vec::new());
        for spawned in join_all(spawned).await {
            match spawned {
                Ok(actor) => actors.push(actor),
                Err((worker, SpawnError::ArbiterGone)) => gone.push(worker),
                Err((_, error)) => {
                    self.retire_within_timeout(&group).await;
                    return Err(error);
                }
            }
        }
        Ok(Deployment { actors: ChannelActors::new(group, actors), gone })
    }

    /// A new group for a channel's actors.
    async fn group(&self, id: &str) -> Result<Arc<str>, SpawnError> {
        let mut path = format!("{}/{id}", self.policy.group);
        for next in 2_u64.. {
            let spec =
                GroupSpec::new().policy(self.policy.budget.clone()).exhausted(ExhaustedAction::Quarantine);
            match self.tree.add_group(&path, spec).await {
                Err(SpawnError::Duplicate { .. }) => path = format!("{}/{id}~{next}", self.policy.group),
                made => return made.map(|()| path.into()),
            }
        }
        Err(SpawnError::Duplicate { path })
    }

    /// Starts a deployed channel on one more worker.
    pub(crate) async fn spawn(
        &self,
        group: &str,
        definition: &Arc<CompiledChannel>,
        worker: &WorkerThread,
    ) -> Result<(usize, Address<ChannelActor>), SpawnError> {
        let spec = ChildSpec::new()
            .mailbox(self.policy.mailbox)
            .needs(&self.policy.needs)
            .drain_deadline(self.policy.drain)
            .fingerprint(fingerprint(definition))
            .shared_budget();
        let path = format!("{group}/{}", worker.id);
        let spawned =
            self.tree.spawn(&path, spec, worker.at.clone(), ChannelActor::factory(definition)).await;
        spawned.map(|address| (worker.id, address))
    }

    /// Lets every actor of a channel go over to another definition: all are built before the first takes over. Past
    /// the time allowed, or when one has ended or cannot be built, the channel is to be deployed anew.
    pub(crate) async fn replace(
        &self,
        actors: &ChannelActors,
        definition: &Arc<CompiledChannel>,
    ) -> ReplaceOutcome {
        let replaced = timeout(ACTOR_TIMEOUT, async {
            let prepared = join_all(actors.iter().map(|(_, address)| {
                let factory = ChannelActor::factory(definition);
                self.tree.replace(address, Some(fingerprint(definition)), factory)
            }))
            .await;
            let Ok(prepared) = prepared.into_iter().collect::<Result<Vec<_>, _>>() else {
                return ReplaceOutcome::Failed;
            };
            for generation in prepared {
                if generation.commit().await.is_err() {
                    return ReplaceOutcome::Failed;
                }
            }
            ReplaceOutcome::Done
        });
        replaced.await.unwrap_or(ReplaceOutcome::TimedOut)
    }

    /// The groups of every deployment in the tree.
    pub(crate) fn groups(&self) -> Vec<Arc<str>> {
        let is_group = |path: &str| {
            let below = path.strip_prefix(&self.policy.group).and_then(|rest| rest.strip_prefix('/'));
            below.is_some_and(|name| !name.contains('/'))
        };
        let nodes = self.tree.snapshot().nodes;
        nodes.iter().map(|node| node.path.as_str()).filter(|path| is_group(path)).map(Arc::from).collect()
    }

    /// Drains and removes a deployment. One that is not there is retired already.
    pub(crate) async fn retire(&self, group: &str) {
        let _ = self.tree.retire(group, self.policy.drain).await;
    }

    /// As [`retire`](Self::retire), but waits only a short time for the end.
    pub(crate) async fn retire_within_timeout(&self, group: &str) {
        let _ = timeout(ACTOR_TIMEOUT, self.retire(group)).await;
    }

    /// Drains and removes a channel's actor on one worker.
    pub(crate) async fn retire_worker_actor(&self, group: &str, worker: usize) {
        self.retire(&format!("{group}/{worker}")).await;
    }
}

/// A channel that was started.
pub(crate) struct Deployment {
    pub(crate) actors: ChannelActors,
    /// Workers whose threads have ended.
    pub(crate) gone: Vec<usize>,
}

/// Whether a channel's actors went over to another definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplaceOutcome {
    /// All did.
    Done,
    /// One could not.
    Failed,
    /// One did not answer in time: its thread is blocked.
    TimedOut,
}

fn fingerprint(definition: &CompiledChannel) -> String {
    format!("version {}", definition.version())
}
