//! The supervisor of a tree: the one task that owns every node's lifecycle.
//!
//! Runners report to it and carry out its commands; handles send it commands. Nothing else changes the state
//! of a node or calls [`decide`](crate::decide()). It handles one command at a time and never waits inside
//! one, so its state is consistent between any two. Only its timers and its mailbox wake it: a blocked worker
//! thread does not affect it.

mod commands;
mod exits;
mod nodes;
mod termination;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::clock;
use crate::error::{NotRunningError, SpawnError, TreeExit};
use crate::observation::vitals::NodeVitals;
use crate::path::NodePath;
use crate::protocol::{Registration, ReplacementCommit, ReplySender, SupervisorCommand};
use crate::shared::TreeContext;
use crate::spec::GroupSpec;
use crate::state::NodeState;

use nodes::{ActorEntry, ActorPhase, AfterHalt, GroupEntry};
use termination::Termination;

/// Sends the reply to a command. If its caller has left, the reply is dropped.
fn reply<T>(answer: ReplySender<T>, outcome: T) {
    let _ = answer.send(outcome);
}

enum Timer {
    /// The backoff of a node is over, if it is still the one that `token` began.
    Backoff { path: NodePath, token: u64 },
    /// The deadline of a termination has passed.
    Deadline { termination: u64 },
    /// The time in which killed runners report their end is over.
    Abandon { termination: u64 },
}

pub(crate) struct Supervisor {
    context: Arc<TreeContext>,
    /// Boxed, as the groups are: the nodes of the map are half empty.
    actors: BTreeMap<NodePath, Box<ActorEntry>>,
    groups: BTreeMap<NodePath, Box<GroupEntry>>,
    ids: HashMap<u64, NodePath>,
    timers: BTreeMap<(Duration, u64), Timer>,
    terminations: BTreeMap<u64, Termination>,
    /// Actors that wait for what they need.
    waiting: BTreeSet<NodePath>,
    /// The nodes that some actor needs: only their readiness can start an actor. Ten thousand actors may wait
    /// for a group of as many.
    needed: BTreeSet<NodePath>,
    /// Set when a needed node became ready since the waiting actors were checked.
    ready_changed: bool,
    /// The callers that wait until a node runs.
    watchers: HashMap<NodePath, Vec<ReplySender<Result<(), NotRunningError>>>>,
    /// Nodes whose state changed since their watchers were checked.
    touched: BTreeSet<NodePath>,
    commits: HashMap<u64, ReplacementCommit>,
    last_token: u64,
    jitter_state: u64,
    /// The end of the tree, once it is decided.
    ending: Option<TreeExit>,
    ended: watch::Sender<Option<TreeExit>>,
}

impl Supervisor {
    pub(crate) fn new(
        context: Arc<TreeContext>,
        root: GroupSpec,
        root_node: Arc<NodeVitals>,
        seed: u64,
        ended: watch::Sender<Option<TreeExit>>,
    ) -> Self {
        Self {
            context,
            actors: BTreeMap::new(),
            groups: BTreeMap::from([(NodePath::root(), Box::new(GroupEntry::new(root_node, root)))]),
            ids: HashMap::new(),
            timers: BTreeMap::new(),
            terminations: BTreeMap::new(),
            waiting: BTreeSet::new(),
            needed: BTreeSet::new(),
            ready_changed: false,
            watchers: HashMap::new(),
            touched: BTreeSet::new(),
            commits: HashMap::new(),
            last_token: 0,
            jitter_state: seed,
            ending: None,
            ended,
        }
    }

    /// Runs the supervisor until the tree has ended.
    pub(crate) async fn run(mut self, mut commands: UnboundedReceiver<SupervisorCommand>) {
        while !self.is_over() {
            let due = self.timers.keys().next().map(|(at, _)| self.context.tree_clock.instant_at(*at));
            let timer = async {
                match due {
                    Some(due) => clock::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.handle(command),
                    None => return,
                },
                () = timer => {}
            }
            self.fire_due();
            self.settle();
        }
        self.ended.send_replace(self.ending.take());
    }

    fn is_over(&self) -> bool {
        self.ending.is_some() && self.terminations.is_empty()
    }

    fn handle(&mut self, command: SupervisorCommand) {
        match command {
            SupervisorCommand::Spawn { registration, answer } => reply(answer, self.spawn(registration)),
            SupervisorCommand::Group { node, spec, answer } => reply(answer, self.add_group(node, spec)),
            SupervisorCommand::Running { path, answer } => {
                let watchers = self.watchers.entry(path.clone()).or_default();
                watchers.retain(|watcher| !watcher.is_closed());
                watchers.push(answer);
                self.touched.insert(path);
            }
            SupervisorCommand::Commit { commit } => self.commit(commit),
            SupervisorCommand::Retire { path, deadline, answer } => self.retire(path, deadline, answer),
            SupervisorCommand::Restart { path, answer } => reply(answer, self.order_restart(&path)),
            SupervisorCommand::Quarantine { path, reason, answer } => {
                reply(answer, self.order_quarantine(&path, &reason));
            }
            SupervisorCommand::Ping { answer } => reply(answer, self.ping_essential_actors()),
            SupervisorCommand::Shutdown { deadline } => self.shut_down(TreeExit::Shutdown, deadline),
            SupervisorCommand::Report { node_id, report } => self.report(node_id, report),
        }
    }

