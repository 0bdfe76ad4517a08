//! Connectors: the outbound systems that tasks name, and the task functions over them.
//!
//! [`Connectors::supervise`] adds a group to a tree: the `reconciler`, which keeps the running connectors in line
//! with the stored ones, and one actor for each loaded connector, which owns its client or pool on the runtime that drives
//! connections. [`register`] adds the functions to an engine.
//!
//! - A connector is loaded from its stored text: placeholders, then JSON, then references, then the settings of its type.
//!   A failure takes that connector alone out of use, with the stage and the reason; its tasks fail with them.
//! - Each type is a folder below `drivers`, registered by one line; heavy drivers are features of the crate, and a connector of
//!   a type that was left out fails to load with that reason.
//! - A change of a connector starts a new actor; the old one finishes what it began. A reload that finds the
//!   same settings and the same secrets changes nothing.
//! - Calls are read-only messages: the mailbox bounds how many are in flight, dropping a call ends it, a restart of the
//!   actor opens new connections.
//! - Of a connector with `allow_urls`, an address that a message names gets the signature alone. Each host of such
//!   addresses has a breaker and places of its own ([`ConnectorDirectory::call_outside`] and `url_logic` of `http_call`).
//! - A breaker for each channel and connector rejects calls while the backend fails. Breakers are keyed by names, so they
//!   outlive reloads; they end with the process.
//!
//! No secret is in an error, a log or a status. Nothing here survives the process.

mod breaker;
mod call_log;
mod directory;
mod driver;
mod drivers;
mod error;
mod functions;
mod handle;
mod inspection;
mod load;
mod metrics;
mod outside_call;
mod probe;
mod reconciler;
mod scope;
mod settings;
mod shared_cache;
mod statement_check;
mod table;
mod upload;

pub use breaker::{BreakerSettings, BreakerState, ConnectorBreaker, HostBreaker};
pub use call_log::RecordedCall;
pub use directory::ConnectorDirectory;
#[cfg(feature = "kafka")]
pub use drivers::kafka::{ClientLog, KafkaProducer, describe_unusable_client};
pub use drivers::{BrokerHealth, OwnDatabase};
pub use error::{ConnectorReloadError, LoadError, LoadStage};
pub use functions::{CallSettings, DRIVER_FUNCTIONS, QuerySettings, WriteSettings, register};
pub use handle::Connectors;
pub use inspection::UnresolvedText;
pub use metrics::ConnectorMetrics;
pub use outside_call::{OutsideClass, OutsideOutcome, OutsideRequest};
pub use probe::ConnectorProbe;
pub use scope::ConnectorScope;
pub use settings::{KafkaCluster, MemoryCacheSettings, Settings, VariableLookup};
pub use statement_check::{
    AuthoredStatement, CheckedStatements, StatementProblems, StatementSources, check_statements,
};
pub use table::{LoadState, LoadStatus};
pub use upload::ObjectUpload;
