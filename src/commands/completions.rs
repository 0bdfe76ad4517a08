//! `completions`: a script that completes the command line in a shell.

use std::io::{self, Write};

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::{Cli, EXIT_OK};

/// Writes the script.
pub(super) fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "svc-server", &mut script);
    out.write_all(&script)?;
    Ok(EXIT_OK)
}
