//! `completions`: scripts that complete the command line in a shell.

use clap::Args;
use clap_complete::Shell;

use crate::error::CliError;

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "svc-cli", &mut script);
    let written = std::io::Write::write_all(&mut std::io::stdout().lock(), &script);
    written.map_err(|source| CliError::Output { source })?;
    Ok(0)
}
