//! The commands of `svc-server` other than starting the server, a file each.
//!
//! Machine output goes to `out`; findings, notes and warnings go to `err`. Each command returns its exit
//! code.

mod backup;
mod completions;
mod dev;
mod doctor;
mod dump_openapi;
mod health;
mod key_id;
mod man;
mod migrate;
mod migrate_storage;
mod monitoring;
mod preflight;
mod reencrypt;
mod restore;
mod rotate_key;
mod size;
mod sql_check;
mod test_connectivity;
mod validate_config;
mod wait;

pub use backup::BackupArgs;
pub use dev::DevArgs;
pub(crate) use dev::DevStatus;
pub use doctor::DoctorArgs;
pub use health::StateArgs;
pub use key_id::KeyIdArgs;
pub use migrate::MigrateArgs;
pub use migrate_storage::MigrateStorageArgs;
pub use monitoring::{DashboardsArgs, MonitoringCommand, RulesArgs};
pub use restore::RestoreArgs;
pub use rotate_key::RotateKeyArgs;
pub use size::SizeArgs;
pub use sql_check::{NamedDatabase, SqlCheckArgs, SqlCommand};
pub use wait::DatabaseWaitArgs;

use std::io::{self, Write};
use std::path::Path;

use svc_outbound::PrintableWriter;

use crate::cli::{CliCommand, EXIT_CONFIG, EXIT_FAILURE, OperatorCommand, write_error};
use crate::config::{self, LoadedConfig};

/// Name of the program in the requests of authors' commands.
const PROGRAM: &str = "svc-server";

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
        Err(error) => {
            // Container engines know two codes of a probe.
            let is_probe = matches!(command, CliCommand::Operator(OperatorCommand::Health(_)));
            let code = if is_probe { EXIT_FAILURE } else { EXIT_CONFIG };
            return write_error(&error, err).map(|()| code);
        }
    };
    match command {
        CliCommand::Author(command) => svc_toolkit::run(command, PROGRAM, environment, out, err),
        CliCommand::Operator(command) => run_operator(command, &loaded, environment, out, err),
    }
}

/// Runs a command of operators and returns its exit code.
fn run_operator(
    command: &OperatorCommand,
    loaded: &LoadedConfig,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let config = &loaded.config;
    let (mut printable_err, mut printable_out) = (PrintableWriter::new(err, false), None);
    let out: &mut dyn Write = match writes_document(command) {
        true => out,
        false => printable_out.insert(PrintableWriter::new(out, false)),
    };
    let err = &mut printable_err;
    let code = match command {
        OperatorCommand::Backup(args) => backup::backup(args, config, out, err),
        OperatorCommand::Dev(args) => dev::dev(args, loaded, environment, err),
        OperatorCommand::Doctor(args) => doctor::doctor(*args, loaded, environment, out, err),
        OperatorCommand::DumpOpenapi => dump_openapi::dump_openapi(out),
        OperatorCommand::Health(args) => health::health(config, *args, out, err),
        OperatorCommand::KeyId(args) => key_id::key_id_of(args, out, err),
        OperatorCommand::ValidateConfig { format } => {
            validate_config::validate_config(loaded, *format, out, err)
        }
        OperatorCommand::Migrate(args) => migrate::migrate(config, *args, environment, out, err),
        OperatorCommand::MigrateStorage(args) => {
            migrate_storage::migrate_storage(args, config, environment, out, err)
        }
        OperatorCommand::Monitoring(command) => monitoring::monitoring(command, out, err),
        OperatorCommand::Preflight => preflight::preflight(config, environment, out, err),
        OperatorCommand::RotateKey(args) => rotate_key::rotate_key(*args, config, environment, out, err),
        OperatorCommand::Size(args) => size::size(args, config, out, err),
        OperatorCommand::Sql(command) => sql_check::sql(command, config, environment, out, err),
        OperatorCommand::Restore(args) => restore::restore(args, config, out, err),
        OperatorCommand::TestConnectivity(args) => {
            test_connectivity::test_connectivity(config, *args, environment, out, err)
        }
        OperatorCommand::Reencrypt => reencrypt::reencrypt(config, environment, err),
        OperatorCommand::Completions { shell } => completions::completions(*shell, out),
        OperatorCommand::Man { directory } => man::man(directory, err),
    }?;
    out.flush()?;
    err.flush()?;
    Ok(code)
}

/// Returns `true` for a command whose standard output is a document, which no escape may change; the others write lines
/// for people.
fn writes_document(command: &OperatorCommand) -> bool {
    match command {
        OperatorCommand::Doctor(args) => args.json,
        OperatorCommand::Size(args) => args.json,
        OperatorCommand::DumpOpenapi
        | OperatorCommand::ValidateConfig { .. }
        | OperatorCommand::Monitoring(_)
        | OperatorCommand::Completions { .. } => true,
        OperatorCommand::Backup(_)
        | OperatorCommand::Dev(_)
        | OperatorCommand::Health(_)
        | OperatorCommand::KeyId(_)
        | OperatorCommand::Migrate { .. }
        | OperatorCommand::MigrateStorage(_)
        | OperatorCommand::Preflight
        | OperatorCommand::Restore(_)
        | OperatorCommand::RotateKey(_)
        | OperatorCommand::Sql(_)
        | OperatorCommand::TestConnectivity { .. }
        | OperatorCommand::Reencrypt
        | OperatorCommand::Man { .. } => false,
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
            "backtest --traces none.jsonl -w none.json",
            "backup",
            "case --from-trace none.json",
            "compile none -o none.json",
            "dev none",
            "doctor",
            "dry-run -w none.json -i none.json",
            "dump-openapi",
            "fmt none",
            "health --ready",
            "key-id none",
            "lint none",
            "migrate --dry-run",
            "migrate-storage --to postgres://db/svc",
            "monitoring rules",
            "new none",
            "package lint -f none.json",
            "preflight",
            "reencrypt",
            "restore none.db",
            "rotate-key",
            "schema",
            "size",
            "test none",
            "test-connectivity",
            "validate-config",
        ] {
            let cli = Cli::try_parse_from(["svc-server"].into_iter().chain(line.split(' '))).unwrap();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let code = run(&cli.command.unwrap(), None, &environment, &mut out, &mut err).unwrap();
            let err = String::from_utf8(err).unwrap();
            let expected = if line.starts_with("health") { EXIT_FAILURE } else { EXIT_CONFIG };
            assert_eq!((code, out.len()), (expected, 0), "{line}: {err}");
            assert!(err.contains("SVC_SERVER__PORT"), "{line}: {err}");
        }
    }
}
