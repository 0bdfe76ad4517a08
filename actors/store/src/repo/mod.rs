//! Repositories: one file per resource, each query written once for both backends.
//!
//! Reads come from the pool and see committed data. Mutations go through the writer. Each locks the single row of
//! `config_epoch` first, so that the mutations of several nodes are serialized, and writes its audit row in the same
//! transaction.

mod audit;
mod backtests;
mod bulk_runs;
mod change_facts;
mod channel_pauses;
mod config_changes;
mod connectors;
mod consumers;
mod cron;
mod dead_letters;
mod definitions;
mod epoch;
mod error_groups;
mod filters;
mod guard_state;
mod job_leases;
mod json;
mod keyset;
mod lifecycle;
mod mutation;
mod nodes;
mod operator_runs;
mod packages;
mod plugins;
mod recordings;
mod references;
mod repository;
mod requirements;
mod rollouts;
mod seal;
mod status_changes;
mod token_states;
mod traces;
mod usage;
mod webhooks;
mod words;

use svc_model::LifecycleStatus;

pub use audit::{AuditFilter, AuditLog, AuditPage};
pub use backtests::{BacktestEnd, BacktestPoint, BacktestStep, Backtests, NewBacktest, StoredBacktest};
pub use bulk_runs::{
    AppliedPage, BulkAction, BulkError, BulkKind, BulkPage, BulkRun, BulkRuns, BulkStep, DrivenRun,
    NewBulkRun,
};
pub use channel_pauses::{ChannelPauses, CountedFailure, NewPause};
pub(crate) use config_changes::NOTIFICATIONS;
pub use config_changes::{BreakerReset, ChangedEntity, ConfigChange, EpochNumbers};
pub use connectors::ConnectorRepository;
pub use consumers::{
    ConsumerContent, ConsumerCredentials, ConsumerPatch, ConsumerSecret, Consumers, NewConsumerKey,
};
pub(crate) use consumers::{consumer_secret_place, list_consumers};
pub(crate) use cron::LedgerQueues;
pub use cron::{
    AlignOutcome, Backlog, ChannelFacts, ClaimBatch, ExhaustedOccurrence, InstantRequest, Ledger,
    MaterialiseOutcome, MaterialiseRequest, OccurrenceCancel, OccurrenceClaim, OccurrenceFilter,
    OccurrencePage, OccurrenceRecord, OccurrenceRow, OpenOccurrenceCancel, ScheduleHistory, ScheduleStatus,
    StartResult,
};
pub use dead_letters::{
    ClaimedLetter, DeadLetter, DeadLetterFilter, DeadLetterPage, DeadLetterRepository, DeadLetterRow,
    DueLetters, LetterShare,
};
pub(crate) use definitions::queries::list as list_definitions;
pub(crate) use definitions::rows::{
    ONLY_VERSION, StoredContent, insert_row, replace_stored_content, stored_contents,
};
pub(crate) use definitions::secrets::{each_secret, reseal, reseal_secret};
pub use definitions::{
    Definition, ImportAction, ImportOutcome, Merge, OnConflict, StoredConnector, Versioned,
};
pub(crate) use definitions::{DefinitionKey, DefinitionRow};
pub use epoch::ConfigEpoch;
pub use error_groups::{
    COUNTED_MINUTES, ChangeScope, ErrorGroupCount, ErrorGroupFilter, ErrorGroupPage, ErrorGroupRow,
    ErrorGroups, RecentErrors,
};
pub(crate) use error_groups::{FailureTally, KnownGroups};
pub use filters::AnyOf;
pub use guard_state::{KeptAnswers, QuotaCounts, QuotaRequest, QuotaReservation, QuotaSlice, QuotaUsage};
pub use job_leases::JobLeases;
pub use keyset::RowKey;
pub use lifecycle::RollbackSource;
pub(crate) use mutation::record;
pub use mutation::{AuditEntry, AuditReceipt, Mutation};
pub(crate) use nodes::list as list_nodes;
pub use nodes::{NewNode, NodeLeases, NodeRow, NodeStatus, StoredFigures};
pub use operator_runs::{OperatorRunClaim, OperatorRunState};
pub use packages::PackageReceipts;
pub use plugins::{NewPlugin, PluginVersion, Plugins};
pub use recordings::{NewRunRecording, RecordingFilter, RecordingRow, Recordings, StoredRunRecording};
pub use references::References;
pub use repository::Repository;
pub use requirements::{ChannelRequirements, PlatformRoute, WorkflowRequirements};
pub use rollouts::{CanaryChange, CanaryReport, CanaryRollout, CanaryRollouts, RolloutOrder, ShadowReport};
pub(crate) use seal::{seal, state_place};
pub(crate) use status_changes::StatusChanges;
pub use token_states::{ExpectedTokens, RefreshLease, SaveOutcome, TokenState, TokenStates};
pub(crate) use traces::TraceWrite;
pub use traces::{
    AcceptedRerun, AdoptedRun, CancelEffect, CancelFailure, CancelOrder, CancelStep, CancelledEnd,
    CancelledRun, DueTime, NewTrace, OpenCancel, OpenTrace, Ownership, QueueShares, RERUN, RenewedWait,
    RerunOrder, RerunVersion, RunTotals, TraceAccess, TraceAttempt, TraceEnd, TraceFailure, TraceMode,
    TracePage, TraceQuery, TraceRecord, TraceRepository, TraceRow, TraceSource, TraceStatus, UnfinishedRun,
    WaitReason, WaitTerms, WaitingCount, WaitingCounts, WaitingWork,
};
pub use webhooks::{
    ClaimedWebhook, DueEndpoint, EndpointRoom, NewWebhookAttempt, NewWebhookEndpoint, RecordedAttempt,
    UnreadableEndpoint, WebhookAttempt, WebhookAttemptEnd, WebhookChange, WebhookClaims, WebhookCounts,
    WebhookDelivery, WebhookDeliveryState, WebhookEndpoint, WebhookEvent, WebhookFilter, WebhookOutcome,
    WebhookReplay, WebhookSecret, WebhookState, WebhookTarget, Webhooks,
};
pub(crate) use webhooks::{abandon_endpoints, webhook_secret_place};

