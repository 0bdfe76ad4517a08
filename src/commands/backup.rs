//! `svc-server backup`: copies the database to a file and checks the copy.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use svc_model::Timestamp;
use svc_outbound::describe_cause;
use svc_store::{BackupError, Unfinished};

use crate::backups::BackupDirectory;
use crate::config::Config;
use crate::exit::{self, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// The arguments of `backup`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct BackupArgs {
    /// File to write, which must not exist; without it a new file in storage.backup_dir
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Makes a backup and prints its path. A server may use the database meanwhile.
///
/// # Errors
/// The output cannot be written.
pub(super) fn backup(
    args: &BackupArgs,
    config: &Config,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let outcome = match &args.output {
        Some(file) => write_to(config, file),
        None => write_into_directory(config, err)?,
    };
    match outcome {
        Ok((file, bytes)) => {
            writeln!(out, "{}", file.display())?;
            writeln!(err, "note: {bytes} bytes, integrity checked")?;
            Ok(EXIT_OK)
        }
        Err(error) => exit::write_error(&error, err).map(|()| exit_code(&error)),
    }
}

/// Returns the exit code of a backup or a restore that failed.
pub(super) fn exit_code(error: &BackupError) -> u8 {
    match error {
        BackupError::NotAFile { .. } => EXIT_CONFIG,
        BackupError::Open(error) if error.is_configuration() => EXIT_CONFIG,
        _ => EXIT_FAILURE,
    }
}

fn write_to(config: &Config, file: &Path) -> Result<(PathBuf, u64), BackupError> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    if file.exists() {
        return Err(BackupError::File { path: file.to_owned(), detail: "the file exists".to_owned() });
    }
    let unfinished = Unfinished::create(Path::new(&part))?;
    svc_store::back_up(&settings::store_config(config), unfinished.path())?;
    let size = std::fs::metadata(unfinished.path()).map_or(0, |data| data.len());
    unfinished.publish(file)?;
    Ok((file.to_owned(), size))
}

/// Makes a backup as `POST /backups` does, and deletes the oldest ones.
fn write_into_directory(
    config: &Config,
    err: &mut dyn Write,
) -> io::Result<Result<(PathBuf, u64), BackupError>> {
    let directory = BackupDirectory::new(config);
    let write = || {
        // An absent or foreign database leaves no directory behind.
        let store = settings::store_config(config);
        svc_store::check_source(&store)?;
        let draft = directory.begin(Timestamp::now())?;
        svc_store::back_up(&store, draft.part())?;
        draft.finish()
    };
    let backup = match write() {
        Ok(backup) => backup,
        Err(error) => return Ok(Err(error)),
    };
    match directory.prune() {
        Ok(pruned) => pruned.iter().try_for_each(|name| writeln!(err, "note: old backup {name} deleted"))?,
        Err(error) => {
            writeln!(err, "warning: old backups were not deleted: {}", describe_cause(&error))?;
        }
    }
    Ok(Ok((PathBuf::from(backup.path), backup.size_bytes)))
}
