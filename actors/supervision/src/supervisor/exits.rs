//! The reports of runners, and the reaction to an exit.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{ActorPhase, AfterHalt, Supervisor, reply};
use crate::decide::{Directive, Exit, Restart, decide};
use crate::error::{OrderError, StartError, TreeExit};
use crate::observation::recorder::EventKind;
use crate::path::NodePath;
use crate::protocol::RunnerReport;
use crate::spec::Strategy;

/// Time that the nodes may drain when the tree ends by a failure.
const END_DEADLINE: Duration = Duration::from_secs(10);

impl Supervisor {
    pub(super) fn report(&mut self, node_id: u64, report: RunnerReport) {
        // The node was retired: its report is stale.
        let Some(path) = self.ids.get(&node_id).cloned() else { return };
        match report {
            RunnerReport::Started { generation } => self.record_start(&path, generation),
            RunnerReport::Exited { generation, exit, recent } => {
                self.handle_exit(&path, generation, exit, recent)
            }
            RunnerReport::Committed { id, generation } => self.record_commit(&path, id, generation),
            RunnerReport::NotPrepared { id, generation, running } => {
                self.not_prepared(&path, id, generation, running);
            }
            RunnerReport::Ended => self.runner_ended(&path),
            RunnerReport::Gone => self.runner_gone(&path),
        }
    }

    /// Handles a commit whose prepared instance had been discarded: the state of the node before it is
    /// current again.
    fn not_prepared(&mut self, path: &NodePath, id: u64, generation: u64, running: Option<bool>) {
        if let Some(commit) = self.commits.remove(&id) {
            reply(commit.answer, Err(OrderError::Discarded));
        }
        let Some(actor) = self.actors.get_mut(path) else { return };
        if self.commits.values().any(|commit| commit.node_id == actor.node_id) {
            // Another one is on its way.
            return;
        }
        actor.generation = generation;
        if actor.phase == ActorPhase::Starting {
            match running {
                Some(true) => self.enter(path, ActorPhase::Running),
                Some(false) => {}
                None => {
                    self.reset_attempt(path);
                    self.enter(path, ActorPhase::Waiting);
                }
            }
        }
    }

    fn record_start(&mut self, path: &NodePath, generation: u64) {
        let now = self.now();
        let Some(actor) = self.actors.get_mut(path) else { return };
        if actor.generation != generation {
            return;
        }
        actor.attempt = 0;
        actor.node.update_status(|status| status.started_at = Some(now));
        actor.started_before = true;
        let starting = actor.phase == ActorPhase::Starting;
        self.record(path, EventKind::Started);
        if starting {
            self.enter(path, ActorPhase::Running);
        }
    }

    fn handle_exit(&mut self, path: &NodePath, generation: u64, exit: Exit, recent: Vec<&'static str>) {
        let Some(actor) = self.actors.get_mut(path) else { return };
        let current = actor.generation == generation;
        let phase = actor.phase;
        // The reply to a command that crossed an exit.
        if exit == Exit::Ordered && matches!(phase, ActorPhase::Starting | ActorPhase::Running) {
            return;
        }
        actor.node.update_status(|status| {
            status.last_exit = Some(exit.to_string());
            if current {
                status.started_at = None;
            }
        });
        if current && actor.node.generation.load(Ordering::Acquire) == generation {
            // The generation number is used up; only a failed start is retried under the same number.
            actor.attempt = 0;
        }
        self.context.recorder.record(path, generation, EventKind::Exited { exit: exit.clone() }, recent);
        if !current {
            return;
        }
        match phase {
            ActorPhase::Starting | ActorPhase::Running => self.handle_failure(path, &exit),
            ActorPhase::Halting(AfterHalt::Start) => {
                self.reset_attempt(path);
                self.enter(path, ActorPhase::Waiting);
            }
            ActorPhase::Halting(AfterHalt::Quarantine) => self.enter(path, ActorPhase::Quarantined),
            ActorPhase::Waiting
            | ActorPhase::Backoff { .. }
            | ActorPhase::Quarantined
            | ActorPhase::Draining
            | ActorPhase::Stopped
            | ActorPhase::Gone => {}
        }
    }

