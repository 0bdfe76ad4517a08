//! The handle of an assigned partition: shared by its worker, its consumer and those who look at it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use svc_channels::TopicRecord;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::queue::{FlowControl, RecordQueue};
use super::state::{PartitionState, RetryBudget, UnreadableRecords};
use crate::error::SkipError;

/// The stages in which a partition is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkerStage {
    /// Records run.
    Running,
    /// No attempt begins any more.
    Closing,
    /// An attempt in progress is dropped.
    Ending,
    /// The worker has ended.
    Ended,
}

/// An order of a worker to its consumer.
#[derive(Debug)]
pub(crate) enum ConsumerOrder {
    /// To fetch again from this offset on.
    SeekBack(Arc<PartitionHandle>, i64),
    /// To fetch again after a pause.
    Resume(Arc<PartitionHandle>),
    /// To commit what is done.
    Commit(Arc<PartitionHandle>),
}

/// Longest range of offsets that one request skips.
const LONGEST_RANGE: i64 = 1000;

/// The records that an operator wants to give up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkipTarget {
    /// The offset of the record that is meant; `None` for the one that is held.
    pub offset: Option<i64>,
    /// The offset before which also the following records are given up, if an attempt at them fails.
    pub until: Option<i64>,
}

/// The offsets that a partition went past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedOffsets {
    /// The first one.
    pub first: i64,
    /// The offset that the partition goes on at.
    pub next: i64,
    /// Number of dead letters that were written.
    pub letters: u32,
}

/// Takes the offsets that were skipped.
pub(crate) type SkipSender = oneshot::Sender<Result<SkippedOffsets, SkipError>>;

/// The request of an operator to give up the record that a partition holds.
pub(crate) struct SkipRequest {
    /// The offset of the record.
    pub(crate) offset: i64,
    /// The offset before which the records that follow and fail are given up too.
    pub(crate) until: i64,
    pub(crate) answer: SkipSender,
}

/// Receives the offsets that were skipped.
type SkipReceiver = oneshot::Receiver<Result<SkippedOffsets, SkipError>>;

pub(super) struct PartitionShared {
    pub(super) state: PartitionState,
    pub(super) queue: RecordQueue,
    /// Set until the consumer has sought back: what it fetched before is dropped.
    pub(super) is_seeking: bool,
    /// The offset that is fetched next; `None` before the first record.
    pub(super) next_fetch: Option<i64>,
    /// The records that cannot be unpacked, if the partition waits at some.
    pub(super) unreadable: Option<UnreadableRecords>,
    high_watermark: Option<i64>,
    skip: Option<SkipRequest>,
    /// Set while the worker carries a request to skip out.
    is_skipping: bool,
}

/// The handle of a partition. It outlives the instances of its worker.
pub(crate) struct PartitionHandle {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) group: Arc<str>,
    shared: Mutex<PartitionShared>,
    /// Wakes the worker: a record has arrived, or a commit was answered.
    arrived: Notify,
    skip_requested: Notify,
    stage: watch::Sender<WorkerStage>,
    orders: mpsc::UnboundedSender<ConsumerOrder>,
    /// Set while an order to commit is on its way.
    commit_ordered: AtomicBool,
}

impl PartitionHandle {
    pub(crate) fn new(
        (topic, partition): (Arc<str>, i32),
        group: Arc<str>,
        budget: RetryBudget,
        max_bytes: usize,
        orders: mpsc::UnboundedSender<ConsumerOrder>,
    ) -> Self {
        Self {
            topic,
            partition,
            group,
            shared: Mutex::new(PartitionShared {
                state: PartitionState::new(budget),
                queue: RecordQueue::new(max_bytes),
                is_seeking: false,
                next_fetch: None,
                unreadable: None,
                high_watermark: None,
                skip: None,
                is_skipping: false,
            }),
            arrived: Notify::new(),
            skip_requested: Notify::new(),
            stage: watch::Sender::new(WorkerStage::Running),
            orders,
            commit_ordered: AtomicBool::new(false),
        }
    }

    /// Returns the name of the node of the worker.
    pub(crate) fn node_name(&self) -> String {
        format!("{}.{}", self.topic, self.partition)
    }

    // The side of the consumer.

