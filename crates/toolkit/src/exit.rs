//! Exit codes of the commands, and errors as they write them.

use std::error::Error;
use std::io::{self, Write};

use svc_outbound::describe_cause;

/// Exit code of success.
pub const EXIT_OK: u8 = 0;

/// Exit code of a failure while running.
pub const EXIT_FAILURE: u8 = 1;

/// Exit code of arguments that do not fit each other, as clap has it.
pub const EXIT_USAGE: u8 = 2;

/// Writes `Error: …` and a line for each cause.
///
/// # Errors
/// The text cannot be written.
pub fn write_error(error: &dyn Error, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "Error: {error}")?;
    causes(error).iter().try_for_each(|cause| writeln!(err, "  Caused by: {cause}"))
}

/// Lists the causes of an error, the nearest first.
#[must_use]
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        cause = error.source();
        causes.push(match cause {
            Some(_) => error.to_string(),
            None => describe_cause(error).to_string(),
        });
    }
    causes
}
