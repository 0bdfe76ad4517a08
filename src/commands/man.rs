//! `man`: manual pages, one for each command.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory as _;
use svc_outbound::describe_cause;

use crate::cli::{Cli, EXIT_FAILURE, EXIT_OK, write_error};

/// Writes the pages into a directory, which is made if it is missing.
pub(super) fn man(directory: &Path, err: &mut dyn Write) -> io::Result<u8> {
    let written =
        fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
    match written {
        Ok(()) => Ok(EXIT_OK),
        Err(error) => {
            let error =
                io::Error::new(error.kind(), format!("{}: {}", directory.display(), describe_cause(&error)));
            write_error(&error, err).map(|()| EXIT_FAILURE)
        }
    }
}
