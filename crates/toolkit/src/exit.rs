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

/// Returns the exit code of a command, and reports an output that cannot be written.
pub fn to_exit_code(result: io::Result<u8>, err: &mut dyn Write) -> u8 {
    result.unwrap_or_else(|error| {
        // A reader that has gone knows; the others may have a full disk.
        if error.kind() != io::ErrorKind::BrokenPipe {
            let cause = describe_cause(&error);
            let _unwritten = writeln!(err, "Error: the output cannot be written\n  Caused by: {cause}");
        }
        EXIT_FAILURE
    })
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
