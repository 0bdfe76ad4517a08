//! The reconciler: keeps one consumer for each consumer group that the topic map names.
//!
//! It alone replaces the topic map. It takes no messages: it watches the generations of the registry's snapshot. A map that
//! names other channels for the same topics takes effect with the next record, without any consumer noticing;
//! a group with other topics subscribes anew, with the same client. The handles of the groups survive a
//! restart of the actor.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{ChildSpec, Context, GroupSpec, Placement, SpawnError, Supervised, Tree};
use futures_util::future::join_all;
use slog::{info, warn};
use svc_model::ErrorReason;
use svc_registry::Snapshot;
use tokio::time::sleep;

use crate::consumer::{ConsumerPlace, DRAIN, GroupConsumer, LEAVING};
use crate::shared::{GroupHandle, KafkaShared};
use crate::topic_map::{TopicClaim, TopicConflict, TopicMap};

/// Delay before a consumer that could not be started is tried again.
const START_AGAIN: Duration = Duration::from_secs(1);

/// The actor.
#[derive(Clone)]
pub(crate) struct GroupReconciler {
    pub(crate) shared: Arc<KafkaShared>,
    pub(crate) tree: Tree,
    /// Path of the group that holds the consumer groups.
    pub(crate) path: Arc<str>,
    pub(crate) at: Placement,
    pub(crate) needs: Arc<[String]>,
}

impl Actor for GroupReconciler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let reconciler = self.clone();
        ctx.spawn(async move { reconciler.reconcile_until_stopped().await }.into_actor(self));
    }
}

impl Supervised for GroupReconciler {}

impl GroupReconciler {
    async fn reconcile_until_stopped(self) {
        let mut generations = self.shared.registry.watch_generations();
        let mut reported_conflicts = HashSet::new();
        loop {
            generations.borrow_and_update();
            let snapshot = Arc::clone(&self.shared.registry.snapshot());
            let (map, conflicts) = self.build_map(&snapshot);
            reported_conflicts = self.warn_of_conflicts(conflicts, &reported_conflicts);
            let groups = map.groups();
            if **self.shared.routes.load() != map {
                info!(self.shared.log, "kafka topics mapped"; "topics" => groups.values().map(BTreeSet::len).sum::<usize>(),
                    "groups" => groups.len());
                self.shared.routes.store(Arc::new(map));
            }
            let is_done = self.reconcile_groups(groups).await;
            let routes = self.shared.routes.load();
            self.shared.metrics.retain_topics(|topic| routes.route(topic).is_some());
            drop(routes);
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return },
                () = sleep(START_AGAIN), if !is_done => {}
            }
        }
    }

    fn build_map(&self, snapshot: &Snapshot) -> (TopicMap, Vec<TopicConflict>) {
        let settings = &self.shared.settings;
        let claims = snapshot.topic_channels().filter_map(|channel| {
            let content = &channel.row.content;
            Some(TopicClaim {
                topic: channel.topic()?.into(),
                channel: channel.name().into(),
                priority: content.priority,
                group: named_group(content.consumer_group.as_deref()),
            })
        });
        let group_of = |name: &str| {
            let channel = snapshot.channel_by_name(name)?;
            named_group(channel.row.content.consumer_group.as_deref())
        };
        TopicMap::build(&settings.topics, claims.collect(), group_of, &settings.group_id.as_str().into())
    }

    /// Logs the conflicts that were not logged before; returns all.
    fn warn_of_conflicts(
        &self,
        conflicts: Vec<TopicConflict>,
        told: &HashSet<TopicConflict>,
    ) -> HashSet<TopicConflict> {
        for conflict in conflicts.iter().filter(|conflict| !told.contains(conflict)) {
            warn!(self.shared.log, "a channel does not get the records of its topic, another one does";
                "channel" => &*conflict.channel, "topic" => &*conflict.topic, "winner" => &*conflict.winner);
        }
        conflicts.into_iter().collect()
    }

    /// Starts, changes and ends consumers; returns `false` if one could not be started.
    async fn reconcile_groups(&self, wanted: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>) -> bool {
        let running_groups: Vec<_> = self.shared.groups().values().cloned().collect();
        let ended = running_groups.into_iter().filter(|group| !wanted.contains_key(&group.name));
        join_all(ended.map(|group| self.end(group))).await;
        let mut is_done = true;
        for (name, topics) in wanted {
            let running_group = self.shared.groups().get(&name).cloned();
            if let Some(group) = running_group {
                group.topics.send_if_modified(|current| {
                    let differs = *current != topics;
                    *current = topics.clone();
                    differs
                });
                continue;
            }
            let group = Arc::new(GroupHandle::new(Arc::clone(&name), topics));
            if let Err(error) = self.begin(&group).await {
                warn!(self.shared.log, "starting a consumer failed"; "group" => &*name, "error" => %error);
                (self.shared.settings.errors)(ErrorReason::KafkaConsumer);
                is_done = false;
                continue;
            }
            self.shared.groups().insert(name, group);
        }
        is_done
    }

    async fn begin(&self, group: &Arc<GroupHandle>) -> Result<(), SpawnError> {
        let path: Arc<str> = self.path_of(&group.name).into();
        match self.tree.add_group(&path, GroupSpec::new()).await {
            Ok(()) | Err(SpawnError::Duplicate { .. }) => {}
            Err(error) => return Err(error),
        }
        let place = ConsumerPlace {
            tree: self.tree.clone(),
            path: Arc::clone(&path),
            at: self.at.clone(),
            needs: Arc::clone(&self.needs),
        };
        let (shared, for_actor) = (Arc::clone(&self.shared), Arc::clone(group));
        let factory = move |_| {
            let (shared, group) = (Arc::clone(&shared), Arc::clone(&for_actor));
            std::future::ready(Ok(GroupConsumer { shared, group, place: place.clone() }))
        };
        let spec = ChildSpec::new().mailbox(1).needs(self.needs.iter()).drain_deadline(DRAIN + LEAVING * 2);
        self.tree.spawn(&format!("{path}/{CONSUMER}"), spec, self.at.clone(), factory).await.map(drop)
    }

    async fn end(&self, group: Arc<GroupHandle>) {
        info!(self.shared.log, "a consumer group has no topics any more"; "group" => &*group.name);
        // A missing actor has stopped already.
        let _ = self.tree.retire(&self.path_of(&group.name), DRAIN + LEAVING * 2).await;
        self.shared.groups().remove(&group.name);
    }

    fn path_of(&self, group: &str) -> String {
        format!("{}/{}", self.path, node_name(group))
    }
}

/// Name of the node of a consumer, next to those of its workers.
const CONSUMER: &str = "consumer";

/// Returns the group that a channel names.
fn named_group(group: Option<&str>) -> Option<Arc<str>> {
    group.filter(|group| !group.trim().is_empty()).map(Into::into)
}

/// Returns the name of the node of a consumer group: its own, without what a path cannot hold.
fn node_name(group: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '/' && c != '%';
    group
        .chars()
        .map(|c| if is_plain(c) { c.to_string() } else { format!("%{:02X}", u32::from(c)) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_of_a_group_has_its_name_without_separators() {
        assert_eq!(node_name("svc"), "svc");
        assert_eq!(node_name("team/a b"), "team%2Fa b");
        assert_ne!(node_name("a%2Fb"), node_name("a/b"));
    }
}