    /// Puts a fetched record in line; the consumer carries the order out.
    pub(crate) fn push(&self, record: Arc<TopicRecord>) -> Option<FlowControl> {
        let mut shared = self.lock();
        if shared.is_seeking {
            return None;
        }
        (shared.next_fetch, shared.unreadable) = (Some(record.offset + 1), None);
        let order = shared.queue.push(record);
        drop(shared);
        self.arrived.notify_one();
        order
    }

    /// Notes that the consumer fetches again from the offset that the worker asked for.
    pub(crate) fn end_seek(&self) {
        self.lock().is_seeking = false;
    }

    /// Returns the offset that is fetched next; `None` before the first record.
    pub(crate) fn next_fetch(&self) -> Option<i64> {
        self.lock().next_fetch
    }

    /// Takes the offset to commit.
    pub(crate) fn take_commit(&self) -> Option<i64> {
        self.commit_ordered.store(false, Ordering::Release);
        self.lock().state.take_commit()
    }

    /// Returns `true` if no order to commit is on its way. There is one from then on, until
    /// [`take_commit`](Self::take_commit).
    pub(crate) fn claim_commit_order(&self) -> bool {
        !self.commit_ordered.swap(true, Ordering::AcqRel)
    }

    /// Notes the answer to a commit; a worker that waits for it goes on.
    pub(crate) fn record_commit(&self, offset: i64, is_stored: bool) {
        self.lock().state.record_commit(offset, is_stored);
        self.arrived.notify_one();
    }

    /// Notes the committed offset and the end of the partition.
    pub(crate) fn record_watermark(&self, committed: Option<i64>, high: Option<i64>) {
        let mut shared = self.lock();
        if let Some(committed) = committed {
            shared.state.record_committed(committed);
        }
        shared.high_watermark = high.or(shared.high_watermark);
    }

    /// Moves the worker on towards its end. Nothing is skipped any more.
    pub(crate) fn advance(&self, stage: WorkerStage) {
        let mut shared = self.lock();
        shared.state.stop();
        self.stage.send_if_modified(|now| {
            let advances = *now < stage;
            *now = stage.max(*now);
            advances
        });
        shared.skip = None;
    }

    /// Waits until the worker has reached a stage.
    pub(crate) async fn wait_for(&self, stage: WorkerStage) {
        let mut stages = self.stage.subscribe();
        // The sender is this very value: it cannot be gone.
        let _ = stages.wait_for(|now| *now >= stage).await;
    }

    // The side of the worker.

    /// Returns the next records that go together, once enough of those before them are committed; `None` if no
    /// attempt may begin any more. They stay in line until they are finished. A record that is held comes
    /// alone.
    pub(crate) async fn next_records(&self) -> Option<Vec<Arc<TopicRecord>>> {
        loop {
            if self.stage() >= WorkerStage::Closing {
                return None;
            }
            let records = self.next_batch();
            if !records.is_empty() {
                return Some(records);
            }
            tokio::select! {
                () = self.arrived.notified() => {}
                () = self.wait_for(WorkerStage::Closing) => {}
            }
        }
    }

    fn next_batch(&self) -> Vec<Arc<TopicRecord>> {
        let mut shared = self.lock();
        let Some(first) = shared.queue.first_offset() else { return Vec::new() };
        let room = shared.state.room();
        let most = if shared.state.is_held(first) { room.min(1) } else { room };
        shared.queue.next_batch(0, most)
    }

    /// Returns the records that may follow the first `taken`, of which one runs; at most `most` with these.
    pub(crate) fn following_records(&self, taken: usize, most: usize) -> Vec<Arc<TopicRecord>> {
        let mut shared = self.lock();
        let room = shared.state.room();
        shared.queue.next_batch(taken, most.min(room))
    }

    /// Begins an attempt at a record; returns `true` if an earlier one did not settle it.
    pub(crate) fn begin(&self, offset: i64) -> bool {
        self.update(|state, now| {
            state.begin(offset, now);
            state.is_held(offset)
        })
    }

    /// Takes the first records out of line, because their attempts are over. `next` begins then. A request to skip
    /// one of them comes too late, and concerns no other record.
    pub(crate) fn finish(self: &Arc<Self>, finished: impl ExactSizeIterator<Item = i64>, next: Option<i64>) {
        let count = finished.len();
        let mut shared = self.lock();
        finished.for_each(|offset| shared.state.finish(offset));
        if let Some(next) = next {
            shared.state.begin(next, Instant::now());
        }
        let order = shared.queue.remove(count);
        let late_skip = shared.skip.take();
        drop(shared);
        if let Some(request) = late_skip {
            let _ = request.answer.send(Err(SkipError::NothingHeld));
        }
        if order == Some(FlowControl::Resume) {
            self.order(ConsumerOrder::Resume(Arc::clone(self)));
        }
    }

