//! The work on the records of a partition.

use std::sync::Arc;

use actix_supervision::HandledCounter;
use slog::{info, warn};
use svc_channels::{RecordOutcome, RecordSettlement, TopicRecord};
use svc_model::ErrorReason;
use svc_spans::{ActiveSpan, SpanDraft, TraceContext};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::handle::{PartitionHandle, SkipRequest, WorkerStage};
use super::settling::{AT_ONCE, FinishedRecord, settle_records};
use super::state::RetryStep;
use crate::dead_letter::RecordLetter;
use crate::error::SkipError;
use crate::metrics::{RetryReason, SettledAs};
use crate::shared::KafkaShared;

/// Runs the records of a partition until it is given up.
pub(super) async fn run_until_ended(
    shared: Arc<KafkaShared>,
    handle: Arc<PartitionHandle>,
    handled: HandledCounter,
) {
    if let Some(offset) = handle.update(|state, _| state.first_undone()) {
        // An instance before this one began it.
        handle.seek_back(offset);
    }
    let (sender, finished) = mpsc::channel(AT_ONCE);
    let work =
        PartitionWork { shared, handle: Arc::clone(&handle), finished: sender, pending: None, handled };
    tokio::join!(work.run(), settle_records(Arc::clone(&handle), finished));
    handle.advance(WorkerStage::Ended);
}

/// A dead letter that the brokers have not acknowledged yet.
struct PendingLetter {
    offset: i64,
    letter: RecordLetter,
    settlement: Option<RecordSettlement>,
    settled_as: SettledAs,
    error: String,
    /// The place in a distributed trace of the attempt that failed.
    trace_context: TraceContext,
}

/// The step after an attempt.
enum AttemptEnd {
    /// The record is on its way to be settled.
    Finished,
    Retry(RetryStep),
    /// The partition is given up.
    Stopped,
}

struct PartitionWork {
    shared: Arc<KafkaShared>,
    handle: Arc<PartitionHandle>,
    finished: mpsc::Sender<FinishedRecord>,
    pending: Option<PendingLetter>,
    handled: HandledCounter,
}

impl PartitionWork {
    async fn run(mut self) {
        while let Some(record) = self.handle.next_record().await {
            self.process(&record).await;
            self.handled.increment();
        }
    }

    /// Makes attempts at a record until it is finished, is fetched again, or the partition is given up.
    async fn process(&mut self, record: &Arc<TopicRecord>) {
        let mut generations = self.shared.registry.watch_generations();
        loop {
            self.handle.update(|state, now| state.begin(record.offset, now));
            let end = match self.handle.take_skip() {
                Some(request) => match self.skip(record, request).await {
                    true => AttemptEnd::Finished,
                    false => self.attempt(record).await,
                },
                None => self.attempt(record).await,
            };
            let delay = match end {
                AttemptEnd::Finished => return self.handle.update(|state, _| state.finish()),
                AttemptEnd::Stopped => return,
                AttemptEnd::Retry(RetryStep::SeekBack) => return self.seek_back(record),
                AttemptEnd::Retry(RetryStep::After(delay)) => delay,
            };
            generations.borrow_and_update();
            tokio::select! {
                biased;
                () = self.handle.wait_for(WorkerStage::Closing) => return,
                () = self.handle.skip_requested() => {}
                // A changed definition may heal the record.
                _ = generations.changed() => {}
                () = sleep(delay) => {}
            }
        }
    }

    async fn attempt(&mut self, record: &Arc<TopicRecord>) -> AttemptEnd {
        if let Some(pending) = self.pending.take().filter(|pending| pending.offset == record.offset) {
            return self.write_letter(pending).await;
        }
        let is_failure_traced =
            self.handle.update(|state, _| state.held_record().is_some_and(|held| held.is_failure_traced));
        let mut span = self.begin_span(record);
        let result = tokio::select! {
            biased;
            () = self.handle.wait_for(WorkerStage::Ending) => {
                span.fail("stopped");
                return AttemptEnd::Stopped;
            }
            result = self.shared.run_record(record, is_failure_traced, &mut span) => result,
        };
        match result.outcome {
            RecordOutcome::Completed => {
                self.finish(record.offset, result.settlement, SettledAs::Completed).await
            }
            RecordOutcome::Duplicate => {
                self.finish(record.offset, result.settlement, SettledAs::Duplicate).await
            }
            RecordOutcome::Deferred { reason } => {
                span.fail("deferred");
                self.shared.metrics.count_retry(&self.handle.topic, RetryReason::Deferred);
                AttemptEnd::Retry(self.handle.update(|state, now| state.defer(reason, now)))
            }
            RecordOutcome::Failed { message } => {
                span.fail("failed");
                self.fail(record, (message, span.context()), result.settlement).await
            }
        }
    }

    /// Returns the place in a distributed trace that the headers of a record name.
    fn trace_context(&self, record: &TopicRecord) -> TraceContext {
        let headers = record.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        self.shared.spans.extract(headers)
    }

    /// Begins the span of an attempt.
    fn begin_span(&self, record: &TopicRecord) -> ActiveSpan {
        let TopicRecord { topic, partition, offset, .. } = record;
        self.trace_context(record).begin(|| SpanDraft::record(topic, *partition, *offset))
    }

    async fn finish(
        &self,
        offset: i64,
        settlement: Option<RecordSettlement>,
        settled_as: SettledAs,
    ) -> AttemptEnd {
        self.shared.metrics.count_record(&self.handle.topic, settled_as);
        // The receiver ends with the partition, and the record is delivered again then.
        let _ = self.finished.send(FinishedRecord { offset, settlement }).await;
        AttemptEnd::Finished
    }

