//! A bounded queue of rows that are written after the answer. The queue lives as long as the process: no
//! restart of an actor loses a waiting row.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use prometheus_client::metrics::gauge::Gauge;
use slog::{Logger, warn};
use svc_store::{NewTrace, StoreError};
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::backoff::DATABASE_BACKOFF;
use crate::metrics::TraceMetrics;
use crate::settings::OverflowPolicy;

/// Attempts of a write while the database is away.
const ATTEMPTS: usize = 5;

/// The batching of the writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchSettings {
    /// Maximum number of rows per write.
    pub(crate) batch: usize,
    /// Time that a write waits for more rows.
    pub(crate) flush: Duration,
    /// Concurrent writes.
    pub(crate) writers: usize,
}

/// The bounds of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchCapacity {
    pub(crate) rows: usize,
    /// Bytes of rows that wait or are being written. A larger row is accepted when it is alone.
    pub(crate) bytes: u32,
}

/// The queue of rows.
#[derive(Debug)]
pub(crate) struct BatchQueue {
    into: mpsc::Sender<QueuedRow>,
    line: Mutex<mpsc::Receiver<QueuedRow>>,
    /// Number of waiting rows for which the writer that collects a batch is woken; means nothing while none collects.
    wanted: AtomicUsize,
    /// Wakes the writer that collects when that many wait.
    full: Notify,
    most_bytes: u32,
    bytes: Arc<Semaphore>,
    overflow: OverflowPolicy,
    pub(crate) pace: BatchSettings,
    depth: Gauge,
}

/// A waiting row.
#[derive(Debug)]
struct QueuedRow {
    row: Arc<NewTrace>,
    place: RowReservation,
}

/// The share of the queue that a row takes until it is written or dropped.
#[derive(Debug)]
struct RowReservation {
    depth: Gauge,
    #[expect(dead_code, reason = "held for its drop")]
    bytes: OwnedSemaphorePermit,
}

impl Drop for RowReservation {
    fn drop(&mut self) {
        self.depth.dec();
    }
}

impl BatchQueue {
    pub(crate) fn new(
        room: BatchCapacity,
        overflow: OverflowPolicy,
        pace: BatchSettings,
        depth: Gauge,
    ) -> Self {
        let (into, line) = mpsc::channel(room.rows.max(1));
        let bytes = Arc::new(Semaphore::new(room.bytes as usize));
        Self {
            into,
            line: Mutex::new(line),
            wanted: AtomicUsize::new(usize::MAX),
            full: Notify::new(),
            most_bytes: room.bytes,
            bytes,
            overflow,
            pace,
            depth,
        }
    }

    /// Queues a row, and waits for room if the overflow policy says so. Returns `false` if the row was
    /// dropped because the queue is full.
    pub(crate) async fn enqueue(&self, row: Arc<NewTrace>) -> bool {
        let OverflowPolicy::Block(limit) = self.overflow else { return self.try_enqueue(row) };
        let waits = async {
            let bytes = Arc::clone(&self.bytes).acquire_many_owned(self.bytes_of(&row)).await.ok()?;
            self.into.send(self.new_queued_row(row, bytes)).await.ok()
        };
        let is_queued = timeout(limit, waits).await.is_ok_and(|put| put.is_some());
        self.wake_writer();
        is_queued
    }

    /// Queues a row if there is room at once.
    pub(crate) fn try_enqueue(&self, row: Arc<NewTrace>) -> bool {
        let bytes = Arc::clone(&self.bytes).try_acquire_many_owned(self.bytes_of(&row));
        let is_queued = bytes.is_ok_and(|bytes| self.into.try_send(self.new_queued_row(row, bytes)).is_ok());
        self.wake_writer();
        is_queued
    }

    /// Wakes the writer that collects a batch, once as many rows wait as it wants.
    fn wake_writer(&self) {
        let waiting = self.into.max_capacity() - self.into.capacity();
        if waiting >= self.wanted.load(Ordering::SeqCst) {
            self.full.notify_one();
        }
    }

    fn bytes_of(&self, row: &NewTrace) -> u32 {
        u32::try_from(row.bytes()).unwrap_or(u32::MAX).min(self.most_bytes)
    }

    /// Counts a row before it is queued, so that the depth never falls below zero.
    fn new_queued_row(&self, row: Arc<NewTrace>, bytes: OwnedSemaphorePermit) -> QueuedRow {
        self.depth.inc();
        QueuedRow { row, place: RowReservation { depth: self.depth.clone(), bytes } }
    }

    /// Writes batches until the order to stop, then the rest of the queue.
    pub(crate) async fn write(&self, rows: &TraceWriter, mut stop: watch::Receiver<bool>) {
        loop {
            let batch = self.collect(&mut stop).await;
            if batch.is_empty() {
                return;
            }
            let (batch, places): (Vec<_>, Vec<_>) =
                batch.into_iter().map(|QueuedRow { row, place }| (row, place)).unzip();
            rows.write(batch).await;
            drop(places);
        }
    }

