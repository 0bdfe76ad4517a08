//! The audit log: who changed what.

use serde::Serialize;

use super::EntityKind;
use crate::time::Timestamp;

macro_rules! audit_words {
    ($(#[$of:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// The words of all values.
            pub const NAMES: &'static [&'static str] = &[$($word,)*];

            /// Returns the word in rows.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}

audit_words! {
    /// An audited action.
    AuditAction {
        /// The end of a bulk run or of a backtest was ordered.
        Abort = "abort",
        /// A backtest ended.
        BacktestEnd = "backtest_end",
        /// A backtest began.
        BacktestStart = "backtest_start",
        /// A bulk run ended.
        BulkEnd = "bulk_end",
        /// A bulk run began.
        BulkStart = "bulk_start",
        /// Accepted work or an occurrence was cancelled.
        Cancel = "cancel",
        /// A definition or a backup was created.
        Create = "create",
        /// A version was copied to a new draft.
        CreateVersion = "create_version",
        /// A definition was deleted.
        Delete = "delete",
        /// An endpoint of webhooks was disabled after failures.
        Disable = "disable",
        /// The end of a node was ordered.
        Drain = "drain",
        /// An endpoint of webhooks was enabled.
        Enable = "enable",
        /// Definitions were imported.
        Import = "import",
        /// Cached answers were made stale.
        Invalidate = "invalidate",
        /// A version of a package became the current one.
        PackageApplied = "package_applied",
        /// A version of a package is being applied.
        PackageStaged = "package_staged",
        /// A channel was paused, or paused itself.
        Pause = "pause",
        /// Dead letters or recordings were deleted.
        Purge = "purge",
        /// Stored secrets were encrypted under another key.
        Reencrypt = "reencrypt",
        /// Settings and definitions were loaded again.
        Reload = "reload",
        /// A dead letter was made due.
        Requeue = "requeue",
        /// Webhooks were made due again.
        Replay = "replay",
        /// A trace was run again.
        Rerun = "rerun",
        /// A circuit breaker was closed.
        Reset = "reset",
        /// An actor was restarted.
        Restart = "restart",
        /// A channel was resumed, or its pause ran out.
        Resume = "resume",
        /// An occurrence was made due again.
        Retry = "retry",
        /// An earlier version was activated again.
        Rollback = "rollback",
        /// A secret was replaced.
        Rotate = "rotate",
        /// A record was skipped.
        Skip = "skip",
        /// A version was activated, or a connector enabled.
        StatusActive = "status_active",
        /// A version was archived, or a connector disabled.
        StatusArchived = "status_archived",
        /// A workflow was tried, a connector probed, the guards of a channel, or an endpoint of webhooks.
        Test = "test",
        /// A schedule was run by hand.
        Trigger = "trigger",
        /// A definition was changed.
        Update = "update",
        /// The share of a version was changed.
        UpdateRollout = "update_rollout",
    }
}

audit_words! {
    /// A type of audited resources.
    AuditResource {
        /// An actor of the supervision tree.
        Actor = "actor",
        /// A backtest of a workflow or of a channel.
        Backtest = "backtest",
        /// A backup of the database.
        Backup = "backup",
        /// A run of an action on many rows.
        BulkRun = "bulk_run",
        /// The cached answers of channels.
        Cache = "cache",
        /// A channel.
        Channel = "channel",
        /// A circuit breaker.
        CircuitBreaker = "circuit_breaker",
        /// A connector.
        Connector = "connector",
        /// A consumer.
        Consumer = "consumer",
        /// A key of a consumer.
        ConsumerKey = "consumer_key",
        /// An occurrence of a schedule.
        CronOccurrence = "cron_occurrence",
        /// The engine.
        Engine = "engine",
        /// A partition of a Kafka topic.
        KafkaPartition = "kafka_partition",
        /// A node.
        Node = "node",
        /// A package.
        Package = "package",
        /// A plugin.
        Plugin = "plugin",
        /// The recordings of runs.
        Recording = "recording",
        /// A trace.
        Trace = "trace",
        /// The dead letters.
        TraceDlq = "trace_dlq",
        /// An endpoint of webhooks.
        Webhook = "webhook",
        /// A workflow.
        Workflow = "workflow",
    }
}

impl From<EntityKind> for AuditResource {
    fn from(kind: EntityKind) -> Self {
        match kind {
            EntityKind::Workflow => Self::Workflow,
            EntityKind::Channel => Self::Channel,
            EntityKind::Connector => Self::Connector,
        }
    }
}

/// The members of the details of an entry that describe its request: its id, the address and program of the caller, and
/// the context that the caller gave.
pub const AUDIT_ORIGIN: [&str; 4] = ["request_id", "client_ip", "user_agent", "change_context"];

/// An audit entry as it is stored and returned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRow {
    /// Id of the entry.
    pub id: String,
    /// The principal that made the change: the name or the id of an admin key, or `anonymous`.
    pub principal: String,
    /// The action.
    pub action: String,
    /// The type of the changed resource.
    pub resource_type: String,
    /// The id of the changed resource.
    pub resource_id: String,
    /// Details of the change: a string that holds a JSON object, or `null`.
    pub details: Option<String>,
    /// Time of the change.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_kinds_keep_their_audit_words() {
        for kind in [EntityKind::Workflow, EntityKind::Channel, EntityKind::Connector] {
            assert_eq!(AuditResource::from(kind).name(), kind.name());
        }
    }
}
