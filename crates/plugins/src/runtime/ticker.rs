//! The clock of compiled code: ticks once a millisecond while calls run, and rests else.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::Engine;

/// The time between two ticks.
const TICK: Duration = Duration::from_millis(1);

/// The thread that ticks. Ends with the value.
pub(crate) struct Ticker {
    state: Arc<TickerState>,
    thread: Thread,
}

#[derive(Default)]
struct TickerState {
    running_calls: AtomicUsize,
    is_stopped: AtomicBool,
}

/// A call that needs ticks until it is dropped.
pub(crate) struct TickedCall<'t>(&'t Ticker);

impl Ticker {
    pub(crate) fn start(engine: Engine) -> io::Result<Self> {
        let state = Arc::new(TickerState::default());
        let shared = Arc::clone(&state);
        let ticking = thread::Builder::new().name("svc-plugin-tick".to_owned());
        let handle = ticking.spawn(move || {
            while !shared.is_stopped.load(Ordering::Acquire) {
                if shared.running_calls.load(Ordering::Acquire) == 0 {
                    thread::park();
                } else {
                    thread::park_timeout(TICK);
                    engine.increment_epoch();
                }
            }
        })?;
        Ok(Self { state, thread: handle.thread().clone() })
    }

    /// Counts a call in.
    pub(crate) fn enter(&self) -> TickedCall<'_> {
        if self.state.running_calls.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        TickedCall(self)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Drop for TickedCall<'_> {
    fn drop(&mut self) {
        self.0.state.running_calls.fetch_sub(1, Ordering::AcqRel);
    }
}