    /// Returns the next batch: full, or the rows that arrived within the flush interval. Empty when the queue
    /// is to end.
    async fn collect(&self, stop: &mut watch::Receiver<bool>) -> Vec<QueuedRow> {
        let BatchSettings { batch, flush, .. } = self.pace;
        // One writer collects at a time, while the others write.
        let mut line = self.line.lock().await;
        let mut rows = Vec::new();
        tokio::select! {
            biased;
            _ = line.recv_many(&mut rows, batch) => {}
            _ = stop.wait_for(|stop| *stop) => return rows,
        }
        let late = sleep(flush);
        tokio::pin!(late);
        while rows.len() < batch {
            // To wake up for every row would cost more than the row. Most of the queue stays free meanwhile.
            let missing = batch - rows.len();
            let wanted = missing.min((line.max_capacity() / 8).max(1));
            self.wanted.store(wanted, Ordering::SeqCst);
            let filled = async {
                while line.len() < wanted {
                    self.full.notified().await;
                }
            };
            let is_over = tokio::select! {
                biased;
                () = filled => false,
                _ = stop.wait_for(|stop| *stop) => true,
                () = &mut late => true,
            };
            let rest = line.recv_many(&mut rows, missing);
            if is_over {
                let _none_waits = rest.now_or_never();
                break;
            }
            rest.await;
        }
        self.wanted.store(usize::MAX, Ordering::SeqCst);
        rows
    }
}

/// Writes rows and handles failures.
#[derive(Clone)]
pub(crate) struct TraceWriter {
    pub(crate) store: svc_store::TraceRepository,
    pub(crate) metrics: TraceMetrics,
    pub(crate) log: Logger,
}

impl TraceWriter {
    /// Writes a batch, with several attempts while the database is away. Rows that are not written then are
    /// lost and counted.
    pub(crate) async fn write(&self, mut rows: Vec<Arc<NewTrace>>) {
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        self.metrics.batch_size.observe(rows.len() as f64);
        let mut backoff = DATABASE_BACKOFF.delays();
        for attempt in 1..=ATTEMPTS {
            let written = self.store.insert_each(rows.clone()).await;
            let mut away = Vec::new();
            for (row, written) in rows.into_iter().zip(written) {
                match written {
                    Ok(()) => {}
                    Err(error) if error.is_outage() && attempt < ATTEMPTS => away.push(row),
                    // An earlier attempt may have stored the row although its answer was lost.
                    Err(_) if self.store.is_stored(row.id).await.unwrap_or(false) => {}
                    Err(error) => self.record_loss(&row, &error),
                }
            }
            rows = away;
            if rows.is_empty() {
                return;
            }
            sleep(backoff.next_delay()).await;
        }
    }

    fn record_loss(&self, row: &NewTrace, error: &StoreError) {
        self.metrics.persistence_failures.inc();
        warn!(self.log, "a trace was not stored"; "trace_id" => %row.id, "error" => %error);
    }
}

#[cfg(test)]
mod tests {
    use svc_store::{TraceMode, TraceStatus};
    use uuid::Uuid;

    use super::*;

    fn row(bytes: usize) -> Arc<NewTrace> {
        Arc::new(NewTrace {
            result_json: Some("x".repeat(bytes)),
            ..NewTrace::new(Uuid::nil(), "c".into(), TraceMode::Sync, TraceStatus::Completed)
        })
    }

    fn queue(overflow: OverflowPolicy) -> BatchQueue {
        let pace = BatchSettings { batch: 10, flush: Duration::ZERO, writers: 1 };
        BatchQueue::new(BatchCapacity { rows: 10, bytes: 1000 }, overflow, pace, Gauge::default())
    }

    #[tokio::test]
    async fn waiting_rows_are_bounded_by_bytes() {
        let queue = queue(OverflowPolicy::Drop);
        assert!(
            queue.enqueue(row(600)).await && !queue.enqueue(row(600)).await && queue.enqueue(row(400)).await
        );
        assert_eq!(queue.depth.get(), 2);
        let (_go_on, mut stop) = watch::channel(false);
        let batch = queue.collect(&mut stop).await;
        assert_eq!((batch.len(), queue.depth.get()), (2, 2));
        assert!(!queue.try_enqueue(row(1)), "what is being written counts");
        drop(batch);
        assert_eq!(queue.depth.get(), 0, "it counts no more, written or not");
        assert!(queue.try_enqueue(row(5000)) && !queue.try_enqueue(row(1)));
    }

    /// Returns the size of the batch that is collected while `rows` rows arrive one by one, and the time that took.
    async fn collected(queue: &BatchQueue, rows: usize) -> (usize, Duration) {
        let (_go_on, mut stop) = watch::channel(false);
        let started_at = tokio::time::Instant::now();
        let arrivals = async {
            for _ in 0..rows {
                assert!(queue.try_enqueue(row(1)));
                tokio::task::yield_now().await;
            }
        };
        let (batch, ()) = tokio::join!(queue.collect(&mut stop), arrivals);
        (batch.len(), started_at.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn full_batch_is_written_partial_after_the_interval() {
        let flush = Duration::from_secs(60);
        let queue = |rows, batch| {
            let pace = BatchSettings { batch, flush, writers: 1 };
            BatchQueue::new(BatchCapacity { rows, bytes: 1000 }, OverflowPolicy::Drop, pace, Gauge::default())
        };
        let roomy = queue(10, 4);
        assert_eq!(collected(&roomy, 3).await, (3, flush));
        assert_eq!(collected(&roomy, 5).await, (4, Duration::ZERO));
        assert_eq!(collected(&roomy, 0).await, (1, flush), "what was left");
        assert_eq!(collected(&queue(4, 10), 10).await, (10, Duration::ZERO), "more than has room at once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gives_up_counts_for_nothing() {
        let queue = queue(OverflowPolicy::Block(Duration::from_secs(5)));
        assert!(queue.enqueue(row(1000)).await);
        assert!(timeout(Duration::from_secs(1), queue.enqueue(row(1))).await.is_err(), "it waits");
        assert!(!queue.enqueue(row(1)).await, "as long as it may");
        assert_eq!(queue.depth.get(), 1);
    }
}
