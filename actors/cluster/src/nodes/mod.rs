//! The lease under which a process owns the work it accepted.
//!
//! A process is a *node* with an id that no other process ever has. Its lease is a row that it renews three
//! times per lease length, on the clock of the database. The id is stored in every row of accepted work, and
//! the work of a node without a lease is taken over by other nodes.
//!
//! A node must therefore know, without asking, when it can no longer prove its lease. It counts from the
//! moment at which the last successful renewal was *sent*, and stops one interval before the lease can
//! expire. From then on [`NodeHandle::holds`] is false for that id, permanently: nothing begins under it, and
//! running work is dropped. The node continues under a new id as soon as the database answers.
//!
//! If the process is alone with its database, because it holds the lock of a SQLite file, no other node can
//! take anything over. The lease is then always proven, and only shows operators that the node is alive.

mod actor;
mod handle;
mod metrics;
mod settings;
mod shared;
mod state;
mod takeover;

pub use handle::{NodeHandle, RegisterError};
pub use metrics::NodeMetrics;
pub use settings::Settings;
pub use state::{LeaseProof, LeaseStep, NodeLease};
pub use takeover::{SETTLING, TAKEOVER_PAGE, WHOLE_SCAN_INTERVAL, scan_interval};
