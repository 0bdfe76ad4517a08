//! The queue of recorded runs, which are written after their answers, when nothing else waits. A run never waits for it: a
//! recording that finds the queue full is dropped and counted.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slog::{Logger, warn};
use svc_store::{NewRunRecording, Recordings, StoreError};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use crate::backoff::DATABASE_BACKOFF;
use crate::metrics::TraceMetrics;

/// Recordings that may wait.
const MOST_ROWS: usize = 10_000;
/// Bytes of recordings that may wait: 32 MiB.
const MOST_BYTES: usize = 32 << 20;
/// Recordings of one write.
const BATCH: usize = 64;
/// Attempts of a write while the database is away.
const ATTEMPTS: usize = 5;
/// The time after which the recordings of a day are counted again: other nodes write some too.
const COUNT_LIFETIME: Duration = Duration::from_secs(10);
/// Parts of the room of a day. After each of them the recordings are counted again.
const ROOM_PARTS: u64 = 64;

/// A recording, and the number that its channel may have of this day.
#[derive(Debug)]
pub(crate) struct QueuedRecording {
    pub(crate) row: NewRunRecording,
    pub(crate) max_per_day: u64,
}

/// The recordings that wait. They survive a restart of the actor.
#[derive(Debug, Default)]
pub(crate) struct RecordingQueue {
    waiting: Mutex<WaitingRecordings>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct WaitingRecordings {
    rows: VecDeque<QueuedRecording>,
    bytes: usize,
}

impl RecordingQueue {
    /// Queues a recording. Returns `false` if there is no room.
    pub(crate) fn push(&self, recording: QueuedRecording) -> bool {
        let bytes = recording.row.recording.len();
        {
            let waiting = &mut *self.waiting.lock();
            if waiting.rows.len() >= MOST_ROWS || waiting.bytes + bytes > MOST_BYTES {
                return false;
            }
            waiting.bytes += bytes;
            waiting.rows.push_back(recording);
        }
        self.wake.notify_one();
        true
    }

    fn take_batch(&self) -> Vec<QueuedRecording> {
        let waiting = &mut *self.waiting.lock();
        let count = waiting.rows.len().min(BATCH);
        let batch: Vec<_> = waiting.rows.drain(..count).collect();
        waiting.bytes -= batch.iter().map(|recording| recording.row.recording.len()).sum::<usize>();
        batch
    }

    /// Writes batches until the order to stop, then the rest of the queue.
    pub(crate) async fn write(&self, mut writer: RecordingWriter, mut stop: watch::Receiver<bool>) {
        loop {
            let batch = self.take_batch();
            if !batch.is_empty() {
                writer.write(batch).await;
                continue;
            }
            tokio::select! {
                biased;
                () = self.wake.notified() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }
}

/// The recordings of a channel on one day.
struct DayCount {
    /// Those that the database had.
    counted: u64,
    counted_at: Instant,
    /// Those that were taken since.
    taken: u64,
}

impl DayCount {
    /// Returns `true` if the database must be asked again: other nodes take a part of the room, too.
    fn is_due(&self, max_per_day: u64) -> bool {
        let room = max_per_day.saturating_sub(self.counted);
        let is_part_taken = room > 0 && self.taken >= room.div_ceil(ROOM_PARTS);
        is_part_taken || self.counted_at.elapsed() >= COUNT_LIFETIME
    }
}

/// Writes recordings, as many of a day as their channels may have.
pub(crate) struct RecordingWriter {
    store: Recordings,
    metrics: TraceMetrics,
    log: Logger,
    counts: HashMap<Arc<str>, DayCount>,
}

impl RecordingWriter {
    pub(crate) fn new(store: Recordings, metrics: TraceMetrics, log: Logger) -> Self {
        Self { store, metrics, log, counts: HashMap::new() }
    }

    async fn write(&mut self, batch: Vec<QueuedRecording>) {
        let mut rows = Vec::with_capacity(batch.len());
        for QueuedRecording { row, max_per_day } in batch {
            if self.counts.get(&row.channel_id).is_none_or(|day| day.is_due(max_per_day)) {
                // Those before it count too.
                self.store_rows(mem::take(&mut rows)).await;
                self.count_day(&row.channel_id).await;
            }
            match self.takes_place(&row.channel_id, max_per_day) {
                true => rows.push(row),
                false => self.metrics.count_recording("max_per_day"),
            }
        }
        self.store_rows(rows).await;
    }

    async fn store_rows(&self, rows: Vec<NewRunRecording>) {
        if rows.is_empty() {
            return;
        }
        let count = rows.len();
        let outcome = match self.insert(rows).await {
            Ok(()) => "stored",
            Err(error) => {
                warn!(self.log, "recordings were not stored"; "count" => count, "error" => %error);
                "failed"
            }
        };
        (0..count).for_each(|_| self.metrics.count_recording(outcome));
    }

    /// Counts the recordings of today. While the database is away the last count holds: the write decides.
    async fn count_day(&mut self, channel_id: &Arc<str>) {
        let known = self.counts.get(channel_id).map_or(0, |day| day.counted.saturating_add(day.taken));
        let counted = self.store.count_today(channel_id).await.unwrap_or(known);
        let day = DayCount { counted, counted_at: Instant::now(), taken: 0 };
        self.counts.insert(Arc::clone(channel_id), day);
    }

    /// Takes a place among the recordings of today, if the channel may have another one.
    fn takes_place(&mut self, channel_id: &Arc<str>, max_per_day: u64) -> bool {
        let has_room = |day: &&mut DayCount| day.counted.saturating_add(day.taken) < max_per_day;
        let Some(day) = self.counts.get_mut(channel_id).filter(has_room) else { return false };
        day.taken += 1;
        true
    }

    /// Writes rows, with several attempts while the database is away.
    async fn insert(&self, rows: Vec<NewRunRecording>) -> Result<(), StoreError> {
        let mut backoff = DATABASE_BACKOFF.delays();
        for _ in 1..ATTEMPTS {
            match self.store.insert(rows.clone()).await {
                Err(error) if error.is_outage() => sleep(backoff.next_delay()).await,
                ended => return ended,
            }
        }
        self.store.insert(rows).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(bytes: usize) -> QueuedRecording {
        let row = NewRunRecording {
            id: "i".into(),
            run_id: "r".into(),
            run_key: "k".into(),
            channel_id: "c".into(),
            channel: "c".into(),
            workflow: None,
            source: "sync",
            outcome: "completed",
            recording: "x".repeat(bytes),
        };
        QueuedRecording { row, max_per_day: 1 }
    }

    #[test]
    fn waiting_recordings_are_bounded_by_bytes() {
        let queue = RecordingQueue::default();
        assert!(queue.push(recording(MOST_BYTES - 1)) && queue.push(recording(1)));
        assert!(!queue.push(recording(1)), "it is full");
        assert_eq!(queue.take_batch().len(), 2);
        assert!(queue.push(recording(MOST_BYTES)), "there is room again");
    }
}
