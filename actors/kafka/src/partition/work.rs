//! The work on the records of a partition.

mod skipping;

use std::collections::VecDeque;
use std::pin::pin;
use std::slice;
use std::sync::Arc;

use actix_supervision::HandledCounter;
use slog::{info, warn};
use svc_channels::{BatchProgress, RecordOutcome, RecordResult, RecordSettlement, TopicRecord};
use svc_model::ErrorReason;
use svc_spans::{ActiveSpan, SpanDraft, TraceContext};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::handle::{PartitionHandle, WorkerStage};
use super::queue::BATCH_RECORDS;
use super::settling::{FinishedRecord, settle_records};
use super::state::RetryStep;
use crate::dead_letter::RecordLetter;
use crate::metrics::{RetryReason, SettledAs};
use crate::shared::KafkaShared;
use skipping::SkipRange;

/// Finished records on their way to be settled. There is room for a batch before it begins and for what is added
/// to it, so that no record waits within the turn of the partition, and for the batch before it.
const FINISHED: usize = 2 * BATCH_RECORDS;

/// Runs the records of a partition until it is given up.
pub(super) async fn run_until_ended(
    shared: Arc<KafkaShared>,
    handle: Arc<PartitionHandle>,
    handled: HandledCounter,
) {
    if let Some(offset) = handle.update(|state, _| state.go_back()) {
        // An instance before this one began it.
        handle.seek_back(offset);
    }
    let (sender, finished) = mpsc::channel(FINISHED);
    let settling = settle_records(Arc::clone(&handle), &shared.trace_shares, finished);
    let work = PartitionWork {
        shared: Arc::clone(&shared),
        handle: Arc::clone(&handle),
        finished: sender,
        pending: None,
        skipping: None,
        awaited_channel: None,
        handled,
    };
    tokio::join!(work.run(), settling);
    handle.advance(WorkerStage::Ended);
}

/// A dead letter that the brokers have not acknowledged yet.
struct PendingLetter {
    offset: i64,
    letter: RecordLetter,
    settlement: Option<RecordSettlement>,
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
    /// The range of records that an operator gives up, while it is not past.
    skipping: Option<SkipRange>,
    /// Id of the paused channel that the run of the record at hand called.
    awaited_channel: Option<Arc<str>>,
    handled: HandledCounter,
}

impl PartitionWork {
    async fn run(mut self) {
        while let Some(mut records) = self.handle.next_records().await {
            if !self.wait_while_paused().await {
                continue;
            }
            self.limit_to_range(&mut records);
            self.process(&records).await;
            if let Some(first) = records.first() {
                self.end_passed_range(first.offset);
            }
            self.wait_for_room().await;
        }
    }

    /// Waits while the channel of the topic is paused, or one that the record at hand called, and no operator skips a
    /// record. Returns `false` if the partition is given up.
    async fn wait_while_paused(&self) -> bool {
        let mut generations = self.shared.registry.watch_generations();
        loop {
            generations.borrow_and_update();
            let waits_for_call = self.awaited_channel.as_ref().is_some_and(|id| self.shared.is_paused_id(id));
            if !waits_for_call && !self.shared.is_paused(&self.handle.topic) {
                return true;
            }
            tokio::select! {
                biased;
                () = self.handle.wait_for(WorkerStage::Closing) => return false,
                () = self.handle.skip_requested() => return true,
                // The registry outlives its partitions.
                _ = generations.changed() => {}
            }
        }
    }

    /// Waits until the finished records leave room for a batch, or the partition is given up. They wait for the
    /// shares of their traces.
    async fn wait_for_room(&self) {
        tokio::select! {
            biased;
            () = self.handle.wait_for(WorkerStage::Closing) => {}
            // What is reserved is given back: nobody else sends.
            _ = self.finished.reserve_many(BATCH_RECORDS) => {}
        }
    }