    /// Writes a failed record to the topic of dead letters, or lets it wait for another attempt.
    async fn fail(
        &mut self,
        record: &Arc<TopicRecord>,
        (error, trace_context): (String, &TraceContext),
        mut settlement: Option<RecordSettlement>,
    ) -> AttemptEnd {
        let mut is_traced = false;
        if let Some(settlement) = settlement.as_mut().filter(|settlement| settlement.has_trace()) {
            is_traced = settlement.store_trace().await.is_ok();
        }
        if self.shared.dead_letters.is_some() {
            let trace_id = settlement.as_ref().map(|settlement| settlement.trace_id().to_string());
            let letter = RecordLetter::new(record, &error, trace_id);
            let settled_as = SettledAs::DeadLetter;
            let trace_context = trace_context.clone();
            let offset = record.offset;
            let pending = PendingLetter { offset, letter, settlement, settled_as, error, trace_context };
            return self.write_letter(pending).await;
        }
        if let Some(settlement) = settlement {
            settlement.release().await;
        }
        self.shared.metrics.count_retry(&self.handle.topic, RetryReason::Failed);
        self.log_first_failure(record.offset, &error);
        AttemptEnd::Retry(self.handle.update(|state, now| {
            let step = state.fail(error, now);
            if is_traced {
                state.mark_failure_traced();
            }
            step
        }))
    }

    /// Writes a dead letter. Where that fails, the write is tried again, not the run.
    async fn write_letter(&mut self, pending: PendingLetter) -> AttemptEnd {
        let written = tokio::select! {
            biased;
            () = self.handle.wait_for(WorkerStage::Ending) => return AttemptEnd::Stopped,
            written = self.shared.write_letter(&pending.letter, &pending.trace_context) => written,
        };
        match written {
            Ok(()) => {
                info!(self.shared.log, "a record became a dead letter"; "topic" => &*self.handle.topic,
                    "partition" => self.handle.partition, "offset" => pending.offset, "error" => &pending.error);
                let PendingLetter { offset, mut settlement, settled_as, error, .. } = pending;
                if let Some(settlement) = &mut settlement {
                    settlement.report_failure(&error).await;
                }
                self.finish(offset, settlement, settled_as).await
            }
            Err(reason) => {
                (self.shared.settings.errors)(ErrorReason::KafkaDlq);
                self.shared.metrics.count_retry(&self.handle.topic, RetryReason::DeadLetterWrite);
                let error = format!("{}; the dead letter was not written: {reason}", pending.error);
                self.log_first_failure(pending.offset, &error);
                self.pending = Some(pending);
                AttemptEnd::Retry(self.handle.update(|state, now| state.fail(error, now)))
            }
        }
    }

    /// Gives a record up for an operator: it becomes a dead letter. Returns `false` if it stays.
    async fn skip(&mut self, record: &Arc<TopicRecord>, request: SkipRequest) -> bool {
        let SkipRequest { offset, answer } = request;
        if offset.is_some_and(|offset| offset != record.offset) {
            let _ = answer.send(Err(SkipError::OtherOffset { held: record.offset }));
            return false;
        }
        let error = self.handle.update(|state, _| state.held_record().map(|held| held.last_error.clone()));
        let error = format!("skipped by an operator: {}", error.unwrap_or_default());
        let pending = self.pending.take().filter(|pending| pending.offset == record.offset);
        let settlement = pending.and_then(|pending| pending.settlement);
        let letter = RecordLetter::new(record, &error, None);
        let settled_as = SettledAs::Skipped;
        let trace_context = self.trace_context(record);
        let offset = record.offset;
        let pending = PendingLetter { offset, letter, settlement, settled_as, error, trace_context };
        let end = self.write_letter(pending).await;
        // An answer that nobody waits for any more changes nothing.
        match end {
            AttemptEnd::Finished => {
                let _ = answer.send(Ok(record.offset));
                true
            }
            AttemptEnd::Retry(_) | AttemptEnd::Stopped => {
                let reason = match self.pending.take() {
                    Some(pending) => {
                        if let Some(settlement) = pending.settlement {
                            settlement.release().await;
                        }
                        "the brokers did not acknowledge it".to_owned()
                    }
                    None => "the partition is given up".to_owned(),
                };
                let _ = answer.send(Err(SkipError::NotWritten(reason)));
                false
            }
        }
    }

    fn seek_back(&self, record: &Arc<TopicRecord>) {
        let (attempts, error) = self.handle.update(|state, _| {
            state.held_record().map(|held| (held.attempts, held.last_error.clone())).unwrap_or_default()
        });
        warn!(self.shared.log, "a record blocks its partition and is fetched again";
            "topic" => &*self.handle.topic, "partition" => self.handle.partition, "offset" => record.offset,
            "attempts" => attempts, "error" => error);
        self.handle.seek_back(record.offset);
    }

    /// Logs the failure of a record once, however often it is tried.
    fn log_first_failure(&self, offset: i64, error: &str) {
        let is_first =
            self.handle.update(|state, _| state.held_record().is_none_or(|held| held.failures == 0));
        if is_first {
            warn!(self.shared.log, "a record failed and is tried again"; "topic" => &*self.handle.topic,
                "partition" => self.handle.partition, "offset" => offset, "error" => error);
        }
    }
}
