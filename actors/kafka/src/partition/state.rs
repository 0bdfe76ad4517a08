//! The state of a partition: the record at hand, its attempts, and the offset to commit. Pure, no I/O.

use std::collections::VecDeque;
use std::time::Duration;

use svc_model::Timestamp;
use tokio::time::Instant;

/// Longest delay between two attempts at a record that failed.
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// First and longest delay of a record that its channel could not take: capacity comes back soon.
const FIRST_DEFERRAL: Duration = Duration::from_millis(100);
const LONGEST_DEFERRAL: Duration = Duration::from_secs(5);
/// Maximum number of records that had their attempts and are not known to be committed. It bounds the records
/// that run again after a crash. A commit takes a round trip to the brokers, which at 20 ms still leaves room
/// for 25,000 records a second.
const MAX_UNCONFIRMED: usize = 512;

/// The phase of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionPhase {
    /// No record is at hand.
    Idle,
    /// A record runs.
    Running,
    /// The next record waits until the brokers confirm commits.
    Committing,
    /// The channel could not take the record; it is offered again.
    Deferred,
    /// The record failed; another attempt follows.
    Retrying,
    /// The record used up its budget of retries and is fetched again.
    Blocked,
    /// The partition is given up.
    Stopping,
}

impl PartitionPhase {
    /// Returns the name in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Committing => "committing",
            Self::Deferred => "deferred",
            Self::Retrying => "retrying",
            Self::Blocked => "blocked",
            Self::Stopping => "stopping",
        }
    }
}

/// The bounds of the attempts at a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryBudget {
    /// Time that a record may be held before it is fetched again.
    pub(crate) total: Duration,
    /// Longest duration of an attempt.
    pub(crate) attempt: Duration,
}

impl RetryBudget {
    /// Returns the budget of consumers that must poll within `max_poll_interval`: 80 % of it.
    pub(crate) fn new(max_poll_interval: Duration, attempt: Duration) -> Self {
        Self { total: max_poll_interval * 4 / 5, attempt }
    }

    fn allows(&self, spent: Duration, delay: Duration) -> bool {
        spent.saturating_add(delay).saturating_add(self.attempt) <= self.total
    }
}

/// The step after an attempt that did not settle the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryStep {
    /// Another attempt after this delay.
    After(Duration),
    /// The record is fetched again, for another attempt after this delay.
    SeekBack(Duration),
}

/// A record that an attempt did not settle.
#[derive(Clone, Debug)]
pub(crate) struct HeldRecord {
    pub(crate) offset: i64,
    /// Time of the first attempt that did not settle it.
    pub(crate) since: Timestamp,
    held_at: Instant,
    /// Time since which it is held in memory.
    round_at: Instant,
    /// Number of times that it was to be fetched again.
    pub(crate) rounds: u32,
    pub(crate) attempts: u32,
    pub(crate) failures: u32,
    deferrals: u32,
    pub(crate) last_error: String,
    pub(crate) is_failure_traced: bool,
}

/// Records that the client cannot unpack, at which a partition waits.
#[derive(Clone, Debug)]
pub(crate) struct UnreadableRecords {
    /// The first offset that the client gets no record of.
    pub(crate) offset: i64,
    /// The error of the client.
    pub(crate) reason: String,
    /// Time since which it is known.
    pub(crate) since: Timestamp,
}

/// The state of an assigned partition.
#[derive(Debug)]
pub(crate) struct PartitionState {
    phase: PartitionPhase,
    budget: RetryBudget,
    held: Option<HeldRecord>,
    current: Option<i64>,
    /// Offset of the first record that was begun.
    first: Option<i64>,
    /// Next offset to commit: one after the last record that is done.
    done: Option<i64>,
    /// The part of `done` that a commit was sent for.
    sent: Option<i64>,
    /// The part of `done` that the brokers have.
    committed: Option<i64>,
    /// Offsets of the records whose attempts are over and that the brokers are not known to have.
    unconfirmed: VecDeque<i64>,
}

impl PartitionState {
    pub(crate) fn new(budget: RetryBudget) -> Self {
        Self {
            phase: PartitionPhase::Idle,
            budget,
            held: None,
            current: None,
            first: None,
            done: None,
            sent: None,
            committed: None,
            unconfirmed: VecDeque::new(),
        }
    }

    /// Begins an attempt at a record.
    pub(crate) fn begin(&mut self, offset: i64, now: Instant) {
        match &mut self.held {
            Some(held) if held.offset == offset => {
                if self.phase == PartitionPhase::Blocked {
                    held.round_at = now;
                }
            }
            _ => self.held = None,
        }
        self.current = Some(offset);
        self.first.get_or_insert(offset);
        self.set_phase(PartitionPhase::Running);
    }

    /// Ends a record: its attempts are over. The offset follows with [`settle`](Self::settle), once everything
    /// that it waits for is stored.
    pub(crate) fn finish(&mut self, offset: i64) {
        self.held = None;
        self.current = None;
        self.unconfirmed.push_back(offset);
        self.set_phase(PartitionPhase::Idle);
    }

    /// Notes that a record is done, and every one before it.
    pub(crate) fn settle(&mut self, offset: i64) {
        self.done = Some(offset + 1);
    }

    /// Returns the number of records that may begin before the brokers confirm a commit.
    pub(crate) fn room(&mut self) -> usize {
        let room = MAX_UNCONFIRMED.saturating_sub(self.unconfirmed.len());
        if room == 0 {
            self.set_phase(PartitionPhase::Committing);
        }
        room
    }

