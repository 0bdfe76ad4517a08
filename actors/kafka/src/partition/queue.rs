//! The records of a partition that wait for its worker: bounded in bytes. Pure, no I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use svc_channels::TopicRecord;

/// Maximum number and bytes of the records that go to a channel together.
pub(super) const BATCH_RECORDS: usize = 128;
const BATCH_BYTES: usize = 256 * 1024;
/// Bytes counted for a record in addition to its key, value and headers.
const RECORD_BYTES: usize = 128;

/// The order to the consumer after a change of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowControl {
    /// To fetch no more records of the partition.
    Pause,
    /// To fetch records of the partition again.
    Resume,
}

/// A queue that asks for a pause when it is full, and for more when half of it is free.
#[derive(Debug)]
pub(crate) struct RecordQueue {
    records: VecDeque<Arc<TopicRecord>>,
    bytes: usize,
    max_bytes: usize,
    is_paused: bool,
}

impl RecordQueue {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { records: VecDeque::new(), bytes: 0, max_bytes, is_paused: false }
    }

    /// Adds a record. The queue takes it even when it is full: it was fetched already.
    pub(crate) fn push(&mut self, record: Arc<TopicRecord>) -> Option<FlowControl> {
        self.bytes += held_bytes(&record);
        self.records.push_back(record);
        let is_full = self.bytes >= self.max_bytes;
        if !is_full || std::mem::replace(&mut self.is_paused, true) {
            return None;
        }
        Some(FlowControl::Pause)
    }

    /// Returns the oldest records that go together, without the first `taken`: at most `most` with these, and at
    /// least one if there is any and none is taken. They stay in line until they are done.
    pub(crate) fn next_batch(&self, taken: usize, most: usize) -> Vec<Arc<TopicRecord>> {
        let mut bytes = 0;
        let fits = |record: &&Arc<TopicRecord>| {
            let is_first = bytes == 0;
            bytes += held_bytes(record);
            is_first || bytes <= BATCH_BYTES
        };
        let together = self.records.iter().take(most.min(BATCH_RECORDS)).take_while(fits);
        together.skip(taken).cloned().collect()
    }

    /// Removes the oldest records.
    pub(crate) fn remove(&mut self, count: usize) -> Option<FlowControl> {
        let removed = self.records.drain(..count.min(self.records.len()));
        self.bytes -= removed.map(|record| held_bytes(&record)).sum::<usize>();
        self.resume_at(self.max_bytes / 2)
    }

    pub(crate) fn first_offset(&self) -> Option<i64> {
        self.records.front().map(|record| record.offset)
    }

    /// Drops every record.
    pub(crate) fn clear(&mut self) -> Option<FlowControl> {
        self.records.clear();
        self.bytes = 0;
        self.resume_at(self.max_bytes)
    }

    fn resume_at(&mut self, bytes: usize) -> Option<FlowControl> {
        let resumes = self.is_paused && self.bytes <= bytes;
        self.is_paused &= !resumes;
        resumes.then_some(FlowControl::Resume)
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }
}

fn held_bytes(record: &TopicRecord) -> usize {
    let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    RECORD_BYTES + headers + record.key.as_ref().map_or(0, Vec::len) + record.value_len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(offset: i64, bytes: usize) -> Arc<TopicRecord> {
        let value = Some(vec![b'x'; bytes]);
        Arc::new(TopicRecord { topic: "t".into(), partition: 0, offset, key: None, value, headers: vec![] })
    }

    #[test]
    fn full_queue_pauses_once_until_half_free() {
        let mut queue = RecordQueue::new(10 * (RECORD_BYTES + 100));
        let orders: Vec<_> = (0..11).map(|offset| queue.push(record(offset, 100))).collect();
        assert_eq!(orders.iter().position(Option::is_some), Some(9));
        assert_eq!((orders[9], orders[10]), (Some(FlowControl::Pause), None));
        let orders: Vec<_> = (0..11).map(|_| queue.remove(1)).collect();
        assert_eq!(orders.iter().position(Option::is_some), Some(5), "five are left");
        assert_eq!((queue.len(), queue.bytes(), queue.is_paused()), (0, 0, false));
        assert!(queue.next_batch(0, 10).is_empty());
    }

    #[test]
    fn record_above_the_bound_waits_alone_and_is_taken() {
        let mut queue = RecordQueue::new(1000);
        assert_eq!(queue.push(record(0, 100_000)), Some(FlowControl::Pause));
        assert_eq!(queue.remove(1), Some(FlowControl::Resume));
        queue.push(record(1, 100_000));
        assert_eq!(queue.clear(), Some(FlowControl::Resume));
        assert_eq!(queue.clear(), None);
    }

    #[test]
    fn batch_is_bounded_and_holds_one_record() {
        let mut queue = RecordQueue::new(usize::MAX);
        for offset in 0..1000 {
            queue.push(record(offset, 10));
        }
        let offsets =
            |batch: Vec<Arc<TopicRecord>>| batch.iter().map(|record| record.offset).collect::<Vec<_>>();
        assert_eq!(offsets(queue.next_batch(0, 3)), [0, 1, 2]);
        assert_eq!(queue.next_batch(0, usize::MAX).len(), BATCH_RECORDS);
        assert_eq!((queue.len(), queue.first_offset()), (1000, Some(0)), "they stay in line");
        assert_eq!(offsets(queue.next_batch(2, 5)), [2, 3, 4], "those that are taken count");
        assert!(queue.next_batch(5, 3).is_empty() && queue.next_batch(BATCH_RECORDS, usize::MAX).is_empty());
        queue.clear();
        for bytes in [BATCH_BYTES * 2, BATCH_BYTES / 2, BATCH_BYTES / 3, BATCH_BYTES / 3] {
            queue.push(record(0, bytes));
        }
        assert_eq!(queue.next_batch(0, 4).len(), 1);
        queue.remove(1);
        assert_eq!(queue.next_batch(0, 4).len(), 2);
        assert_eq!((queue.next_batch(1, 4).len(), queue.next_batch(2, 4).len()), (1, 0));
    }

    proptest! {
        #[test]
        fn records_leave_in_order_and_pauses_alternate_with_resumptions(
            steps in prop::collection::vec(prop::option::of(0_usize..600), 1..200),
        ) {
            let (mut queue, mut pushed, mut popped, mut paused) = (RecordQueue::new(2000), 0, 0, false);
            for step in steps {
                let order = match step {
                    Some(bytes) => {
                        pushed += 1;
                        queue.push(record(pushed, bytes))
                    }
                    None => {
                        if let Some(offset) = queue.first_offset() {
                            popped += 1;
                            prop_assert_eq!(offset, popped);
                        }
                        queue.remove(1)
                    }
                };
                if let Some(order) = order {
                    prop_assert_eq!(order == FlowControl::Pause, !paused);
                    paused = !paused;
                }
                prop_assert_eq!(queue.is_paused(), paused);
                prop_assert!(!paused || queue.len() > 0, "a paused queue is woken by its worker");
            }
        }
    }
}
