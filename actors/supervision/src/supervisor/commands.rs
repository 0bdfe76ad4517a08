//! The commands of an operator, or of a reload: restart, quarantine, commit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{ActorPhase, AfterHalt, Supervisor, reply};
use crate::error::OrderError;
use crate::observation::recorder::EventKind;
use crate::path::NodePath;
use crate::protocol::{LifecycleCommand, PendingPong, ReplacementCommit};

impl Supervisor {
    /// Orders every essential actor to give a sign of life. The order to one that has ended is dropped.
    pub(super) fn ping_essential_actors(&self) -> Vec<PendingPong> {
        let essential = self.actors.iter().filter(|(_, actor)| actor.node.essential);
        let pongs = essential.map(|(path, actor)| {
            let (answer, pong) = oneshot::channel();
            actor.order(LifecycleCommand::Ping { answer });
            (path.clone(), pong)
        });
        pongs.collect()
    }

    /// Restarts a node, or every node of a group, in whatever state; its restart history is cleared.
    pub(super) fn order_restart(&mut self, path: &NodePath) -> Result<(), OrderError> {
        self.check_order(path)?;
        if let Some(group) = self.groups.get_mut(path) {
            group.history.clear();
        }
        for group in self.groups_within(path) {
            self.release_group(&group);
        }
        for actor in self.actors_within(path) {
            self.restart_actor(&actor);
        }
        Ok(())
    }

    fn restart_actor(&mut self, path: &NodePath) {
        self.clear_history(path);
        let Some(phase) = self.actors.get(path).map(|actor| actor.phase) else { return };
        match phase {
            ActorPhase::Running | ActorPhase::Starting => self.cycle(path),
            ActorPhase::Backoff { .. } | ActorPhase::Stopped => {
                self.reset_attempt(path);
                self.enter(path, ActorPhase::Waiting);
            }
            ActorPhase::Quarantined => {
                self.reset_attempt(path);
                self.record_release(path);
                self.enter(path, ActorPhase::Waiting);
            }
            ActorPhase::Halting(AfterHalt::Quarantine) => {
                self.record_release(path);
                self.enter(path, ActorPhase::Halting(AfterHalt::Start));
            }
            ActorPhase::Waiting
            | ActorPhase::Halting(AfterHalt::Start)
            | ActorPhase::Draining
            | ActorPhase::Gone => {}
        }
    }

    pub(super) fn order_quarantine(&mut self, path: &NodePath, reason: &Arc<str>) -> Result<(), OrderError> {
        self.check_order(path)?;
        if self.groups.contains_key(path) {
            self.quarantine_group(path, reason);
            return Ok(());
        }
        match self.actors.get(path).map(|actor| actor.phase) {
            Some(ActorPhase::Running | ActorPhase::Starting | ActorPhase::Halting(_)) => {
                self.halt_and_quarantine(path, reason);
            }
            Some(
                ActorPhase::Waiting
                | ActorPhase::Backoff { .. }
                | ActorPhase::Stopped
                | ActorPhase::Quarantined,
            ) => {
                self.quarantine(path, reason);
            }
            Some(ActorPhase::Draining | ActorPhase::Gone) | None => {}
        }
        Ok(())
    }

    fn check_order(&self, path: &NodePath) -> Result<(), OrderError> {
        if self.ending.is_some() {
            return Err(OrderError::TreeEnded);
        }
        match self.actors.get(path).map(|actor| actor.phase) {
            Some(ActorPhase::Draining) => Err(OrderError::Draining),
            Some(ActorPhase::Gone) => Err(OrderError::Gone),
            Some(_) => Ok(()),
            None if self.groups.contains_key(path) => Ok(()),
            None => Err(OrderError::Unknown),
        }
    }

    /// Lets a prepared instance take over. The node leaves quarantine, because its configuration has changed.
    pub(super) fn commit(&mut self, mut commit: ReplacementCommit) {
        let Some(path) = self.ids.get(&commit.node_id).cloned() else {
            return reply(commit.answer, Err(OrderError::Unknown));
        };
        if let Err(error) = self.check_order(&path) {
            return reply(commit.answer, Err(error));
        }
        let Some(actor) = self.actors.get_mut(&path) else { return };
        if commit.generation <= actor.generation {
            // A restart came between: the reserved number is no longer the newest.
            commit.generation = actor.node.issue_generation();
        }
        let quarantined =
            matches!(actor.phase, ActorPhase::Quarantined | ActorPhase::Halting(AfterHalt::Quarantine));
        actor.generation = commit.generation;
        actor.attempt = 1;
        actor.history.clear();
        actor.order(LifecycleCommand::Commit {
            id: commit.id,
            generation: commit.generation,
            deadline: actor.node.drain_deadline,
        });
        self.commits.insert(commit.id, commit);
        if quarantined {
            self.record_release(&path);
        }
        // From now on every report of the old instance is stale.
        self.enter(&path, ActorPhase::Starting);
    }

    pub(super) fn record_commit(&mut self, path: &NodePath, id: u64, generation: u64) {
        let Some(commit) = self.commits.remove(&id) else { return };
        if let Some(actor) = self.actors.get_mut(path) {
            actor.node.update_status(|status| status.fingerprint = commit.fingerprint);
        }
        self.record(path, EventKind::Replaced);
        reply(commit.answer, Ok(generation));
    }

    /// Records that an actor leaves quarantine, and with it the groups above.
    fn record_release(&mut self, path: &NodePath) {
        self.record(path, EventKind::Released);
        let mut above = path.parent();
        while let Some(group) = above {
            above = group.parent();
            self.release_group(&group);
        }
    }

    fn release_group(&mut self, path: &NodePath) {
        let Some(group) = self.groups.get_mut(path).filter(|group| group.quarantined) else { return };
        group.quarantined = false;
        group.show();
        self.ready_changed |= group.unready == 0;
        self.touched.insert(path.clone());
        self.record(path, EventKind::Released);
    }

    /// Returns the time until a deadline, for drains that follow one another.
    pub(super) fn left_until(&self, deadline: Duration) -> Duration {
        deadline.saturating_sub(self.now())
    }
}
