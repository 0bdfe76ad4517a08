//! The commands of `svc-server` beside starting the server, a file each.
//!
//! Machine output goes to `out`; findings, notes and warnings go to `err`. Each command returns its exit
//! code.

mod case;
mod compile;
mod definitions;
mod dry_run;
mod fmt;
mod lint;
mod migrate;
mod new;
mod offline_files;
mod output;
mod package;
mod preflight;
mod project_files;
mod reencrypt;
pub mod report;
mod schema;
mod test;
mod test_connectivity;
mod validate_config;

pub use case::CaseArgs;
pub use compile::{CompileArgs, CompileFormat};
pub use dry_run::DryRunArgs;
pub use fmt::FmtArgs;
pub use lint::LintArgs;
pub use new::NewArgs;
pub use package::{PackageArgs, PackageCommand};
pub use project_files::Boundaries;
pub use schema::SchemaArgs;
pub use test::TestArgs;

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use crate::cli::CliCommand;
use report::TextStyle;

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
    let style = TextStyle::detect(io::stderr().is_terminal(), environment);
    match command {
        CliCommand::Case(args) => case::case(args, out, err),
        CliCommand::Compile(args) => compile::compile(args, style, out, err),
        CliCommand::DryRun(args) => dry_run::dry_run(args, out, err),
        CliCommand::Fmt(args) => fmt::fmt(args, out, err),
        CliCommand::Lint(args) => lint::lint(args, style, out, err),
        CliCommand::Package(args) => package::package(args, style, out, err),
        CliCommand::ValidateConfig { format } => {
            validate_config::validate_config(config, environment, *format, out, err)
        }
        CliCommand::Migrate { dry_run } => migrate::migrate(config, environment, *dry_run, out, err),
        CliCommand::New(args) => new::new(args, out, err),
        CliCommand::Preflight => preflight::preflight(config, environment, out, err),
        CliCommand::Schema(args) => schema::schema(config, environment, args, out, err),
        CliCommand::TestConnectivity => test_connectivity::test_connectivity(config, environment, out, err),
        CliCommand::Reencrypt => reencrypt::reencrypt(config, environment, err),
        CliCommand::Test(args) => test::test(args, out, err),
    }
}
