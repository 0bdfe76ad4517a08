//! The keeper of a tree: the one task that owns every node's lifecycle.
//!
//! Runners report to it and obey it; handles send it commands; nobody else changes a node's state or calls
//! [`decide`](crate::decide()). It handles one command at a time and never waits inside one, so its state is
//! consistent between any two. Only its timers and its mailbox wake it: a blocked worker thread does not.

mod closing;
mod exits;
mod nodes;
mod orders;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{oneshot, watch};

use crate::clock;
use crate::outcome::{NotRunningError, OrderError, RetireError, SpawnError, TreeExit};
use crate::path::NodePath;
use crate::protocol::{Order, Report};
use crate::spec::{ChildSpec, GroupSpec};
use crate::vitals::Node;
use crate::world::World;

use closing::Closing;
pub(crate) use nodes::{Actor, Group};
use nodes::{Next, Phase};

/// A one-time answer to whoever gave a command.
pub(crate) type Answer<T> = oneshot::Sender<T>;

/// What the keeper is asked, told or ordered.
pub(crate) enum Command {
    Spawn {
        registration: Registration,
        answer: Answer<Result<(), SpawnError>>,
    },
    Group {
        node: Arc<Node>,
        spec: GroupSpec,
        answer: Answer<Result<(), SpawnError>>,
    },
    /// Answered once the node runs, or cannot.
    Running {
        path: NodePath,
        answer: Answer<Result<(), NotRunningError>>,
    },
    /// Runs a prepared instance.
    Commit {
        commit: Commit,
    },
    Retire {
        path: NodePath,
        deadline: Duration,
        answer: Answer<Result<(), RetireError>>,
    },
    Restart {
        path: NodePath,
        answer: Answer<Result<(), OrderError>>,
    },
    Quarantine {
        path: NodePath,
        reason: Arc<str>,
        answer: Answer<Result<(), OrderError>>,
    },
    Shutdown {
        deadline: Duration,
    },
    Report {
        node_id: u64,
        report: Report,
    },
}

/// Answers a command. Whoever gave it may have left: then nobody waits for the answer.
fn reply<T>(answer: Answer<T>, outcome: T) {
    let _ = answer.send(outcome);
}

/// An actor to be supervised.
pub(crate) struct Registration {
    pub(crate) node: Arc<Node>,
    pub(crate) node_id: u64,
    pub(crate) spec: ChildSpec,
    pub(crate) orders: Box<dyn Fn(Order) + Send>,
}

/// A replacement to be carried out.
pub(crate) struct Commit {
    pub(crate) node_id: u64,
    pub(crate) id: u64,
    pub(crate) generation: u64,
    pub(crate) fingerprint: Option<String>,
    pub(crate) answer: Answer<Result<u64, OrderError>>,
}

enum Timer {
    /// The backoff of a node is over, if it is still the one that `token` began.
    Backoff { path: NodePath, token: u64 },
    /// The time of a closing is up.
    Deadline { closing: u64 },
    /// What was ended by force had its chance to say so.
    Abandon { closing: u64 },
}

pub(crate) struct Keeper {
    world: Arc<World>,
    actors: BTreeMap<NodePath, Actor>,
    groups: BTreeMap<NodePath, Group>,
    ids: HashMap<u64, NodePath>,
    timers: BTreeMap<(Duration, u64), Timer>,
    closings: BTreeMap<u64, Closing>,
    /// Actors that wait for what they need.
    waiting: BTreeSet<NodePath>,
    /// What any actor ever needed: the readiness of everything else starts nobody. Ten thousand actors may wait for a
    /// group of as many.
    needed: BTreeSet<NodePath>,
    /// Whether something became ready since the waiting ones were looked at.
    ready_changed: bool,
    /// Who waits for a node to run.
    watchers: HashMap<NodePath, Vec<Answer<Result<(), NotRunningError>>>>,
    /// Nodes whose state changed since their watchers were looked at.
    touched: BTreeSet<NodePath>,
    commits: HashMap<u64, Commit>,
    last_token: u64,
    chance: u64,
    /// How the tree ends, once that is decided.
    ending: Option<TreeExit>,
    ended: watch::Sender<Option<TreeExit>>,
}

impl Keeper {
    pub(crate) fn new(
        world: Arc<World>,
        root: GroupSpec,
        root_node: Arc<Node>,
        seed: u64,
        ended: watch::Sender<Option<TreeExit>>,
    ) -> Self {
        Self {
            world,
            actors: BTreeMap::new(),
            groups: BTreeMap::from([(NodePath::root(), Group::new(root_node, root))]),
            ids: HashMap::new(),
            timers: BTreeMap::new(),
            closings: BTreeMap::new(),
            waiting: BTreeSet::new(),
            needed: BTreeSet::new(),
            ready_changed: false,
            watchers: HashMap::new(),
            touched: BTreeSet::new(),
            commits: HashMap::new(),
            last_token: 0,
            chance: seed,
            ending: None,
            ended,
        }
    }

