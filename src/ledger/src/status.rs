//! The status and the origin of an occurrence.

use std::fmt;

/// The status of an occurrence. Rows may hold other words, written by another version; no rule applies to those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OccurrenceStatus {
    /// Waits for a worker.
    Pending,
    /// A worker has it and has not begun.
    Claimed,
    /// A worker runs it.
    Running,
    /// Ended well.
    Completed,
    /// Ended otherwise.
    Failed,
    /// Its time passed while nothing was scheduling.
    SkippedMisfire,
    /// Its concurrency key was held by others.
    SkippedSingleton,
}

impl OccurrenceStatus {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Claimed,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::SkippedMisfire,
        Self::SkippedSingleton,
    ];

    /// The name in rows and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::SkippedMisfire => "skipped_misfire",
            Self::SkippedSingleton => "skipped_singleton",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns true if the row does not change any more by itself.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Claimed | Self::Running)
    }

    /// Returns true if an admin may retry the occurrence.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Failed | Self::SkippedMisfire | Self::SkippedSingleton)
    }
}

impl fmt::Display for OccurrenceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The origin of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The schedule.
    Cron,
    /// An admin.
    Manual,
}

impl Trigger {
    /// The name in rows and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Manual => "manual",
        }
    }

    /// The trigger of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Cron, Self::Manual].into_iter().find(|trigger| trigger.name() == name)
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
    }
}
