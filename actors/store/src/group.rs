//! Group commit of the calls of one operation: those that arrive while a group runs form the next one.
//!
//! A group is one transaction with few statements, whatever the number of calls. It waits for no row that another
//! transaction has locked: it leaves that call out, which joins a later group. A call that several groups have left out, or
//! that needs a transaction of its own, is made alone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::pool::TransactionFn;
use crate::writer::MOST_BYTES;

/// Maximum number of calls in one transaction.
const MOST_CALLS: usize = 256;
/// Groups that leave a call out before it is made alone.
pub(crate) const MOST_GROUPS: u32 = 3;
/// Time after which a call that was left out joins another group.
pub(crate) const REJOIN_DELAY: Duration = Duration::from_millis(10);

/// The body of the transaction of a group. Returns an answer for each call.
pub(crate) type GroupFn<I, T> = TransactionFn<Vec<Arc<I>>, Vec<GroupAnswer<T>>>;

/// The answer of a group to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupAnswer<T> {
    /// The call was made, with this result.
    Done(T),
    /// The call was not made: its row is locked or absent.
    LeftOut,
    /// The call was not made: it needs a transaction of its own.
    Alone,
}

/// A call that waits for its result; `None` if it is to be made alone.
pub(crate) struct WaitingCall<I, T> {
    pub(crate) input: Arc<I>,
    pub(crate) caller: oneshot::Sender<Result<Option<T>, StoreError>>,
    /// Groups that have left it out.
    pub(crate) left_out: u32,
}

impl<I, T> WaitingCall<I, T> {
    /// Answers the caller, who may be gone.
    pub(crate) fn answer(self, result: Result<Option<T>, StoreError>) {
        let _gone = self.caller.send(result);
    }
}

/// The waiting calls of one operation.
pub(crate) struct CallQueue<I, T> {
    step: GroupFn<I, T>,
    /// Estimates the bytes that a call writes.
    bytes: fn(&I) -> usize,
    state: Mutex<QueueState<I, T>>,
}

struct QueueState<I, T> {
    waiting: VecDeque<WaitingCall<I, T>>,
    /// True while a task runs groups.
    is_running: bool,
}

impl<I, T> CallQueue<I, T> {
    pub(crate) const fn new(step: GroupFn<I, T>, bytes: fn(&I) -> usize) -> Self {
        let state = QueueState { waiting: VecDeque::new(), is_running: false };
        Self { step, bytes, state: Mutex::new(state) }
    }

    /// Adds a call. Returns the task that runs groups if the caller must start it.
    pub(crate) fn push(self: &Arc<Self>, call: WaitingCall<I, T>) -> Option<GroupTask<I, T>> {
        let mut state = self.state();
        state.waiting.push_back(call);
        let starts = !std::mem::replace(&mut state.is_running, true);
        starts.then(|| GroupTask { queue: Arc::clone(self), has_ended: false })
    }

    fn state(&self) -> MutexGuard<'_, QueueState<I, T>> {
        self.state.lock()
    }
}

/// The task that runs the groups of a queue. If it is dropped before its end, the waiting callers see their channels
/// dropped, and the next call starts another one.
pub(crate) struct GroupTask<I, T> {
    pub(crate) queue: Arc<CallQueue<I, T>>,
    has_ended: bool,
}

impl<I, T> GroupTask<I, T> {
    /// The body of the transaction of a group.
    pub(crate) fn step(&self) -> GroupFn<I, T> {
        self.queue.step
    }

    /// Returns the calls of the next group in the order of arrival. If there is none, the task ends.
    pub(crate) fn next(&mut self) -> Option<Vec<WaitingCall<I, T>>> {
        let mut state = self.queue.state();
        let mut bytes = 0_usize;
        let fitting = state.waiting.iter().take(MOST_CALLS).take_while(|call| {
            bytes = bytes.saturating_add((self.queue.bytes)(&call.input));
            bytes <= MOST_BYTES
        });
        // A call beyond the limit is a group of its own.
        let size = fitting.count().max(1).min(state.waiting.len());
        state.is_running = size > 0;
        self.has_ended = !state.is_running;
        state.is_running.then(|| state.waiting.drain(..size).collect())
    }

    /// Fails the calls that wait while the database is away: none of them was tried.
    pub(crate) fn fail_waiting(&self, outage: &StoreError) {
        let waiting = std::mem::take(&mut self.queue.state().waiting);
        for call in waiting {
            call.answer(Err(StoreError::Unavailable(outage.to_string().into())));
        }
    }
}

impl<I, T> Drop for GroupTask<I, T> {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut state = self.queue.state();
            state.is_running = false;
            let abandoned = std::mem::take(&mut state.waiting);
            drop(state);
            drop(abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(bytes: fn(&usize) -> usize) -> Arc<CallQueue<usize, ()>> {
        Arc::new(CallQueue::new(|_, _| unreachable!("no transaction runs in these tests"), bytes))
    }

    type Answer = oneshot::Receiver<Result<Option<()>, StoreError>>;

    fn push(queue: &Arc<CallQueue<usize, ()>>, input: usize) -> (Option<GroupTask<usize, ()>>, Answer) {
        let (caller, answer) = oneshot::channel();
        (queue.push(WaitingCall { input: Arc::new(input), caller, left_out: 0 }), answer)
    }

    fn next(task: &mut GroupTask<usize, ()>) -> Option<Vec<usize>> {
        task.next().map(|calls| calls.iter().map(|call| *call.input).collect())
    }

    #[test]
    fn calls_that_arrive_while_a_group_runs_form_the_next_one() {
        let queue = queue(|_| 0);
        let (task, _first) = push(&queue, 1);
        let mut task = task.expect("the first caller starts the task");
        assert_eq!(next(&mut task), Some(vec![1]));
        let others = [push(&queue, 2), push(&queue, 3)];
        assert!(others.iter().all(|(task, _)| task.is_none()), "it runs");
        assert_eq!(next(&mut task), Some(vec![2, 3]));
        assert_eq!(next(&mut task), None);
        let (another, _waiting) = push(&queue, 4);
        drop(task);
        let mut another = another.expect("the first one has ended");
        let _waiting: Vec<_> = (0..MOST_CALLS).map(|input| push(&queue, input)).collect();
        assert_eq!(next(&mut another).map(|calls| calls.len()), Some(MOST_CALLS));
        assert_eq!(next(&mut another), Some(vec![MOST_CALLS - 1]));
    }

    #[test]
    fn group_is_bounded_oversized_call_is_alone() {
        let queue = queue(|bytes| *bytes);
        let (task, _first) = push(&queue, MOST_BYTES / 2);
        let mut task = task.unwrap();
        let _others = [MOST_BYTES / 2, 1, MOST_BYTES + 1, 0].map(|bytes| push(&queue, bytes));
        for group in [vec![MOST_BYTES / 2, MOST_BYTES / 2], vec![1], vec![MOST_BYTES + 1], vec![0]] {
            assert_eq!(next(&mut task), Some(group));
        }
    }

    #[test]
    fn outage_and_task_end_are_reported_to_callers() {
        let queue = queue(|_| 0);
        let (task, mut first) = push(&queue, 1);
        let task = task.unwrap();
        task.fail_waiting(&StoreError::Unanswered("the connection ended".into()));
        assert!(matches!(first.try_recv(), Ok(Err(StoreError::Unavailable(_)))), "it was not tried");
        let (none, mut second) = push(&queue, 2);
        assert!(none.is_none());
        drop(task);
        assert!(matches!(second.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(push(&queue, 3).0.is_some(), "the next call starts another task");
    }
}
