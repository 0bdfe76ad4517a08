//! Supervised actors on actix: bounded mailboxes, typed exits, restart budgets, quarantine, drain.
#![doc = ""]
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod backoff;
mod clock;
mod decide;
mod directory;
mod error;
mod fault;
mod instances;
mod mailbox;
mod observation;
mod path;
mod protocol;
mod replace;
mod runner;
mod shared;
mod spec;
mod state;
mod supervisor;
mod tree;
#[cfg(feature = "universe")]
pub mod universe;

pub use backoff::{Backoff, BackoffDelays};
pub use decide::{Directive, ExhaustedAction, Exit, History, Restart, RestartPolicy, decide};
pub use error::{
    CallError, CallErrorKind, NotRunningError, OrderError, RetireError, SpawnError, StartError, TreeExit,
};
pub use fault::{FaultKind, PlannedFault};
pub use instances::context::{Context, HandledCounter, ReadHandler, ReadReply, Supervised};
pub use mailbox::address::Address;
pub use observation::recorder::{EventKind, LifecycleEvent, Observer};
pub use observation::view::{NodeGauges, NodeKind, NodeView, TreeView};
pub use path::NodePath;
pub use protocol::StartContext;
pub use replace::PreparedReplacement;
pub use spec::{ChildSpec, GroupSpec, Strategy};
pub use state::NodeState;
pub use tree::{Placement, Tree, TreeBuilder};
#[cfg(feature = "universe")]
pub use universe::Universe;
