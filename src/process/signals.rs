//! Signals and their meaning: drain, end at once, reload.
//!
//! Handlers are installed before any listener is bound, so that a signal sent right after the start never
//! meets the default action.

use std::io::{self, IsTerminal as _};

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// The request that a signal expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGTERM`, and `SIGINT` without a terminal: drain and end; the second one ends at once.
    Terminate,
    /// `SIGINT` at a terminal: like [`Terminate`](Self::Terminate), without the drain time.
    Interrupt,
    /// `SIGHUP`: reload the settings and the stored definitions, like `POST /engine/reload`, and the certificate of
    /// the listeners.
    Reload,
}

/// The installed handlers.
#[derive(Debug)]
pub struct Signals {
    term: Stream,
    int: Stream,
    hup: Stream,
    interactive: bool,
}

impl Signals {
    /// Installs the handlers. Call it on the runtime that will wait for them.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn install() -> io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
            interactive: io::stdin().is_terminal() || io::stderr().is_terminal(),
        })
    }

    /// Returns the next signal. Cancel-safe: no signal is lost.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.term.recv() => Signal::Terminate,
            _ = self.int.recv() => if self.interactive { Signal::Interrupt } else { Signal::Terminate },
            _ = self.hup.recv() => Signal::Reload,
        }
    }

    /// Waits for a request to terminate; ignores other signals.
    pub async fn terminate(&mut self) {
        while self.next().await == Signal::Reload {}
    }
}
