//! The budgets of one connection: requests that its client gives up, and memory of heads.

use std::cell::Cell;
use std::rc::Rc;

use super::limits::HEADS;

/// Resets that a client has at its disposal, whatever it did before.
const RESETS: u32 = 200;

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeEnd {
    /// The response was sent, or the service gave up.
    Answered,
    /// The response was sent, and the connection is to end.
    AnsweredLast,
    /// The client has reset the request.
    Reset,
}

/// Resets of one connection: a client that gives up more requests than it lets end works against the service.
#[derive(Debug, Default)]
pub(super) struct ResetBudget {
    answered: u32,
    resets: u32,
}

impl ResetBudget {
    /// Counts the end of a request. Returns `false` once the client has reset too many.
    pub(super) fn record(&mut self, end: ExchangeEnd) -> bool {
        match end {
            ExchangeEnd::Answered | ExchangeEnd::AnsweredLast => {
                self.answered = self.answered.saturating_add(1)
            }
            ExchangeEnd::Reset => self.resets = self.resets.saturating_add(1),
        }
        self.resets <= self.answered.saturating_add(RESETS)
    }
}

/// The memory of the heads of all requests in progress on one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadBudget(Rc<Cell<usize>>);

impl HeadBudget {
    /// Takes the memory of a head until the guard is dropped; `None` if the heads of other requests leave no room.
    pub(super) fn take(&self, bytes: usize) -> Option<HeldHead> {
        let sum = self.0.get().saturating_add(bytes);
        if sum > HEADS {
            return None;
        }
        self.0.set(sum);
        Some(HeldHead { budget: self.clone(), bytes })
    }
}

/// The memory of one head, given back when this is dropped.
#[derive(Debug)]
pub(super) struct HeldHead {
    budget: HeadBudget,
    bytes: usize,
}

impl Drop for HeldHead {
    fn drop(&mut self) {
        let used = &self.budget.0;
        used.set(used.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_share_one_budget_and_give_it_back() {
        let budget = HeadBudget::default();
        let held: Vec<_> = std::iter::from_fn(|| budget.take(HEADS / 4)).collect();
        assert_eq!(held.len(), 4);
        assert!(budget.take(1).is_none());
        drop(held);
        assert!(budget.take(HEADS).is_some());
        assert!(budget.take(HEADS + 1).is_none());
    }

    #[test]
    fn client_may_reset_some_or_half_of_many() {
        let mut budget = ResetBudget::default();
        for _ in 0..10_000 {
            assert!(budget.record(ExchangeEnd::Reset));
            assert!(budget.record(ExchangeEnd::Answered));
        }
        for _ in 0..RESETS {
            assert!(budget.record(ExchangeEnd::Reset));
        }
        assert!(!budget.record(ExchangeEnd::Reset));
    }
}
