//! The command line of `svc-server`: commands, output and exit codes.
//!
//! Machine output goes to standard output; notes, warnings and errors to standard error. Usage errors exit
//! with 2 ([`EXIT_USAGE`], which is clap's own), run-time failures with [`EXIT_FAILURE`], refused
//! configurations with [`EXIT_CONFIG`].

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use svc_toolkit::AuthorCommand;

pub use crate::exit::{EXIT_CONFIG, EXIT_FAILURE, EXIT_OK, EXIT_USAGE, write_error};

use crate::commands::{
    BackupArgs, DatabaseWaitArgs, DevArgs, DoctorArgs, KeyIdArgs, MigrateArgs, MigrateStorageArgs,
    MonitoringCommand, RestoreArgs, RotateKeyArgs, SizeArgs, SqlCommand, StateArgs,
};
use crate::config::ConfigFormat;
use crate::{BUILD_TIMESTAMP, GIT_HASH, VERSION};

/// Version, commit and time of the build.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{VERSION}\ncommit: {GIT_HASH}\nbuilt: {BUILD_TIMESTAMP}"));

/// Serves channels: requests in, workflows run, answers out. Without a command it starts the server.
#[derive(Clone, Debug, Parser)]
#[command(name = "svc-server", version, long_version = LONG_VERSION.as_str())]
pub struct Cli {
    /// Configuration file; without one the defaults and the environment apply
    #[arg(short, long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Run a command instead of starting the server
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// The commands other than starting the server.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum CliCommand {
    /// A command of authors, as `svc-cli` has it.
    #[command(flatten)]
    Author(AuthorCommand),
    /// A command of operators.
    #[command(flatten)]
    Operator(OperatorCommand),
}

/// The commands of operators: they work with the configuration and the database of the server.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum OperatorCommand {
    /// Copy the SQLite database to a file, while a server may use it
    Backup(BackupArgs),
    /// Serve a project directory on this machine and follow every save
    Dev(DevArgs),
    /// Check configuration, database, peers and limits of the system, and name the remedies
    Doctor(DoctorArgs),
    /// Print the OpenAPI document of the API
    DumpOpenapi,
    /// Ask the server of this configuration for its state: exit code 0 if it is well, 1 otherwise
    Health(StateArgs),
    /// Print the id under which the audit log shows an admin key without a name
    KeyId(KeyIdArgs),
    /// Check the configuration and print all of it, secrets struck out
    ValidateConfig {
        /// Output format
        #[arg(long, value_enum, default_value_t = ConfigFormat::Toml)]
        format: ConfigFormat,
    },
    /// Apply the pending migrations of the database
    Migrate(MigrateArgs),
    /// Move the SQLite database to PostgreSQL; the server is stopped, or a backup of it is moved
    MigrateStorage(MigrateStorageArgs),
    /// Print alert rules and write dashboards for these metrics
    #[command(subcommand)]
    Monitoring(MonitoringCommand),
    /// Check every stored channel and workflow against this version; changes nothing
    Preflight,
    /// Rewrite stored connectors under storage.connector_encryption_key
    Reencrypt,
    /// Put a backup in the place of the SQLite database, which is kept aside
    Restore(RestoreArgs),
    /// Show how far a change of the encryption key is, and the next step; --apply does the one in the database
    RotateKey(RotateKeyArgs),
    /// Estimate nodes, memory, disk and connections for a load, from the figures of the bench
    Size(SizeArgs),
    /// Check the SQL of a project against the databases of its connectors; changes nothing
    #[command(subcommand)]
    Sql(SqlCommand),
    /// Ask the database and the Kafka brokers for a sign of life
    TestConnectivity(DatabaseWaitArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into a directory
    Man {
        /// The directory
        directory: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn config_option_may_precede_or_follow_the_command() {
        for line in ["svc-server -c a.toml migrate --dry-run", "svc-server migrate --dry-run --config a.toml"]
        {
            let cli = parse(line).unwrap();
            assert_eq!(cli.config.as_deref(), Some(Path::new("a.toml")), "{line}");
            let migrate = MigrateArgs { dry_run: true, wait: DatabaseWaitArgs::default() };
            let expected = CliCommand::Operator(OperatorCommand::Migrate(migrate));
            assert_eq!(cli.command, Some(expected), "{line}");
        }
        assert_eq!(parse("svc-server").unwrap().command, None);
    }

    #[test]
    fn usage_errors_exit_with_2() {
        for line in ["svc-server serve", "svc-server --port 1", "svc-server validate-config --format yaml"] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_long_version_tells_commit_and_time() {
        let long = parse("svc-server --version").unwrap_err().to_string();
        assert!(long.contains("commit: ") && long.contains("built: "), "{long}");
        assert_eq!(
            parse("svc-server -V").unwrap_err().to_string().trim(),
            concat!("svc-server ", env!("CARGO_PKG_VERSION"))
        );
    }
}