    /// Notes that a record is done, and orders its commit.
    pub(crate) fn settle(self: &Arc<Self>, offset: i64) {
        self.lock().state.settle(offset);
        self.order_commit();
    }

    /// Orders to commit what is done, unless such an order is on its way.
    pub(super) fn order_commit(self: &Arc<Self>) {
        if self.claim_commit_order() {
            self.order(ConsumerOrder::Commit(Arc::clone(self)));
        }
    }

    /// Drops what waits, and orders to fetch again from `offset` on.
    pub(crate) fn seek_back(self: &Arc<Self>, offset: i64) {
        let mut shared = self.lock();
        (shared.is_seeking, shared.next_fetch) = (true, Some(offset));
        let resumes = shared.queue.clear().is_some();
        drop(shared);
        self.order(ConsumerOrder::SeekBack(Arc::clone(self), offset));
        if resumes {
            self.order(ConsumerOrder::Resume(Arc::clone(self)));
        }
    }

    /// Changes the state.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut PartitionState, Instant) -> T) -> T {
        change(&mut self.lock().state, Instant::now())
    }

    /// Waits for the request of an operator.
    pub(crate) async fn skip_requested(&self) {
        while self.lock().skip.is_none() {
            self.skip_requested.notified().await;
        }
    }

    /// Takes the request of an operator. There is no other until [`end_skip`](Self::end_skip).
    pub(crate) fn take_skip(&self) -> Option<SkipRequest> {
        let mut shared = self.lock();
        let request = shared.skip.take();
        // An instance of the worker that ended meanwhile left it set.
        shared.is_skipping = request.is_some();
        request
    }

    /// Notes that the request that was taken is carried out, or failed.
    pub(crate) fn end_skip(&self) {
        self.lock().is_skipping = false;
    }

    // The side of those who look at it.

    /// Reads the state, and the records that wait.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&PartitionState, &RecordQueue) -> T) -> T {
        let shared = self.lock();
        read(&shared.state, &shared.queue)
    }

    /// Returns the number of records between the position and the end of the partition, once both are known.
    /// Before the first record of a group without a committed offset that is unknown. The end is the one that was
    /// measured, or lies behind the last record that was fetched since.
    pub(crate) fn lag(&self) -> Option<i64> {
        let shared = self.lock();
        let end = shared.high_watermark?.max(shared.next_fetch.unwrap_or_default());
        Some((end - shared.state.position()?).max(0))
    }

    /// Checks that the worker holds a record that can be skipped.
    ///
    /// # Errors
    /// [`SkipError`] if no record, or another one, waits for another attempt, it is being skipped, or the range is empty
    /// or too long.
    pub(crate) fn check_skip(&self, target: SkipTarget) -> Result<(), SkipError> {
        self.skippable_range(&self.lock(), target).map(|_| ())
    }

    /// Returns the offset of the record that is held, and the end of the range: at most that of the partition.
    fn skippable_range(
        &self,
        shared: &PartitionShared,
        SkipTarget { offset: named, until }: SkipTarget,
    ) -> Result<(i64, i64), SkipError> {
        if self.stage() >= WorkerStage::Closing {
            return Err(SkipError::NotAssigned);
        }
        let held = shared.state.held_record().ok_or(SkipError::NothingHeld)?.offset;
        if named.is_some_and(|named| named != held) {
            return Err(SkipError::OtherOffset { held });
        }
        if shared.skip.is_some() || shared.is_skipping {
            return Err(SkipError::Busy);
        }
        let until = until.unwrap_or(held + 1);
        if !(held + 1..=held + LONGEST_RANGE).contains(&until) {
            return Err(SkipError::Range { held, most: LONGEST_RANGE });
        }
        let end = shared.high_watermark.max(shared.next_fetch).unwrap_or(until);
        Ok((held, until.min(end).max(held + 1)))
    }

    /// Asks the worker to give up the record that it holds, and of those that follow up to the end of the range the ones
    /// that fail. Returns the receiver of the offsets that were skipped, which closes if the partition is given up.
    ///
    /// # Errors
    /// As [`check_skip`](Self::check_skip).
    pub(crate) fn request_skip(&self, target: SkipTarget) -> Result<SkipReceiver, SkipError> {
        let mut shared = self.lock();
        let (offset, until) = self.skippable_range(&shared, target)?;
        let (answer, skipped) = oneshot::channel();
        shared.skip = Some(SkipRequest { offset, until, answer });
        drop(shared);
        self.skip_requested.notify_one();
        Ok(skipped)
    }

    /// Withdraws a request that was not taken.
    pub(crate) fn withdraw_skip(&self) {
        self.lock().skip = None;
    }

    /// Returns the stage in which the partition is.
    pub(super) fn stage(&self) -> WorkerStage {
        *self.stage.borrow()
    }

    pub(super) fn order(&self, order: ConsumerOrder) {
        // A consumer that has ended gives its partitions up.
        let _ = self.orders.send(order);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PartitionShared> {
        self.shared.lock()
    }
}

