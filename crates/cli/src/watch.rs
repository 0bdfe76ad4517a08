//! The repeated display of a state.

use std::time::Duration;

use clap::Args;

use serde_json::Value;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::TableLayout;

/// The option that repeats a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct WatchArgs {
    /// Show it again every so many seconds, until it is interrupted
    #[arg(long, value_name = "SECS", num_args = 0..=1, require_equals = true, default_missing_value = "2", value_parser = parse_interval)]
    watch: Option<f64>,
}

/// Reads an interval in seconds.
pub(crate) fn parse_interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "a number of seconds from 0.1 to 86400 is wanted".to_owned())
}

/// The text that a command shows, and its exit code.
pub(crate) struct WatchFrame {
    /// The text.
    pub(crate) text: String,
    /// A note for people below the text.
    pub(crate) note: Option<String>,
    /// The exit code.
    pub(crate) code: u8,
}

impl WatchFrame {
    /// Creates the frame of a command that succeeded.
    pub(crate) fn new(text: String) -> Self {
        Self { text, note: None, code: 0 }
    }

    /// Creates the frame of a list: `rows` are those of `answer`, `what` names them in the plural.
    pub(crate) fn list(
        context: &CommandContext,
        answer: &Value,
        rows: &[Value],
        layout: &TableLayout,
        what: &str,
    ) -> Result<Self, CliError> {
        let text = context.output.list(answer, rows, layout)?;
        let note = (rows.is_empty() && context.output.is_table()).then(|| format!("no {what}"));
        Ok(Self { note, ..Self::new(text) })
    }
}

impl WatchArgs {
    /// Shows the frame once, or again and again. While it is repeated, a request that fails is shown in its place: the
    /// server may come back.
    pub(crate) async fn show(
        &self,
        context: &CommandContext,
        mut draw: impl AsyncFnMut() -> Result<WatchFrame, CliError>,
    ) -> Result<u8, CliError> {
        let Some(seconds) = self.watch else {
            let frame = draw().await?;
            context.output.print(&frame.text)?;
            frame.note.iter().for_each(|note| context.output.note(note));
            return Ok(frame.code);
        };
        let mut last = draw().await?;
        loop {
            if context.output.is_terminal {
                let WatchFrame { text, note, .. } = &last;
                let text = format!("{text}{}", note.as_deref().unwrap_or_default());
                context.output.print(&repaint(&text, context.output.terminal_lines()))?;
            } else {
                context.output.print(&last.text)?;
            }
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => {
                    // Without the signal handler, the signal ends the process by itself.
                    let _unavailable = interrupted;
                    return Ok(last.code);
                }
                () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {}
            }
            last = match draw().await {
                Ok(frame) => frame,
                Err(error @ CliError::Client(_)) => {
                    WatchFrame { code: error.exit_code(), ..WatchFrame::new(format!("Error: {error}\n")) }
                }
                Err(error) => return Err(error),
            };
        }
    }
}

/// Returns a frame that overwrites the previous one line by line, so that the terminal does not flicker. Lines below the
/// last one of the terminal are counted instead of shown.
fn repaint(text: &str, terminal_lines: Option<usize>) -> String {
    let lines: Vec<_> = text.lines().collect();
    let room = terminal_lines.map_or(lines.len(), |lines| lines.saturating_sub(2)).max(1);
    let mut screen = String::from("\u{1b}[H");
    for line in lines.iter().take(room) {
        screen.push_str(line);
        screen.push_str("\u{1b}[K\n");
    }
    if lines.len() > room {
        screen.push_str(&format!("… {} more lines\u{1b}[K\n", lines.len() - room));
    }
    screen.push_str("\u{1b}[J");
    screen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_is_cut_to_the_terminal() {
        let text = "a\nb\nc\nd\ne\n";
        assert!(!repaint(text, None).contains("more"));
        assert!(!repaint(text, Some(7)).contains("more"));
        let cut = repaint(text, Some(4));
        assert!(cut.contains("a\u{1b}[K\nb\u{1b}[K\n… 3 more lines"), "{cut:?}");
    }

    #[test]
    fn interval_has_bounds() {
        assert_eq!(parse_interval("0.5"), Ok(0.5));
        for text in ["0", "-1", "x", "NaN", "1e9"] {
            assert!(parse_interval(text).is_err(), "{text}");
        }
    }
}
