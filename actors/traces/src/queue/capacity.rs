//! Capacity of the queue: places and bytes, reserved before anything is written.
//!
//! One half of the capacity absorbs bursts. A submission that arrives while more than half is taken is accepted, but
//! its answer is delayed until some work is done ([`QueueCapacity::wait_until_calm`]): clients that wait for each
//! answer then slow down to the speed of the workers instead of being refused.
//!
//! The task that frees room and the task that waits for it each write one counter and then read the other, so all
//! accesses are sequentially consistent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;

/// The reason why the queue has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueRejection {
    /// Every place is taken.
    Full,
    /// A place is free, but the limit on bytes is reached.
    Memory,
    /// The queue is closed.
    Closed,
}

/// The capacity of the queue and its current use.
#[derive(Debug)]
pub(crate) struct QueueCapacity {
    most_jobs: usize,
    /// `usize::MAX` if bytes are unlimited.
    most_bytes: usize,
    jobs: AtomicUsize,
    bytes: AtomicUsize,
    /// Places that submissions leave free for work accepted earlier: at most one.
    owed: AtomicUsize,
    /// Bytes that submissions leave free together with it.
    owed_bytes: AtomicUsize,
    open: AtomicBool,
    freed: Notify,
    /// Notified of each place that becomes free while at most half of the capacity is taken.
    calmed: Notify,
    depth: Gauge,
    memory: Gauge,
}

/// A reserved place with the bytes of one job. The place is released when the job begins, the bytes when the slot is
/// dropped.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    slots: Arc<QueueCapacity>,
    waits: bool,
    bytes: usize,
}

impl QueueCapacity {
    /// Creates a closed queue. `most_bytes` 0 means no limit.
    pub(crate) fn new(most_jobs: usize, most_bytes: usize, depth: Gauge, memory: Gauge) -> Self {
        Self {
            most_jobs,
            most_bytes: if most_bytes == 0 { usize::MAX } else { most_bytes },
            jobs: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            owed: AtomicUsize::new(0),
            owed_bytes: AtomicUsize::new(0),
            open: AtomicBool::new(false),
            freed: Notify::new(),
            calmed: Notify::new(),
            depth,
            memory,
        }
    }

    pub(crate) fn set_open(&self, open: bool) {
        self.open.store(open, Ordering::SeqCst);
    }

