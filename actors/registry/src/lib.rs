//! The registry: stored definitions, turned into one immutable snapshot that serves.
//!
//! A [`Snapshot`] holds every active channel, ready or quarantined with its reason, and the table of routes. Requests and
//! calls between channels read it without a lock and without a message. One actor writes it: it takes reloads and workers that join or
//! leave, and listens to the supervision tree.
//!
//! A reload has two phases. First it reads the rows of its [`ReloadScope`], compiles what changed and collects what cannot
//! serve, touching nothing; a failure here leaves everything as it was. Then it starts actors next to those that
//! serve, swaps the snapshot, and drains what is no longer used. No request fails because of a reload, one broken
//! channel never stops its neighbours, and the cost follows what changed, not what exists.
//!
//! The snapshot survives a restart of the actor, not of the process. The registry never writes to the database.

mod actor;
mod channel_directory;
mod commit;
mod compile;
mod deployer;
mod dispatch;
mod filter;
mod handle;
mod ingress;
mod metrics;
mod prepare;
mod resolve;
mod routes;
mod scope;
mod secrets;
mod sharded_map;
mod snapshot;
mod worker;
mod workflow_users;

pub use deployer::ChannelPolicy;
pub use filter::ChannelFilter;
pub use handle::{Registry, RegistryParts};
pub use ingress::failure_reports::FailedOccurrence;
pub use metrics::RegistryMetrics;
pub use resolve::Resolution;
pub use scope::{ReloadError, ReloadReport, ReloadScope};
pub use snapshot::{ChannelState, LoadedChannel, Quarantine, ServingChannel, Snapshot};
pub use svc_traces::PreparedReport;
pub use worker::WorkerId;