/// Filter and order of a list. Conditions that do not apply to the kind are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityFilter {
    /// Status of the latest version.
    pub status: Option<AnyOf>,
    /// Statuses as lists show them, of which one must hold; any without one. Active is what has an active version,
    /// archived what has none and whose latest version is archived.
    pub shown_statuses: Vec<LifecycleStatus>,
    /// A tag of the row, matched exactly.
    pub tag: Option<String>,
    /// `sync` or `async`; channels only.
    pub channel_type: Option<String>,
    /// Protocol; channels only.
    pub protocol: Option<String>,
    /// Column to sort by; an unknown one means the default.
    pub sort_by: Option<String>,
    /// `asc` or `desc`; any other value means the default.
    pub sort_order: Option<String>,
}

impl EntityFilter {
    /// Returns whether no row can match.
    fn is_impossible(&self) -> bool {
        is_impossible([&self.tag, &self.channel_type, &self.protocol])
            || self.status.as_ref().is_some_and(|status| status.storable().is_empty())
    }

    /// Returns whether the order is descending: as requested, else as the list defines.
    fn descending(&self, default: bool) -> bool {
        match self.sort_order.as_deref() {
            Some("asc") => false,
            Some("desc") => true,
            _ => default,
        }
    }
}

/// Returns an id that is safe in a query. No stored text contains U+0000, and PostgreSQL rejects it; its replacement
/// occurs in no id either.
fn key(id: &str) -> String {
    id.replace('\0', "\u{FFFD}")
}

/// Returns whether a filter value cannot occur in stored text.
fn is_impossible<'f>(filters: impl IntoIterator<Item = &'f Option<String>>) -> bool {
    filters.into_iter().flatten().any(|text| text.contains('\0'))
}

/// Ids in one `IN (…)`: well below the limit of SQLite on bound values.
const IDS_PER_QUERY: usize = 500;

/// Restricts a boxed query to rows with a tag. JSON functions differ by backend.
macro_rules! tagged {
    ($query:expr, $backend:expr, $tag:expr) => {{
        let before = match $backend {
            $crate::config::Backend::Sqlite => "EXISTS (SELECT 1 FROM json_each(tags) t WHERE t.value = ",
            $crate::config::Backend::Postgres => "jsonb_exists(tags::jsonb, ",
        };
        $query.filter(
            diesel::dsl::sql::<diesel::sql_types::Bool>(before)
                .bind::<diesel::sql_types::Text, _>($tag.clone())
                .sql(")"),
        )
    }};
}

/// Sorts a boxed query by a column.
macro_rules! sorted {
    ($query:expr, $column:expr, $descending:expr) => {
        if $descending { $query.order($column.desc()) } else { $query.order($column.asc()) }
    };
}

/// Declares the columns that a query selects, in the order of the tuple that it loads: as a type, and as a value.
macro_rules! column_list {
    ($(#[$doc:meta])* $visibility:vis const $name:ident: $type:ident = $table:ident { $($column:ident,)* }) => {
        $visibility type $type = ($($table::$column,)*);

        $(#[$doc])*
        $visibility const $name: $type = ($($table::$column,)*);
    };
}
pub(crate) use {column_list, sorted, tagged};
