//! The database of the service: SQLite or PostgreSQL behind one set of repositories.
//!
//! This crate owns every connection to that database and is the only one that knows its SQL. Connections live on the io
//! runtime that opened them, whichever thread calls. Reads come from a pool and see committed data. Writes go through one
//! writer, which commits the units of many callers in one transaction, each in a savepoint of its own; on PostgreSQL, a
//! transaction that may wait for locked rows has a connection of its own and is repeated after contention. The frequent
//! operations of the cron ledger share transactions in groups. A caller is answered after the commit: an answered write is
//! on disk.
//!
//! The database may go away and come back. Meanwhile reads and writes return [`StoreError::Unavailable`] within the
//! acquire timeout; afterwards they work again without a restart. Committed data survives a restart.

mod bulk_statement;
mod checksums;
mod clock;
mod compatibility;
mod config;
mod conn;
mod connections;
mod database;
mod earlier;
mod error;
mod files;
mod group;
pub mod inspect;
mod key_change;
mod key_survey;
mod metrics;
pub mod migrate;
mod postgres;
mod reencrypt;
mod repo;
mod schema;
mod status;
mod store;
mod transfer;
mod writer;

pub use config::{Backend, StoreConfig};
pub use connections::connection_manager::check_url;
pub use connections::listener::ConfigListener;
pub use connections::retry_window::RetryWindow;
pub use error::{OpenError, Outage, StoreError};
pub use files::backup::{
    BackupError, RestoreReport, Unfinished, VerifiedBackup, back_up, check_source, restore, verify_backup,
};
pub use files::file_lock::FileLock;
pub use key_change::ReencryptError;
pub use key_survey::{KeySurvey, NodeKeys, survey_keys};
pub use metrics::StoreMetrics;
pub use reencrypt::{ReencryptionReport, reencrypt};
pub use repo::{
    AcceptedRerun, AdoptedRun, AlignOutcome, AnyOf, AppliedPage, AuditEntry, AuditFilter, AuditLog,
    AuditPage, AuditReceipt, Backlog, BacktestEnd, BacktestPoint, BacktestStep, Backtests, BreakerReset,
    BulkAction, BulkError, BulkKind, BulkPage, BulkRun, BulkRuns, BulkStep, COUNTED_MINUTES, CanaryChange,
    CanaryReport, CanaryRollout, CanaryRollouts, CancelEffect, CancelFailure, CancelOrder, CancelStep,
    CancelledEnd, CancelledRun, ChangeScope, ChangedEntity, ChannelFacts, ChannelPauses, ChannelRequirements,
    ClaimBatch, ClaimedLetter, ClaimedWebhook, ConfigChange, ConfigEpoch, ConnectorRepository,
    ConsumerContent, ConsumerCredentials, ConsumerPatch, ConsumerSecret, Consumers, CountedFailure,
    DeadLetter, DeadLetterFilter, DeadLetterPage, DeadLetterRepository, DeadLetterRow, Definition, DrivenRun,
    DueEndpoint, DueLetters, DueTime, EndpointRoom, EntityFilter, EpochNumbers, ErrorGroupCount,
    ErrorGroupFilter, ErrorGroupPage, ErrorGroupRow, ErrorGroups, ExhaustedOccurrence, ExpectedTokens,
    ImportAction, ImportOutcome, InstantRequest, JobLeases, KeptAnswers, Ledger, LetterShare,
    MaterialiseOutcome, MaterialiseRequest, Merge, Mutation, NewBacktest, NewBulkRun, NewConsumerKey,
    NewNode, NewPause, NewPlugin, NewRunRecording, NewTrace, NewWebhookAttempt, NewWebhookEndpoint,
    NodeLeases, NodeRow, NodeStatus, OccurrenceCancel, OccurrenceClaim, OccurrenceFilter, OccurrencePage,
    OccurrenceRecord, OccurrenceRow, OnConflict, OpenCancel, OpenOccurrenceCancel, OpenTrace,
    OperatorRunClaim, OperatorRunState, Ownership, PackageReceipts, PlatformRoute, PluginVersion, Plugins,
    QueueShares, QuotaCounts, QuotaRequest, QuotaReservation, QuotaSlice, QuotaUsage, RERUN, RecentErrors,
    RecordedAttempt, RecordingFilter, RecordingRow, Recordings, References, RefreshLease, RenewedWait,
    Repository, RerunOrder, RerunVersion, RollbackSource, RolloutOrder, RowKey, RunTotals, SaveOutcome,
    ScheduleHistory, ScheduleStatus, ShadowReport, StartResult, StoredBacktest, StoredConnector,
    StoredFigures, StoredRunRecording, TokenState, TokenStates, TraceAccess, TraceAttempt, TraceEnd,
    TraceFailure, TraceMode, TracePage, TraceQuery, TraceRecord, TraceRepository, TraceRow, TraceSource,
    TraceStatus, UnfinishedRun, UnreadableEndpoint, Versioned, WaitReason, WaitTerms, WaitingCount,
    WaitingCounts, WaitingWork, WebhookAttempt, WebhookAttemptEnd, WebhookChange, WebhookClaims,
    WebhookCounts, WebhookDelivery, WebhookDeliveryState, WebhookEndpoint, WebhookEvent, WebhookFilter,
    WebhookOutcome, WebhookReplay, WebhookSecret, WebhookState, WebhookTarget, Webhooks,
    WorkflowRequirements,
};
pub use status::DatabaseStatus;
pub use store::{OpenedStore, Store};
pub use svc_ledger::{InstantFacts, InstantRow, WorkWait};
pub use transfer::{TransferError, TransferredTable, transfer};
pub use writer::KillStep;
