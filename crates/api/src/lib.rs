//! The HTTP API as types: the bodies of its requests and responses, the table of its endpoints, and the OpenAPI document
//! that is made from both.
//!
//! Each area has a file of types at the top (`audit.rs`) and a file of endpoints below [`endpoints`]
//! (`endpoints/audit.rs`). A type derives `Serialize`, `Deserialize` and `ToSchema`: the server writes it, clients read
//! it, and the document describes it. Fields are in the order in which they are sent; their doc comments are their
//! descriptions. Types of this crate convert from the types of the model; other conversions belong to the server.
//!
//! The crate has no state and does no I/O.

mod actors;
mod audit;
mod backups;
mod bulk;
mod channels;
mod connectors;
mod cron;
mod data;
mod dead_letters;
mod definitions;
pub mod docs;
mod endpoint;
pub mod endpoints;
mod engine;
mod envelope;
mod error;
mod error_groups;
mod filters;
mod free_object;
mod functions;
mod import;
mod kafka;
mod lifecycle;
mod link;
mod names;
mod nodes;
pub mod openapi;
mod operational;
mod packages;
mod parameter;
mod traces;
mod validation;
mod workflows;

pub use actors::{ActorEvent, ActorNode, ActorTree};
pub use audit::{AuditListEnvelope, AuditLogEntry, CallerIdentity};
pub use backups::{BackupFile, CreatedBackup};
pub use bulk::{
    BackfillDryRun, BackfillRequest, BulkDryRun, BulkErrorDetail, BulkRequest, BulkRunDetail, BulkSample,
    BulkStarted,
};
pub use channels::{
    BulkPauseRequest, BulkResumeRequest, ChannelFilterRequest, ChannelPauseStatus, ChannelResource,
    ChannelValidationResult, PauseDetail, PauseRequest, ResumeRequest,
};
pub use connectors::{
    CircuitBreakerMap, CircuitBreakerReset, ConnectorProbeResult, ConnectorResource, ExportedConnector,
};
pub use cron::{
    ClockComparison, CursorDetail, OccurrenceDetail, OccurrenceExcerpt, OccurrenceListEnvelope,
    OccurrenceRetryRequest, OccurrenceSummary, ScheduleExplanation, ScheduleSummary, SlotHolderDetail,
};
pub use data::{RunError, RunResponse, SubmissionError, SubmissionReceipt, SubmissionState};
pub use dead_letters::{
    DeadLetterDetail, DeadLetterListEnvelope, DeadLetterSummary, PurgeRequest, PurgeResult,
};
pub use definitions::{
    ChannelDefinition, ChannelUpdate, ConnectorDefinition, ConnectorUpdate, WorkflowDefinition,
    WorkflowUpdate,
};
pub use endpoint::{Access, Answer, BodySchema, Endpoint, Method, SchemaSource, Tag};
pub use engine::{EngineReloaded, EngineStatus, QuarantinedChannel, QuestionableChannel, ReloadedSettings};
pub use envelope::{DataEnvelope, ListEnvelope, PageEnvelope, WarnedEnvelope};
pub use error::{ErrorDescription, ErrorDetail, ErrorEnvelope};
pub use error_groups::ErrorGroupSummary;
pub use filters::{FILTER_WORDS, FilterWord, FilteredList};
pub use functions::{
    FunctionDescription, FunctionInput, FunctionPlugin, OperatorArity, OperatorDescription, OperatorExample,
};
pub use import::{ImportBatch, ImportFailure, ImportSummary, ImportedItem};
pub use kafka::{AssignedPartition, SkippedRecord};
pub use lifecycle::{RollbackRequest, RolloutChange, StatusChange, VersionRequest};
pub use nodes::NodeSummary;
pub use operational::{
    ActorsHealth, ChannelsHealth, ConnectorsHealth, DatabaseOutage, DeadLettersHealth, DescriptorsHealth,
    EpochHealth, FailedConnector, HealthComponents, HealthReport, KafkaHealth, LivenessReport, PausedName,
    QuarantinedName, ReadinessComponents, ReadinessReport, SchedulesHealth, TlsHealth,
};
pub use packages::{Inventory, PackageDetail, Receipt, ReceiptRequest};
pub use parameter::{ParameterKind, PathParameter, QueryParameter};
pub use traces::{
    AttemptSummary, RerunAccepted, RerunRequest, TraceDetail, TraceListEnvelope, TraceSummary, WorkWaitDetail,
};
pub use validation::{ValidationIssue, ValidationResult};
pub use workflows::{
    ConnectorDependency, TrialStep, TrialTrace, WorkflowDependencies, WorkflowResource, WorkflowTrial,
    WorkflowTrialResult,
};
