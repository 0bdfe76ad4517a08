//! `svc-server restore`: puts a backup in the place of the database.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use svc_store::{BackupError, FileLock, RestoreReport, StoreConfig};

use super::backup::exit_code;
use crate::config::Config;
use crate::exit::{self, EXIT_OK};
use crate::settings;

/// The arguments of `restore`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Checks a backup and puts it in the place of the database, which no server may use meanwhile. Prints the path of the
/// database.
///
/// # Errors
/// The output cannot be written.
pub(super) fn restore(
    args: &RestoreArgs,
    config: &Config,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    match restore_locked(&settings::store_config(config), &args.file) {
        Ok(report) => {
            writeln!(out, "{}", report.file.display())?;
            if let Some(replaced) = &report.replaced {
                writeln!(err, "note: the replaced database is now {}", replaced.display())?;
            }
            if !report.pending.is_empty() {
                let pending = report.pending.join(", ");
                writeln!(
                    err,
                    "note: the backup is of an older version; the next start migrates it: {pending}"
                )?;
            }
            Ok(EXIT_OK)
        }
        Err(error) => exit::write_error(&error, err).map(|()| exit_code(&error)),
    }
}

fn restore_locked(store: &StoreConfig, file: &Path) -> Result<RestoreReport, BackupError> {
    let _file_lock = FileLock::acquire(store, "svc-server restore")?;
    svc_store::restore(store, file)
}
