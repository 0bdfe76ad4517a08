//! The last resort of a shutdown: a thread that ends the process at the deadline.
//!
//! It depends on no runtime, so that neither a blocked worker nor a frozen database can delay it.

use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use slog::{Logger, error};

type Action = Box<dyn FnOnce() + Send>;

/// Ends the process at a deadline, once armed. Disarmed when dropped before it is armed.
pub(crate) struct Watchdog {
    action: Option<Action>,
    /// Brings the deadline of an armed one forward.
    shorten: Option<Sender<Duration>>,
}

impl Watchdog {
    /// Calls `action` at the deadline that [`arm`](Self::arm) sets.
    pub(crate) fn new(action: impl FnOnce() + Send + 'static) -> Self {
        Self { action: Some(Box::new(action)), shorten: None }
    }

    /// Sets the deadline, `after` from now. An armed one gets the new deadline instead.
    pub(crate) fn arm(&mut self, after: Duration, log: &Logger) {
        if let Some(shorten) = &self.shorten {
            // A thread that has ended has run its action.
            let _ = shorten.send(after);
        }
        let Some(action) = self.action.take() else { return };
        let (shorten, deadlines) = mpsc::channel();
        // Held by the thread as well: the deadline holds after the owner is dropped.
        let (to_log, held) = (log.clone(), shorten.clone());
        let watch = move || {
            let (mut left, _held) = (after, held);
            while let Ok(sooner) = deadlines.recv_timeout(left) {
                left = sooner;
            }
            error!(to_log, "the shutdown did not keep its deadline: ended by force");
            action();
        };
        match thread::Builder::new().name("svc-watchdog".to_owned()).spawn(watch) {
            Ok(_) => self.shorten = Some(shorten),
            Err(error) => error!(log, "no thread for the shutdown's deadline"; "error" => %error),
        }
    }
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").field("is_armed", &self.shorten.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use slog::{Discard, o};

    use super::*;

    fn arm_watchdog(after: Duration) -> (Watchdog, mpsc::Receiver<()>) {
        let (tell, told) = mpsc::channel();
        let mut watchdog = Watchdog::new(move || tell.send(()).unwrap());
        watchdog.arm(after, &log());
        (watchdog, told)
    }

    fn log() -> Logger {
        Logger::root(Discard, o!())
    }

    #[test]
    fn watchdog_acts_although_its_owner_is_gone() {
        let (watchdog, told) = arm_watchdog(Duration::from_millis(10));
        drop(watchdog);
        told.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn a_new_deadline_replaces_the_one_before() {
        let (mut watchdog, told) = arm_watchdog(Duration::from_secs(3600));
        watchdog.arm(Duration::ZERO, &log());
        told.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn one_that_was_never_armed_does_nothing() {
        let (tell, told) = mpsc::channel::<()>();
        drop(Watchdog::new(move || tell.send(()).unwrap()));
        assert!(told.recv().is_err());
    }
}
