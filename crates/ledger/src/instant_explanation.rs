//! The explanation of an instant of a schedule: the reason for which it ran, runs, or does not run.
//!
//! The facts are read in one transaction. [`InstantFacts::explain`] decides over them alone.

use chrono::{NaiveDateTime, SecondsFormat, TimeDelta};
use svc_model::ChannelPause;

use crate::cursor::Cursor;
use crate::plan::Missed;
use crate::status::{OccurrenceStatus, Trigger};

/// Difference between the clocks of the node and of the database up to which they agree.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::seconds(1);

/// The version of a channel that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveVersion {
    /// Its number.
    pub version: i64,
    /// The instant since which it serves, in UTC.
    pub since: NaiveDateTime,
}

/// A row of the ledger, as far as an explanation shows it. Instants are UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantRow {
    pub id: String,
    /// The instant at which it is due.
    pub scheduled_for: NaiveDateTime,
    /// Name of its trigger.
    pub trigger: String,
    /// Name of its status.
    pub status: String,
    /// Number of attempts that ran or were requested.
    pub attempt: i64,
    /// The current or last holder.
    pub claimed_by: Option<String>,
    /// End of the lease.
    pub claimed_until: Option<NaiveDateTime>,
    /// Trace of the latest run.
    pub trace_id: Option<String>,
    /// Reason for the failure or the skip.
    pub error_message: Option<String>,
    /// Start of the latest run.
    pub started_at: Option<NaiveDateTime>,
    /// End of the occurrence.
    pub completed_at: Option<NaiveDateTime>,
    /// Name of the paused channel that its run called, and for whose resume it waits.
    pub awaited_channel: Option<String>,
}

/// A run that held a slot of the concurrency key. Instants are UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotHolder {
    /// Id of its occurrence.
    pub occurrence: String,
    /// Name of its channel when its row was written.
    pub channel: String,
    /// The worker that ran it.
    pub node: Option<String>,
    /// Start of its run.
    pub since: Option<NaiveDateTime>,
    /// End of its run; `None` while it runs.
    pub until: Option<NaiveDateTime>,
}

/// The facts about an instant of a schedule. Instants are UTC of the database clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantFacts {
    /// Name of the channel.
    pub channel: String,
    /// The instant that is asked about.
    pub at: NaiveDateTime,
    /// The current instant.
    pub now: NaiveDateTime,
    /// The version that serves; `None` for a channel that is archived or was never activated.
    pub active: Option<ActiveVersion>,
    /// The cursor of the schedule.
    pub cursor: Option<Cursor>,
    /// The row of the instant.
    pub exact: Option<InstantRow>,
    /// The first row that the schedule wrote at the instant or after it.
    pub following: Option<InstantRow>,
    /// The last row before the instant.
    pub previous: Option<InstantRow>,
    /// Number of occurrences of all channels that wait for a worker and were due before the row of the instant.
    pub waiting_before: i64,
    /// The runs that held the slots of the concurrency key when the row of the instant was skipped, else now.
    pub holders: Vec<SlotHolder>,
    /// The pause of the channel.
    pub pause: Option<ChannelPause>,
    /// Reason of the quarantine of the channel.
    pub quarantine: Option<String>,
    /// True if the schedule names the instant; `None` if the schedule cannot be read.
    pub is_due: Option<bool>,
    /// The first instant of the schedule after now.
    pub next: Option<NaiveDateTime>,
    /// The clock of the node, less that of the database.
    pub clock_offset: TimeDelta,
    /// The instant since which no row has been deleted for its age; `None` if rows are kept for ever.
    pub kept_since: Option<NaiveDateTime>,
}

/// The reason for the state of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstantReason {
    /// The schedule does not name the instant.
    NotDue,
    /// The instant is to come.
    Ahead,
    /// The channel has no active version.
    Archived,
    /// The channel is quarantined.
    Quarantined,
    /// The channel is paused, and its cursor does not move.
    Paused,
    /// The instant is due, and no node has recorded it yet.
    Unplanned,
    /// The row of the instant may have been deleted for its age.
    Expired,
    /// The cursor has passed the instant without recording it.
    NotRecorded,
    /// The row of the instant has the reason.
    Recorded,
}

impl InstantReason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::NotDue,
        Self::Ahead,
        Self::Archived,
        Self::Quarantined,
        Self::Paused,
        Self::Unplanned,
        Self::Expired,
        Self::NotRecorded,
        Self::Recorded,
    ];

    /// Returns the name in responses, which have the status of the row in place of [`Recorded`](Self::Recorded).
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotDue => "not_due",
            Self::Ahead => "ahead",
            Self::Archived => "archived",
            Self::Quarantined => "quarantined",
            Self::Paused => "paused",
            Self::Unplanned => "unplanned",
            Self::Expired => "expired",
            Self::NotRecorded => "not_recorded",
            Self::Recorded => "recorded",
        }
    }
}

