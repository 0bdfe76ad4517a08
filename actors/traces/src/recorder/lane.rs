//! A bounded line of rows that are written behind the answer. Lives as long as the process: no restart of an actor
//! loses a row that waits.

use std::time::Duration;

use futures_util::future::join_all;
use prometheus_client::metrics::gauge::Gauge;
use slog::{Logger, warn};
use svc_store::{NewTrace, StoreError};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::metrics::TraceMetrics;
use crate::settings::Overflow;

/// Attempts of a write while the database is away.
const ATTEMPTS: usize = 5;

/// How a lane is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Rows per write, at most.
    pub(crate) batch: usize,
    /// How long a write waits for more rows.
    pub(crate) flush: Duration,
    /// Concurrent writes.
    pub(crate) writers: usize,
}

/// The lane.
#[derive(Debug)]
pub(crate) struct Lane {
    into: mpsc::Sender<NewTrace>,
    line: Mutex<mpsc::Receiver<NewTrace>>,
    overflow: Overflow,
    pub(crate) pace: Pace,
    depth: Gauge,
}

impl Lane {
    pub(crate) fn new(most: usize, overflow: Overflow, pace: Pace, depth: Gauge) -> Self {
        let (into, line) = mpsc::channel(most.max(1));
        Self { into, line: Mutex::new(line), overflow, pace, depth }
    }

    /// Puts a row in line; `false` when it was dropped, because too many wait.
    pub(crate) async fn put(&self, row: NewTrace) -> bool {
        // Counted first, so that the depth never shows less than nothing.
        self.depth.inc();
        let taken = match self.overflow {
            Overflow::Drop => self.into.try_send(row).is_ok(),
            Overflow::Block(limit) => self.into.send_timeout(row, limit).await.is_ok(),
        };
        if !taken {
            self.depth.dec();
        }
        taken
    }

    /// Puts a row in line if there is room this very moment.
    pub(crate) fn try_put(&self, row: NewTrace) -> bool {
        self.depth.inc();
        let taken = self.into.try_send(row).is_ok();
        if !taken {
            self.depth.dec();
        }
        taken
    }

    /// Writes row after row until told to stop, then what is in line.
    pub(crate) async fn write(&self, rows: &Rows, mut stop: watch::Receiver<bool>) {
        loop {
            let batch = self.collect(&mut stop).await;
            if batch.is_empty() {
                return;
            }
            let size = i64::try_from(batch.len()).unwrap_or(i64::MAX);
            rows.write(batch).await;
            self.depth.dec_by(size);
        }
    }

    /// The next batch: full, or what came until it had to be written. Empty when there is to be none.
    async fn collect(&self, stop: &mut watch::Receiver<bool>) -> Vec<NewTrace> {
        let Pace { batch, flush, .. } = self.pace;
        // One writer collects at a time; the others write.
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
            let room = batch - rows.len();
            tokio::select! {
                biased;
                _ = line.recv_many(&mut rows, room) => {}
                _ = stop.wait_for(|stop| *stop) => break,
                () = &mut late => break,
            }
        }
        rows
    }
}

/// Writes rows and bears what comes of it.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) store: svc_store::Traces,
    pub(crate) metrics: TraceMetrics,
    pub(crate) log: Logger,
}

impl Rows {
    /// Writes a batch, more than once while the database is away. What is not written then is lost and counted.
    pub(crate) async fn write(&self, mut rows: Vec<NewTrace>) {
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        self.metrics.batch_size.observe(rows.len() as f64);
        let mut backoff = Backoff::of_database();
        for attempt in 1..=ATTEMPTS {
            let written = join_all(rows.iter().map(|row| self.store.insert(row.clone()))).await;
            let mut away = Vec::new();
            for (row, written) in rows.into_iter().zip(written) {
                match written {
                    Ok(()) => {}
                    Err(StoreError::Unavailable(_) | StoreError::Unanswered(_)) if attempt < ATTEMPTS => away.push(row),
                    Err(error) => self.lost(&row, &error),
                }
            }
            rows = away;
            if rows.is_empty() {
                return;
            }
            sleep(backoff.pause()).await;
        }
    }

    fn lost(&self, row: &NewTrace, error: &StoreError) {
        self.metrics.persistence_failures.inc();
        warn!(self.log, "a trace was not stored"; "trace_id" => %row.id, "error" => %error);
    }
}
