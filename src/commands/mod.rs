//! The commands of `svc-server` other than starting the server, a file each.
//!
//! Machine output goes to `out`; findings, notes and warnings go to `err`. Each command returns its exit
//! code.

mod authoring;
mod backup;
mod completions;
mod dump_openapi;
mod key_id;
mod man;
mod migrate;
mod output;
mod package;
mod preflight;
mod reencrypt;
pub mod report;
mod restore;
mod schema;
mod test_connectivity;
mod validate_config;
mod wait;

pub use authoring::case::CaseArgs;
pub use authoring::compile::{CompileArgs, CompileFormat};
pub use authoring::dry_run::DryRunArgs;
pub use authoring::fmt::FmtArgs;
pub use authoring::lint::LintArgs;
pub use authoring::new::NewArgs;
pub use authoring::project_files::Boundaries;
pub use authoring::test::TestArgs;
pub use backup::BackupArgs;
pub use key_id::KeyIdArgs;
pub use migrate::MigrateArgs;
pub use package::{PackageArgs, PackageCommand};
pub use restore::RestoreArgs;
pub use schema::SchemaArgs;
pub use wait::DatabaseWaitArgs;

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use svc_outbound::PrintableWriter;

use crate::cli::{CliCommand, EXIT_CONFIG, write_error};
use crate::config;
use authoring::{case, compile, dry_run, fmt, lint, new, test};
use report::{ReportFormat, TestFormat, TextStyle};

/// Runs a command and returns its exit code. `file` is the configuration file that was named.
///
/// # Errors
/// The output cannot be written.
pub fn run(
    command: &CliCommand,
    file: Option<&Path>,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    // A bad configuration fails every command, those too that use nothing of it.
    let loaded = match config::load(file, environment) {
        Ok(loaded) => loaded,
        Err(error) => return write_error(&error, err).map(|()| EXIT_CONFIG),
    };
    let config = &loaded.config;
    let style = TextStyle::detect(io::stderr().is_terminal(), environment);
    let may_color = style == TextStyle::Excerpt { color: true };
    let (mut printable_err, mut printable_out) = (PrintableWriter::new(err, may_color), None);
    let out: &mut dyn Write = match writes_document(command) {
        true => out,
        false => printable_out.insert(PrintableWriter::new(out, false)),
    };
    let err = &mut printable_err;
    let code = match command {
        CliCommand::Backup(args) => backup::backup(args, config, out, err),
        CliCommand::Case(args) => case::case(args, out, err),
        CliCommand::Compile(args) => compile::compile(args, style, out, err),
        CliCommand::DryRun(args) => dry_run::dry_run(args, out, err),
        CliCommand::DumpOpenapi => dump_openapi::dump_openapi(out),
        CliCommand::Fmt(args) => fmt::fmt(args, out, err),
        CliCommand::KeyId(args) => key_id::key_id_of(args, out, err),
        CliCommand::Lint(args) => lint::lint(args, style, out, err),
        CliCommand::Package(args) => package::package(args, style, environment, out, err),
        CliCommand::ValidateConfig { format } => validate_config::validate_config(&loaded, *format, out, err),
        CliCommand::Migrate(args) => migrate::migrate(config, *args, environment, out, err),
        CliCommand::New(args) => new::new(args, out, err),
        CliCommand::Preflight => preflight::preflight(config, environment, out, err),
        CliCommand::Restore(args) => restore::restore(args, config, out, err),
        CliCommand::Schema(args) => schema::schema(args, out, err),
        CliCommand::TestConnectivity(args) => {
            test_connectivity::test_connectivity(config, *args, environment, out, err)
        }
        CliCommand::Reencrypt => reencrypt::reencrypt(config, environment, err),
        CliCommand::Test(args) => test::test(args, out, err),
        CliCommand::Completions { shell } => completions::completions(*shell, out),
        CliCommand::Man { directory } => man::man(directory, err),
    }?;
    out.flush()?;
    err.flush()?;
    Ok(code)
}

/// Returns `true` for a command whose standard output is a document, which no escape may change; the others write lines
/// for people.
fn writes_document(command: &CliCommand) -> bool {
    match command {
        CliCommand::Case(_)
        | CliCommand::Compile(_)
        | CliCommand::DryRun(_)
        | CliCommand::DumpOpenapi
        | CliCommand::Schema(_)
        | CliCommand::ValidateConfig { .. }
        | CliCommand::Completions { .. } => true,
        CliCommand::Lint(args) => args.format != ReportFormat::Text,
        CliCommand::Test(args) => args.format != TestFormat::Text,
        CliCommand::Package(args) => args.writes_document(),
        CliCommand::Backup(_)
        | CliCommand::Fmt(_)
        | CliCommand::KeyId(_)
        | CliCommand::Migrate { .. }
        | CliCommand::New(_)
        | CliCommand::Preflight
        | CliCommand::Restore(_)
        | CliCommand::TestConnectivity { .. }
        | CliCommand::Reencrypt
        | CliCommand::Man { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn bad_configuration_fails_every_command_before_it_begins() {
        let environment = [("SVC_SERVER__PROT".to_owned(), "1".to_owned())];
        for line in [
            "backup",
            "case --from-trace none.json",
            "compile none -o none.json",
            "dry-run -w none.json -i none.json",
            "dump-openapi",
            "fmt none",
            "key-id none",
            "lint none",
            "migrate --dry-run",
            "new none",
            "package lint -f none.json",
            "preflight",
            "reencrypt",
            "restore none.db",
            "schema",
            "test none",
            "test-connectivity",
            "validate-config",
        ] {
            let cli = Cli::try_parse_from(["svc-server"].into_iter().chain(line.split(' '))).unwrap();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let code = run(&cli.command.unwrap(), None, &environment, &mut out, &mut err).unwrap();
            let err = String::from_utf8(err).unwrap();
            assert_eq!((code, out.len()), (EXIT_CONFIG, 0), "{line}: {err}");
            assert!(err.contains("SVC_SERVER__PORT"), "{line}: {err}");
        }
    }
}
