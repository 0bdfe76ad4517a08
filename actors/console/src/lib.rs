//! The live data of the console.
//!
//! The actor `live` samples the process once a second while there are viewers, and sends each sample to all of them;
//! without viewers it has no timer. The actor `figures` runs all the time: every ten seconds it writes the figures of this
//! node to the database, from which every node shows all of them, and adds the failures that this node has counted.
//!
//! A sample reads atomics and gauges. It sends no message to another actor and asks no database. What viewers get is in
//! [`svc_api`]: [`LivePicture`](svc_api::LivePicture), [`LiveChanges`](svc_api::LiveChanges),
//! [`LiveEnd`](svc_api::LiveEnd).
//!
//! What survives a restart of the actors is in `shared.rs`: the viewers, the events of the last minutes, the history.

mod figures;
mod handle;
mod live;
mod metrics;
mod samples;
mod shared;
mod view;

pub use handle::{ConsoleHandle, ConsoleParts, Settings};
pub use live::{EndReason, HistoryRequest, LiveStream, TooManyViewers, WatchRequest};
pub use metrics::ConsoleMetrics;
pub use view::ServiceView;
