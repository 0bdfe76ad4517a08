//! The waiting members of transactions that many callers share.

use std::collections::VecDeque;

/// Maximum bytes of the members in one transaction. A larger one is written alone.
pub(crate) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Waiting members in the order of arrival, each with an estimate of the bytes that it writes. No clock, no I/O.
pub(crate) struct MemberQueue<M> {
    members: VecDeque<(M, usize)>,
    /// Bytes of all waiting members.
    bytes: usize,
}

impl<M> MemberQueue<M> {
    pub(crate) const fn new() -> Self {
        Self { members: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn push(&mut self, member: M, bytes: usize) {
        self.members.push_back((member, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Returns the number of waiting members.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the bytes of all waiting members.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes and returns the members of the next transaction: the oldest ones, at most `most` with at most
    /// [`MOST_BYTES`] together. A larger one is alone.
    pub(crate) fn take_group(&mut self, most: usize) -> Vec<M> {
        let mut bytes = 0_usize;
        let fitting = self.members.iter().take(most).take_while(|(_, size)| {
            bytes = bytes.saturating_add(*size);
            bytes <= MOST_BYTES
        });
        let count = fitting.count().max(1).min(self.members.len());
        self.take(count)
    }

    /// Removes and returns all members.
    pub(crate) fn take_all(&mut self) -> Vec<M> {
        self.take(self.members.len())
    }

    fn take(&mut self, count: usize) -> Vec<M> {
        let (members, sizes): (Vec<_>, Vec<_>) = self.members.drain(..count).unzip();
        self.bytes = self.bytes.saturating_sub(sizes.into_iter().fold(0, usize::saturating_add));
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_bounded_and_keeps_the_order() {
        let mut queue = MemberQueue::new();
        (1..=5).for_each(|member| queue.push(member, 1));
        assert_eq!((queue.len(), queue.bytes()), (5, 5));
        assert_eq!(queue.take_group(2), [1, 2]);
        queue.push(6, 1);
        assert_eq!((queue.len(), queue.bytes()), (4, 4));
        assert_eq!(queue.take_group(3), [3, 4, 5]);
        assert_eq!(queue.take_all(), [6]);
        assert_eq!((queue.take_group(3), queue.len(), queue.bytes()), (vec![], 0, 0));
    }

    #[test]
    fn member_beyond_the_limit_is_alone() {
        let mut queue = MemberQueue::new();
        for (member, bytes) in [(1, MOST_BYTES / 2), (2, MOST_BYTES / 2), (3, 1), (4, MOST_BYTES + 1), (5, 0)]
        {
            queue.push(member, bytes);
        }
        for expected in [vec![1, 2], vec![3], vec![4], vec![5]] {
            assert_eq!(queue.take_group(10), expected);
        }
    }
}
