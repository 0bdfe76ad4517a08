//! One timer for each connection, armed coarsely: no request sets it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
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

/// Waits for a future, at most `limit` without the time in which this thread did not run; `None` after that.
pub(super) async fn timeout<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut timer = Timer::new(Instant::now() + limit);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        // Registered at each poll: the future may have moved to another waker.
        while timer.sleep.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            let Some(missed) = timer.missed_time(now) else { return Poll::Ready(None) };
            timer.arm(now + missed.min(limit));
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_future_has_its_time_and_no_more() {
        let limit = Duration::from_secs(10);
        let started = Instant::now();
        assert_eq!(timeout(limit, tokio::time::sleep(limit / 2)).await, Some(()));
        assert_eq!(timeout(limit, std::future::pending::<()>()).await, None);
        assert_eq!(started.elapsed(), limit * 3 / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn time_of_a_blocked_thread_does_not_count() {
        let limit = Duration::from_secs(10);
        let mut waiting = std::pin::pin!(timeout(limit, std::future::pending::<()>()));
        assert!(waiting.as_mut().now_or_never().is_none());
        tokio::time::advance(limit * 3).await;
        let resumed = Instant::now();
        assert!(waiting.as_mut().now_or_never().is_none(), "the thread was blocked past the limit");
        assert_eq!(waiting.await, None);
        assert_eq!(resumed.elapsed(), limit);
    }
}
