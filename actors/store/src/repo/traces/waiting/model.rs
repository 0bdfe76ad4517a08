//! The data of accepted work that waits in the database.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use svc_model::Timestamp;
use uuid::Uuid;

use crate::repo::traces::TraceStatus;

/// The reason for which accepted work waits in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitReason {
    /// Its channel is paused.
    Paused,
    /// It is due later.
    Scheduled,
    /// As much of its channel runs as may run at once.
    Share,
}

impl WaitReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Paused, Self::Scheduled, Self::Share];

    /// Returns the name in rows and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Scheduled => "scheduled",
            Self::Share => "share",
        }
    }

    /// Returns the reason with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Returns the status of work that waits for this reason.
    pub const fn status(self) -> TraceStatus {
        match self {
            Self::Scheduled => TraceStatus::Scheduled,
            Self::Paused | Self::Share => TraceStatus::Waiting,
        }
    }
}

/// An instant on the clock of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueTime {
    /// That instant.
    At(Timestamp),
    /// This long after the write.
    After(Duration),
}

/// The terms under which accepted work waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitTerms {
    pub reason: WaitReason,
    /// The instant before which it does not run.
    pub due: Option<DueTime>,
    /// The key of which it takes a share while it runs; `None` if its channel has no shares, empty for a share of the
    /// channel alone.
    pub share: Option<String>,
}

impl WaitTerms {
    /// Returns the instant before which the work does not run, if it is one.
    pub(in crate::repo::traces) fn instant(&self) -> Option<NaiveDateTime> {
        match self.due? {
            DueTime::At(instant) => Some(instant.naive()),
            DueTime::After(_) => None,
        }
    }

    /// Returns the seconds from the write to that instant, if they are given instead.
    pub(in crate::repo::traces) fn delay(&self) -> Option<f64> {
        match self.due? {
            DueTime::At(_) => None,
            DueTime::After(delay) => Some(delay.as_secs_f64()),
        }
    }
}

/// The wait of work that is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewedWait {
    pub reason: WaitReason,
    /// The paused channel for whose resume it waits.
    pub awaited_channel: Option<Arc<str>>,
    /// The time after which it is looked at; of work that waits for a resume, if the channel is not paused any more. At
    /// once without one.
    pub delay: Option<Duration>,
}

/// Accepted work that waits, as far as the decision about it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingWork {
    /// Id of the trace.
    pub id: Uuid,
    pub channel_id: Option<String>,
    /// Name of its channel when it was accepted.
    pub channel: String,
    /// The channel of which it takes a share.
    pub queue_channel: Option<String>,
}

/// The shares of a channel: its accepted work that may have been taken at once, over all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueShares {
    pub channel_id: String,
    /// Most work of one key; `None` for no bound.
    pub per_key: Option<u64>,
    /// Most work of all keys; `None` for no bound.
    pub total: Option<u64>,
}

/// Number of rows of a channel that wait for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCount {
    pub reason: WaitReason,
    pub channel_id: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// True if they rest until a paused channel is resumed, which frees them.
    pub rests: bool,
}

/// Accepted work of the whole service that waits in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitingCounts {
    /// The rows that wait, by reason and channel.
    pub waiting: Vec<WaitingCount>,
    /// The work whose next attempt is to come.
    pub retrying: u64,
    /// The part of it that rests until a paused channel is resumed.
    pub resting_retries: u64,
}