    /// Runs records until they are finished or one of them is not, and makes attempts at that one until it is
    /// finished, is fetched again, or the partition is given up. The delay before an attempt is kept also if
    /// that is made after the record was fetched again.
    async fn process(&mut self, records: &[Arc<TopicRecord>]) {
        let Some(first) = records.first() else { return };
        self.awaited_channel = None;
        let (record, mut end) = if self.handle.begin(first.offset) {
            (Arc::clone(first), self.attempt_again(first).await)
        } else {
            match self.run_records(records).await {
                Some((record, result)) => {
                    let end = self.conclude(&record, result).await;
                    (record, end)
                }
                None => return,
            }
        };
        loop {
            let (delay, seeks_back) = match end {
                AttemptEnd::Finished | AttemptEnd::Stopped => return,
                AttemptEnd::Retry(RetryStep::SeekBack(delay)) => (delay, true),
                AttemptEnd::Retry(RetryStep::After(delay)) => (delay, false),
            };
            if seeks_back {
                self.seek_back(&record);
            }
            let mut generations = self.shared.registry.watch_generations();
            generations.borrow_and_update();
            tokio::select! {
                biased;
                () = self.handle.wait_for(WorkerStage::Closing) => return,
                () = self.handle.skip_requested() => {}
                // A changed definition may heal the record.
                _ = generations.changed() => {}
                () = sleep(delay) => {}
            }
            if seeks_back || !self.wait_while_paused().await {
                return;
            }
            self.handle.begin(record.offset);
            end = self.attempt_again(&record).await;
        }
    }

    /// Makes another attempt at a record.
    async fn attempt_again(&mut self, record: &Arc<TopicRecord>) -> AttemptEnd {
        self.awaited_channel = None;
        if let Some(request) = self.handle.take_skip()
            && let Some(end) = self.skip(record, request).await
        {
            return end;
        }
        if let Some(pending) = self.pending.take().filter(|pending| pending.offset == record.offset) {
            return self.write_letter(pending).await;
        }
        match self.run_records(slice::from_ref(record)).await {
            Some((record, result)) => self.conclude(&record, result).await,
            // Or the partition is given up: nothing follows either.
            None => AttemptEnd::Finished,
        }
    }

    /// Runs records and those that follow meanwhile, and finishes those that are done. Returns the one that is not,
    /// with its result.
    async fn run_records(&self, records: &[Arc<TopicRecord>]) -> Option<(Arc<TopicRecord>, RecordResult)> {
        let is_failure_traced =
            self.handle.update(|state, _| state.held_record().is_some_and(|held| held.is_failure_traced));
        let progress = Arc::new(BatchProgress::default());
        let mut left = VecDeque::from_iter(records.iter().cloned());
        let mut closing = pin!(self.handle.wait_for(WorkerStage::Closing));
        let mut ending = pin!(self.handle.wait_for(WorkerStage::Ending));
        let mut running = pin!(self.shared.run_records(records, is_failure_traced, &progress));
        let mut is_closing = false;
        let mut undone = None;
        loop {
            tokio::select! {
                biased;
                () = &mut ending => return None,
                () = &mut closing, if !is_closing => {
                    progress.close();
                    is_closing = true;
                }
                unrun = &mut running => {
                    undone = self.take_results(&progress, &mut left).await.or(undone);
                    let record = left.pop_front()?;
                    let unrun = || Some(unrun?.with_span(self.begin_span(&record)));
                    let result = undone.or_else(unrun)?;
                    return Some((record, result));
                }
                () = progress.wait_for_results() => {
                    undone = self.take_results(&progress, &mut left).await.or(undone);
                    let may_go_on = !is_closing && self.skipping.is_none();
                    if undone.is_none() && may_go_on && !self.shared.is_paused(&self.handle.topic) {
                        self.extend_batch(&progress, &mut left);
                    }
                }
            }
        }
    }

    /// Begins the span of a record whose topic has no channel.
    fn begin_span(&self, record: &TopicRecord) -> ActiveSpan {
        let TopicRecord { topic, partition, offset, .. } = record;
        let context = self.shared.trace_context(record);
        context.begin(|| SpanDraft::record(topic, *partition, *offset))
    }

