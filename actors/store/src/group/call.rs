//! Calls as values, the groups that they form, and their answers.

use std::sync::Arc;

use crate::conn::Conn;
use crate::error::StoreError;

/// A call of the ledger.
pub(crate) trait LedgerCall: Sized + Send + Sync + 'static {
    /// The answer to the caller.
    type Answer: Send + 'static;

    /// Returns true if the call can share a transaction with others.
    fn joins_group(&self) -> bool;

    /// Estimates the bytes that the call writes.
    fn bytes(&self) -> usize {
        0
    }

    /// Makes the calls of a group. Returns an answer for each, in their order. May run more than once; only the last
    /// run takes effect.
    fn run(
        group: &CallGroup<Self>,
        conn: &mut Conn,
    ) -> impl Future<Output = Result<Vec<GroupAnswer<Self::Answer>>, StoreError>> + Send;
}

/// A call that never shares its transaction, so that it may lock several rows and wait for them.
pub(crate) trait SingleCall: Sized + Send + Sync + 'static {
    /// The answer to the caller.
    type Answer: Send + 'static;

    /// Makes the call. May run more than once; only the last run takes effect.
    fn run(&self, conn: &mut Conn) -> impl Future<Output = Result<Self::Answer, StoreError>> + Send;
}

impl<C: SingleCall> LedgerCall for C {
    type Answer = <C as SingleCall>::Answer;

    fn joins_group(&self) -> bool {
        false
    }

    async fn run(
        group: &CallGroup<C>,
        conn: &mut Conn,
    ) -> Result<Vec<GroupAnswer<<C as SingleCall>::Answer>>, StoreError> {
        let mut answers = Vec::with_capacity(1);
        for call in &group.calls {
            answers.push(GroupAnswer::Done(SingleCall::run(&**call, conn).await?));
        }
        Ok(answers)
    }
}

/// Calls that share a transaction, in the order of their arrival.
pub(crate) struct CallGroup<C> {
    pub(crate) calls: Vec<Arc<C>>,
    /// True for one call that is made alone, and waits for locked rows.
    pub(crate) is_alone: bool,
}

impl<C> CallGroup<C> {
    /// Returns the answer to a call whose row was not read. A call that is alone has waited for the row, so there is
    /// none; a group may have passed over a locked one.
    pub(crate) fn answer_absent<T>(&self, absent: T) -> GroupAnswer<T> {
        if self.is_alone { GroupAnswer::Done(absent) } else { GroupAnswer::LeftOut }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_row_is_final_for_lone_call() {
        let calls = vec![Arc::new(1)];
        let shared = CallGroup { calls: calls.clone(), is_alone: false };
        assert_eq!(shared.answer_absent("gone"), GroupAnswer::LeftOut);
        let alone = CallGroup { calls, is_alone: true };
        assert_eq!(alone.answer_absent("gone"), GroupAnswer::Done("gone"));
    }
}
