//! The watcher of the configuration epoch.
//!
//! Every committed change of the served configuration raises the epoch in the database and records what it concerns.
//! Each process watches the number, loads what others changed, and reports the epoch that it serves. It reads the number
//! at an interval; PostgreSQL also announces changes, so that it usually reads at once.
//!
//! The *watermark* is the epoch up to which everything is loaded. It moves only after a successful load, so that a
//! failed one is tried again. The changes of this process are loaded by their authors, which register them as
//! [`LocalChange`]; one whose author failed or was dropped is loaded by the watcher like a foreign one.
//!
//! ```text
//! epoch        one actor: reads, loads, reports      needs the store, the lease, connectors and registry
//! ```

mod actor;
mod handle;
mod local;
mod metrics;
mod settings;
mod shared;
mod state;
#[cfg(feature = "testing")]
pub mod testing;

pub use handle::{EpochHandle, EpochStatus};
pub use local::{LocalChange, LocalChanges};
pub use metrics::EpochMetrics;
pub use settings::{ConfigApplier, EpochServices, ErrorCallback, JobCallback, Settings};
pub use state::ChangedEntities;
