//! The handle of a supervision tree.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures_channel::mpsc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{broadcast, oneshot, watch};

use crate::clock::{self, TreeClock};
use crate::directory::NodeDirectory;
use crate::error::{NotRunningError, OrderError, RetireError, SpawnError, StartError, TreeExit};
use crate::fault::{FaultPlan, PlannedFault};
use crate::instances::context::Supervised;
use crate::instances::instance_count::InstanceCount;
use crate::instances::panic;
use crate::mailbox::address::{Address, AddressInner};
use crate::observation::recorder::{FlightRecorder, LifecycleEvent, Observer};
use crate::observation::view::{NodeGauges, NodeKind, NodeView, TreeView};
use crate::observation::vitals::NodeVitals;
use crate::path::NodePath;
use crate::protocol::{
    ExitReporter, Factory, Registration, ReplySender, RunnerCommand, StartContext, SupervisorCommand,
};
use crate::replace::PreparedReplacement;
use crate::runner::RunnerParts;
use crate::shared::TreeContext;
use crate::spec::{ChildSpec, GroupSpec};
use crate::supervisor::Supervisor;

/// The thread that an actor or the supervisor runs on.
#[derive(Debug, Clone, Default)]
pub enum Placement {
    /// The current thread, which must run an actix system, an arbiter, or another `LocalSet`.
    #[default]
    Here,
    /// The thread of this arbiter.
    On(ArbiterHandle),
}

impl Placement {
    /// Runs the future that `make` returns on that thread; `false` if the thread has ended. A future whose thread ends is
    /// dropped.
    pub fn spawn<Fut>(&self, make: impl FnOnce() -> Fut + Send + 'static) -> bool
    where
        Fut: Future<Output = ()> + 'static,
    {
        match self {
            Self::Here => {
                actix_rt::spawn(make());
                true
            }
            Self::On(arbiter) => arbiter.spawn_fn(move || {
                actix_rt::spawn(make());
            }),
        }
    }
}

/// Configures a [`Tree`].
pub struct TreeBuilder {
    seed: u64,
    faults: Vec<PlannedFault>,
    observers: Vec<Arc<dyn Observer>>,
    log: slog::Logger,
    supervisor: Placement,
    root: GroupSpec,
    name: String,
}

impl TreeBuilder {
    /// Sets the seed of the jitter of backoffs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Adds planned faults.
    #[must_use]
    pub fn faults(mut self, faults: Vec<PlannedFault>) -> Self {
        self.faults.extend(faults);
        self
    }

    /// Adds an observer of lifecycle events.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets the logger; without one nothing is logged.
    #[must_use]
    pub fn log(mut self, log: slog::Logger) -> Self {
        self.log = log;
        self
    }

    /// Sets the thread of the supervisor. An arbiter of its own keeps supervision going while worker threads
    /// are blocked.
    #[must_use]
    pub fn supervisor(mut self, at: Placement) -> Self {
        self.supervisor = at;
        self
    }

    /// Sets the supervision of the nodes at the top.
    #[must_use]
    pub fn root(mut self, spec: GroupSpec) -> Self {
        self.root = spec;
        self
    }

    /// Starts the supervisor of an empty tree.
    pub fn build(self) -> Tree {
        panic::install_hook();
        let tree_clock = TreeClock::start();
        let log = self.log.new(slog::o!("tree" => self.name));
        let context = Arc::new(TreeContext {
            tree_clock,
            directory: NodeDirectory::default(),
            recorder: FlightRecorder::new(self.observers, log.clone()),
            faults: FaultPlan::new(self.faults),
            instance_count: InstanceCount::default(),
            log,
            last_id: AtomicU64::new(0),
        });
        let (commands, received) = unbounded_channel();
        let (ended, end) = watch::channel(None);
        let root = NodeVitals::new(
            NodePath::root(),
            NodeKind::Group,
            Box::default(),
            (0, Duration::ZERO),
            tree_clock,
        );
        let supervisor = Supervisor::new(Arc::clone(&context), self.root, Arc::new(root), self.seed, ended);
        // On a dead arbiter the tree has already ended, which `wait_until_ended` returns.
        let _ = self.supervisor.spawn(move || supervisor.run(received));
        Tree { context, commands, end }
    }
}

/// A handle of a supervision tree; cheap to clone.
///
/// Several trees can live in one process: the panic hook is the only global. A tree lives until it is shut
/// down or ends by a failure; dropping handles ends nothing.
#[derive(Clone)]
pub struct Tree {
    pub(crate) context: Arc<TreeContext>,
    pub(crate) commands: UnboundedSender<SupervisorCommand>,
    end: watch::Receiver<Option<TreeExit>>,
}

impl Tree {
    /// Configures a tree; `name` appears in its log.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use actix_supervision::{GroupSpec, Tree, TreeExit};
    ///
    /// actix_rt::System::new().block_on(async {
    ///     let tree = Tree::builder("example").seed(7).build();
    ///     tree.add_group("workers", GroupSpec::new()).await.unwrap();
    ///     assert!(tree.node("workers").is_some());
    ///     assert_eq!(tree.shutdown(Duration::from_secs(1)).await, TreeExit::Shutdown);
    /// });
    /// ```
    pub fn builder(name: &str) -> TreeBuilder {
        TreeBuilder {
            seed: 0,
            faults: Vec::new(),
            observers: Vec::new(),
            log: slog::Logger::root(slog::Discard, slog::o!()),
            supervisor: Placement::Here,
            root: GroupSpec::new(),
            name: name.to_owned(),
        }
    }