    /// Returns whether jobs are accepted now.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    /// Reserves a place for a new job, without any bytes yet.
    ///
    /// # Errors
    /// [`QueueRejection::Closed`] if the queue is closed, [`QueueRejection::Full`] if every place is taken.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<QueueSlot, QueueRejection> {
        if !self.is_open() {
            return Err(QueueRejection::Closed);
        }
        let most = self.most_jobs.saturating_sub(self.owed.load(Ordering::SeqCst));
        if grow(&self.jobs, 1, most) { Ok(self.slot()) } else { Err(QueueRejection::Full) }
    }

    /// Waits for room for a job that was accepted earlier. Room that becomes free is kept from submissions. A job
    /// larger than the limit on bytes gets in when it is the only one. One caller at a time.
    pub(crate) async fn reserve_for_earlier(self: &Arc<Self>, bytes: usize) -> QueueSlot {
        if let Some(slot) = self.try_reserve_for_earlier(bytes) {
            return slot;
        }
        let _owed = OwedRoom::new(self, bytes);
        loop {
            let freed = self.freed.notified();
            if let Some(slot) = self.try_reserve_for_earlier(bytes) {
                return slot;
            }
            freed.await;
        }
    }

    /// Reserves the bytes first: a place that is taken and given back would wake the caller that waits for it.
    fn try_reserve_for_earlier(self: &Arc<Self>, bytes: usize) -> Option<QueueSlot> {
        if !grow(&self.bytes, bytes, self.most_bytes) && !self.take_alone(bytes) {
            return None;
        }
        if !grow(&self.jobs, 1, self.most_jobs) {
            self.bytes.fetch_sub(bytes, Ordering::SeqCst);
            return None;
        }
        let mut slot = self.slot();
        slot.record_bytes(bytes);
        Some(slot)
    }

    /// Takes bytes, however many, if no job holds any.
    fn take_alone(&self, bytes: usize) -> bool {
        self.bytes.compare_exchange(0, bytes, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Waits until at most half of the capacity is taken, even if only for a moment. Of several callers, one returns for
    /// each place that becomes free, the longest-waiting first; all return once no job waits.
    pub(crate) async fn wait_until_calm(&self) {
        let calmed = self.calmed.notified();
        if !self.is_calm() {
            calmed.await;
        }
    }

    fn is_calm(&self) -> bool {
        self.jobs.load(Ordering::SeqCst) <= self.most_jobs / 2
            && self.bytes.load(Ordering::SeqCst) <= self.most_bytes / 2
    }

    /// Wraps a place that has been counted.
    fn slot(self: &Arc<Self>) -> QueueSlot {
        self.depth.inc();
        QueueSlot { slots: Arc::clone(self), waits: true, bytes: 0 }
    }

    /// Subtracts from a counter, and wakes waiting tasks if this frees room.
    fn free(&self, counter: &AtomicUsize, by: usize) {
        counter.fetch_sub(by, Ordering::SeqCst);
        if by > 0 && self.is_calm() {
            // While jobs wait, one for each place: all at once would come back together and find the queue full.
            match self.jobs.load(Ordering::SeqCst) {
                0 => self.calmed.notify_waiters(),
                _ => self.calmed.notify_one(),
            }
        }
        if self.owed.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

impl QueueSlot {
    /// Adds the bytes of the job. A job larger than the limit gets in when it is the only one and no earlier one waits
    /// for room: it would be refused for ever otherwise.
    ///
    /// # Errors
    /// [`QueueRejection::Memory`] if they exceed the limit.
    pub(crate) fn add_bytes(&mut self, bytes: usize) -> Result<(), QueueRejection> {
        let owed = self.slots.owed_bytes.load(Ordering::SeqCst);
        let most = self.slots.most_bytes.saturating_sub(owed);
        let has_room = grow(&self.slots.bytes, bytes, most) || (owed == 0 && self.slots.take_alone(bytes));
        if !has_room {
            return Err(QueueRejection::Memory);
        }
        self.record_bytes(bytes);
        Ok(())
    }

    /// Releases the place: the job no longer waits.
    pub(crate) fn release_place(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.slots.depth.dec();
            self.slots.free(&self.slots.jobs, 1);
        }
    }

    /// Takes a place again, even beyond the limit.
    pub(crate) fn reoccupy_place(&mut self) {
        if !std::mem::replace(&mut self.waits, true) {
            self.slots.jobs.fetch_add(1, Ordering::SeqCst);
            self.slots.depth.inc();
        }
    }

    /// Records bytes that have been counted.
    fn record_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.slots.memory.inc_by(to_signed(bytes));
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.release_place();
        self.slots.memory.dec_by(to_signed(self.bytes));
        self.slots.free(&self.slots.bytes, self.bytes);
    }
}

struct OwedRoom<'a>(&'a QueueCapacity);

impl<'a> OwedRoom<'a> {
    fn new(slots: &'a QueueCapacity, bytes: usize) -> Self {
        slots.owed.store(1, Ordering::SeqCst);
        slots.owed_bytes.store(bytes, Ordering::SeqCst);
        Self(slots)
    }
}

impl Drop for OwedRoom<'_> {
    fn drop(&mut self) {
        self.0.owed.store(0, Ordering::SeqCst);
        self.0.owed_bytes.store(0, Ordering::SeqCst);
    }
}

/// Adds to a counter unless the sum would exceed `most`.
fn grow(counter: &AtomicUsize, by: usize, most: usize) -> bool {
    let grown = |used: usize| used.checked_add(by).filter(|sum| *sum <= most);
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, grown).is_ok()
}

