//! The cancellation of one attempt.

use parking_lot::Mutex;
use svc_model::{Cancellation, InFlightCall};
use tokio::sync::watch;

/// An order to cancel an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AttemptOrder {
    /// True if the occurrence is to be reported as failed.
    reports: bool,
}

/// The cancellation of one attempt, as its run and its claimer see it.
#[derive(Debug)]
pub(crate) struct AttemptCancellation {
    order: watch::Sender<Option<AttemptOrder>>,
    in_flight: Mutex<Vec<InFlightCall>>,
}

impl AttemptCancellation {
    pub(crate) fn new() -> Self {
        Self { order: watch::Sender::new(None), in_flight: Mutex::default() }
    }

    /// Cancels the attempt.
    pub(crate) fn request(&self, reports: bool) {
        self.order.send_replace(Some(AttemptOrder { reports }));
    }

    /// Waits until the attempt is cancelled. Cancel-safe.
    pub(crate) async fn wait(&self) {
        let mut orders = self.order.subscribe();
        // The sender is part of `self`, so the channel cannot be closed.
        let _ = orders.wait_for(Option::is_some).await;
    }

    /// Returns `true` if the occurrence is to be reported as failed.
    pub(crate) fn reports(&self) -> bool {
        self.order.borrow().is_some_and(|order| order.reports)
    }

    /// Returns the calls that had left, as JSON; `None` if there were none.
    pub(crate) fn in_flight_json(&self) -> Option<String> {
        let calls = self.in_flight.lock();
        if calls.is_empty() { None } else { serde_json::to_string(&*calls).ok() }
    }
}

impl Cancellation for AttemptCancellation {
    fn is_requested(&self) -> bool {
        self.order.borrow().is_some()
    }

    fn record_in_flight(&self, call: InFlightCall) {
        self.in_flight.lock().push(call);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn order_ends_the_wait_and_stays() {
        let cancellation = AttemptCancellation::new();
        assert!(cancellation.wait().now_or_never().is_none() && !cancellation.is_requested());
        cancellation.request(true);
        assert!(cancellation.wait().now_or_never().is_some());
        assert!(cancellation.is_requested() && cancellation.reports());
    }
}
