//! The lease under which a process owns the work it accepted.
//!
//! A process is a *node* under an id that no other process ever has. Its lease is a row that it renews on the clock of
//! the database, three times in its length. The id stands in every row of accepted work, and work of a node without a
//! lease is taken over by others. Therefore a node must know when it can no longer prove its lease, without asking: it
//! counts from the moment at which the last successful renewal was *sent* and stops one interval before the lease can
//! end. From then on [`NodeHandle::holds`] is false for that id, for good: nothing begins in its name, and what runs is
//! dropped. The node goes on under a new id as soon as the database answers.
//!
//! A process that is alone with its database, because it holds the lock of a SQLite file, cannot lose its work: nobody
//! can take anything over: the lease then only tells operators that the node lives, and proves itself.

mod actor;
mod handle;
mod metrics;
mod settings;
mod shared;
mod state;

pub use handle::{NodeHandle, RegisterError};
pub use metrics::NodeMetrics;
pub use settings::Settings;
