//! Panics of arenas that may not grow.
//!
//! An arena can refuse to grow in one way only, which is to panic. Such a panic is the error of an expression and not a
//! fault of the program, so that the panic hook does not report it. The hook is installed once per process and chained
//! to the previous one, which gets all other panics unchanged.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

thread_local! {
    /// Number of [`catch_refusal`] calls on the stack of this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Installs the hook. Later calls do nothing.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_caught = DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0);
            if !(is_caught && is_refusal(info.payload())) {
                previous(info);
            }
        }));
    });
}

/// Runs an evaluation whose arena has a limit, and returns its panic as an error.
pub(crate) fn catch_refusal<T>(evaluate: impl FnOnce() -> T) -> thread::Result<T> {
    DEPTH.set(DEPTH.get() + 1);
    let ended = panic::catch_unwind(AssertUnwindSafe(evaluate));
    DEPTH.set(DEPTH.get() - 1);
    ended
}

/// Returns `true` if a panic comes from an arena that reached its limit.
pub(crate) fn is_refusal(panic: &(dyn Any + Send)) -> bool {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
    text == "out of memory" || text.starts_with("encountered allocation error")
}