/// The explanation of an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstantExplanation {
    pub reason: InstantReason,
    /// The reason in one sentence.
    pub sentence: String,
}

impl InstantRow {
    /// Returns the status, if it is one to which the rules apply.
    fn known_status(&self) -> Option<OccurrenceStatus> {
        OccurrenceStatus::parse(&self.status)
    }

    /// Returns true for the row of a range of missed instants that has this one.
    fn sums_up(&self, instant: NaiveDateTime) -> bool {
        let message = self.error_message.as_deref().unwrap_or_default();
        self.known_status() == Some(OccurrenceStatus::SkippedMisfire)
            && Missed::read_range(message).is_some_and(|range| range.contains(&instant))
    }
}

impl InstantFacts {
    /// Returns the row that has the reason: that of the instant, or that of the missed instants that it is one of.
    pub fn recorded(&self) -> Option<&InstantRow> {
        let summary =
            self.following.as_ref().filter(|row| self.is_due != Some(false) && row.sums_up(self.at));
        self.exact.as_ref().or(summary)
    }

    /// Returns true if the clock of the node differs from that of the database, by which schedules run.
    pub fn is_clock_off(&self) -> bool {
        self.clock_offset.abs() > CLOCK_TOLERANCE
    }

    /// Explains the instant.
    pub fn explain(&self) -> InstantExplanation {
        let reason = self.find_reason();
        let mut sentence = self.describe(reason);
        if self.is_clock_off() {
            let millis = self.clock_offset.num_milliseconds();
            let side = if millis > 0 { "ahead of" } else { "behind" };
            sentence +=
                &format!("; the clock of this node is {} ms {side} that of the database", millis.abs());
        }
        if !sentence.ends_with('.') {
            sentence.push('.');
        }
        InstantExplanation { reason, sentence }
    }

    /// Finds the reason: that of the row, or without one the state of the channel, for instants that the cursor has not
    /// passed.
    fn find_reason(&self) -> InstantReason {
        if self.recorded().is_some() {
            return InstantReason::Recorded;
        }
        let is_open = self.is_open();
        if is_open {
            match (&self.active, &self.quarantine, &self.pause) {
                (None, ..) => return InstantReason::Archived,
                (_, Some(_), _) => return InstantReason::Quarantined,
                (.., Some(_)) => return InstantReason::Paused,
                _ => {}
            }
        }
        match self.is_due {
            Some(false) => InstantReason::NotDue,
            _ if self.at > self.now => InstantReason::Ahead,
            _ if is_open => InstantReason::Unplanned,
            _ if self.kept_since.is_some_and(|since| self.at < since) => InstantReason::Expired,
            _ => InstantReason::NotRecorded,
        }
    }

    /// Returns true if the cursor has not passed the instant, or was stopped before it.
    fn is_open(&self) -> bool {
        self.at >= self.now
            || self.cursor.as_ref().is_none_or(|cursor| {
                cursor.next_fire_at <= self.at || cursor.paused_at.is_some_and(|since| since <= self.at)
            })
    }

    fn describe(&self, reason: InstantReason) -> String {
        let (channel, at) = (&self.channel, show(self.at));
        match reason {
            InstantReason::Recorded => match self.recorded() {
                Some(row) => self.describe_row(row),
                None => format!("{at} is on record"),
            },
            InstantReason::NotDue => match self.next {
                Some(next) => format!(
                    "The schedule of channel '{channel}' does not name {at}; its next instant is {}",
                    show(next)
                ),
                None => {
                    format!("The schedule of channel '{channel}' does not name {at}, and has no next instant")
                }
            },
            InstantReason::Ahead => format!("Channel '{channel}' is due at {at}, which is to come"),
            InstantReason::Archived => {
                let since = self.cursor.as_ref().and_then(|cursor| cursor.paused_at);
                let since = since.map(|since| format!(" since {}", show(since))).unwrap_or_default();
                format!(
                    "Channel '{channel}' has no active version{since}, so that none of its instants is planned"
                )
            }
            InstantReason::Quarantined => {
                let reason = self.quarantine.as_deref().unwrap_or_default();
                format!("Channel '{channel}' is quarantined, and {at} is not planned: {reason}")
            }
            InstantReason::Paused => self.describe_pause(),
            InstantReason::Unplanned => self.describe_unplanned(),
            InstantReason::Expired => {
                format!(
                    "The ledger no longer keeps the rows of {at}, so that a run of channel '{channel}' is unknown"
                )
            }
            InstantReason::NotRecorded => self.describe_unrecorded(),
        }
    }