    fn spawn(&mut self, registration: Registration) -> Result<(), SpawnError> {
        let Registration { node, node_id, spec, orders } = registration;
        self.check_place(&node.path)?;
        for need in &node.needs {
            let exists = self.actors.contains_key(need) || self.groups.contains_key(need);
            if !exists || node.path.is_within(need) {
                return Err(SpawnError::UnknownNeed { need: need.to_string() });
            }
        }
        self.needed.extend(node.needs.iter().cloned());
        let path = node.path.clone();
        self.context.directory.insert(Arc::clone(&node));
        self.ids.insert(node_id, path.clone());
        self.actors.insert(path.clone(), Box::new(ActorEntry::new(node, node_id, &spec, orders)));
        self.count_unready(&path, true);
        if self.needs_ready(&path) {
            self.start(&path);
        } else {
            self.waiting.insert(path);
        }
        Ok(())
    }

    fn add_group(&mut self, node: Arc<NodeVitals>, spec: GroupSpec) -> Result<(), SpawnError> {
        self.check_place(&node.path)?;
        self.context.directory.insert(Arc::clone(&node));
        node.admission.enter(NodeState::Running);
        self.groups.insert(node.path.clone(), Box::new(GroupEntry::new(node, spec)));
        Ok(())
    }

    fn check_place(&self, path: &NodePath) -> Result<(), SpawnError> {
        if self.ending.is_some() {
            return Err(SpawnError::TreeEnded);
        }
        if self.actors.contains_key(path) || self.groups.contains_key(path) {
            return Err(SpawnError::Duplicate { path: path.to_string() });
        }
        let parent = path.parent().and_then(|parent| self.groups.get(&parent));
        match parent {
            None => Err(SpawnError::NoParent { path: path.to_string() }),
            Some(_) if self.terminations.values().any(|termination| termination.holds(path)) => {
                Err(SpawnError::NoParent { path: path.to_string() })
            }
            Some(_) => Ok(()),
        }
    }

    fn fire_due(&mut self) {
        let now = self.now();
        while let Some(first) = self.timers.first_entry().filter(|timer| timer.key().0 <= now) {
            match first.remove() {
                Timer::Backoff { path, token } => self.backoff_over(&path, token),
                Timer::Deadline { termination } => self.force(termination),
                Timer::Abandon { termination } => self.abandon(termination),
            }
        }
    }

    /// Starts the actors whose needs have become ready, and answers the callers whose node runs.
    fn settle(&mut self) {
        if std::mem::take(&mut self.ready_changed) {
            let startable: Vec<_> = self.waiting.iter().filter(|p| self.needs_ready(p)).cloned().collect();
            for path in startable {
                self.start(&path);
            }
        }
        for path in std::mem::take(&mut self.touched) {
            if let Some(outcome) = self.readiness(&path) {
                for answer in self.watchers.remove(&path).into_iter().flatten() {
                    reply(answer, outcome.clone());
                }
            }
        }
    }

    /// Returns `Ok` for a node that runs, an error for one that will not run by itself, and `None` while that
    /// is open.
    fn readiness(&self, path: &NodePath) -> Option<Result<(), NotRunningError>> {
        if self.ending.is_some() {
            return Some(Err(NotRunningError::TreeEnded));
        }
        let quarantined = |node: &NodeVitals| {
            let reason = node.admission.reason().unwrap_or_else(|| "quarantined".into());
            Some(Err(NotRunningError::Quarantined { reason }))
        };
        if let Some(group) = self.groups.get(path) {
            return match (group.quarantined, group.unready) {
                (true, _) => quarantined(&group.node),
                (false, 0) => Some(Ok(())),
                (false, _) => None,
            };
        }
        let Some(actor) = self.actors.get(path) else { return Some(Err(NotRunningError::Unknown)) };
        match actor.phase {
            ActorPhase::Running => Some(Ok(())),
            ActorPhase::Quarantined | ActorPhase::Halting(AfterHalt::Quarantine) => quarantined(&actor.node),
            ActorPhase::Draining | ActorPhase::Stopped | ActorPhase::Gone => {
                Some(Err(NotRunningError::Stopped))
            }
            ActorPhase::Waiting
            | ActorPhase::Starting
            | ActorPhase::Backoff { .. }
            | ActorPhase::Halting(AfterHalt::Start) => None,
        }
    }

    fn now(&self) -> Duration {
        self.context.tree_clock.elapsed()
    }

    fn token(&mut self) -> u64 {
        self.last_token += 1;
        self.last_token
    }

    fn set_timer(&mut self, at: Duration, timer: Timer) {
        let token = self.token();
        self.timers.insert((at, token), timer);
    }

    /// The next number of a seeded sequence (SplitMix64).
    fn next_jitter(&mut self) -> u64 {
        self.jitter_state = self.jitter_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.jitter_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
