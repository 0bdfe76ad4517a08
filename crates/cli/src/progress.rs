//! A progress bar on standard error, if that is a terminal.

use std::fmt;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// The progress of work with a known number of steps.
pub(crate) struct ProgressDisplay(ProgressBar);

impl ProgressDisplay {
    /// Starts at zero. A hidden one draws nothing.
    pub(crate) fn new(total: usize, is_hidden: bool) -> Self {
        let target =
            if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(u64::try_from(total).unwrap_or(u64::MAX)), target);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {pace}  {msg}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> ").with_key("pace", write_pace));
        }
        if !is_hidden {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self(bar)
    }

    /// Advances.
    pub(crate) fn add(&self, steps: usize) {
        self.0.inc(u64::try_from(steps).unwrap_or(u64::MAX));
    }

    /// Runs a function that writes to the terminal, without the bar in its way.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }

    /// Shows a word next to the bar.
    pub(crate) fn note(&self, text: String) {
        self.0.set_message(text);
    }
}

/// Writes the steps a second and the rest of the time, once they are known.
fn write_pace(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // What cannot be drawn is drawn again in a moment.
        let _undrawn = write!(text, "{:.0}/s  {} s left", state.per_sec(), state.eta().as_secs());
    }
}

/// The bar leaves the screen when it ends, so that it is never between results.
impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
