//! The HTTP API as types: the bodies of its requests and responses, the table of its endpoints, and the OpenAPI document
//! that is made from both.
//!
//! Each area has a file of types (`server/audit.rs`) and a file of endpoints below [`endpoints`]
//! (`endpoints/audit.rs`). A type derives `Serialize`, `Deserialize` and `ToSchema`: the server writes it, clients read
//! it, and the document describes it; `api_types!` declares types with all three. Fields are in the order in which they
//! are sent; their doc comments are their descriptions. Types of this crate convert from the types of the model; other
//! conversions belong to the server.
//!
//! The crate has no state and does no I/O.

mod api_types;
mod bulk;
pub mod docs;
mod endpoint;
pub mod endpoints;
mod entities;
mod envelope;
mod error;
mod error_groups;
mod filters;
mod free_object;
mod link;
mod names;
pub mod openapi;
mod parameter;
mod runs;
mod server;
mod versioned;

pub use bulk::{
    BackfillDryRun, BackfillRequest, BulkDryRun, BulkErrorDetail, BulkRequest, BulkRunDetail, BulkSample,
    BulkStarted,
};
pub use endpoint::{Access, Answer, BodySchema, Endpoint, Method, SchemaSource, Tag};
pub use entities::channel_guards::{
    ChannelQuota, ChannelStats, GuardTrialRequest, GuardTrialResult, GuardVerdict, QuotaKeyUse, RefusalCount,
    RequestRefusal,
};
pub use entities::channels::{
    BulkPauseRequest, BulkResumeRequest, ChannelFilterRequest, ChannelPauseStatus, ChannelResource,
    ChannelValidationResult, PauseDetail, PauseRequest, ResumeRequest,
};
pub use entities::connectors::{
    CircuitBreakerMap, CircuitBreakerReset, ConnectorBreakerState, ConnectorCall, ConnectorCalls,
    ConnectorPool, ConnectorProbeResult, ConnectorResource, ConnectorTokenState, ExportedConnector,
    HostBreakerState,
};
pub use entities::consumers::{
    ConsumerChange, ConsumerDetail, ConsumerKeyDetail, ConsumerKeyRequest, ConsumerQuota, ConsumerRequest,
    CreatedConsumerKey,
};
pub use entities::definitions::{
    ChannelDefinition, ChannelUpdate, ConnectorDefinition, ConnectorUpdate, WorkflowDefinition,
    WorkflowUpdate,
};
pub use entities::functions::{
    DocumentSchema, FunctionDescription, FunctionInput, FunctionPlugin, OperatorArity, OperatorDescription,
    OperatorExample,
};
pub use entities::impact::{ChannelTraffic, DefinitionImpact, TouchedChannel, TouchedQuota, TouchedWorkflow};
pub use entities::import::{
    ImportBatch, ImportFailure, ImportSummary, ImportedItem, PACKAGE_SIGNATURE_HEADER,
};
pub use entities::lifecycle::{RollbackRequest, RolloutChange, StatusChange, VersionRequest};
pub use entities::packages::{Inventory, PackageDetail, Receipt, ReceiptRequest};
pub use entities::plugins::{ExportedPlugin, PluginDetail, PluginRequest, PluginStatusRequest};
pub use entities::rollouts::{
    ActiveShare, CanaryStatus, GateTerms, NodeShadows, ShadowDifference, ShadowSample, ShadowStatus,
    WorkflowRollout,
};
pub use entities::validation::{ValidationIssue, ValidationResult};
pub use entities::workflows::{
    ConnectorDependency, TaskStats, TrialStep, TrialTrace, WorkflowDependencies, WorkflowResource,
    WorkflowStats, WorkflowTrial, WorkflowTrialResult,
};
pub use envelope::{DataEnvelope, ListEnvelope, PageEnvelope, WarnedEnvelope};
pub use error::{ErrorDescription, ErrorDetail, ErrorEnvelope};
pub use error_groups::{ErrorGroupSummary, RecentErrorCounts, RecentErrorGroup};
pub use filters::{FILTER_WORDS, FilterWord, FilteredList};
pub use parameter::{ParameterKind, PathParameter, QueryParameter};
pub use runs::backtests::{BacktestDetail, BacktestRequest, BacktestStarted};
pub use runs::cron::{
    ClockComparison, CursorDetail, OccurrenceDetail, OccurrenceExcerpt, OccurrenceListEnvelope,
    OccurrenceRetryRequest, OccurrenceSummary, ScheduleExplanation, ScheduleSummary, SlotHolderDetail,
};
pub use runs::data::{RunError, RunResponse, SubmissionError, SubmissionReceipt, SubmissionState};
pub use runs::dead_letters::{
    DeadLetterDetail, DeadLetterListEnvelope, DeadLetterSummary, PurgeRequest, PurgeResult,
};
pub use runs::kafka::{AssignedPartition, SkippedRecord};
pub use runs::recordings::{DeletedRecordings, RecordingDetail, RecordingSummary};
pub use runs::traces::{
    AttemptSummary, RerunAccepted, RerunRequest, TraceDetail, TraceListEnvelope, TraceSummary, WorkWaitDetail,
};
pub use server::actors::{ActorEvent, ActorNode, ActorTree};
pub use server::audit::{AUDIT_ID_HEADER, AuditListEnvelope, AuditLogEntry, CallerIdentity};
pub use server::backups::{BackupFile, CreatedBackup};
pub use server::caches::{CacheInvalidationRequest, InvalidatedCaches};
pub use server::config::{EffectiveConfig, EffectiveSetting};
pub use server::dev::{DevFinding, DevProject};
pub use server::engine::{
    EngineReloaded, EngineStatus, QuarantinedChannel, QuestionableChannel, ReloadedSettings,
};
pub use server::live::{
    LiveActor, LiveChanges, LiveChannel, LiveCounts, LiveEnd, LiveHistory, LiveNode, LivePicture, LiveRun,
    LiveSeries, LiveTraffic, LiveTree, LiveTreeChanges, LiveTreeTotals, NodeFigures,
};
pub use server::nodes::{DrainedNode, NodeSummary};
pub use server::operational::{
    ActorsHealth, ChannelsHealth, ClusterRedisHealth, ConnectorsHealth, DatabaseOutage, DeadLettersHealth,
    DescriptorsHealth, EpochHealth, FailedConnector, FailedPlugin, HealthComponents, HealthReport,
    KafkaHealth, LivenessReport, PausedName, PluginsHealth, QuarantinedName, ReadinessComponents,
    ReadinessReport, SchedulesHealth, TlsHealth,
};
pub use server::webhooks::{
    OwnWebhookDetail, WebhookAttemptDetail, WebhookDeliveryDetail, WebhookDetail, WebhookEnabling,
    WebhookPatch, WebhookRegistration, WebhookReplayRequest, WebhookReplayResult, WebhookRotation,
    WebhookTest,
};
