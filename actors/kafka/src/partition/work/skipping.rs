//! Records that an operator gives up: the one that is held, and those that fail in the range behind it.

use std::sync::Arc;

use svc_channels::TopicRecord;

use super::{AttemptEnd, PartitionWork};
use crate::dead_letter::RecordLetter;
use crate::error::SkipError;
use crate::metrics::SettledAs;
use crate::partition::handle::{SkipRequest, SkipSender, SkippedOffsets, WorkerStage};

/// A range of records of which those that fail are given up. Its request is answered at its end.
pub(super) struct SkipRange {
    /// The first offset behind the range.
    until: i64,
    skipped: SkippedOffsets,
    answer: SkipSender,
}

impl PartitionWork {
    /// Gives a record up for an operator: it becomes a dead letter. If that is not acknowledged, the record waits
    /// for its next attempt, and with it the letter that was pending before. `None` if another record is meant.
    pub(super) async fn skip(
        &mut self,
        record: &Arc<TopicRecord>,
        request: SkipRequest,
    ) -> Option<AttemptEnd> {
        let SkipRequest { offset, until, answer } = request;
        if offset != record.offset {
            self.handle.end_skip();
            let _ = answer.send(Err(SkipError::OtherOffset { held: record.offset }));
            return None;
        }
        let pending = self.pending.take().filter(|pending| pending.offset == offset);
        let error = match &pending {
            Some(pending) => pending.error.clone(),
            None => {
                let held = self.handle.update(|state, _| state.held_record().cloned());
                held.map(|held| held.last_error).unwrap_or_default()
            }
        };
        let skip_error = describe_skip(&error);
        let letter = RecordLetter::new(record, &skip_error, None);
        let trace_context = self.shared.trace_context(record);
        let (end, skipped) = match self.publish_letter(&letter, &trace_context).await {
            Some(Ok(())) => {
                let settlement = pending.and_then(|pending| pending.settlement);
                self.finish_as_letter(offset, settlement, &skip_error, SettledAs::Skipped).await;
                let skipped = SkippedOffsets { first: offset, next: offset + 1, letters: 1 };
                if until > skipped.next {
                    self.skipping = Some(SkipRange { until, skipped, answer });
                    return Some(AttemptEnd::Finished);
                }
                (AttemptEnd::Finished, Ok(skipped))
            }
            Some(Err(reason)) => {
                self.pending = pending;
                let end = self.retry_letter(offset, &error, &reason);
                (end, Err(SkipError::NotWritten("the brokers did not acknowledge it".to_owned())))
            }
            None => {
                let reason = "the partition is given up".to_owned();
                (AttemptEnd::Stopped, Err(SkipError::NotWritten(reason)))
            }
        };
        self.handle.end_skip();
        // An answer that nobody waits for any more changes nothing.
        let _ = answer.send(skipped);
        Some(end)
    }

    /// Returns `true` if a record is given up when its attempt fails.
    pub(super) fn gives_up(&self, offset: i64) -> bool {
        self.skipping.as_ref().is_some_and(|range| offset < range.until)
    }

    /// Gives up a record of the range that its channel could not take.
    pub(super) async fn give_up(&mut self, record: &Arc<TopicRecord>, reason: &str) -> AttemptEnd {
        let skip_error = describe_skip(reason);
        let letter = RecordLetter::new(record, &skip_error, None);
        let trace_context = self.shared.trace_context(record);
        match self.publish_letter(&letter, &trace_context).await {
            Some(Ok(())) => {
                self.count_letter(record.offset);
                self.finish_as_letter(record.offset, None, &skip_error, SettledAs::Skipped).await;
                AttemptEnd::Finished
            }
            Some(Err(error)) => self.retry_letter(record.offset, reason, &error),
            None => AttemptEnd::Stopped,
        }
    }

    /// Counts the dead letter of a record for the range that it belongs to.
    pub(super) fn count_letter(&mut self, offset: i64) {
        if let Some(range) = self.skipping.as_mut().filter(|range| offset < range.until) {
            range.skipped.letters += 1;
        }
    }

    /// Leaves the first record alone in a batch while a range is given up. Ends a range that the record lies behind.
    pub(super) fn limit_to_range(&mut self, records: &mut Vec<Arc<TopicRecord>>) {
        let Some(until) = self.skipping.as_ref().map(|range| range.until) else { return };
        if records.first().is_some_and(|first| first.offset >= until) {
            self.end_range(until);
        } else {
            records.truncate(1);
        }
    }

    /// Ends the range if the record at `offset` was its last one and is finished.
    pub(super) fn end_passed_range(&mut self, offset: i64) {
        let is_held = self.handle.update(|state, _| state.is_held(offset));
        let is_closing = self.handle.stage() >= WorkerStage::Closing;
        let is_last = self.skipping.as_ref().is_some_and(|range| offset + 1 >= range.until);
        if is_last && !is_held && !is_closing {
            self.end_range(offset + 1);
        }
    }

    /// Answers the request of the range: the partition goes on at `next`.
    fn end_range(&mut self, next: i64) {
        if let Some(SkipRange { skipped, answer, .. }) = self.skipping.take() {
            self.handle.end_skip();
            // An answer that nobody waits for any more changes nothing.
            let _ = answer.send(Ok(SkippedOffsets { next, ..skipped }));
        }
    }
}

fn describe_skip(error: &str) -> String {
    format!("skipped by an operator: {error}")
}
