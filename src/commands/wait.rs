//! The wait of a command for servers that are not there yet, as a server waits for them at its start.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use svc_store::{OpenError, RetryWindow, StoreConfig};
use tokio::time::sleep;

/// Seconds of the units that a wait may have.
const UNITS: [(&str, u64); 3] = [("s", 1), ("m", 60), ("h", 3600)];
/// Longest wait.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The argument of commands that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct DatabaseWaitArgs {
    /// Time to wait for servers that are not there yet, such as 30s or 5m; 0 tries once [default:
    /// storage.connect_retry_secs]
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    pub wait: Option<Duration>,
}

impl DatabaseWaitArgs {
    /// Begins to wait.
    pub(super) fn begin(self, store: &StoreConfig) -> PeerWait {
        PeerWait { window: RetryWindow::new(self.wait.unwrap_or(store.connect_retry)), is_told: false }
    }
}

/// The wait for all servers of a command.
pub(super) struct PeerWait {
    window: RetryWindow,
    is_told: bool,
}

impl PeerWait {
    /// Repeats an attempt while `away` finds in its error that the server is not there yet, until the time is over.
    pub(super) async fn attempt<T, E>(
        &mut self,
        err: &mut dyn Write,
        away: impl Fn(&E) -> Option<&str>,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let error = match attempt().await {
                Ok(reached) => return Ok(reached),
                Err(error) => error,
            };
            let Some(reason) = away(&error) else { return Err(error) };
            let Some(pause) = self.window.next_pause() else { return Err(error) };
            if !std::mem::replace(&mut self.is_told, true) {
                // Whoever reads no notes waits all the same.
                let _ = writeln!(err, "note: waiting for what is not there yet: {reason}");
            }
            sleep(pause).await;
        }
    }
}

/// Returns the detection of a database server that is not there yet; no file is waited for.
pub(super) fn away_database(store: &StoreConfig) -> impl Fn(&OpenError) -> Option<&str> {
    let is_server = store.is_server();
    move |error| match error {
        OpenError::Unreachable { detail, .. } if is_server => Some(detail),
        _ => None,
    }
}

/// Reads a duration: whole seconds, or a number with a unit.
fn parse_wait(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = &text[digits.len()..];
    let factor = if unit.is_empty() { Some(1) } else { find_unit(unit) };
    let number = digits.parse::<u64>().ok();
    let seconds = factor.zip(number).and_then(|(factor, number)| number.checked_mul(factor));
    let wait = seconds.map(Duration::from_secs).filter(|wait| *wait <= LONGEST);
    wait.ok_or_else(|| "use seconds, or a number with s, m or h, of one day at most".to_owned())
}

fn find_unit(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_seconds_or_number_with_unit() {
        for (text, expected) in [("0", 0), ("30", 30), ("30s", 30), ("5m", 300), ("24h", 86_400)] {
            assert_eq!(parse_wait(text), Ok(Duration::from_secs(expected)), "{text}");
        }
        for text in ["", "s", "-1", "1.5s", "25h", "1d", "5 m", "99999999999999999999"] {
            assert!(parse_wait(text).is_err(), "{text}");
        }
    }
}
