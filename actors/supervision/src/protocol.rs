//! Messages between the handles of a tree, its supervisor and the runners of its nodes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::decide::Exit;
use crate::error::{NotRunningError, OrderError, RetireError, SpawnError, StartError};
use crate::instances::context::Supervised;
use crate::instances::instance_count::InstanceCountGuard;
use crate::observation::vitals::NodeVitals;
use crate::path::NodePath;
use crate::shared::TreeContext;
use crate::spec::{ChildSpec, GroupSpec};

/// The start that a factory is called for.
#[derive(Debug, Clone)]
pub struct StartContext {
    /// The path of the node.
    pub path: NodePath,
    /// The generation of the new instance.
    pub generation: u64,
    /// Number of consecutive start attempts, this one included; counts from 1.
    pub attempt: u32,
}

/// The future of a factory call.
pub(crate) type Built<A> = LocalBoxFuture<'static, Result<A, StartError>>;
/// A factory whose types are erased but for the actor.
pub(crate) type Factory<A> = Arc<dyn Fn(StartContext) -> Built<A> + Send + Sync>;

/// A command to a runner, not a message of its mailbox.
pub(crate) enum RunnerCommand<A: Supervised> {
    Lifecycle(LifecycleCommand),
    /// Builds an instance next to the running one.
    Prepare {
        id: u64,
        generation: u64,
        factory: Factory<A>,
        reply: oneshot::Sender<Result<(), StartError>>,
    },
    /// Drops the prepared instance `id`.
    Discard {
        id: u64,
    },
}

/// A lifecycle command of the supervisor to a runner.
#[derive(Debug)]
pub(crate) enum LifecycleCommand {
    /// Build and run a generation.
    Start { generation: u64, attempt: u32 },
    /// End the instance in order and report it; messages stay in the mailbox.
    Halt { deadline: Duration },
    /// Run the prepared instance `id`; the old one drains meanwhile.
    Commit { id: u64, generation: u64, deadline: Duration },
    /// Finish what was admitted, then end the runner.
    Drain { deadline: Duration },
    /// End the runner at once.
    Kill,
    /// Read the admission state again: queued messages may have to be handed back.
    Recheck,
    /// Answer at once.
    Ping { answer: ReplySender<()> },
}

/// A report of a runner to the supervisor.
#[derive(Debug)]
pub(crate) enum RunnerReport {
    Started {
        generation: u64,
    },
    Exited {
        generation: u64,
        exit: Exit,
        recent: Vec<&'static str>,
    },
    Committed {
        id: u64,
        generation: u64,
    },
    /// There is no prepared instance `id`; the node goes on unchanged.
    NotPrepared {
        id: u64,
        /// Generation of the current, starting or last instance.
        generation: u64,
        /// `true` if that instance runs, `false` if it is starting, `None` if there is none.
        running: Option<bool>,
    },
    /// The runner ended as commanded.
    Ended,
    /// The runner is gone without a command: its thread has ended.
    Gone,
}

/// The sending half of the reply to a command.
pub(crate) type ReplySender<T> = oneshot::Sender<T>;

/// A command to the supervisor, or a report of a runner.
pub(crate) enum SupervisorCommand {
    Spawn {
        registration: Registration,
        answer: ReplySender<Result<(), SpawnError>>,
    },
    Group {
        node: Arc<NodeVitals>,
        spec: GroupSpec,
        answer: ReplySender<Result<(), SpawnError>>,
    },
    /// Answered once the node runs, or cannot.
    Running {
        path: NodePath,
        answer: ReplySender<Result<(), NotRunningError>>,
    },
    /// Runs a prepared instance.
    Commit {
        commit: ReplacementCommit,
    },
    Retire {
        path: NodePath,
        deadline: Duration,
        answer: ReplySender<Result<(), RetireError>>,
    },
    Restart {
        path: NodePath,
        answer: ReplySender<Result<(), OrderError>>,
    },
    Quarantine {
        path: NodePath,
        reason: Arc<str>,
        answer: ReplySender<Result<(), OrderError>>,
    },
    Shutdown {
        deadline: Duration,
    },
    /// Answered at once, with the answers that the essential actors are about to give.
    Ping {
        answer: ReplySender<Vec<PendingPong>>,
    },
    Report {
        node_id: u64,
        report: RunnerReport,
    },
}

/// The answer that the runner of an actor is about to give; an error if it has ended.
pub(crate) type PendingPong = (NodePath, oneshot::Receiver<()>);

/// An actor to be supervised.
pub(crate) struct Registration {
    pub(crate) node: Arc<NodeVitals>,
    pub(crate) node_id: u64,
    pub(crate) spec: ChildSpec,
    /// Sends a command to the runner of the actor.
    pub(crate) orders: Box<dyn Fn(LifecycleCommand) + Send>,
}

/// The request to let a prepared instance take over.
pub(crate) struct ReplacementCommit {
    pub(crate) node_id: u64,
    pub(crate) id: u64,
    pub(crate) generation: u64,
    pub(crate) fingerprint: Option<String>,
    pub(crate) answer: ReplySender<Result<u64, OrderError>>,
}

/// Reports to the supervisor on behalf of a runner, and reports [`RunnerReport::Gone`] when the runner is
/// dropped without a command.
pub(crate) struct ExitReporter {
    pub(crate) node_id: u64,
    pub(crate) supervisor: UnboundedSender<SupervisorCommand>,
    pub(crate) context: Arc<TreeContext>,
    pub(crate) ended: bool,
    pub(crate) _count_guard: InstanceCountGuard,
}

impl ExitReporter {
    /// Sends a report.
    pub(crate) fn report(&self, report: RunnerReport) {
        // A tree without a supervisor has ended: there is nobody to report to.
        let _ = self.supervisor.send(SupervisorCommand::Report { node_id: self.node_id, report });
    }
}

impl Drop for ExitReporter {
    fn drop(&mut self) {
        if !self.ended {
            self.report(RunnerReport::Gone);
        }
    }
}
