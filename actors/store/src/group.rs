//! Group commit of the calls of one operation: those that arrive while a group runs form the next one.
//!
//! A group is one transaction with few statements, whatever the number of calls. It waits for no row that another
//! transaction has locked: a call that it cannot answer is made alone afterwards, and delays no other.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::pool::TransactionFn;

/// Maximum number of calls in one transaction.
const MOST_CALLS: usize = 256;

/// The body of the transaction of a group. Returns for each call its answer, or `None` if the call is to be made alone.
pub(crate) type GroupFn<I, T> = TransactionFn<Vec<Arc<I>>, Vec<Option<T>>>;

/// The answer to a call: `None` if it is to be made alone.
pub(crate) type GroupAnswer<T> = Result<Option<T>, StoreError>;

/// A caller that waits for its answer.
pub(crate) type Caller<T> = oneshot::Sender<GroupAnswer<T>>;

/// The waiting calls of one operation.
pub(crate) struct CallGroup<I, T> {
    pub(crate) step: GroupFn<I, T>,
    state: Mutex<GroupState<I, T>>,
}

struct GroupState<I, T> {
    waiting: VecDeque<(Arc<I>, Caller<T>)>,
    /// True while a task runs groups.
    is_running: bool,
}

impl<I, T> CallGroup<I, T> {
    pub(crate) const fn new(step: GroupFn<I, T>) -> Self {
        Self { step, state: Mutex::new(GroupState { waiting: VecDeque::new(), is_running: false }) }
    }

    /// Adds a call. Returns true if the caller must start the task that runs groups.
    pub(crate) fn push(&self, input: Arc<I>, caller: Caller<T>) -> bool {
        let mut state = self.state();
        state.waiting.push_back((input, caller));
        !std::mem::replace(&mut state.is_running, true)
    }

    /// Returns the calls of the next group in the order of arrival, and their callers. If there is none, the task ends.
    pub(crate) fn next(&self) -> Option<(Vec<Arc<I>>, Vec<Caller<T>>)> {
        let mut state = self.state();
        let size = state.waiting.len().min(MOST_CALLS);
        state.is_running = size > 0;
        state.is_running.then(|| state.waiting.drain(..size).unzip())
    }

    fn state(&self) -> MutexGuard<'_, GroupState<I, T>> {
        self.state.lock()
    }
}

/// Answers every caller of a group. After an outage all get its error. If the database refused a statement, each call is
/// made alone, so that a bad one fails alone.
pub(crate) fn answer<T>(callers: Vec<Caller<T>>, outcome: Result<Vec<Option<T>>, StoreError>) {
    let mut answers = match outcome {
        Ok(answers) => answers.into_iter(),
        Err(error) if error.is_outage() => {
            return callers.into_iter().for_each(|caller| send(caller, Err(error.clone())));
        }
        Err(_) => Vec::new().into_iter(),
    };
    callers.into_iter().for_each(|caller| send(caller, Ok(answers.next().flatten())));
}

/// The caller may be gone.
fn send<T>(caller: Caller<T>, answer: GroupAnswer<T>) {
    let _gone = caller.send(answer);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> CallGroup<usize, usize> {
        CallGroup::new(|_, _| unreachable!("no transaction runs in these tests"))
    }

    fn call(group: &CallGroup<usize, usize>, input: usize) -> (bool, oneshot::Receiver<GroupAnswer<usize>>) {
        let (caller, answer) = oneshot::channel();
        (group.push(Arc::new(input), caller), answer)
    }

    #[test]
    fn what_arrives_while_a_group_runs_forms_the_next_one() {
        let group = group();
        assert!(call(&group, 1).0, "the first caller starts the task");
        let inputs = |group: &CallGroup<usize, usize>| {
            group.next().map(|(inputs, _)| inputs.iter().map(|input| **input).collect::<Vec<_>>())
        };
        assert_eq!(inputs(&group), Some(vec![1]));
        assert!(!call(&group, 2).0 && !call(&group, 3).0, "it runs");
        assert_eq!(inputs(&group), Some(vec![2, 3]));
        assert_eq!(inputs(&group), None);
        assert!(call(&group, 4).0, "it has ended");
        for input in 0..MOST_CALLS {
            call(&group, input);
        }
        assert_eq!(inputs(&group).map(|inputs| inputs.len()), Some(MOST_CALLS));
        assert_eq!(inputs(&group), Some(vec![MOST_CALLS - 1]));
    }

    #[test]
    fn each_caller_gets_its_answer_and_a_refusal_sends_all_to_try_alone() {
        let answers = |outcome: Result<Vec<Option<usize>>, StoreError>| {
            let (callers, answers): (Vec<_>, Vec<_>) = (0..2).map(|_| oneshot::channel()).unzip();
            answer(callers, outcome);
            answers.into_iter().map(|mut answer| answer.try_recv().unwrap()).collect::<Vec<_>>()
        };
        assert!(matches!(*answers(Ok(vec![Some(7), None])), [Ok(Some(7)), Ok(None)]));
        let refused = StoreError::Database("a value is too long".into());
        assert!(matches!(*answers(Err(refused)), [Ok(None), Ok(None)]));
        let lost = StoreError::Unanswered("the connection ended".into());
        assert!(matches!(
            *answers(Err(lost)),
            [Err(StoreError::Unanswered(_)), Err(StoreError::Unanswered(_))]
        ));
    }
}