    /// Keeps the tree until it has ended.
    pub(crate) async fn run(mut self, mut commands: UnboundedReceiver<Command>) {
        while !self.over() {
            let due = self.timers.keys().next().map(|(at, _)| self.world.epoch.at(*at));
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

    fn over(&self) -> bool {
        self.ending.is_some() && self.closings.is_empty()
    }

    fn handle(&mut self, command: Command) {
        match command {
            Command::Spawn { registration, answer } => reply(answer, self.spawn(registration)),
            Command::Group { node, spec, answer } => reply(answer, self.add_group(node, spec)),
            Command::Running { path, answer } => {
                let watchers = self.watchers.entry(path.clone()).or_default();
                watchers.retain(|watcher| !watcher.is_closed());
                watchers.push(answer);
                self.touched.insert(path);
            }
            Command::Commit { commit } => self.commit(commit),
            Command::Retire { path, deadline, answer } => self.retire(path, deadline, answer),
            Command::Restart { path, answer } => reply(answer, self.order_restart(&path)),
            Command::Quarantine { path, reason, answer } => {
                reply(answer, self.order_quarantine(&path, &reason));
            }
            Command::Shutdown { deadline } => self.shut_down(TreeExit::Shutdown, deadline),
            Command::Report { node_id, report } => self.report(node_id, report),
        }
    }

    fn spawn(&mut self, registration: Registration) -> Result<(), SpawnError> {
        let Registration { node, node_id, spec, orders } = registration;
        self.check_place(&node.path)?;
        for need in &node.needs {
            let known = self.actors.contains_key(need) || self.groups.contains_key(need);
            if !known || node.path.is_within(need) {
                return Err(SpawnError::UnknownNeed { need: need.to_string() });
            }
        }
        self.needed.extend(node.needs.iter().cloned());
        let path = node.path.clone();
        self.world.directory.insert(Arc::clone(&node));
        self.ids.insert(node_id, path.clone());
        self.actors.insert(path.clone(), Actor::new(node, node_id, spec, orders));
        self.count_unready(&path, true);
        if self.needs_ready(&path) {
            self.start(&path);
        } else {
            self.waiting.insert(path);
        }
        Ok(())
    }

    fn add_group(&mut self, node: Arc<Node>, spec: GroupSpec) -> Result<(), SpawnError> {
        self.check_place(&node.path)?;
        self.world.directory.insert(Arc::clone(&node));
        node.gate.enter(crate::gate::NodeState::Running);
        self.groups.insert(node.path.clone(), Group::new(node, spec));
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
            Some(_) if self.closings.values().any(|closing| closing.holds(path)) => {
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
                Timer::Deadline { closing } => self.force(closing),
                Timer::Abandon { closing } => self.abandon(closing),
            }
        }
    }

    /// Starts what has become startable and answers who waits.
    fn settle(&mut self) {
        if std::mem::take(&mut self.ready_changed) {
            let startable: Vec<_> = self.waiting.iter().filter(|p| self.needs_ready(p)).cloned().collect();
            for path in startable {
                self.start(&path);
            }
        }
        for path in std::mem::take(&mut self.touched) {
            if let Some(outcome) = self.reached(&path) {
                for answer in self.watchers.remove(&path).into_iter().flatten() {
                    reply(answer, outcome.clone());
                }
            }
        }
    }

    /// Whether a watched node runs or never will by itself; `None` while that is open.
    fn reached(&self, path: &NodePath) -> Option<Result<(), NotRunningError>> {
        if self.ending.is_some() {
            return Some(Err(NotRunningError::TreeEnded));
        }
        let quarantined = |node: &Node| {
            let reason = node.gate.reason().unwrap_or_else(|| "quarantined".into());
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
            Phase::Running => Some(Ok(())),
            Phase::Quarantined | Phase::Halting(Next::Quarantine) => quarantined(&actor.node),
            Phase::Draining | Phase::Stopped | Phase::Gone => Some(Err(NotRunningError::Stopped)),
            Phase::Waiting | Phase::Starting | Phase::Backoff { .. } | Phase::Halting(Next::Start) => None,
        }
    }

    fn now(&self) -> Duration {
        self.world.epoch.elapsed()
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
    fn roll(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