    /// Adds the records that follow to a batch of which one runs. Those that the channel does not reach stay in line.
    fn extend_batch(&self, progress: &BatchProgress, left: &mut VecDeque<Arc<TopicRecord>>) {
        if left.is_empty() {
            return;
        }
        let records = self.handle.following_records(left.len(), self.finished.capacity());
        progress.extend(self.shared.record_runs(&records, false));
        left.extend(records);
    }

    /// Finishes the records of a batch that are done, and takes them from those that are `left`. Returns the
    /// result of the next one if there is one: it is not done.
    async fn take_results(
        &self,
        progress: &BatchProgress,
        left: &mut VecDeque<Arc<TopicRecord>>,
    ) -> Option<RecordResult> {
        let mut results = progress.take_results();
        let undone = results.pop_if(|result| !result.is_done());
        let count = |outcome| results.iter().filter(|result| result.outcome == outcome).count();
        let (duplicates, tombstones) = (count(RecordOutcome::Duplicate), count(RecordOutcome::Tombstone));
        self.count_records(SettledAs::Duplicate, duplicates);
        self.count_records(SettledAs::Tombstone, tombstones);
        self.count_records(SettledAs::Completed, results.len() - duplicates - tombstones);
        let finished = left.drain(..results.len().min(left.len())).zip(results);
        let finished = finished
            .map(|(record, result)| FinishedRecord { offset: record.offset, settlement: result.settlement });
        let finished = finished.collect();
        self.finish(finished, left.front().map(|record| record.offset)).await;
        undone
    }

    fn count_records(&self, settled_as: SettledAs, count: usize) {
        if count > 0 {
            self.shared.metrics.count_records(&self.handle.topic, settled_as, count);
        }
    }

    /// Hands records over that wait for nothing but their settlement; `next` begins then.
    async fn finish(&self, finished: Vec<FinishedRecord>, next: Option<i64>) {
        if finished.is_empty() {
            return;
        }
        self.handle.finish(finished.iter().map(|record| record.offset), next);
        self.handled.add(finished.len());
        // The receiver ends with the partition, and the records are delivered again then.
        if let Ok(places) = self.finished.reserve_many(finished.len()).await {
            places.zip(finished).for_each(|(place, record)| place.send(record));
        }
    }

    /// Concludes an attempt that did not settle its record.
    async fn conclude(&mut self, record: &Arc<TopicRecord>, result: RecordResult) -> AttemptEnd {
        let RecordResult { outcome, settlement, trace_context } = result;
        match outcome {
            RecordOutcome::Completed | RecordOutcome::Duplicate | RecordOutcome::Tombstone => {
                AttemptEnd::Finished
            }
            RecordOutcome::Deferred { reason, .. } if self.gives_up(record.offset) => {
                self.give_up(record, &reason).await
            }
            RecordOutcome::Deferred { reason, paused_channel } => {
                self.awaited_channel = paused_channel;
                self.shared.metrics.count_retry(&self.handle.topic, RetryReason::Deferred);
                AttemptEnd::Retry(self.handle.update(|state, now| state.defer(reason, now)))
            }
            RecordOutcome::Failed { message } => {
                let is_first = self.is_first_failure();
                let end = self.fail(record, (message, trace_context), settlement).await;
                if matches!(end, AttemptEnd::Finished) {
                    self.count_letter(record.offset);
                }
                if is_first {
                    self.shared.note_held_record(record).await;
                }
                end
            }
        }
    }

