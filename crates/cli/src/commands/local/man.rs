//! `man`: manual pages, one for each command.

use std::path::PathBuf;

use clap::Args;

use crate::error::CliError;

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The directory
    directory: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(args: &ManArgs) -> Result<u8, CliError> {
    let file = |source| CliError::File { path: args.directory.clone(), source };
    std::fs::create_dir_all(&args.directory).map_err(file)?;
    clap_mangen::generate_to(crate::command(), &args.directory).map_err(file)?;
    Ok(0)
}
