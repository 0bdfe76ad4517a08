//! The count of requests that a client gives up.

/// Resets that a client has at its disposal, whatever it did before.
const RESETS: u32 = 200;

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeEnd {
    /// The response was sent, or the service gave up.
    Answered,
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
            ExchangeEnd::Answered => self.answered = self.answered.saturating_add(1),
            ExchangeEnd::Reset => self.resets = self.resets.saturating_add(1),
        }
        self.resets <= self.answered.saturating_add(RESETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_may_give_up_some_requests_and_half_of_many() {
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
