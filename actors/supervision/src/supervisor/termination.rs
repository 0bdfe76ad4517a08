//! The termination of nodes, in reverse order of need: retire and shutdown.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{ActorPhase, Supervisor, Timer, reply};
use crate::error::{RetireError, TreeExit};
use crate::observation::recorder::EventKind;
use crate::path::NodePath;
use crate::protocol::{LifecycleCommand, ReplySender};
use crate::state::NodeState;

/// Time that a killed runner may take to report its end. After that its thread counts as blocked and the
/// runner is abandoned.
const GRACE: Duration = Duration::from_millis(250);

/// A set of nodes that is being ended.
pub(super) struct Termination {
    scope: NodePath,
    /// Deadline, as time since the start of the tree.
    deadline: Duration,
    targets: BTreeMap<NodePath, TerminationTarget>,
    /// Number of targets that drain.
    draining: usize,
    /// Number of targets that have not ended.
    alive: usize,
    /// Targets that no other target needs any more, to be drained.
    free: Vec<NodePath>,
    /// Set when a node had to be ended by force.
    forced: bool,
    /// Answered when a retirement is over; a shutdown has none.
    answer: Option<ReplySender<Result<(), RetireError>>>,
}

struct TerminationTarget {
    /// Number of live targets that need this one.
    needed_by: usize,
    state: TargetState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetState {
    /// Runs on, since it is needed.
    Needed,
    Draining,
    Ended,
}

impl Termination {
    /// Returns `true` if nothing can be added at `path` because its group is being terminated.
    pub(super) fn holds(&self, path: &NodePath) -> bool {
        path.is_within(&self.scope)
    }

    /// Changes the number of dependents of the targets among `needs`.
    fn count_needs(&mut self, needs: &[NodePath], change: impl Fn(usize) -> usize) {
        for need in needs {
            let needed = self.targets.range_mut(need.clone()..);
            for (path, target) in needed.take_while(|(path, _)| path.is_within(need)) {
                target.needed_by = change(target.needed_by);
                if target.needed_by == 0 && target.state == TargetState::Needed {
                    self.free.push(path.clone());
                }
            }
        }
    }

    /// Records that a target has ended; `false` if it had ended before.
    fn record_end(&mut self, path: &NodePath) -> bool {
        let Some(target) = self.targets.get_mut(path) else { return false };
        let before = std::mem::replace(&mut target.state, TargetState::Ended);
        self.draining -= usize::from(before == TargetState::Draining);
        self.alive -= usize::from(before != TargetState::Ended);
        before != TargetState::Ended
    }

    /// Returns the targets that have not ended.
    fn living(&self) -> Vec<NodePath> {
        let living = self.targets.iter().filter(|(_, target)| target.state != TargetState::Ended);
        living.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the targets to be drained now.
    fn release(&mut self) -> Vec<NodePath> {
        let mut free = std::mem::take(&mut self.free);
        if free.is_empty() && self.draining == 0 {
            // They need each other.
            free.extend(self.targets.keys().cloned());
        }
        let targets = &mut self.targets;
        free.retain(|path| {
            let needed = targets.get_mut(path).filter(|target| target.state == TargetState::Needed);
            needed.map(|target| target.state = TargetState::Draining).is_some()
        });
        self.draining += free.len();
        free
    }
}

impl Supervisor {
    pub(super) fn retire(
        &mut self,
        path: NodePath,
        deadline: Duration,
        answer: ReplySender<Result<(), RetireError>>,
    ) {
        let error = match self.ending {
            Some(_) => Some(RetireError::TreeEnded),
            None if !self.actors.contains_key(&path) && !self.groups.contains_key(&path) => {
                Some(RetireError::Unknown)
            }
            None => None,
        };
        match error {
            Some(error) => reply(answer, Err(error)),
            None => self.close(path, deadline, Some(answer)),
        }
    }

    /// Starts the shutdown of the tree. The first reason stays the reason; the nearest deadline counts.
    pub(super) fn shut_down(&mut self, exit: TreeExit, deadline: Duration) {
        if self.ending.is_none() {
            self.ending = Some(exit);
            self.touched.extend(self.watchers.keys().cloned());
        }
        self.close(NodePath::root(), deadline, None);
    }