    /// Adds an actor. Returns once the node is registered: its first start waits until all the nodes it needs
    /// run, and calls queue meanwhile.
    ///
    /// The factory runs on the actor's thread, once per start, and may be called while an older instance
    /// still drains. A panic in it counts as an exit.
    ///
    /// ```
    /// use actix_supervision::{ChildSpec, Context, NodeState, Placement, Supervised, Universe};
    /// # #[derive(Default)]
    /// # struct Counter(u32);
    /// # impl actix::Actor for Counter {
    /// #     type Context = Context<Self>;
    /// # }
    /// # impl Supervised for Counter {}
    /// # #[derive(Debug, actix::Message)]
    /// # #[rtype(u32)]
    /// # struct Add(u32);
    /// # impl actix::Handler<Add> for Counter {
    /// #     type Result = u32;
    /// #     fn handle(&mut self, add: Add, _: &mut Context<Self>) -> u32 {
    /// #         self.0 = self.0.checked_add(add.0).expect("too much");
    /// #         self.0
    /// #     }
    /// # }
    /// Universe::new(1).run(async |tree| {
    ///     let spec = ChildSpec::new().mailbox(8);
    ///     let factory = |_| async { Ok(Counter::default()) };
    ///     let counter = tree.spawn("counter", spec, Placement::Here, factory).await.unwrap();
    ///     tree.wait_until_running("counter").await.unwrap();
    ///     assert_eq!(counter.vitals().state, NodeState::Running);
    /// });
    /// ```
    pub async fn spawn<A, F, Fut>(
        &self,
        path: &str,
        mut spec: ChildSpec,
        at: Placement,
        factory: F,
    ) -> Result<Address<A>, SpawnError>
    where
        A: Supervised,
        F: Fn(StartContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, StartError>> + 'static,
    {
        let path = parse(path)?;
        let resolve = |need: &String| {
            let node = self.context.directory.resolve(&path, need);
            node.ok_or_else(|| SpawnError::UnknownNeed { need: need.clone() })
        };
        // The node has the paths from here on; the supervisor keeps no second copy.
        let needs = std::mem::take(&mut spec.needs).iter().map(resolve).collect::<Result<Box<[_]>, _>>()?;
        let bounds = (spec.mailbox, spec.drain_deadline);
        let mut node = NodeVitals::new(path, NodeKind::Actor, needs, bounds, self.context.tree_clock);
        node.essential = spec.essential;
        let node = Arc::new(node);
        node.update_status(|status| status.fingerprint = spec.fingerprint.take());

        // The channels of tokio hold room for 32 messages from the start, in each of thousands of nodes.
        let (envelopes, queued) = mpsc::unbounded();
        let (control, controls) = mpsc::unbounded();
        let node_id = self.context.next_id();
        let inner =
            Arc::new(AddressInner { node: Arc::clone(&node), node_id, envelopes, control: control.clone() });
        let parts = RunnerParts {
            inner: Arc::clone(&inner),
            envelopes: queued,
            control: controls,
            factory: erase(factory),
            faults: self.context.faults.for_node(&node.path).map(Box::new),
            reporter: ExitReporter {
                node_id,
                supervisor: self.commands.clone(),
                context: Arc::clone(&self.context),
                ended: false,
                _count_guard: self.context.instance_count.runner(),
            },
        };
        let orders = Box::new(move |order| {
            // A runner that is gone has reported it, or will.
            let _ = control.unbounded_send(RunnerCommand::Lifecycle(order));
        });
        let registration = Registration { node, node_id, spec, orders };
        self.command(|answer| SupervisorCommand::Spawn { registration, answer })
            .await
            .ok_or(SpawnError::TreeEnded)??;
        if at.spawn(move || parts.run()) {
            return Ok(Address { inner });
        }
        let _ = self.retire(inner.node.path.as_str(), Duration::ZERO).await;
        Err(SpawnError::ArbiterGone)
    }

    /// Adds an empty group.
    pub async fn add_group(&self, path: &str, spec: GroupSpec) -> Result<(), SpawnError> {
        let bounds = (0, Duration::ZERO);
        let node =
            NodeVitals::new(parse(path)?, NodeKind::Group, Box::default(), bounds, self.context.tree_clock);
        let node = Arc::new(node);
        self.command(|answer| SupervisorCommand::Group { node, spec, answer })
            .await
            .ok_or(SpawnError::TreeEnded)?
    }

    /// Waits until a node runs. A group runs when none of its actors is starting, restarting or waiting.
    ///
    /// # Errors
    /// [`NotRunningError`] with the reason why the node will not run by itself.
    pub async fn wait_until_running(&self, path: &str) -> Result<(), NotRunningError> {
        let path = NodePath::parse(path).ok_or(NotRunningError::Unknown)?;
        self.command(|answer| SupervisorCommand::Running { path, answer })
            .await
            .ok_or(NotRunningError::TreeEnded)?
    }

    /// Builds a new generation of an actor next to the running one. [`PreparedReplacement::commit`] lets it
    /// take over; dropping the [`PreparedReplacement`] discards it. The factory serves later restarts once
    /// committed.
    pub async fn replace<A, F, Fut>(
        &self,
        address: &Address<A>,
        fingerprint: Option<String>,
        factory: F,
    ) -> Result<PreparedReplacement<A>, StartError>
    where
        A: Supervised,
        F: Fn(StartContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, StartError>> + 'static,
    {
        PreparedReplacement::build(self, address, fingerprint, erase(factory)).await
    }

    /// Drains a node, or every node of a group, in reverse order of need, and removes it from the tree. A
    /// node that has not drained at the deadline is ended by force.
    pub async fn retire(&self, path: &str, deadline: Duration) -> Result<(), RetireError> {
        let path = NodePath::parse(path).ok_or(RetireError::Unknown)?;
        self.command(|answer| SupervisorCommand::Retire { path, deadline, answer })
            .await
            .ok_or(RetireError::TreeEnded)?
    }

    /// Restarts a node, or every node of a group: it leaves quarantine and its restart history is cleared.
    /// Returns once the command is accepted; [`wait_until_running`](Self::wait_until_running) waits for its
    /// effect.
    ///
    /// ```
    /// use actix_supervision::{CallErrorKind, ChildSpec, Context, Placement, RestartPolicy, Supervised, Universe};
    /// # #[derive(Default)]
    /// # struct Counter(u32);
    /// # impl actix::Actor for Counter {
    /// #     type Context = Context<Self>;
    /// # }
    /// # impl Supervised for Counter {}
    /// # #[derive(Debug, actix::Message)]
    /// # #[rtype(u32)]
    /// # struct Add(u32);
    /// # impl actix::Handler<Add> for Counter {
    /// #     type Result = u32;
    /// #     fn handle(&mut self, add: Add, _: &mut Context<Self>) -> u32 {
    /// #         self.0 = self.0.checked_add(add.0).expect("too much");
    /// #         self.0
    /// #     }
    /// # }
    /// Universe::new(1).run(async |tree| {
    ///     let policy = RestartPolicy { max_restarts: 0, ..RestartPolicy::default() };
    ///     let spec = ChildSpec::new().policy(policy);
    ///     let factory = |_| async { Ok(Counter::default()) };
    ///     let counter = tree.spawn("counter", spec, Placement::Here, factory).await.unwrap();
    ///     counter.call(Add(1)).await.unwrap();
    ///     // The panic uses up the budget: the node is quarantined until it is restarted.
    ///     assert_eq!(counter.call(Add(u32::MAX)).await.unwrap_err().kind, CallErrorKind::Crashed);
    ///     assert!(tree.wait_until_running("counter").await.is_err());
    ///     tree.restart("counter").await.unwrap();
    ///     tree.wait_until_running("counter").await.unwrap();
    ///     assert_eq!(counter.call(Add(1)).await.unwrap(), 1);
    /// });
    /// ```
    pub async fn restart(&self, path: &str) -> Result<(), OrderError> {
        let path = NodePath::parse(path).ok_or(OrderError::Unknown)?;
        self.command(|answer| SupervisorCommand::Restart { path, answer })
            .await
            .ok_or(OrderError::TreeEnded)?
    }

    /// Quarantines a node, or every node of a group. No message is admitted once this returns.
    pub async fn quarantine(&self, path: &str, reason: &str) -> Result<(), OrderError> {
        let path = NodePath::parse(path).ok_or(OrderError::Unknown)?;
        let reason = Arc::from(reason);
        self.command(|answer| SupervisorCommand::Quarantine { path, reason, answer })
            .await
            .ok_or(OrderError::TreeEnded)?
    }

    /// Returns a snapshot of the tree. Reads vital signs only and sends no message, so it works while every
    /// thread hangs.
    pub fn snapshot(&self) -> TreeView {
        TreeView { nodes: self.context.directory.nodes().iter().map(|node| node.view()).collect() }
    }

    /// Hands the counters of every node to `visitor`, depth first. Like [`snapshot`](Self::snapshot) it sends no message,
    /// and costs a fraction of it.
    pub fn visit_gauges(&self, mut visitor: impl FnMut(NodeGauges<'_>)) {
        for node in self.context.directory.nodes() {
            visitor(node.gauges());
        }
    }

    /// Returns a snapshot of the node at `path`, if there is one. The cost does not depend on the size of the
    /// tree.
    pub fn node(&self, path: &str) -> Option<NodeView> {
        let path = NodePath::parse(path)?;
        self.context.directory.get(&path).map(|node| node.view())
    }

    /// Asks the supervisor and every essential actor for a sign of life, and returns the paths of those that have given
    /// none within `limit`; the empty path is the supervisor, also one whose thread has ended. A tree that has ended has
    /// none.
    ///
    /// An actor answers on its thread, between two polls: one that waits for something, such as a database, answers; one
    /// whose thread is blocked does not. An actor that has ended is left to the supervisor.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use actix_supervision::Universe;
    ///
    /// Universe::new(1).run(async |tree| {
    ///     assert!(tree.find_unresponsive(Duration::from_secs(1)).await.is_empty());
    /// });
    /// ```
    pub async fn find_unresponsive(&self, limit: Duration) -> Vec<NodePath> {
        let deadline = clock::now() + limit;
        let asked = self.command(|answer| SupervisorCommand::Ping { answer });
        let pongs = match clock::timeout_at(deadline, asked).await {
            Ok(Some(pongs)) => pongs,
            Ok(None) if self.end.borrow().is_some() => return Vec::new(),
            // Late, or gone with its thread.
            Ok(None) | Err(_) => return vec![NodePath::root()],
        };
        let mut unresponsive = Vec::new();
        for (path, pong) in pongs {
            if clock::timeout_at(deadline, pong).await.is_err() {
                unresponsive.push(path);
            }
        }
        unresponsive
    }

    /// Returns the last 512 lifecycle events, oldest first.
    pub fn history(&self) -> Vec<LifecycleEvent> {
        self.context.recorder.history()
    }

    /// Subscribes to the lifecycle events. A receiver that falls more than 512 events behind loses the
    /// oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<LifecycleEvent> {
        self.context.recorder.subscribe()
    }

    /// Ends the tree: every node drains in reverse order of need; a node that has not drained at the deadline
    /// is ended by force. A second call waits for the same end.
    pub async fn shutdown(&self, deadline: Duration) -> TreeExit {
        // A supervisor that is gone has ended the tree.
        let _ = self.commands.send(SupervisorCommand::Shutdown { deadline });
        self.wait_until_ended().await
    }

    /// Waits until the tree has ended.
    pub async fn wait_until_ended(&self) -> TreeExit {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(exit)) => exit.clone(),
            _ => TreeExit::Escalated {
                path: NodePath::root(),
                reason: "the supervisor's thread has ended".to_owned(),
            },
        }
    }

    #[cfg(feature = "universe")]
    pub(crate) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Sends a command and waits for the answer; `None` if the tree has ended.
    pub(crate) async fn command<T>(
        &self,
        command: impl FnOnce(ReplySender<T>) -> SupervisorCommand,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(command(answer)).ok()?;
        answered.await.ok()
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("ended", &*self.end.borrow()).finish_non_exhaustive()
    }
}

fn parse(path: &str) -> Result<NodePath, SpawnError> {
    NodePath::parse(path).ok_or_else(|| SpawnError::BadPath { path: path.to_owned() })
}

/// Erases the types of a factory.
fn erase<A, F, Fut>(factory: F) -> Factory<A>
where
    A: Supervised,
    F: Fn(StartContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, StartError>> + 'static,
{
    Arc::new(move |start| Box::pin(factory(start)))
}
