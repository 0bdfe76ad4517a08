//! The status and the trigger of an occurrence.

use std::fmt;

use svc_model::RunEnd;

/// The status of an occurrence. Rows written by another version may hold other values; no rule applies to
/// those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OccurrenceStatus {
    /// Waits for a worker.
    Pending,
    /// Claimed by a worker, not yet started.
    Claimed,
    /// Run by a worker.
    Running,
    /// Ended successfully.
    Completed,
    /// Ended with a failure.
    Failed,
    /// Skipped: its time passed while no scheduler was active.
    SkippedMisfire,
    /// Skipped: every slot of its concurrency key was held.
    SkippedSingleton,
    /// Ended by an administrator.
    Cancelled,
}

impl OccurrenceStatus {
    /// All statuses.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Claimed,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::SkippedMisfire,
        Self::SkippedSingleton,
        Self::Cancelled,
    ];

    /// Returns the name in rows and responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::SkippedMisfire => "skipped_misfire",
            Self::SkippedSingleton => "skipped_singleton",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the status with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns whether the row changes only on request.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Claimed | Self::Running)
    }

    /// Returns whether the row was ended without a run, because its instant passed or its key was held.
    pub const fn is_skipped(self) -> bool {
        matches!(self, Self::SkippedMisfire | Self::SkippedSingleton)
    }

    /// Returns whether another attempt may be requested.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Failed | Self::SkippedMisfire | Self::SkippedSingleton | Self::Cancelled)
    }
}

impl From<RunEnd> for OccurrenceStatus {
    fn from(end: RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Completed,
            RunEnd::Failed | RunEnd::TimedOut => Self::Failed,
            RunEnd::Cancelled => Self::Cancelled,
        }
    }
}

impl fmt::Display for OccurrenceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The trigger of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The schedule.
    Cron,
    /// An administrator.
    Manual,
    /// A backfill of missed instants.
    Backfill,
}

impl Trigger {
    /// Returns the name in rows and responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Manual => "manual",
            Self::Backfill => "backfill",
        }
    }

    /// Returns the trigger with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Cron, Self::Manual, Self::Backfill].into_iter().find(|trigger| trigger.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_what_it_was_written_for() {
        for status in OccurrenceStatus::ALL {
            assert_eq!(OccurrenceStatus::parse(status.name()), Some(status));
            assert!(status.is_terminal() || !status.is_retryable());
        }
        assert_eq!(OccurrenceStatus::parse("paused"), None);
        assert_eq!(Trigger::parse("manual"), Some(Trigger::Manual));
        assert_eq!(Trigger::parse("backfill"), Some(Trigger::Backfill));
    }

    #[test]
    fn timed_out_run_is_a_failed_occurrence() {
        assert_eq!(OccurrenceStatus::from(RunEnd::TimedOut), OccurrenceStatus::Failed);
        assert_eq!(OccurrenceStatus::from(RunEnd::Completed), OccurrenceStatus::Completed);
    }
}
