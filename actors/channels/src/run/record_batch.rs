//! The run of consecutive records of a partition, one after the other.
//!
//! A record whose run waits for nothing takes microseconds; the way to the thread of its channel and back takes
//! many times as long, so records go together, and the caller adds those that follow while the first ones run. What
//! a caller sees is the same as if each had gone alone: no record begins before the one before it is done, and none
//! after one that is not.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use svc_spans::{ActiveSpan, SpanDraft, TraceContext};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::failure::CRASHED;
use super::record_run::{RecordResult, RecordRun};
use crate::compiled_channel::CompiledChannel;
use crate::compute_gate::ComputeGate;

/// Time after which a batch begins no further record. The caller learns of a change of the channel, and others
/// get the turn of the partition, at most this much and one record later.
const LONGEST: Duration = Duration::from_millis(5);
/// Time after which the caller learns of the results, and the other work of the thread gets its turn.
const TURN: Duration = Duration::from_micros(500);

/// Consecutive records of a partition.
///
/// Its run ends with the last record, with the first one that did not complete, when the caller closes it, or after
/// some milliseconds; the records behind are untouched then.
#[derive(Debug)]
pub struct RecordBatch {
    progress: Arc<BatchProgress>,
    report_target: Option<Arc<str>>,
}

impl RecordBatch {
    /// Makes a batch whose results go to `progress`.
    pub fn new(runs: impl IntoIterator<Item = RecordRun>, progress: Arc<BatchProgress>) -> Self {
        progress.extend(runs);
        Self { progress, report_target: None }
    }

    /// Sets the channel that receives the reports of failed runs.
    pub fn set_report_target(&mut self, target: Option<Arc<str>>) {
        self.report_target = target;
    }
}

/// The records of a batch that did not begin, and its results: shared by the channel that runs it and its caller.
#[derive(Default)]
pub struct BatchProgress {
    runs: Mutex<VecDeque<RecordRun>>,
    results: Mutex<Vec<RecordResult>>,
    is_closed: AtomicBool,
    reported: Notify,
}

impl BatchProgress {
    /// Adds the records that follow. If the batch has ended they are untouched, as those before them are.
    pub fn extend(&self, runs: impl IntoIterator<Item = RecordRun>) {
        self.runs.lock().extend(runs);
    }

    /// Takes the results that were not taken yet: those of the next records, in their order.
    pub fn take_results(&self) -> Vec<RecordResult> {
        std::mem::take(&mut *self.results.lock())
    }

    /// Waits until there are results and the next record waits for something, or the thread gives others their
    /// turn. Other results come with the end of the batch.
    pub async fn wait_for_results(&self) {
        self.reported.notified().await;
    }

    /// Lets no further record begin.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Returns the next record that may begin.
    fn next_run(&self) -> Option<RecordRun> {
        let is_open = !self.is_closed.load(Ordering::Acquire);
        self.runs.lock().pop_front().filter(|_| is_open)
    }

    fn report(&self) {
        if !self.results.lock().is_empty() {
            self.reported.notify_one();
        }
    }

    /// Returns the output of a run. If it has to wait, the results before it are reported.
    fn watch<T>(&self, mut run: Pin<&mut impl Future<Output = T>>) -> impl Future<Output = T> {
        poll_fn(move |cx| {
            let polled = run.as_mut().poll(cx);
            if polled.is_pending() {
                self.report();
            }
            polled
        })
    }
}

impl fmt::Debug for BatchProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, results, is_closed, .. } = self;
        f.debug_struct("BatchProgress")
            .field("runs", &runs.lock().len())
            .field("results", &results.lock().len())
            .field("is_closed", is_closed)
            .finish()
    }
}

/// The span of an attempt. One that is dropped before its end was stopped.
struct AttemptSpan(Option<ActiveSpan>);

impl AttemptSpan {
    fn begin(run: &RecordRun, channel: &Arc<str>) -> Self {
        let record = &run.record;
        let draft = || SpanDraft::record(&record.topic, record.partition, record.offset);
        let mut span = run.trace_context.begin(draft);
        span.set("svc.channel", Arc::clone(channel));
        Self(Some(span))
    }

    fn context(&self) -> TraceContext {
        self.0.as_ref().map(|span| span.context().clone()).unwrap_or_default()
    }

    fn end(mut self, result: RecordResult) -> RecordResult {
        match self.0.take() {
            Some(span) => result.with_span(span),
            None => result,
        }
    }
}

impl Drop for AttemptSpan {
    fn drop(&mut self) {
        if let Some(span) = &mut self.0 {
            span.fail("stopped");
        }
    }
}

impl CompiledChannel {
    /// Runs the records of a batch until one of them does not complete, or the batch ends early.
    pub(crate) async fn run_batch(self: &Arc<Self>, batch: RecordBatch) {
        let RecordBatch { progress, report_target } = batch;
        let begin = Instant::now();
        let mut turn = begin;
        while let Some(run) = progress.next_run() {
            let run = pin!(self.attempt(run, report_target.clone(), &progress));
            if !progress.watch(run).await {
                return;
            }
            let now = Instant::now();
            if now - begin >= LONGEST {
                return;
            }
            if now - turn >= TURN {
                progress.report();
                yield_now().await;
                turn = Instant::now();
            }
        }
    }

    /// Makes an attempt at a record; returns `true` if it is done. A panic is the failure of its record, and
    /// goes on.
    async fn attempt(
        self: &Arc<Self>,
        mut run: RecordRun,
        report_target: Option<Arc<str>>,
        progress: &BatchProgress,
    ) -> bool {
        let span = AttemptSpan::begin(&run, &self.name);
        run.trace_context = span.context();
        let running = async {
            // One future for both sizes would be as large as both together.
            match ComputeGate::is_large(run.record.value_len()) {
                true => Box::pin(self.run_large_record(run)).await,
                false => self.run_record(run).await,
            }
        };
        let ended = AssertUnwindSafe(running).catch_unwind().await;
        let (mut result, panic) = match ended {
            Ok(result) => (result, None),
            Err(panic) => (RecordResult::failed(CRASHED), Some(panic)),
        };
        if let Some(settlement) = &mut result.settlement {
            settlement.set_report_target(report_target);
        }
        let is_done = result.is_done();
        progress.results.lock().push(span.end(result));
        match panic {
            Some(panic) => resume_unwind(panic),
            None => is_done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TopicRecord;

    fn run(offset: i64) -> RecordRun {
        let topic = "orders".into();
        RecordRun {
            record: Arc::new(TopicRecord {
                topic,
                partition: 0,
                offset,
                key: None,
                value: None,
                headers: vec![],
            }),
            limit: Duration::from_secs(1),
            is_failure_traced: false,
            trace_context: TraceContext::default(),
        }
    }

    #[test]
    fn added_records_follow_until_the_batch_closes() {
        let progress = Arc::new(BatchProgress::default());
        let batch = RecordBatch::new([run(0), run(1)], Arc::clone(&progress));
        let next = || Some(batch.progress.next_run()?.record.offset);
        assert_eq!(next(), Some(0));
        progress.extend([run(2), run(3)]);
        assert_eq!((next(), next()), (Some(1), Some(2)));
        progress.close();
        assert_eq!(next(), None);
    }

    #[test]
    fn results_are_reported_and_nothing_else_is() {
        let progress = BatchProgress::default();
        progress.report();
        assert!(progress.wait_for_results().now_or_never().is_none());
        progress.results.lock().push(RecordResult::deferred("full"));
        progress.report();
        assert!(progress.wait_for_results().now_or_never().is_some());
        assert_eq!(progress.take_results().len(), 1);
    }
}
