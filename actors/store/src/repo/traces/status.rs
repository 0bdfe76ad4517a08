//! The origins and the states of runs.

use svc_model::RunEnd;

/// The origin of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceMode {
    /// A request that waits for its answer.
    Sync,
    /// A submission that is answered before it runs.
    Async,
    /// A record of a Kafka topic.
    Kafka,
    /// An occurrence of a schedule.
    Cron,
}

impl TraceMode {
    /// Returns the name in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Kafka => "kafka",
            Self::Cron => "cron",
        }
    }

    /// All modes.
    pub const ALL: [Self; 4] = [Self::Sync, Self::Async, Self::Kafka, Self::Cron];

    /// Returns the mode with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceStatus {
    /// Accepted, not started.
    Pending,
    /// Accepted, due later.
    Scheduled,
    /// Accepted, and kept until its channel may run it.
    Waiting,
    /// Started.
    Running,
    /// An attempt at accepted work failed, another one follows.
    Retrying,
    /// Ended successfully.
    Completed,
    /// Ended with a failure.
    Failed,
    /// Ended by an operator.
    Cancelled,
}

impl From<RunEnd> for TraceStatus {
    fn from(end: RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Completed,
            RunEnd::Failed | RunEnd::TimedOut => Self::Failed,
            RunEnd::Cancelled => Self::Cancelled,
        }
    }
}

impl TraceStatus {
    /// All statuses.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Scheduled,
        Self::Waiting,
        Self::Running,
        Self::Retrying,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the name in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Scheduled => "scheduled",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the name in responses: work that waits for a resume or a share of its channel is pending.
    pub const fn public_name(self) -> &'static str {
        match self {
            Self::Waiting => Self::Pending.name(),
            other => other.name(),
        }
    }

    /// Returns the name in responses of a status as a row has it.
    pub fn to_public(name: String) -> String {
        if name == Self::Waiting.name() { Self::Pending.name().to_owned() } else { name }
    }

    /// Returns the names in rows of a status as requests name it.
    pub fn of_public(name: &str) -> Vec<&'static str> {
        Self::ALL.iter().filter(|status| status.public_name() == name).map(|status| status.name()).collect()
    }

    /// Returns the status with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns `true` for a status that does not change by itself any more.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
