//! The commands of `svc-server` beside starting the server, a file each.
//!
//! Machine output goes to `out`; findings, notes and warnings go to `err`. Each command returns its exit code.

mod case;
mod compile;
mod definitions;
mod dry_run;
mod lint;
mod migrate;
mod offline_files;
mod output;
mod package;
mod project_files;
mod reencrypt;
mod test;
mod validate_config;

pub use case::CaseArgs;
pub use compile::{CompileArgs, CompileFormat};
pub use dry_run::DryRunArgs;
pub use lint::LintArgs;
pub use package::{PackageArgs, PackageCommand};
pub use project_files::Boundaries;
pub use test::TestArgs;

use std::io::{self, Write};
use std::path::Path;

use crate::cli::CliCommand;

/// Runs a command and returns its exit code. `config` is the configuration file that was named.
///
/// # Errors
/// The output cannot be written.
pub fn run(
    command: &CliCommand,
    config: Option<&Path>,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    match command {
        CliCommand::Case(args) => case::case(args, out, err),
        CliCommand::Compile(args) => compile::compile(args, out, err),
        CliCommand::DryRun(args) => dry_run::dry_run(args, out, err),
        CliCommand::Lint(args) => lint::lint(args, out, err),
        CliCommand::Package(args) => package::package(args, out, err),
        CliCommand::ValidateConfig { format } => {
            validate_config::validate_config(config, environment, *format, out, err)
        }
        CliCommand::Migrate { dry_run } => migrate::migrate(config, environment, *dry_run, out, err),
        CliCommand::Reencrypt => reencrypt::reencrypt(config, environment, err),
        CliCommand::Test(args) => test::test(args, out, err),
    }
}