fn to_signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn slots(jobs: usize, bytes: usize) -> Arc<QueueCapacity> {
        let slots = QueueCapacity::new(jobs, bytes, Gauge::default(), Gauge::default());
        slots.set_open(true);
        Arc::new(slots)
    }

    fn usage(slots: &QueueCapacity) -> (usize, usize, i64, i64) {
        let counted = (slots.jobs.load(Ordering::Acquire), slots.bytes.load(Ordering::Acquire));
        (counted.0, counted.1, slots.depth.get(), slots.memory.get())
    }

    #[test]
    fn dropped_reservation_is_released() {
        let slots = slots(2, 10);
        let mut first = slots.reserve().unwrap();
        first.add_bytes(10).unwrap();
        let mut second = slots.reserve().unwrap();
        assert_eq!(second.add_bytes(1), Err(QueueRejection::Memory));
        assert_eq!(slots.reserve().unwrap_err(), QueueRejection::Full);
        assert_eq!(usage(&slots), (2, 10, 2, 10));
        first.release_place();
        assert_eq!(usage(&slots), (1, 10, 1, 10), "a job that runs has its bytes still");
        first.reoccupy_place();
        drop((first, second));
        assert_eq!(usage(&slots), (0, 0, 0, 0));
    }

    #[test]
    fn nothing_is_taken_while_closed() {
        let slots = slots(1, 0);
        slots.set_open(false);
        assert_eq!(slots.reserve().unwrap_err(), QueueRejection::Closed);
        slots.set_open(true);
        slots.reserve().unwrap().add_bytes(usize::MAX).unwrap();
    }

    #[test]
    fn earlier_work_precedes_new_submissions() {
        let slots = slots(1, 10);
        let taken = slots.reserve().unwrap();
        let mut waiting = Box::pin(slots.reserve_for_earlier(4));
        assert!((&mut waiting).now_or_never().is_none());
        drop(taken);
        assert_eq!(slots.reserve().unwrap_err(), QueueRejection::Full, "the place is owed");
        let slot = (&mut waiting).now_or_never().expect("it is woken");
        assert_eq!(usage(&slots), (1, 4, 1, 4));
        drop((slot, waiting));
        assert!(slots.reserve().is_ok());
    }

    #[test]
    fn pressure_ends_when_half_is_free() {
        let slots = slots(4, 10);
        let mut reserved_slots: Vec<_> = (0..3).map(|_| slots.reserve().unwrap()).collect();
        let mut held = Box::pin(slots.wait_until_calm());
        assert!((&mut held).now_or_never().is_none());
        reserved_slots.pop();
        reserved_slots.push(slots.reserve().unwrap());
        assert!(held.now_or_never().is_some(), "it was calm for a moment");
        reserved_slots[0].add_bytes(6).unwrap();
        reserved_slots.truncate(1);
        let mut held = Box::pin(slots.wait_until_calm());
        assert!((&mut held).now_or_never().is_none(), "one job, but too many bytes");
        reserved_slots[0].release_place();
        assert!((&mut held).now_or_never().is_none(), "a job that runs has its bytes still");
        reserved_slots.clear();
        assert!(held.now_or_never().is_some());
        assert!(slots.wait_until_calm().now_or_never().is_some());
    }

    #[test]
    fn one_caller_is_released_per_free_place() {
        let slots = slots(4, 0);
        let mut reserved_slots: Vec<_> = (0..4).map(|_| slots.reserve().unwrap()).collect();
        let mut held: Vec<_> = (0..4).map(|_| Box::pin(slots.wait_until_calm())).collect();
        let mut released = |expected: usize| {
            held.retain_mut(|held| held.now_or_never().is_none());
            assert_eq!(held.len(), 4 - expected);
        };
        released(0);
        for expected in [0, 1, 2, 4] {
            reserved_slots.pop().unwrap().release_place();
            released(expected);
        }
    }

    #[test]
    fn a_job_larger_than_all_room_gets_in_alone() {
        let slots = slots(5, 10);
        let slot = slots.reserve_for_earlier(50).now_or_never().expect("nobody else is there");
        let mut small = slots.reserve().unwrap();
        assert_eq!(small.add_bytes(1), Err(QueueRejection::Memory));
        assert!(slots.reserve_for_earlier(1).now_or_never().is_none());
        drop(slot);
        assert_eq!(small.add_bytes(1), Ok(()));
        let mut large = slots.reserve().unwrap();
        assert_eq!(large.add_bytes(50), Err(QueueRejection::Memory));
        drop(small);
        assert_eq!(large.add_bytes(50), Ok(()), "a submission, too");
    }

    #[test]
    fn threads_never_take_more_than_there_is() {
        let slots = slots(7, 100);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for bytes in 0..5000 {
                        let Ok(mut slot) = slots.reserve() else { continue };
                        let _heavy = slot.add_bytes(bytes % 40);
                        let (jobs, bytes, ..) = usage(&slots);
                        assert!(jobs <= 7 && bytes <= 100, "{jobs} {bytes}");
                    }
                });
            }
        });
        assert_eq!(usage(&slots), (0, 0, 0, 0));
    }
}