    fn describe_row(&self, row: &InstantRow) -> String {
        let due = format!("The occurrence of channel '{}' due at {}", self.channel, show(row.scheduled_for));
        let attempt = row.attempt;
        let ended = row.completed_at.map(|at| format!(" at {}", show(at))).unwrap_or_default();
        let error = row.error_message.as_deref().unwrap_or("no reason is on record");
        match row.known_status() {
            Some(OccurrenceStatus::Pending) => format!("{due} {}", self.describe_pending(row)),
            Some(OccurrenceStatus::Claimed) => {
                format!("{due} is claimed{} and has not begun", self.describe_lease(row))
            }
            Some(OccurrenceStatus::Running) => {
                let since = row.started_at.map(|at| format!(" since {}", show(at))).unwrap_or_default();
                format!("{due} runs{since}{}", self.describe_lease(row))
            }
            Some(OccurrenceStatus::Completed) => format!("{due} completed{ended} in attempt {attempt}"),
            Some(OccurrenceStatus::Failed) => format!("{due} failed{ended} in attempt {attempt}: {error}"),
            Some(OccurrenceStatus::SkippedMisfire) => {
                let (channel, at) = (&self.channel, show(self.at));
                format!("Channel '{channel}' was due at {at}, which passed before a node planned it: {error}")
            }
            Some(OccurrenceStatus::SkippedSingleton) => {
                format!("{due} was skipped: {error}{}", self.describe_holders())
            }
            _ => format!("{due} is {}", row.status),
        }
    }

    fn describe_pending(&self, row: &InstantRow) -> String {
        if let Some(callee) = &row.awaited_channel {
            return format!("waits for a resume: channel '{callee}', which it calls, is paused");
        }
        if let Some(reason) = &self.quarantine {
            return format!("waits, because the channel is quarantined: {reason}");
        }
        let is_backfilled = row.trigger == Trigger::Backfill.name();
        if is_backfilled && row.claimed_until.is_some_and(|until| until > self.now) {
            return format!("waits for a slot of its concurrency key{}", self.describe_holders());
        }
        match self.waiting_before {
            0 => "waits for a worker, as the longest due of all".to_owned(),
            before => format!("waits for a worker, behind {before} others"),
        }
    }

    fn describe_lease(&self, row: &InstantRow) -> String {
        let node = row.claimed_by.as_deref().map(|node| format!(" by '{node}'")).unwrap_or_default();
        match row.claimed_until {
            Some(until) if until < self.now => {
                format!("{node}, whose lease ended at {}: the next free worker takes it over", show(until))
            }
            Some(until) => format!("{node} under a lease until {}", show(until)),
            None => node,
        }
    }

    fn describe_holders(&self) -> String {
        let holders = self.holders.iter().map(|holder| {
            let node = holder.node.as_deref().map(|node| format!(" on '{node}'")).unwrap_or_default();
            let since = holder.since.map(|since| format!(" since {}", show(since))).unwrap_or_default();
            format!("occurrence {} of channel '{}'{node}{since}", holder.occurrence, holder.channel)
        });
        let holders: Vec<_> = holders.collect();
        if holders.is_empty() { String::new() } else { format!("; the holder was {}", holders.join(" and ")) }
    }

    fn describe_pause(&self) -> String {
        let Some(pause) = &self.pause else { return format!("Channel '{}' is paused", self.channel) };
        let until = pause.until.map(|until| format!(" until {}", show(until.naive()))).unwrap_or_default();
        format!(
            "Channel '{}' is paused since {}{until} by {} ({}), and plans at its resume what passed",
            self.channel,
            show(pause.since.naive()),
            pause.by,
            pause.reason
        )
    }

    fn describe_unrecorded(&self) -> String {
        let (channel, at) = (&self.channel, show(self.at));
        let due = format!("The schedule of channel '{channel}' names {at}, but");
        match self.active.filter(|active| self.at < active.since) {
            Some(ActiveVersion { version, since }) => {
                format!("{due} its version {version} serves only since {}", show(since))
            }
            None => format!("{due} passed it without a record: it was changed, archived or quarantined then"),
        }
    }

    fn describe_unplanned(&self) -> String {
        let (channel, at) = (&self.channel, show(self.at));
        let due = format!("Channel '{channel}' was due at {at}, and no node has recorded it");
        match &self.cursor {
            None => format!("{due}: its schedule has not begun"),
            Some(Cursor { paused_at: Some(since), .. }) => {
                format!("{due}: its cursor is stopped since {}, because no node moved it", show(*since))
            }
            Some(cursor) => format!("{due}: its cursor is at {}", show(cursor.next_fire_at)),
        }
    }
}

/// Returns an instant as sentences show it.
pub(crate) fn show(instant: NaiveDateTime) -> String {
    instant.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests;