    /// Writes a failed record to the topic of dead letters, or lets it wait for another attempt.
    async fn fail(
        &mut self,
        record: &Arc<TopicRecord>,
        (error, trace_context): (String, TraceContext),
        mut settlement: Option<RecordSettlement>,
    ) -> AttemptEnd {
        let mut is_traced = false;
        if let Some(settlement) = &mut settlement
            && settlement.trace_bytes().is_some()
        {
            is_traced = settlement.store_trace().await.is_ok();
        }
        if self.shared.writes_letters_of(&record.topic) {
            let trace_id = settlement.as_ref().map(|settlement| settlement.trace_id().to_string());
            let letter = RecordLetter::new(record, &error, trace_id);
            let offset = record.offset;
            let pending = PendingLetter { offset, letter, settlement, error, trace_context };
            let end = self.write_letter(pending).await;
            if is_traced {
                // Another instance of the worker has no pending letter, and runs the record again.
                self.handle.update(|state, _| state.mark_failure_traced());
            }
            return end;
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

    /// Writes a dead letter. If that fails, the write is tried again, not the run.
    async fn write_letter(&mut self, pending: PendingLetter) -> AttemptEnd {
        match self.publish_letter(&pending.letter, &pending.trace_context).await {
            Some(Ok(())) => {
                let PendingLetter { offset, settlement, error, .. } = pending;
                self.finish_as_letter(offset, settlement, &error, SettledAs::DeadLetter).await;
                AttemptEnd::Finished
            }
            Some(Err(reason)) => {
                let end = self.retry_letter(pending.offset, &pending.error, &reason);
                self.pending = Some(pending);
                end
            }
            None => AttemptEnd::Stopped,
        }
    }

    /// Sends a dead letter to the brokers; `None` if the partition is given up meanwhile.
    async fn publish_letter(
        &self,
        letter: &RecordLetter,
        trace_context: &TraceContext,
    ) -> Option<Result<(), String>> {
        tokio::select! {
            biased;
            () = self.handle.wait_for(WorkerStage::Ending) => None,
            written = self.shared.write_letter(letter, trace_context) => Some(written),
        }
    }

    /// Finishes a record whose dead letter is acknowledged.
    async fn finish_as_letter(
        &self,
        offset: i64,
        mut settlement: Option<RecordSettlement>,
        error: &str,
        settled_as: SettledAs,
    ) {
        info!(self.shared.log, "a record became a dead letter"; "topic" => &*self.handle.topic,
            "partition" => self.handle.partition, "offset" => offset, "error" => error);
        match &mut settlement {
            Some(settlement) => settlement.report_failure(error).await,
            None => self.shared.count_lost_record(&self.handle.topic),
        }
        self.count_records(settled_as, 1);
        self.finish(vec![FinishedRecord { offset, settlement }], None).await;
    }

    /// Notes that the dead letter of a record was not acknowledged. `error` is that of the record.
    fn retry_letter(&self, offset: i64, error: &str, reason: &str) -> AttemptEnd {
        (self.shared.settings.errors)(ErrorReason::KafkaDlq);
        self.shared.metrics.count_retry(&self.handle.topic, RetryReason::DeadLetterWrite);
        let error = format!("{error}; the dead letter was not written: {reason}");
        self.log_first_failure(offset, &error);
        AttemptEnd::Retry(self.handle.update(|state, now| state.fail(error, now)))
    }

    /// Fetches a record again. It blocks its partition, which is logged once.
    fn seek_back(&self, record: &Arc<TopicRecord>) {
        let held = self.handle.update(|state, _| state.held_record().cloned());
        if let Some(held) = held.filter(|held| held.rounds == 1) {
            warn!(self.shared.log, "a record blocks its partition and is fetched again";
                "topic" => &*self.handle.topic, "partition" => self.handle.partition, "offset" => record.offset,
                "attempts" => held.attempts, "error" => held.last_error);
        }
        self.handle.seek_back(record.offset);
    }

    /// Returns `true` if the record at hand has not failed before.
    fn is_first_failure(&self) -> bool {
        self.handle.update(|state, _| state.held_record().is_none_or(|held| held.failures == 0))
    }

    /// Logs the failure of a record once, however often it is tried.
    fn log_first_failure(&self, offset: i64, error: &str) {
        if self.is_first_failure() {
            warn!(self.shared.log, "a record failed and is tried again"; "topic" => &*self.handle.topic,
                "partition" => self.handle.partition, "offset" => offset, "error" => error);
        }
    }
}
