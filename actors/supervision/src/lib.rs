//! Supervised actors on actix: bounded mailboxes, typed exits, restart budgets, quarantine, drain.
#![doc = ""]
#![doc = include_str!("../README.md")]

#![warn(missing_docs)]

mod address;
mod admission;
mod backoff;
mod clock;
mod context;
mod decide;
mod directory;
mod draining;
mod envelope;
mod error;
mod fault;
mod instance;
mod instance_count;
mod names;
mod panic;
mod path;
mod protocol;
mod recorder;
mod replace;
mod runner;
mod shared;
mod side_mailbox;
mod spec;
mod state;
mod supervisor;
mod tasks;
mod tree;
#[cfg(feature = "universe")]
pub mod universe;
mod view;
mod vitals;

pub use address::Address;
pub use backoff::{Backoff, BackoffDelays};
pub use context::{Context, HandledCounter, ReadHandler, ReadReply, Supervised};
pub use decide::{Directive, ExhaustedAction, Exit, History, Restart, RestartPolicy, decide};
pub use error::{
    CallError, CallErrorKind, NotRunningError, OrderError, RetireError, SpawnError, StartError, TreeExit,
};
pub use fault::{FaultKind, PlannedFault};
pub use path::NodePath;
pub use protocol::StartContext;
pub use recorder::{EventKind, LifecycleEvent, Observer};
pub use replace::PreparedReplacement;
pub use spec::{ChildSpec, GroupSpec, Strategy};
pub use state::NodeState;
pub use tree::{Placement, Tree, TreeBuilder};
#[cfg(feature = "universe")]
pub use universe::Universe;
pub use view::{NodeKind, NodeView, TreeView};