impl fmt::Debug for PartitionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionHandle({}/{})", self.topic, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fixtures::{partition, record};

    /// A partition that holds back the record at offset 4, with another one behind it.
    fn holding_partition() -> Arc<PartitionHandle> {
        let (handle, _) = partition();
        handle.push(record(4));
        handle.push(record(5));
        handle.begin(4);
        handle.update(|state, now| state.fail("no".into(), now));
        handle
    }

    fn target(offset: Option<i64>) -> SkipTarget {
        SkipTarget { offset, until: None }
    }

    #[test]
    fn range_begins_after_held_record_and_is_bounded() {
        let handle = holding_partition();
        let check = |until| handle.check_skip(SkipTarget { offset: None, until: Some(until) });
        for until in [0, 4, 1005] {
            assert_eq!(check(until), Err(SkipError::Range { held: 4, most: 1000 }), "{until}");
        }
        assert_eq!((check(5), check(1004)), (Ok(()), Ok(())));
        let _skipped = handle.request_skip(SkipTarget { offset: None, until: Some(900) }).unwrap();
        let request = handle.take_skip().unwrap();
        assert_eq!((request.offset, request.until), (4, 6), "no record is there behind the last one");
    }

    #[test]
    fn request_to_skip_ends_with_its_record() {
        let handle = holding_partition();
        assert_eq!(handle.request_skip(target(Some(5))).unwrap_err(), SkipError::OtherOffset { held: 4 });
        let mut skipped = handle.request_skip(target(None)).unwrap();
        assert_eq!(handle.request_skip(target(Some(4))).unwrap_err(), SkipError::Busy);
        handle.begin(4);
        handle.finish([4].into_iter(), Some(5));
        assert_eq!(skipped.try_recv(), Ok(Err(SkipError::NothingHeld)));
        assert!(handle.take_skip().is_none(), "the next record is not meant");
    }

    #[test]
    fn running_skip_admits_no_other() {
        let handle = holding_partition();
        assert_eq!(handle.check_skip(target(Some(5))), Err(SkipError::OtherOffset { held: 4 }));
        assert_eq!(handle.check_skip(target(Some(4))), Ok(()));
        let _skipped = handle.request_skip(target(None)).unwrap();
        assert_eq!(handle.check_skip(target(None)), Err(SkipError::Busy));
        let request = handle.take_skip();
        assert_eq!((request.is_some(), handle.check_skip(target(None))), (true, Err(SkipError::Busy)));
        handle.end_skip();
        assert_eq!(handle.check_skip(target(None)), Ok(()));
    }

    #[test]
    fn skip_request_ends_with_its_partition() {
        let handle = holding_partition();
        let mut skipped = handle.request_skip(target(None)).unwrap();
        handle.advance(WorkerStage::Closing);
        assert_eq!(skipped.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(handle.request_skip(target(None)).unwrap_err(), SkipError::NotAssigned);
    }

    #[test]
    fn record_since_last_measurement_counts_as_lag() {
        let (handle, _) = partition();
        handle.record_watermark(Some(0), Some(1));
        for offset in 0..3 {
            handle.push(record(offset));
        }
        assert_eq!(handle.lag(), Some(3));
        handle.record_watermark(None, Some(10));
        assert_eq!(handle.lag(), Some(10));
    }
}
