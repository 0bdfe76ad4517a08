//! Progress of a verb: a line for each step, with a running count on a terminal.

use std::fmt;
use std::io::{self, Write};

/// The progress of a verb, on standard error.
pub(super) struct StepProgress {
    is_terminal: bool,
    is_silent: bool,
}

impl StepProgress {
    /// Creates a progress. Off a terminal it shows finished steps alone.
    pub(super) const fn new(is_terminal: bool) -> Self {
        Self { is_terminal, is_silent: false }
    }

    /// Creates a progress that shows nothing.
    pub(super) const fn silent() -> Self {
        Self { is_terminal: false, is_silent: true }
    }

    /// Shows how far a step is.
    pub(super) fn advance(&self, step: &str, done: usize, total: usize) {
        if self.is_terminal {
            write(format_args!("\r\x1b[K{step} {done}/{total}"));
        }
    }

    /// Shows a finished step.
    pub(super) fn finish(&self, step: fmt::Arguments<'_>) {
        if self.is_silent {
            return;
        }
        let start = if self.is_terminal { "\r\x1b[K" } else { "" };
        write(format_args!("{start}{step}\n"));
    }
}

/// Writes to standard error. Who closed it does not want to see the progress.
fn write(text: fmt::Arguments<'_>) {
    let mut err = io::stderr().lock();
    let _closed = err.write_fmt(text).and_then(|()| err.flush());
}
