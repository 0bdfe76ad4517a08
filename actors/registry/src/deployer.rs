//! The actors of channels, as the registry deploys, replaces and retires them.
//!
//! The actors of one deployment form a group: `{id}`, or `{id}~2` and so on while an older one still drains.
//! Nothing here waits for a worker's thread longer than [`ACTOR_TIMEOUT`].

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

/// Time that actors may take to switch to another compiled channel or to end, before the reload goes on
/// without them.
const ACTOR_TIMEOUT: Duration = Duration::from_secs(2);

/// The supervision of channel actors.
#[derive(Clone, Debug)]
pub struct ChannelPolicy {
    /// Path of the group they live below; it exists before the registry starts.
    pub group: String,
    /// Restart budget of one channel, all its threads together. The channel is quarantined when it is used
    /// up.
    pub budget: RestartPolicy,
    /// Messages in flight in one channel on one thread.
    pub mailbox: usize,
    /// Time in which a retired or replaced actor may finish its work.
    pub drain: Duration,
    /// Path of the group of schedules, which are named by the ids of their channels: one that is quarantined
    /// quarantines its channel. `None` if nothing runs by the clock.
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

/// Deploys, replaces and retires channel actors. Stateless: the snapshot and the tree hold what runs.
#[derive(Clone)]
pub(crate) struct ChannelDeployer {
    tree: Tree,
    policy: ChannelPolicy,
}

impl ChannelDeployer {
    pub(crate) fn new(tree: Tree, policy: ChannelPolicy) -> Self {
        Self { tree, policy }
    }

    /// Returns `true` while all channels drain because the process ends.
    pub(crate) fn is_ending(&self) -> bool {
        let group = self.tree.node(&self.policy.group);
        group.is_none_or(|group| matches!(group.state, NodeState::Draining | NodeState::Stopped))
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the channel that the path of an event belongs to.
    pub(crate) fn channel_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below = |group: &str| path.strip_prefix(group)?.strip_prefix('/');
        match below(&self.policy.group) {
            Some(rest) => rest.split(['/', '~']).next(),
            None => below(self.policy.schedules.as_deref()?),
        }
    }

    /// Returns the reason why supervision quarantines the schedule of a channel.
    pub(crate) fn quarantine_of_schedule(&self, entry: &LoadedChannel) -> Option<Arc<str>> {
        let group = self.policy.schedules.as_deref().filter(|_| entry.is_cron())?;
        let node = self.tree.node(&format!("{group}/{}", entry.id()))?;
        let quarantined = node.state == NodeState::Quarantined;
        quarantined.then(|| format!("its schedule: {}", node.quarantine_reason.unwrap_or_default()).into())
    }

    /// Starts a channel on every worker whose thread lives, next to an older deployment if there is one. Waits
    /// for no worker: calls queue until its actor has started.
    ///
    /// # Errors
    /// [`SpawnError`] when the tree does not take the group or an actor.
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

    /// Adds a group for the actors of a channel.
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

    /// Switches every actor of a channel to another compiled channel: all are built before the first takes
    /// over. After the timeout, or when an actor has ended or cannot be built, the channel has to be deployed
    /// again.
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

    /// Returns the groups of every deployment in the tree.
    pub(crate) fn groups(&self) -> Vec<Arc<str>> {
        let is_group = |path: &str| {
            let below = path.strip_prefix(&self.policy.group).and_then(|rest| rest.strip_prefix('/'));
            below.is_some_and(|name| !name.contains('/'))
        };
        let nodes = self.tree.snapshot().nodes;
        nodes.iter().map(|node| node.path.as_str()).filter(|path| is_group(path)).map(Arc::from).collect()
    }

    /// Drains and removes a deployment. A missing one is already retired.
    pub(crate) async fn retire(&self, group: &str) {
        let _ = self.tree.retire(group, self.policy.drain).await;
    }

    /// As [`retire`](Self::retire), but waits for the end no longer than [`ACTOR_TIMEOUT`].
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

/// The result of switching the actors of a channel to another compiled channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplaceOutcome {
    /// Every actor switched.
    Done,
    /// An actor could not switch.
    Failed,
    /// An actor did not answer in time: its thread is blocked.
    TimedOut,
}

fn fingerprint(definition: &CompiledChannel) -> String {
    format!("version {}", definition.version())
}