    /// Decides what follows the exit of an instance, and does it.
    fn handle_failure(&mut self, path: &NodePath, exit: &Exit) {
        let (now, jitter) = (self.now(), self.next_jitter());
        let Some(parent) = path.parent() else { return };
        let Some(group) = self.groups.get_mut(&parent) else { return };
        let Some(actor) = self.actors.get_mut(path) else { return };
        let (shared, essential) = (actor.shared_budget, actor.node.essential);
        let (policy, history) = match shared {
            true => (&group.spec.policy, &mut group.history),
            false => (&actor.policy, &mut actor.history),
        };
        let action = decide(policy, actor.restart, history, exit, now, jitter);
        match action {
            Directive::Restart { after } => {
                history.record(policy, now, after);
                let strategy = group.spec.strategy;
                let others = self.restarting_with(path, &parent, strategy);
                for other in &others {
                    self.cycle(other);
                }
                self.start_after(path, after, strategy == Strategy::OneForAll);
            }
            Directive::Quarantine { reason } if essential => self.end_tree(path, reason),
            Directive::Quarantine { reason }
                if shared && !matches!(exit, Exit::StartFailed(StartError::Config(_))) =>
            {
                // The failed one has no instance any more.
                self.quarantine(path, &reason.as_str().into());
                self.quarantine_group(&parent, &reason.into());
            }
            Directive::Quarantine { reason } => self.quarantine(path, &reason.into()),
            Directive::Escalate { reason } => {
                self.record(path, EventKind::Escalated { reason: reason.clone() });
                self.enter(path, ActorPhase::Stopped);
                self.group_failed(&parent, path, reason);
            }
            Directive::EndTree { reason } => self.end_tree(path, reason),
            Directive::Stop => self.stop(path),
        }
    }

    /// Returns the nodes that restart with a failed one.
    fn restarting_with(&self, path: &NodePath, group: &NodePath, strategy: Strategy) -> Vec<NodePath> {
        let siblings = || self.actors_within(group).into_iter().filter(|sibling| sibling != path);
        match strategy {
            Strategy::OneForOne => Vec::new(),
            Strategy::OneForAll => siblings().collect(),
            Strategy::RestForOne => {
                let siblings: Vec<_> = siblings().collect();
                let mut dependents = BTreeSet::new();
                let mut next = vec![path.clone()];
                while let Some(needed) = next.pop() {
                    for sibling in siblings.iter().filter(|sibling| self.needs(sibling, &needed)) {
                        if dependents.insert(sibling.clone()) {
                            next.push(sibling.clone());
                        }
                    }
                }
                dependents.into_iter().collect()
            }
        }
    }

    fn needs(&self, path: &NodePath, needed: &NodePath) -> bool {
        self.actors.get(path).is_some_and(|actor| actor.node.needs.iter().any(|need| needed.is_within(need)))
    }

    /// Handles a failure of `culprit` that was escalated to a group.
    fn group_failed(&mut self, path: &NodePath, culprit: &NodePath, reason: String) {
        let (now, jitter) = (self.now(), self.next_jitter());
        let Some(group) = self.groups.get_mut(path) else { return };
        let exit = Exit::Failed { reason };
        match decide(&group.spec.policy, Restart::Permanent, &group.history, &exit, now, jitter) {
            Directive::Restart { after } => {
                group.history.record(&group.spec.policy, now, after);
                for actor in self.actors_within(path) {
                    self.clear_history(&actor);
                    self.cycle(&actor);
                }
                self.start_after(culprit, after, true);
            }
            Directive::Quarantine { reason } => self.quarantine_group(path, &reason.into()),
            Directive::Escalate { reason } => {
                self.record(path, EventKind::Escalated { reason: reason.clone() });
                match path.parent() {
                    Some(parent) => self.group_failed(&parent, culprit, reason),
                    None => self.end_tree(culprit, reason),
                }
            }
            Directive::EndTree { reason } => self.end_tree(culprit, reason),
            Directive::Stop => {}
        }
    }

    /// Ends the tree because of a failure.
    fn end_tree(&mut self, path: &NodePath, reason: String) {
        self.record(path, EventKind::Escalated { reason: reason.clone() });
        self.enter(path, ActorPhase::Stopped);
        let exit = TreeExit::Escalated { path: path.clone(), reason };
        self.shut_down(exit, END_DEADLINE);
    }

    fn runner_ended(&mut self, path: &NodePath) {
        self.enter(path, ActorPhase::Gone);
        self.record(path, EventKind::Stopped);
        self.close_ended(path);
    }

    fn runner_gone(&mut self, path: &NodePath) {
        let Some(actor) = self.actors.get(path) else { return };
        if actor.phase == ActorPhase::Gone {
            return;
        }
        let (generation, essential) = (actor.generation, actor.node.essential);
        let reason = "its thread has ended".to_owned();
        let exit = Exit::Failed { reason: reason.clone() };
        actor.node.update_status(|status| {
            status.last_exit = Some(exit.to_string());
            status.started_at = None;
        });
        self.context.recorder.record(path, generation, EventKind::Exited { exit }, Vec::new());
        self.enter(path, ActorPhase::Gone);
        self.record(path, EventKind::Stopped);
        self.close_ended(path);
        if essential && self.ending.is_none() {
            let exit = TreeExit::Escalated { path: path.clone(), reason };
            self.shut_down(exit, END_DEADLINE);
        }
    }

    pub(super) fn clear_history(&mut self, path: &NodePath) {
        if let Some(actor) = self.actors.get_mut(path) {
            actor.history.clear();
        }
    }

    /// Makes the next start the first attempt of a new generation.
    pub(super) fn reset_attempt(&mut self, path: &NodePath) {
        if let Some(actor) = self.actors.get_mut(path) {
            actor.attempt = 0;
        }
    }
}
