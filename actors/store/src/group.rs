//! Group commit of the calls of one operation: those that arrive while a group runs form the next one.
//!
//! A group is one transaction with few statements, whatever the number of calls. It waits for no row that another
//! transaction has locked, and so delays no call for another one: the calls that it left are made together afterwards, in a
//! transaction that waits for their rows. A call that no group can answer is made alone.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::pool::TransactionFn;

/// Maximum number of calls in one transaction.
const MOST_CALLS: usize = 256;

/// The body of the transaction of a group. Returns an answer for each call.
pub(crate) type GroupFn<I, T> = TransactionFn<Group<I>, Vec<GroupAnswer<T>>>;

/// The calls of one transaction.
pub(crate) struct Group<I> {
    pub(crate) calls: Vec<Arc<I>>,
    pub(crate) locking: Locking,
}

/// The treatment of rows that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locking {
    /// They are passed over.
    Skip,
    /// They are waited for, in one order for all transactions.
    Wait,
}

/// The answer of a group to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupAnswer<T> {
    /// Its result.
    Done(T),
    /// Nothing was done: its row is locked or absent.
    Passed,
    /// Nothing was done: it needs a transaction of its own.
    Alone,
}

/// A caller that waits for its result; `None` if it must make the call alone.
pub(crate) type Caller<T> = oneshot::Sender<Result<Option<T>, StoreError>>;

/// A call that waits.
pub(crate) type WaitingCall<I, T> = (Arc<I>, Caller<T>);

/// The waiting calls of one operation.
pub(crate) struct CallQueue<I, T> {
    pub(crate) step: GroupFn<I, T>,
    state: Mutex<QueueState<I, T>>,
}

struct QueueState<I, T> {
    waiting: VecDeque<WaitingCall<I, T>>,
    /// True while a task runs groups.
    is_running: bool,
}

impl<I, T> CallQueue<I, T> {
    pub(crate) const fn new(step: GroupFn<I, T>) -> Self {
        Self { step, state: Mutex::new(QueueState { waiting: VecDeque::new(), is_running: false }) }
    }

    /// Adds a call. Returns true if the caller must start the task that runs groups.
    pub(crate) fn push(&self, call: WaitingCall<I, T>) -> bool {
        let mut state = self.state();
        state.waiting.push_back(call);
        !std::mem::replace(&mut state.is_running, true)
    }

    /// Returns the calls of the next group in the order of arrival. If there is none, the task ends.
    pub(crate) fn next(&self) -> Option<Vec<WaitingCall<I, T>>> {
        let mut state = self.state();
        let size = state.waiting.len().min(MOST_CALLS);
        state.is_running = size > 0;
        state.is_running.then(|| state.waiting.drain(..size).collect())
    }

    fn state(&self) -> MutexGuard<'_, QueueState<I, T>> {
        self.state.lock()
    }
}

/// Answers the callers of a group, and returns the calls that it passed over. After an outage all get its error. If the
/// database refused a statement, each call is made alone, so that a bad one fails alone.
pub(crate) fn answer<I, T>(
    calls: Vec<WaitingCall<I, T>>,
    outcome: Result<Vec<GroupAnswer<T>>, StoreError>,
) -> Vec<WaitingCall<I, T>> {
    let (answers, outage) = match outcome {
        Ok(answers) => (answers, None),
        Err(error) => (Vec::new(), Some(error).filter(StoreError::is_outage)),
    };
    let mut answers = answers.into_iter();
    let mut passed = Vec::new();
    for (input, caller) in calls {
        let result = match (&outage, answers.next().unwrap_or(GroupAnswer::Alone)) {
            (Some(error), _) => Err(error.clone()),
            (None, GroupAnswer::Done(result)) => Ok(Some(result)),
            (None, GroupAnswer::Alone) => Ok(None),
            (None, GroupAnswer::Passed) => {
                passed.push((input, caller));
                continue;
            }
        };
        // The caller may be gone.
        let _gone = caller.send(result);
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> CallQueue<usize, usize> {
        CallQueue::new(|_, _| unreachable!("no transaction runs in these tests"))
    }

    type Receiver = oneshot::Receiver<Result<Option<usize>, StoreError>>;

    fn call(input: usize) -> (WaitingCall<usize, usize>, Receiver) {
        let (caller, result) = oneshot::channel();
        ((Arc::new(input), caller), result)
    }

    fn inputs(calls: &[WaitingCall<usize, usize>]) -> Vec<usize> {
        calls.iter().map(|(input, _)| **input).collect()
    }

    #[test]
    fn what_arrives_while_a_group_runs_forms_the_next_one() {
        let queue = queue();
        let push = |input| queue.push(call(input).0);
        let next = || queue.next().map(|calls| inputs(&calls));
        assert!(push(1), "the first caller starts the task");
        assert_eq!(next(), Some(vec![1]));
        assert!(!push(2) && !push(3), "it runs");
        assert_eq!(next(), Some(vec![2, 3]));
        assert_eq!(next(), None);
        assert!(push(4), "it has ended");
        for input in 0..MOST_CALLS {
            push(input);
        }
        assert_eq!(next().map(|calls| calls.len()), Some(MOST_CALLS));
        assert_eq!(next(), Some(vec![MOST_CALLS - 1]));
    }

    #[test]
    fn each_caller_gets_its_result_and_a_refusal_sends_all_to_try_alone() {
        let answers = |outcome| {
            let (calls, results): (Vec<_>, Vec<_>) = (0..3).map(call).unzip();
            let passed = inputs(&answer(calls, outcome));
            let results = results.into_iter().map(|mut result| result.try_recv().ok());
            (passed, results.map(|result| result.map(|result| result.map_err(|_| ()))).collect::<Vec<_>>())
        };
        let mixed = answers(Ok(vec![GroupAnswer::Done(7), GroupAnswer::Alone, GroupAnswer::Passed]));
        assert_eq!(mixed, (vec![2], vec![Some(Ok(Some(7))), Some(Ok(None)), None]));
        let refused = answers(Err(StoreError::Database("a value is too long".into())));
        assert_eq!(refused, (vec![], vec![Some(Ok(None)); 3]));
        let lost = answers(Err(StoreError::Unanswered("the connection ended".into())));
        assert_eq!(lost, (vec![], vec![Some(Err(())); 3]));
    }
}
