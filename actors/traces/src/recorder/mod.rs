//! The actor that writes traces after the answer, the modes `async` and `batch`, and recordings.
//!
//! It runs the writing loops; the queues are in [`BatchQueues`], so that waiting rows survive a restart. Rows that were being written
//! when an instance crashed may be lost, which these modes permit. It handles no messages. On shutdown it
//! writes the waiting rows within the time allowed. A request never waits longer than the overflow setting
//! says. In mode `sync` the request writes its row itself, without this actor.

mod batch_queue;
mod recording_queue;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::{LocalBoxFuture, join, join_all};
use slog::warn;
use svc_store::Recordings;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::metrics::TraceMetrics;
use crate::settings::RecorderSettings;

use batch_queue::{BatchCapacity, BatchSettings};
pub(crate) use batch_queue::{BatchQueue, TraceWriter};
use recording_queue::RecordingWriter;
pub(crate) use recording_queue::{QueuedRecording, RecordingQueue};

/// Bytes that may wait in each queue: 64 MiB.
const MOST_BYTES: u32 = 64 << 20;

/// The queues of the two modes.
#[derive(Debug)]
pub(crate) struct BatchQueues {
    pub(crate) one_by_one: BatchQueue,
    pub(crate) batched: BatchQueue,
}

impl BatchQueues {
    pub(crate) fn new(settings: &RecorderSettings, metrics: &TraceMetrics) -> Self {
        let queue = |pace| {
            let room = BatchCapacity { rows: settings.max_pending, bytes: MOST_BYTES };
            BatchQueue::new(room, settings.overflow, pace, metrics.persistence_depth.clone())
        };
        let one_by_one =
            BatchSettings { batch: 1, flush: Duration::ZERO, writers: settings.async_workers.max(1) };
        let batched = BatchSettings {
            batch: settings.batch_size.max(1),
            flush: settings.batch_flush_interval,
            writers: settings.batch_workers.max(1),
        };
        Self { one_by_one: queue(one_by_one), batched: queue(batched) }
    }

    async fn write(&self, rows: &TraceWriter, stop: &watch::Sender<bool>) {
        let writers = [&self.one_by_one, &self.batched]
            .into_iter()
            .flat_map(|queue| std::iter::repeat_n(queue, queue.pace.writers));
        join_all(writers.map(|queue| queue.write(rows, stop.subscribe()))).await;
    }
}

/// The recorded runs that wait, and the place that they are written to.
#[derive(Clone)]
pub(crate) struct RecordingSource {
    pub(crate) queue: Arc<RecordingQueue>,
    pub(crate) store: Recordings,
}

/// The actor that writes traces after the answer.
pub(crate) struct TraceRecorder {
    queues: Arc<BatchQueues>,
    recordings: RecordingSource,
    rows: TraceWriter,
    patience: Duration,
    stop: Arc<watch::Sender<bool>>,
    ended: watch::Sender<bool>,
}

impl TraceRecorder {
    /// Creates the actor. `patience` is the time it gets on shutdown to write the waiting rows.
    pub(crate) fn new(
        queues: Arc<BatchQueues>,
        recordings: RecordingSource,
        rows: TraceWriter,
        patience: Duration,
    ) -> Self {
        let (stop, ended) = (Arc::new(watch::Sender::new(false)), watch::Sender::new(false));
        Self { queues, recordings, rows, patience, stop, ended }
    }
}

impl Actor for TraceRecorder {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (queues, rows) = (Arc::clone(&self.queues), self.rows.clone());
        let (stop, ended) = (Arc::clone(&self.stop), self.ended.clone());
        let RecordingSource { queue, store } = self.recordings.clone();
        let writer = RecordingWriter::new(store, rows.metrics.clone(), rows.log.clone());
        let writing = async move {
            join(queues.write(&rows, &stop), queue.write(writer, stop.subscribe())).await;
            ended.send_replace(true);
        };
        ctx.spawn(writing.into_actor(self));
    }
}

impl Supervised for TraceRecorder {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.stop.send_replace(true);
        let (mut ended, patience, log) = (self.ended.subscribe(), self.patience, self.rows.log.clone());
        Box::pin(async move {
            if timeout(patience, ended.wait_for(|ended| *ended)).await.is_err() {
                warn!(log, "traces that waited were not stored");
            }
        })
    }
}
