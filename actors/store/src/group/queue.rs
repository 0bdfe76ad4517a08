//! The waiting calls of an operation, and the task that makes them in groups.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::group::call::LedgerCall;
use crate::group::member_queue::MemberQueue;

/// Maximum number of calls in one transaction.
const MOST_CALLS: usize = 256;
/// Groups that leave a call out before it is made alone.
pub(crate) const MOST_GROUPS: u32 = 3;
/// Time after which a call that was left out joins another group.
pub(crate) const REJOIN_DELAY: Duration = Duration::from_millis(10);

/// A call that waits for its answer; `None` if it is to be made alone.
pub(crate) struct WaitingCall<C: LedgerCall> {
    pub(crate) call: Arc<C>,
    pub(crate) caller: oneshot::Sender<Result<Option<C::Answer>, StoreError>>,
    /// Groups that have left it out.
    pub(crate) left_out: u32,
}

impl<C: LedgerCall> WaitingCall<C> {
    /// Answers the caller, who may be gone.
    pub(crate) fn answer(self, answer: Result<Option<C::Answer>, StoreError>) {
        let _gone = self.caller.send(answer);
    }
}

/// The waiting calls of one operation.
pub(crate) struct CallQueue<C: LedgerCall>(Mutex<QueueState<C>>);

struct QueueState<C: LedgerCall> {
    waiting: MemberQueue<WaitingCall<C>>,
    /// True while a task runs groups.
    is_running: bool,
}

impl<C: LedgerCall> Default for CallQueue<C> {
    fn default() -> Self {
        Self(Mutex::new(QueueState { waiting: MemberQueue::new(), is_running: false }))
    }
}

impl<C: LedgerCall> CallQueue<C> {
    /// Adds a call. Returns the task that runs groups if the caller must start it.
    pub(crate) fn push(self: &Arc<Self>, call: WaitingCall<C>) -> Option<GroupTask<C>> {
        let mut state = self.state();
        let bytes = call.call.bytes();
        state.waiting.push(call, bytes);
        let starts = !std::mem::replace(&mut state.is_running, true);
        starts.then(|| GroupTask { queue: Arc::clone(self), has_ended: false })
    }

    fn state(&self) -> MutexGuard<'_, QueueState<C>> {
        self.0.lock()
    }
}

/// The task that runs the groups of a queue. If it is dropped before its end, the waiting callers see their channels
/// dropped, and the next call starts another one.
pub(crate) struct GroupTask<C: LedgerCall> {
    pub(crate) queue: Arc<CallQueue<C>>,
    has_ended: bool,
}

impl<C: LedgerCall> GroupTask<C> {
    /// Returns the calls of the next group in the order of arrival. If there is none, the task ends.
    pub(crate) fn next(&mut self) -> Option<Vec<WaitingCall<C>>> {
        let mut state = self.queue.state();
        let calls = state.waiting.take_group(MOST_CALLS);
        state.is_running = !calls.is_empty();
        self.has_ended = !state.is_running;
        state.is_running.then_some(calls)
    }

    /// Fails the calls that wait while the database is away: none of them was tried.
    pub(crate) fn fail_waiting(&self, outage: &StoreError) {
        let waiting = self.queue.state().waiting.take_all();
        for call in waiting {
            call.answer(Err(StoreError::Unavailable(outage.to_string().into())));
        }
    }
}

impl<C: LedgerCall> Drop for GroupTask<C> {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut state = self.queue.state();
            state.is_running = false;
            let abandoned = state.waiting.take_all();
            drop(state);
            drop(abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::Conn;
    use crate::group::call::{CallGroup, GroupAnswer};

    struct NumberedCall(usize);

    impl LedgerCall for NumberedCall {
        type Answer = ();

        fn joins_group(&self) -> bool {
            true
        }

        async fn run(group: &CallGroup<Self>, _: &mut Conn) -> Result<Vec<GroupAnswer<()>>, StoreError> {
            Ok(group.calls.iter().map(|_| GroupAnswer::Done(())).collect())
        }
    }

    type Answer = oneshot::Receiver<Result<Option<()>, StoreError>>;

    fn push(
        queue: &Arc<CallQueue<NumberedCall>>,
        number: usize,
    ) -> (Option<GroupTask<NumberedCall>>, Answer) {
        let (caller, answer) = oneshot::channel();
        (queue.push(WaitingCall { call: Arc::new(NumberedCall(number)), caller, left_out: 0 }), answer)
    }

    fn next(task: &mut GroupTask<NumberedCall>) -> Option<Vec<usize>> {
        task.next().map(|calls| calls.iter().map(|waiting| waiting.call.0).collect())
    }

    #[test]
    fn calls_during_a_group_form_the_next_one() {
        let queue = Arc::default();
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
        let _waiting: Vec<_> = (0..MOST_CALLS).map(|number| push(&queue, number)).collect();
        assert_eq!(next(&mut another).map(|calls| calls.len()), Some(MOST_CALLS));
        assert_eq!(next(&mut another), Some(vec![MOST_CALLS - 1]));
    }

    #[test]
    fn outage_and_task_end_are_reported_to_callers() {
        let queue = Arc::default();
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
