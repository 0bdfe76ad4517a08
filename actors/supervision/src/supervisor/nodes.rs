//! The supervisor's record of each node, and the steps of every state change.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Supervisor, Timer, reply};
use crate::decide::{History, Restart, RestartPolicy};
use crate::error::OrderError;
use crate::observation::recorder::EventKind;
use crate::observation::vitals::{NodeVitals, millis};
use crate::path::NodePath;
use crate::protocol::LifecycleCommand;
use crate::spec::{ChildSpec, GroupSpec};
use crate::state::NodeState;

pub(crate) struct ActorEntry {
    pub(crate) node: Arc<NodeVitals>,
    pub(crate) node_id: u64,
    pub(crate) policy: RestartPolicy,
    pub(crate) restart: Restart,
    /// Set if the exits count in the budget of the group.
    pub(crate) shared_budget: bool,
    orders: Box<dyn Fn(LifecycleCommand) + Send>,
    pub(crate) phase: ActorPhase,
    /// Generation of the instance that runs or is being started. Reports of earlier ones are stale.
    pub(crate) generation: u64,
    /// Starts tried for this generation.
    pub(crate) attempt: u32,
    pub(crate) history: History,
    /// Set once an instance has run.
    pub(crate) started_before: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActorPhase {
    /// Waits for the nodes it needs.
    Waiting,
    Starting,
    Running,
    Backoff {
        token: u64,
        /// The actor waits for its needs after the backoff, because they may be restarting too.
        then_wait: bool,
    },
    /// The instance ends in order; the value says what follows.
    Halting(AfterHalt),
    Quarantined,
    /// The runner ends in order.
    Draining,
    /// The runner exists without an instance.
    Stopped,
    /// The runner has ended.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterHalt {
    Start,
    Quarantine,
}

impl ActorPhase {
    /// Returns `true` while the actor is starting, restarting or waiting.
    pub(super) fn unready(self) -> bool {
        match self {
            Self::Waiting | Self::Starting | Self::Backoff { .. } | Self::Halting(_) => true,
            Self::Running | Self::Quarantined | Self::Draining | Self::Stopped | Self::Gone => false,
        }
    }
}

impl ActorEntry {
    pub(crate) fn new(
        node: Arc<NodeVitals>,
        node_id: u64,
        spec: &ChildSpec,
        orders: Box<dyn Fn(LifecycleCommand) + Send>,
    ) -> Self {
        Self {
            node,
            node_id,
            policy: spec.policy.clone(),
            restart: spec.restart,
            shared_budget: spec.shared_budget,
            orders,
            phase: ActorPhase::Waiting,
            generation: 0,
            attempt: 0,
            history: History::default(),
            started_before: false,
        }
    }

    pub(super) fn order(&self, order: LifecycleCommand) {
        (self.orders)(order);
    }
}

pub(crate) struct GroupEntry {
    pub(crate) node: Arc<NodeVitals>,
    pub(crate) spec: GroupSpec,
    pub(crate) history: History,
    /// Number of actors below that are starting, restarting or waiting.
    pub(crate) unready: usize,
    pub(crate) quarantined: bool,
}

impl GroupEntry {
    pub(crate) fn new(node: Arc<NodeVitals>, spec: GroupSpec) -> Self {
        Self { node, spec, history: History::default(), unready: 0, quarantined: false }
    }
}

impl GroupEntry {
    /// Publishes the progress of the actors as the state of the group, unless a command has set its state.
    pub(super) fn show(&self) {
        let admission = &self.node.admission;
        let ending = matches!(admission.state(), NodeState::Draining | NodeState::Stopped);
        if !ending && !self.quarantined {
            admission.enter(if self.unready == 0 { NodeState::Running } else { NodeState::Starting });
        }
    }
}

impl Supervisor {
    /// Builds and runs the next generation, or tries again to build this one.
    pub(super) fn start(&mut self, path: &NodePath) {
        self.enter(path, ActorPhase::Starting);
        let Some(actor) = self.actors.get_mut(path) else { return };
        actor.attempt += 1;
        if actor.attempt == 1 {
            actor.generation = actor.node.issue_generation();
            if actor.started_before {
                actor.node.restarts.fetch_add(1, Ordering::AcqRel);
            }
        }
        actor.order(LifecycleCommand::Start { generation: actor.generation, attempt: actor.attempt });
    }

    /// Starts a node without an instance after a delay.
    pub(super) fn start_after(&mut self, path: &NodePath, after: Duration, then_wait: bool) {
        self.record(path, EventKind::RestartScheduled { after_ms: millis(after) });
        if after.is_zero() {
            return if then_wait { self.enter(path, ActorPhase::Waiting) } else { self.start(path) };
        }
        let token = self.token();
        let until = self.now().saturating_add(after);
        self.enter(path, ActorPhase::Backoff { token, then_wait });
        if let Some(actor) = self.actors.get(path) {
            actor.node.admission.back_off(until);
        }
        self.set_timer(until, Timer::Backoff { path: path.clone(), token });
    }

    pub(super) fn backoff_over(&mut self, path: &NodePath, token: u64) {
        match self.actors.get(path).map(|actor| actor.phase) {
            Some(ActorPhase::Backoff { token: current, then_wait }) if current == token => {
                if then_wait {
                    self.enter(path, ActorPhase::Waiting)
                } else {
                    self.start(path)
                }
            }
            _ => {}
        }
    }

    /// Ends the instance of a node in order and starts the next one. A node that is down for another reason
    /// stays down.
    pub(super) fn cycle(&mut self, path: &NodePath) {
        let Some(actor) = self.actors.get(path) else { return };
        if matches!(actor.phase, ActorPhase::Running | ActorPhase::Starting) {
            actor.order(LifecycleCommand::Halt { deadline: actor.node.drain_deadline });
            self.enter(path, ActorPhase::Halting(AfterHalt::Start));
        }
    }

