//! Supervised actors on actix: bounded mailboxes, typed exits, restart budgets, quarantine, drain.
#![doc = ""]
#![doc = include_str!("../README.md")]

mod address;
mod clock;
mod context;
mod decide;
mod fault;
mod gate;
mod instance;
mod keeper;
mod leaving;
mod letter;
mod outcome;
mod panic;
mod path;
mod protocol;
mod recorder;
mod replace;
mod runner;
mod spec;
mod tasks;
mod tree;
pub mod universe;
mod view;
mod vitals;
mod world;

pub use address::{Address, CallError, CallErrorKind};
pub use context::{Context, HandledCounter, ReadHandler, ReadReply, Supervised};
pub use decide::{
    Backoff, Directive, ExhaustedAction, Exit, History, Restart, RestartPolicy, StartError, decide,
};
pub use fault::{FaultKind, PlannedFault};
pub use gate::NodeState;
pub use outcome::{NotRunningError, OrderError, RetireError, SpawnError, TreeExit};
pub use path::NodePath;
pub use protocol::StartContext;
pub use recorder::{EventKind, LifecycleEvent, Observer};
pub use replace::PreparedReplacement;
pub use spec::{ChildSpec, GroupSpec, Strategy};
pub use tree::{Placement, Tree, TreeBuilder};
pub use universe::Universe;
pub use view::{NodeKind, NodeView, TreeView};

/// The node behind an address, as [`Address::vitals`] shows it.
pub type VitalsView = NodeView;
