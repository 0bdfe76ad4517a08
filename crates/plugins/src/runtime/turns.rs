//! Turns of calls that compute for long.
//!
//! A call yields at every tick, but sixty endless loops on one thread would let its other runs wait for sixty ticks
//! each. After its first ticks a call computes in turns: for each tick it takes one of a few permits, in the order of
//! their asking, and gives it back at its end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Ticks that a call computes without a permit.
const FREE_TICKS: u32 = 2;

/// The permits to compute for long.
pub(crate) struct Turns(Arc<Semaphore>);

/// The turns of one call.
pub(crate) struct CallTurns {
    permits: Arc<Semaphore>,
    ticks: u32,
    /// The permit of the present turn.
    turn: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Turns {
    /// Makes one permit less than the machine has processors, and at least one.
    pub(crate) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(processors.saturating_sub(1).max(1))))
    }

    pub(crate) fn begin_call(&self) -> CallTurns {
        CallTurns { permits: Arc::clone(&self.0), ticks: 0, turn: Arc::default() }
    }
}

impl CallTurns {
    /// Ends the turn; the future waits for the next one.
    pub(crate) fn end_turn(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.ticks = self.ticks.saturating_add(1);
        *self.turn.lock() = None;
        if self.ticks <= FREE_TICKS {
            return Box::pin(tokio::task::yield_now());
        }
        let (permits, turn) = (Arc::clone(&self.permits), Arc::clone(&self.turn));
        Box::pin(async move {
            tokio::task::yield_now().await;
            // The semaphore is never closed.
            let permit = permits.acquire_owned().await.ok();
            *turn.lock() = permit;
        })
    }
}
