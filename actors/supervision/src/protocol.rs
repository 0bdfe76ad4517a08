//! What a tree's handles, its keeper and a node's runner say to each other.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::context::Supervised;
use crate::decide::{Exit, StartError};
use crate::instance::{Live, Living};
use crate::keeper::Command;
use crate::path::NodePath;

/// What a factory is told about the start it is asked for.
#[derive(Debug, Clone)]
pub struct StartContext {
    /// The path of the node.
    pub path: NodePath,
    /// The generation the instance will be.
    pub generation: u64,
    /// How many starts in a row, this one included, have been tried; from 1.
    pub attempt: u32,
}

pub(crate) type Built<A> = LocalBoxFuture<'static, Result<A, StartError>>;
pub(crate) type Factory<A> = Arc<dyn Fn(StartContext) -> Built<A> + Send + Sync>;

/// What reaches a runner beside messages.
pub(crate) enum Control<A: Supervised> {
    Order(Order),
    Prepare { id: u64, generation: u64, factory: Factory<A>, reply: oneshot::Sender<Result<(), StartError>> },
    Discard { id: u64 },
}

/// What the keeper orders.
#[derive(Debug)]
pub(crate) enum Order {
    /// Build and run a generation.
    Start { generation: u64, attempt: u32 },
    /// End the instance in order and report it; the mailbox waits.
    Halt { deadline: Duration },
    /// Run the prepared instance `id`; the old one drains beside it.
    Commit { id: u64, generation: u64, deadline: Duration },
    /// Finish what was admitted, then end the runner.
    Drain { deadline: Duration },
    /// End the runner at once.
    Kill,
    /// Look at the gate again: what is queued may have to be handed back.
    Recheck,
}

/// What a runner reports.
#[derive(Debug)]
pub(crate) enum Report {
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
    /// There is no prepared instance `id`; the node goes on as it is.
    NotPrepared {
        id: u64,
        /// Generation of the instance there is or will be, or was last.
        generation: u64,
        /// Whether that one runs; `None` if there is none.
        running: Option<bool>,
    },
    /// The runner has ended by order.
    Ended,
    /// The runner is gone without an order: its thread has ended.
    Gone,
}

/// A runner's line to the keeper; says so when the runner goes away unasked.
pub(crate) struct Line {
    pub(crate) node_id: u64,
    pub(crate) keeper: UnboundedSender<Command>,
    pub(crate) live: Live,
    pub(crate) ended: bool,
    pub(crate) _living: Living,
}

impl Line {
    pub(crate) fn report(&self, report: Report) {
        // A tree without keeper has ended: nobody is left to care.
        let _ = self.keeper.send(Command::Report { node_id: self.node_id, report });
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.ended {
            self.report(Report::Gone);
        }
    }
}
