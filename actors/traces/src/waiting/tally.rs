//! The number of rows that wait, as far as this node knows: as last counted, and what it accepted since.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use svc_store::{StoreError, TraceRepository, WaitReason, WaitingCounts};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::metrics::TraceMetrics;

/// Shortest time between two counts.
const COUNTING: Duration = Duration::from_secs(1);
/// Shortest time between two counts while submissions are refused.
const COUNTING_WHEN_FULL: Duration = Duration::from_millis(100);
/// Share of the time that counting may take: one of this many parts.
const COUNTING_SHARE: u32 = 20;

/// Rows by channel and reason.
type Rows = BTreeMap<(String, WaitReason), u64>;

/// The rows that wait, and the wake-up of the task that claims them.
pub(crate) struct WaitingTally {
    /// Most rows of the service.
    most: u64,
    state: Mutex<TallyState>,
    /// Locked while the rows are counted.
    counting: tokio::sync::Mutex<()>,
    /// Notified of each submission.
    submitted: Notify,
    /// Notified of each change that may free waiting work.
    woken: Notify,
    /// True if a channel was resumed since the last count, which frees rows that rest.
    has_resumed: AtomicBool,
    metrics: TraceMetrics,
}

#[derive(Default)]
struct TallyState {
    /// The rows as last counted.
    counted: Rows,
    /// The rows of each channel as last counted that rest until a paused channel is resumed. They take room, and no look
    /// finds them before.
    resting: BTreeMap<String, u64>,
    /// The rows that this node had wait since; those of the time of a count are counted twice until the next.
    added: Rows,
    /// The rows that this node is writing.
    reserved: Rows,
    /// The rows that this node had wait before the count that goes on.
    before: Rows,
    retrying: u64,
    counted_at: Option<Instant>,
    /// Time that the last count took.
    took: Duration,
}

impl TallyState {
    fn rows(&self) -> impl Iterator<Item = (&(String, WaitReason), &u64)> {
        self.counted.iter().chain(&self.before).chain(&self.added).chain(&self.reserved)
    }

    fn has_room(&self, channel: &str, (of_service, of_channel): (u64, u64)) -> bool {
        let resting: u64 = self.resting.values().sum();
        let total = self.rows().map(|(_, rows)| rows).sum::<u64>().saturating_add(resting);
        let of_this = |((id, _), rows): (&(String, WaitReason), &u64)| if id == channel { *rows } else { 0 };
        let resting = self.resting.get(channel).copied().unwrap_or_default();
        let of_this = self.rows().map(of_this).sum::<u64>().saturating_add(resting);
        total.saturating_add(self.retrying) < of_service && of_this < of_channel
    }

    fn is_stale(&self, pause: Duration) -> bool {
        self.counted_at.is_none_or(|at| at.elapsed() >= pause.max(self.took * COUNTING_SHARE))
    }
}

impl WaitingTally {
    pub(crate) fn new(most: u64, metrics: TraceMetrics) -> Self {
        metrics.set_waiting(&WaitingCounts::default());
        let (state, counting) = (Mutex::default(), tokio::sync::Mutex::new(()));
        let (submitted, woken, has_resumed) = (Notify::new(), Notify::new(), AtomicBool::new(false));
        Self { most, state, counting, submitted, woken, has_resumed, metrics }
    }

    /// Takes room for one more row of a channel, of which at most `most_of_channel` may wait. Counts anew before it
    /// refuses. Returns `false` if there is no room.
    pub(super) async fn reserve(
        &self,
        store: &TraceRepository,
        (channel, reason): (&str, WaitReason),
        most_of_channel: u64,
    ) -> bool {
        if self.try_reserve((channel, reason), most_of_channel) {
            return true;
        }
        let Ok(_turn) = self.counting.try_lock() else { return false };
        let is_stale = self.state.lock().is_stale(COUNTING_WHEN_FULL);
        if !is_stale || self.count(store).await.is_err() {
            return false;
        }
        self.try_reserve((channel, reason), most_of_channel)
    }

    fn try_reserve(&self, (channel, reason): (&str, WaitReason), most_of_channel: u64) -> bool {
        let mut state = self.state.lock();
        let has_room = state.has_room(channel, (self.most, most_of_channel));
        if has_room {
            *state.reserved.entry((channel.to_owned(), reason)).or_default() += 1;
        }
        has_room
    }

    /// Gives back the room of a row that was not written.
    pub(super) fn release(&self, channel: &str, reason: WaitReason) {
        let (mut state, row) = (self.state.lock(), (channel.to_owned(), reason));
        if let Some(rows) = state.reserved.get_mut(&row) {
            *rows -= 1;
            if *rows == 0 {
                state.reserved.remove(&row);
            }
        }
    }

    /// Counts a row that was written into its room, and has the work claimed that may run now.
    pub(super) fn confirm(&self, channel: &str, reason: WaitReason) {
        self.add(channel, reason);
        self.release(channel, reason);
        self.announce(reason);
    }

    /// Has the work claimed that may run now, because a row was written that waits for this reason.
    pub(super) fn announce(&self, reason: WaitReason) {
        if reason != WaitReason::Paused {
            self.submitted.notify_one();
        }
    }

    /// Adds a row that this node had wait.
    pub(crate) fn add(&self, channel: &str, reason: WaitReason) {
        *self.state.lock().added.entry((channel.to_owned(), reason)).or_default() += 1;
    }