    /// Notes a failed attempt at the record at hand.
    pub(crate) fn fail(&mut self, error: String, now: Instant) -> RetryStep {
        let record = self.hold(error, now);
        record.failures += 1;
        let delay = exponential_delay(Duration::from_secs(1), record.failures, LONGEST_RETRY);
        self.retry(delay, PartitionPhase::Retrying, now)
    }

    /// Notes that the channel could not take the record at hand.
    pub(crate) fn defer(&mut self, reason: String, now: Instant) -> RetryStep {
        let record = self.hold(reason, now);
        record.deferrals += 1;
        let delay = exponential_delay(FIRST_DEFERRAL, record.deferrals, LONGEST_DEFERRAL);
        self.retry(delay, PartitionPhase::Deferred, now)
    }

    fn hold(&mut self, error: String, now: Instant) -> &mut HeldRecord {
        let offset = self.current.unwrap_or_default();
        let held = self.held.get_or_insert_with(|| HeldRecord {
            offset,
            since: Timestamp::now(),
            held_at: now,
            round_at: now,
            rounds: 0,
            attempts: 0,
            failures: 0,
            deferrals: 0,
            last_error: String::new(),
            is_failure_traced: false,
        });
        held.attempts += 1;
        held.last_error = error;
        held
    }

    fn retry(&mut self, delay: Duration, phase: PartitionPhase, now: Instant) -> RetryStep {
        let spent = self.held.as_ref().map_or(Duration::ZERO, |held| now.duration_since(held.round_at));
        if self.budget.allows(spent, delay) {
            self.set_phase(phase);
            return RetryStep::After(delay);
        }
        if let Some(held) = &mut self.held {
            held.rounds += 1;
        }
        self.set_phase(PartitionPhase::Blocked);
        RetryStep::SeekBack(delay)
    }

    /// Notes that the failure of the record at hand has its trace.
    pub(crate) fn mark_failure_traced(&mut self) {
        if let Some(held) = &mut self.held {
            held.is_failure_traced = true;
        }
    }

    /// Gives the partition up: no further attempt begins.
    pub(crate) fn stop(&mut self) {
        self.phase = PartitionPhase::Stopping;
    }

    fn set_phase(&mut self, phase: PartitionPhase) {
        if self.phase != PartitionPhase::Stopping {
            self.phase = phase;
        }
    }

    /// Returns the offset to commit, and notes that it is sent; `None` if all that is done was sent.
    pub(crate) fn take_commit(&mut self) -> Option<i64> {
        let due = self.done.filter(|done| self.sent != Some(*done))?;
        self.sent = Some(due);
        Some(due)
    }

    /// Notes the answer to a commit. One that failed is due again.
    pub(crate) fn record_commit(&mut self, offset: i64, is_stored: bool) {
        if is_stored {
            self.committed = Some(offset);
            let confirmed = self.unconfirmed.partition_point(|done| *done < offset);
            self.unconfirmed.drain(..confirmed);
        } else {
            self.sent = self.committed;
        }
    }

    /// Returns the offset to commit, whether or not it was sent, that the brokers are not known to have.
    pub(crate) fn unconfirmed_offset(&self) -> Option<i64> {
        self.done.filter(|done| self.committed != Some(*done))
    }

    /// Returns `true` if no record is at hand and all that had their attempts are done.
    pub(crate) fn is_settled(&self) -> bool {
        let last = self.unconfirmed.back();
        self.current.is_none() && last.is_none_or(|offset| self.done.is_some_and(|done| *offset < done))
    }

    /// Notes the offset that the brokers have from before.
    pub(crate) fn record_committed(&mut self, offset: i64) {
        self.committed.get_or_insert(offset);
    }

    pub(crate) fn phase(&self) -> PartitionPhase {
        self.phase
    }

    pub(crate) fn held_record(&self) -> Option<&HeldRecord> {
        self.held.as_ref()
    }

    pub(crate) fn committed_offset(&self) -> Option<i64> {
        self.committed
    }

    /// Returns the next offset that is not done, as far as it is known.
    pub(crate) fn position(&self) -> Option<i64> {
        self.current.or(self.done).or(self.committed)
    }

    /// Returns `true` for the record that an attempt did not settle.
    pub(crate) fn is_held(&self, offset: i64) -> bool {
        self.held.as_ref().is_some_and(|held| held.offset == offset)
    }

    /// Goes back to the first record that was begun and is not known to be done, and returns its offset;
    /// `None` before the first record.
    pub(crate) fn go_back(&mut self) -> Option<i64> {
        let undone = self.done.or(self.first)?;
        self.unconfirmed.retain(|offset| *offset < undone);
        Some(undone)
    }

    /// Returns the error of a record that fails again and again, and the time for which it does.
    pub(crate) fn trouble(&self, now: Instant) -> Option<(&HeldRecord, Duration)> {
        let record = self.held.as_ref().filter(|held| held.failures >= 2)?;
        Some((record, now.duration_since(record.held_at)))
    }
}

/// Returns `first`, doubled for every attempt after the first, at most `longest`.
fn exponential_delay(first: Duration, attempt: u32, longest: Duration) -> Duration {
    let factor = 2_u32.checked_pow(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

#[cfg(test)]
mod tests;