    /// Quarantines an actor without an instance.
    pub(super) fn quarantine(&mut self, path: &NodePath, reason: &Arc<str>) {
        let Some(actor) = self.actors.get(path) else { return };
        actor.node.admission.quarantine(Arc::clone(reason));
        actor.order(LifecycleCommand::Recheck);
        self.enter(path, ActorPhase::Quarantined);
        self.record(path, EventKind::Quarantined { reason: reason.to_string() });
    }

    /// Quarantines an actor whose instance is halted first. It admits nothing from now on.
    pub(super) fn halt_and_quarantine(&mut self, path: &NodePath, reason: &Arc<str>) {
        let Some(actor) = self.actors.get(path) else { return };
        actor.node.admission.quarantine(Arc::clone(reason));
        actor.order(LifecycleCommand::Halt { deadline: actor.node.drain_deadline });
        self.enter(path, ActorPhase::Halting(AfterHalt::Quarantine));
        self.record(path, EventKind::Quarantined { reason: reason.to_string() });
    }

    /// Quarantines every actor of a group.
    pub(super) fn quarantine_group(&mut self, path: &NodePath, reason: &Arc<str>) {
        for group in self.groups_within(path) {
            if let Some(group) = self.groups.get_mut(&group) {
                group.quarantined = true;
                group.node.admission.quarantine(Arc::clone(reason));
            }
            self.touched.insert(group);
        }
        self.record(path, EventKind::Quarantined { reason: reason.to_string() });
        for actor in self.actors_within(path) {
            match self.actors.get(&actor).map(|actor| actor.phase) {
                Some(ActorPhase::Running | ActorPhase::Starting | ActorPhase::Halting(AfterHalt::Start)) => {
                    self.halt_and_quarantine(&actor, reason);
                }
                Some(ActorPhase::Waiting | ActorPhase::Backoff { .. } | ActorPhase::Stopped) => {
                    self.quarantine(&actor, reason);
                }
                _ => {}
            }
        }
    }

    pub(super) fn stop(&mut self, path: &NodePath) {
        self.enter(path, ActorPhase::Stopped);
        if let Some(actor) = self.actors.get(path) {
            actor.order(LifecycleCommand::Recheck);
        }
        self.record(path, EventKind::Stopped);
    }

    /// Sets the phase of an actor. No other function does.
    pub(super) fn enter(&mut self, path: &NodePath, phase: ActorPhase) {
        let Some(actor) = self.actors.get_mut(path) else { return };
        let before = std::mem::replace(&mut actor.phase, phase);
        let admission = &actor.node.admission;
        match phase {
            ActorPhase::Waiting
            | ActorPhase::Starting
            | ActorPhase::Halting(AfterHalt::Start)
            | ActorPhase::Backoff { .. } => {
                admission.enter(match actor.started_before {
                    false => NodeState::Starting,
                    true => NodeState::Restarting,
                });
            }
            ActorPhase::Running => admission.enter(NodeState::Running),
            // Admission was closed together with the reason.
            ActorPhase::Halting(AfterHalt::Quarantine) | ActorPhase::Quarantined => {}
            ActorPhase::Draining => admission.enter(NodeState::Draining),
            ActorPhase::Stopped | ActorPhase::Gone => admission.enter(NodeState::Stopped),
        }
        if phase == ActorPhase::Waiting {
            self.waiting.insert(path.clone());
            self.ready_changed = true;
        } else {
            self.waiting.remove(path);
        }
        if phase == ActorPhase::Gone {
            let node_id = actor.node_id;
            for (_, commit) in self.commits.extract_if(|_, commit| commit.node_id == node_id) {
                reply(commit.answer, Err(OrderError::Gone));
            }
        }
        if before.unready() != phase.unready() {
            self.count_unready(path, phase.unready());
        }
        self.ready_changed |= phase == ActorPhase::Running && self.needed.contains(path);
        self.touched.insert(path.clone());
    }

    /// Counts an actor as ready or unready in all the groups above it.
    pub(super) fn count_unready(&mut self, path: &NodePath, unready: bool) {
        let mut above = path.parent();
        while let Some(path) = above {
            above = path.parent();
            let Some(group) = self.groups.get_mut(&path) else { continue };
            group.unready = if unready { group.unready + 1 } else { group.unready.saturating_sub(1) };
            group.show();
            self.ready_changed |= group.unready == 0 && self.needed.contains(&path);
            self.touched.insert(path);
        }
    }

    pub(super) fn needs_ready(&self, path: &NodePath) -> bool {
        let ready = |need| match (self.actors.get(need), self.groups.get(need)) {
            (Some(actor), _) => actor.phase == ActorPhase::Running,
            (None, Some(group)) => group.unready == 0 && !group.quarantined,
            (None, None) => false,
        };
        self.actors.get(path).is_some_and(|actor| actor.node.needs.iter().all(ready))
    }

    pub(super) fn actors_within(&self, path: &NodePath) -> Vec<NodePath> {
        let below = self.actors.range(path.clone()..).map(|(path, _)| path);
        below.take_while(|below| below.is_within(path)).cloned().collect()
    }

    pub(super) fn groups_within(&self, path: &NodePath) -> Vec<NodePath> {
        let below = self.groups.range(path.clone()..).map(|(path, _)| path);
        below.take_while(|below| below.is_within(path)).cloned().collect()
    }

    pub(super) fn record(&self, path: &NodePath, kind: EventKind) {
        let generation = self.actors.get(path).map_or(0, |actor| actor.generation);
        self.context.recorder.record(path, generation, kind, Vec::new());
    }
}