    /// Has the work claimed that may run now: a share is free, or a channel was resumed.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    /// Has the work claimed that waited for the resume of a channel.
    pub(crate) fn wake_resumed(&self) {
        self.has_resumed.store(true, Ordering::Release);
        self.wake();
    }

    /// Waits for a submission. Cancel-safe.
    pub(super) async fn wait_for_submission(&self) {
        self.submitted.notified().await;
    }

    /// Waits for a change that may free waiting work. Cancel-safe.
    pub(super) async fn wait_for_wake(&self) {
        self.woken.notified().await;
    }

    /// Counts the rows, unless they were counted a short while ago and no channel was resumed since.
    pub(super) async fn count_if_stale(&self, store: &TraceRepository) -> Result<(), StoreError> {
        let Ok(_turn) = self.counting.try_lock() else { return Ok(()) };
        let is_stale = self.state.lock().is_stale(COUNTING);
        if !self.has_resumed.swap(false, Ordering::AcqRel) {
            return if is_stale { self.count(store).await } else { Ok(()) };
        }
        let counted = self.count(store).await;
        if counted.is_err() {
            // The next look tries again.
            self.has_resumed.store(true, Ordering::Release);
        }
        counted
    }

    /// Counts the rows. The caller has the lock.
    async fn count(&self, store: &TraceRepository) -> Result<(), StoreError> {
        let begun = Instant::now();
        {
            let mut state = self.state.lock();
            let added = std::mem::take(&mut state.added);
            for (row, rows) in added {
                *state.before.entry(row).or_default() += rows;
            }
        }
        let counts = store.count_waiting().await?;
        self.metrics.set_waiting(&counts);
        self.replace(counts, begun);
        Ok(())
    }

    fn replace(&self, counts: WaitingCounts, begun: Instant) {
        let mut state = self.state.lock();
        state.counted.clear();
        state.resting.clear();
        for count in counts.waiting {
            let channel = count.channel_id.unwrap_or_default();
            match count.rests {
                true => *state.resting.entry(channel).or_default() += count.rows,
                false => *state.counted.entry((channel, count.reason)).or_default() += count.rows,
            }
        }
        state.before.clear();
        state.retrying = counts.retrying;
        state.counted_at = Some(Instant::now());
        state.took = begun.elapsed();
    }

    /// Returns `true` if no row is known to wait.
    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().rows().all(|(_, rows)| *rows == 0)
    }

    /// Returns the channels with rows that wait for `reason`, as far as this node knows.
    pub(super) fn channels(&self, reason: WaitReason) -> Vec<String> {
        let state = self.state.lock();
        let waits = state.rows().filter(|((id, of), rows)| *of == reason && **rows > 0 && !id.is_empty());
        let mut channels: Vec<String> = waits.map(|((id, _), _)| id.clone()).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Forgets the rows of a channel that wait for `reason`, of which a look found none.
    pub(super) fn forget(&self, channel: &str, reason: WaitReason) {
        let (mut state, row) = (self.state.lock(), (channel.to_owned(), reason));
        state.counted.remove(&row);
        state.before.remove(&row);
    }
}

#[cfg(test)]
mod tests {
    use svc_store::WaitingCount;

    use super::*;

    fn counts(rows: u64, retrying: u64) -> WaitingCounts {
        let waiting = vec![WaitingCount {
            reason: WaitReason::Share,
            channel_id: Some("orders".into()),
            rows,
            rests: false,
        }];
        WaitingCounts { waiting, retrying, resting_retries: 0 }
    }

    #[test]
    fn rows_beyond_the_bounds_have_no_room() {
        let tally = WaitingTally::new(5, TraceMetrics::default());
        tally.replace(counts(2, 1), Instant::now());
        let reserve = |channel, most| tally.try_reserve((channel, WaitReason::Scheduled), most);
        assert!(!reserve("orders", 2), "those of the channel are full");
        assert!(reserve("orders", 3) && reserve("other", 3));
        assert!(!reserve("third", 3), "those of the service are full, with what is retried");
        tally.release("other", WaitReason::Scheduled);
        assert!(reserve("third", 3));
        tally.confirm("orders", WaitReason::Scheduled);
        assert_eq!(tally.channels(WaitReason::Share), ["orders"]);
        tally.replace(counts(0, 0), Instant::now());
        assert!(!tally.is_empty(), "what was accepted since waits");
    }

    #[test]
    fn requeued_letter_takes_room_before_its_count() {
        let tally = WaitingTally::new(1, TraceMetrics::default());
        let reserve = || tally.try_reserve(("", WaitReason::Paused), u64::MAX);
        assert!(reserve());
        tally.confirm("", WaitReason::Paused);
        assert!(!reserve());
        assert!(tally.channels(WaitReason::Paused).is_empty(), "no channel is looked at for it");
    }

    #[test]
    fn resting_rows_take_room_and_no_look() {
        let tally = WaitingTally::new(10, TraceMetrics::default());
        let (reason, channel_id) = (WaitReason::Paused, Some("orders".to_owned()));
        let waiting = vec![WaitingCount { reason, channel_id, rows: 2, rests: true }];
        tally.replace(WaitingCounts { waiting, ..WaitingCounts::default() }, Instant::now());
        assert!(tally.is_empty() && tally.channels(WaitReason::Paused).is_empty());
        assert!(!tally.try_reserve(("orders", WaitReason::Scheduled), 2));
        assert!(tally.try_reserve(("orders", WaitReason::Scheduled), 3));
    }
}
