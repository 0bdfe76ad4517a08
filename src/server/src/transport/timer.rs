//! One timer for each connection, armed coarsely: no request sets it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Lateness beyond which the thread was blocked, or the process stopped.
const TOLERANCE: Duration = Duration::from_millis(200);
/// Time for which input is discarded after the last answer, so that a client that still sends gets to read
/// it.
pub(super) const LINGER: Duration = Duration::from_secs(2);

/// A timer that measures its lateness.
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    is_registered: bool,
}

impl Timer {
    pub(super) fn new(deadline: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(deadline)), is_registered: false }
    }

    /// Returns `true` if the deadline has passed; otherwise the task is woken at the deadline. Cheap before
    /// it.
    pub(super) fn has_fired(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_registered && !self.sleep.is_elapsed() {
            return false;
        }
        let fired = matches!(self.sleep.as_mut().poll(context), Poll::Ready(()));
        self.is_registered = !fired;
        fired
    }

    pub(super) fn arm(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
        self.is_registered = false;
    }

    /// Returns the time that this thread did not run; `None` if the timer fired in time.
    pub(super) fn missed_time(&self, now: Instant) -> Option<Duration> {
        let late = now.saturating_duration_since(self.sleep.deadline());
        (late > TOLERANCE).then_some(late)
    }
}