    fn close(
        &mut self,
        scope: NodePath,
        deadline: Duration,
        answer: Option<ReplySender<Result<(), RetireError>>>,
    ) {
        for group in self.groups_within(&scope) {
            if let Some(group) = self.groups.get(&group) {
                group.node.admission.enter(NodeState::Draining);
            }
        }
        let deadline = self.now().saturating_add(deadline);
        let mut termination = Termination {
            scope: scope.clone(),
            deadline,
            targets: BTreeMap::new(),
            draining: 0,
            alive: 0,
            free: Vec::new(),
            forced: false,
            answer,
        };
        for path in self.actors_within(&scope) {
            let has_ended = self.actors.get(&path).is_some_and(|actor| actor.phase == ActorPhase::Gone);
            let state = if has_ended { TargetState::Ended } else { TargetState::Needed };
            termination.alive += usize::from(!has_ended);
            termination.targets.insert(path, TerminationTarget { needed_by: 0, state });
        }
        let alive = termination.living();
        for actor in alive.iter().filter_map(|path| self.actors.get(path)) {
            termination.count_needs(&actor.node.needs, |count| count + 1);
        }
        termination.free = alive;
        termination
            .free
            .retain(|path| termination.targets.get(path).is_some_and(|target| target.needed_by == 0));
        let id = self.token();
        self.terminations.insert(id, termination);
        self.set_timer(deadline, Timer::Deadline { termination: id });
        self.advance(id);
    }

    /// Drains the targets that nothing needs any more; finishes when all have ended.
    fn advance(&mut self, id: u64) {
        let Some(termination) = self.terminations.get_mut(&id) else { return };
        if termination.alive == 0 {
            return self.finish(id);
        }
        let deadline = termination.deadline;
        for path in termination.release() {
            self.drain(&path, deadline);
        }
    }

    fn drain(&mut self, path: &NodePath, deadline: Duration) {
        let deadline = self.left_until(deadline);
        let Some(actor) = self.actors.get(path) else { return };
        actor.order(LifecycleCommand::Drain { deadline });
        if actor.phase != ActorPhase::Draining {
            self.enter(path, ActorPhase::Draining);
            self.record(path, EventKind::Draining);
        }
    }

    /// Handles the end of a runner in every termination that includes its node.
    pub(super) fn close_ended(&mut self, path: &NodePath) {
        let mut ids: Vec<_> = self.terminations.keys().copied().collect();
        // The widest scope first: a narrower termination removes nodes that the wider one still reads.
        ids.sort_by_key(|id| {
            self.terminations.get(id).map_or(0, |termination| termination.scope.as_str().len())
        });
        for id in ids {
            self.close_one(id, path);
        }
    }

    fn close_one(&mut self, id: u64, path: &NodePath) {
        let Some(termination) = self.terminations.get_mut(&id) else { return };
        if !termination.record_end(path) {
            return;
        }
        if let Some(actor) = self.actors.get(path) {
            termination.forced |= actor.node.forced.load(Ordering::Acquire);
            termination.count_needs(&actor.node.needs, |count| count.saturating_sub(1));
        }
        self.advance(id);
    }

    /// Kills what has not drained at the deadline.
    pub(super) fn force(&mut self, id: u64) {
        let remaining = self.alive(id);
        if remaining.is_empty() {
            return;
        }
        for path in &remaining {
            if let Some(actor) = self.actors.get(path) {
                actor.node.forced.store(true, Ordering::Release);
                actor.order(LifecycleCommand::Kill);
            }
            self.enter(path, ActorPhase::Draining);
        }
        let at = self.now() + GRACE;
        self.set_timer(at, Timer::Abandon { termination: id });
    }

    /// Abandons the runners that did not end even when they were killed.
    pub(super) fn abandon(&mut self, id: u64) {
        for path in self.alive(id) {
            slog::error!(self.context.log, "actor given up, its thread is blocked"; "actor" => path.as_str());
            self.enter(&path, ActorPhase::Gone);
            self.record(&path, EventKind::Stopped);
            self.close_ended(&path);
        }
    }

    fn alive(&self, id: u64) -> Vec<NodePath> {
        self.terminations.get(&id).map(Termination::living).unwrap_or_default()
    }

    fn finish(&mut self, id: u64) {
        let Some(termination) = self.terminations.remove(&id) else { return };
        if termination.scope.is_root() {
            for group in self.groups.values() {
                group.node.admission.enter(NodeState::Stopped);
            }
            return;
        }
        for path in self.actors_within(&termination.scope) {
            if let Some(actor) = self.actors.remove(&path) {
                self.ids.remove(&actor.node_id);
            }
            self.waiting.remove(&path);
            self.context.directory.remove(&path);
            self.touched.insert(path);
        }
        for path in self.groups_within(&termination.scope) {
            self.groups.remove(&path);
            self.context.directory.remove(&path);
            self.touched.insert(path);
        }
        self.context.recorder.record(&termination.scope, 0, EventKind::Stopped, Vec::new());
        if let Some(answer) = termination.answer {
            reply(answer, if termination.forced { Err(RetireError::Forced) } else { Ok(()) });
        }
    }
}
