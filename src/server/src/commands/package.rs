//! `svc-server package`: commands over packages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::lint::exit_code;
use super::project_files::read_source;
use super::report::{self, TextStyle};
use crate::exit::EXIT_FAILURE;
use crate::offline;

/// The arguments of `package`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageArgs {
    /// The command.
    #[command(subcommand)]
    pub command: PackageCommand,
}

/// The commands over packages.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum PackageCommand {
    /// Check a package: its header, its hash and everything in it
    Lint {
        /// The package
        #[arg(short, long, value_name = "FILE")]
        file: PathBuf,
        /// Fail on warnings too
        #[arg(long)]
        deny_warnings: bool,
    },
}

/// Runs a command over packages and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(super) fn package(
    args: &PackageArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let PackageCommand::Lint { file, deny_warnings } = &args.command;
    let Some(source) = read_source(file, err)? else { return Ok(EXIT_FAILURE) };
    let engine = Arc::new(offline::engine_builder().build());
    let (findings, summary) = svc_project::lint_package(&source, &engine);
    report::write_text(&findings, Path::new(""), style, err)?;
    writeln!(out, "{summary}")?;
    Ok(exit_code(summary.passes(*deny_warnings)))
}
