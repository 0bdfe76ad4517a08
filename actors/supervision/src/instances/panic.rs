//! Catching panics with their location.
//!
//! A panic hook, installed once per process and chained to the previous one, records the location of a
//! supervised panic instead of printing it: the supervisor logs it with the path of the node. Other panics go
//! to the previous hook unchanged.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll};

use crate::decide::Exit;

thread_local! {
    /// Number of [`catch_panic`] calls on the stack of this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The message and the location of a supervised panic.
#[derive(Debug)]
pub(crate) struct Panic {
    pub(crate) message: String,
    pub(crate) location: Option<String>,
}

impl Panic {
    pub(crate) fn into_exit(self, handling: Option<&'static str>) -> Exit {
        Exit::Panicked { message: self.message, location: self.location, handling }
    }
}

/// Installs the hook. Later calls do nothing.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                return previous(info);
            }
            let location = info.location().map(ToString::to_string);
            // On a thread that ends, the thread-local may be gone.
            let _ = LOCATION.try_with(|noted| noted.replace(location));
        }));
    });
}

/// Runs `work`, turning a panic into a value.
///
/// The data that `work` changed may be left half-written: the caller drops it unread.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    DEPTH.set(DEPTH.get() + 1);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.map_err(|payload| Panic {
        message: message(payload),
        location: LOCATION.try_with(RefCell::take).ok().flatten(),
    })
}

fn message(payload: Box<dyn Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned());
    // A payload's own destructor may panic too.
    let _ = panic::catch_unwind(AssertUnwindSafe(move || drop(payload)));
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Drops a value whose destructor is not trusted.
pub(crate) fn drop_caught<T>(value: T) {
    let _ = catch_panic(move || drop(value));
}

/// A future whose panics, when polled or dropped, become values.
pub(crate) struct CatchPanic<F: Unpin>(Option<F>);

impl<F: Future + Unpin> CatchPanic<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Some(future))
    }
}

impl<F: Future + Unpin> Future for CatchPanic<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.0.as_mut() else { return Poll::Pending };
        let outcome = match catch_panic(|| Pin::new(future).poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(panic),
        };
        drop_caught(self.0.take());
        Poll::Ready(outcome)
    }
}

impl<F: Unpin> Drop for CatchPanic<F> {
    fn drop(&mut self) {
        if let Some(future) = self.0.take() {
            drop_caught(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        install_hook();
        let panic = catch_panic(|| panic!("odd {}", 3)).unwrap_err();
        assert_eq!(panic.message, "odd 3");
        assert!(panic.location.unwrap().contains("panic.rs"));
    }

    #[test]
    fn a_payload_without_text_is_still_a_panic() {
        install_hook();
        let panic = catch_panic(|| panic::panic_any(7_u8)).unwrap_err();
        assert_eq!(panic.message, "a panic without a message");
    }
}
