//! The database of the service: SQLite or PostgreSQL behind one set of repositories.
//!
//! This crate owns every connection and is the only one that knows SQL. Connections live on the io runtime they were
//! opened with, whatever thread asks. Reads come from a pool and see what is committed. Writes go through one writer,
//! which commits the units of many callers in one transaction, each in a savepoint of its own, and answers each after
//! the commit: an answer is on disk before it is heard.
//!
//! The database may go away and come back: meanwhile reads and writes answer [`StoreError::Unavailable`] within the
//! acquire timeout, then they work again; nothing has to be restarted. What survives a restart is what was committed.

mod checksums;
mod clock;
mod config;
mod conn;
mod connector;
mod error;
mod file_lock;
mod metrics;
pub mod migrate;
mod pool;
mod probe;
mod reencrypt;
mod repo;
mod schema;
mod sqlstate;
mod status;
mod store;
mod writer;

pub use config::{Backend, StoreConfig};
pub use error::{OpenError, StoreError};
pub use file_lock::FileLock;
pub use metrics::StoreMetrics;
pub use reencrypt::{Reencrypted, reencrypt};
pub use repo::{
    Adopted, Aligned, Audit, AuditEntry, AuditFilter, Backlog, Before, ChannelFacts, ChannelGates, Claim,
    ClaimedLetter, Claims, ConnectorNeed, Connectors, DeadLetter, DeadLetterFilter, DeadLetterRow,
    DeadLetters, Epoch, Exhausted, Filter, ImportAction, Imported, Kept, Ledger, Look, Materialise,
    Materialised, Merge, Mutation, NewNode, NewTrace, NodeLeases, NodeRow, NodeStanding, OccurrenceFilter,
    OccurrencePage, OccurrenceRecord, OccurrenceRow, OnConflict, Ownership, PlatformRoute, References,
    Repository, RollbackSource, RowKey, ScheduleStatus, Started, StoredConnector, TokenState, TokenStates,
    TraceAccess, TraceEnd, TraceFailure, TraceMode, TracePage, TraceQuery, TraceRecord, TraceRow,
    TraceStatus, Traces, Unfinished, Versioned, WorkflowGates,
};
pub use status::DatabaseStatus;
pub use store::{Opened, Store};
