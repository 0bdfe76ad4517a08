//! Waiting for a state in the runtime of a test.

use std::panic::Location;

use tokio::task::{spawn_blocking, yield_now};

use crate::server::{LOOK_EVERY, pause};

/// Looks without a pause between them: other tasks of the thread bring most states about in a few polls.
const EAGER_LOOKS: usize = 200;

/// Looks with a pause between them, 40 seconds of real time in all.
const PATIENT_LOOKS: usize = 40_000 / LOOK_EVERY.as_millis() as usize;

/// Waits until a state is reached. If it is not reached in time, fails with the state and the line of the caller.
///
/// The limit is real time, and the pauses are spent on a thread for blocking work: a clock that is paused does not move
/// meanwhile, so a test that drives its clock can wait too.
#[track_caller]
pub fn eventually(state: &str, is_reached: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    look_until(state, Location::caller(), EAGER_LOOKS, is_reached)
}

/// Waits like [`eventually`] for a state that the line of the caller names, with a pause before every further look: for
/// looks that read a database or write to it.
#[track_caller]
pub fn wait_until(is_reached: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    look_until("the awaited state", Location::caller(), 0, is_reached)
}

async fn look_until(
    state: &str,
    place: &Location<'_>,
    eager: usize,
    mut is_reached: impl AsyncFnMut() -> bool,
) {
    for look in 0..eager + PATIENT_LOOKS {
        if is_reached().await {
            return;
        }
        if look < eager {
            yield_now().await;
        } else {
            // A runtime that ends meanwhile ends the test as well.
            let _ = spawn_blocking(pause).await;
        }
    }
    assert!(is_reached().await, "{place}: {state}: not reached in time");
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn paused_clock_stands_still_during_a_wait() {
        let looks = Cell::new(0);
        let enough = async || {
            looks.set(looks.get() + 1);
            looks.get() > EAGER_LOOKS + 2
        };
        // A clock that moved while nothing else is to be done would reach the hour first.
        timeout(Duration::from_secs(3600), eventually("enough looks", enough)).await.unwrap();
        wait_until(async || true).await;
    }
}
