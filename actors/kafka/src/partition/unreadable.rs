//! Records that a client cannot unpack, at which a partition waits.

use std::sync::Arc;

use svc_model::Timestamp;

use super::handle::{PartitionHandle, PartitionShared, WorkerStage};
use super::state::UnreadableRecords;
use crate::error::SkipError;

impl PartitionHandle {
    /// Returns the records that the partition waits at because they cannot be unpacked.
    pub(crate) fn unreadable_records(&self) -> Option<UnreadableRecords> {
        self.lock().unreadable.clone()
    }

    /// Returns the offset that is fetched next, if it is known and no record is at hand: the partition may
    /// wait at records that cannot be unpacked.
    pub(crate) fn idle_offset(&self) -> Option<Option<i64>> {
        let shared = self.lock();
        shared.is_idle().then_some(shared.next_fetch)
    }

    /// Notes records that cannot be unpacked, or that there are none; returns `true` if they are news.
    pub(crate) fn set_unreadable(&self, records: Option<(i64, String)>) -> bool {
        let mut shared = self.lock();
        let Some((offset, reason)) = records else {
            shared.unreadable = None;
            return false;
        };
        // A record that has arrived meanwhile tells otherwise.
        let is_past = shared.next_fetch.is_some_and(|next| next != offset);
        let is_known = shared.unreadable.as_ref().is_some_and(|known| known.offset == offset);
        if !shared.is_idle() || is_past || is_known {
            return false;
        }
        shared.unreadable = Some(UnreadableRecords { offset, reason, since: Timestamp::now() });
        true
    }

    /// Checks that all records before those that cannot be unpacked are done.
    ///
    /// # Errors
    /// [`SkipError`] with the reason why the records stay.
    pub(crate) fn check_passing(&self, offset: i64) -> Result<(), SkipError> {
        self.lock().check_passing(offset)?;
        if self.stage() >= WorkerStage::Closing { Err(SkipError::NotAssigned) } else { Ok(()) }
    }

    /// Goes on at `next`, past the records at `offset` that cannot be unpacked, and commits that.
    ///
    /// # Errors
    /// [`SkipError`] with the reason why the records stay.
    pub(crate) fn pass_unreadable(self: &Arc<Self>, offset: i64, next: i64) -> Result<(), SkipError> {
        self.check_passing(offset)?;
        let mut shared = self.lock();
        shared.check_passing(offset)?;
        shared.unreadable = None;
        shared.state.settle(next - 1);
        drop(shared);
        self.seek_back(next);
        self.order_commit();
        Ok(())
    }
}

impl PartitionShared {
    /// Returns `true` if no record is at hand, and none is on its way after a seek.
    fn is_idle(&self) -> bool {
        self.queue.first_offset().is_none() && !self.is_seeking
    }

    fn check_passing(&self, offset: i64) -> Result<(), SkipError> {
        match &self.unreadable {
            None => Err(SkipError::NothingHeld),
            Some(records) if records.offset != offset => Err(SkipError::OtherOffset { held: records.offset }),
            Some(_) if !self.state.is_settled() => Err(SkipError::InProgress),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::PartitionPhase;
    use crate::partition::fixtures::{partition, record};
    use crate::partition::handle::ConsumerOrder;

    fn unreadable(offset: i64) -> Option<(i64, String)> {
        Some((offset, "no gzip".to_owned()))
    }

    #[test]
    fn unreadable_records_are_skipped_once_and_in_order() {
        let (handle, mut orders) = partition();
        handle.push(record(4));
        assert!(!handle.set_unreadable(unreadable(5)), "a record is at hand");
        handle.begin(4);
        handle.finish([4].into_iter(), None);
        assert_eq!(handle.idle_offset(), Some(Some(5)));
        assert!(handle.set_unreadable(unreadable(5)) && !handle.set_unreadable(unreadable(5)));
        assert_eq!(handle.pass_unreadable(5, 7), Err(SkipError::InProgress), "4 is not settled");
        handle.settle(4);
        assert_eq!(handle.pass_unreadable(3, 7), Err(SkipError::OtherOffset { held: 5 }));
        assert_eq!(handle.pass_unreadable(5, 7), Ok(()));
        assert_eq!(handle.pass_unreadable(5, 7), Err(SkipError::NothingHeld));
        assert_eq!(handle.take_commit(), Some(7));
        let sought = std::iter::from_fn(|| orders.try_recv().ok()).find_map(|order| {
            if let ConsumerOrder::SeekBack(_, offset) = order { Some(offset) } else { None }
        });
        assert_eq!(sought, Some(7));
    }

    #[test]
    fn record_that_arrives_ends_the_wait() {
        let (handle, _orders) = partition();
        assert!(handle.set_unreadable(unreadable(5)), "it is not known where the partition begins");
        handle.push(record(5));
        assert!(handle.unreadable_records().is_none());
        handle.begin(5);
        handle.finish([5].into_iter(), None);
        assert!(!handle.set_unreadable(unreadable(5)), "a late answer tells nothing");
        assert_eq!(handle.read(|state, _| state.phase()), PartitionPhase::Idle);
    }

    #[test]
    fn partition_that_is_given_up_passes_nothing() {
        let (handle, _orders) = partition();
        handle.set_unreadable(unreadable(5));
        handle.advance(WorkerStage::Closing);
        assert_eq!(handle.pass_unreadable(5, 6), Err(SkipError::NotAssigned));
    }
}
