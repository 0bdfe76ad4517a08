//! Exclusive use of a SQLite file.
//!
//! An advisory lock on a file next to the database, `{database}-lock`. The kernel releases it when the process
//! ends for any reason. The text of the file names the holder and is read only while the lock is held. The
//! path is resolved first, so that every spelling and every symbolic link leads to the same lock.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use svc_model::Timestamp;
use svc_outbound::describe_cause;

use crate::config::{DatabaseTarget, StoreConfig};
use crate::error::OpenError;
use crate::files::private_file::{create_if_missing, private_options};

/// Suffix of the lock file after the name of the database file.
const SUFFIX: &str = "-lock";

/// Exclusive use of a SQLite file, until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Acquires the lock of the file that `config` names, for `holder`. Returns `None` for a server, which
    /// many processes use, and for a path that no file can have: opening the database reports the reason.
    ///
    /// # Errors
    /// [`OpenError::InUse`] while another process holds the lock, [`OpenError::Unreachable`] if the lock file
    /// cannot be used.
    pub fn acquire(config: &StoreConfig, holder: &str) -> Result<Option<Self>, OpenError> {
        let target = DatabaseTarget::parse(&config.url)?;
        let DatabaseTarget::Sqlite(path) = &target else { return Ok(None) };
        let Some(path) = resolve(Path::new(path)) else { return Ok(None) };
        let unreachable = |error: io::Error| OpenError::Unreachable {
            target: target.to_string(),
            detail: format!("cannot lock '{}': {}", path.display(), describe_cause(&error)),
        };
        let mut options = private_options();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(&path).map_err(unreachable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { target: target.to_string(), holder: read_holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unreachable(error)),
        }
        write_holder(&mut file, holder).map_err(unreachable)?;
        Ok(Some(Self { file }))
    }
}

impl FileLock {
    /// Returns whether another process holds the lock of the file that `config` names. False for a server.
    ///
    /// # Errors
    /// [`OpenError::Url`] for an invalid URL.
    pub(crate) fn is_held(config: &StoreConfig) -> Result<bool, OpenError> {
        let target = DatabaseTarget::parse(&config.url)?;
        let Some(path) = target.file().and_then(resolve) else { return Ok(false) };
        // Shared, and released at once: it keeps another process from its start for a moment only.
        let lock = File::open(path).map(|file| file.try_lock_shared());
        Ok(matches!(lock, Ok(Err(TryLockError::WouldBlock))))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Removes the name of this holder. If that fails, the stale text is read only while another process
        // holds the lock, which has replaced it by then.
        let _ = self.file.set_len(0);
    }
}

/// Returns the path of the lock file: next to the real file, whatever links lead there. Creates the file,
/// empty, if it does not exist, as the database would.
fn resolve(path: &Path) -> Option<PathBuf> {
    create_if_missing(path).ok()?;
    let mut name = path.canonicalize().ok()?.into_os_string();
    name.push(SUFFIX);
    Some(name.into())
}

fn write_holder(file: &mut File, holder: &str) -> io::Result<()> {
    let since = Timestamp::now();
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "node '{holder}' (process {}, since {since})", std::process::id())
}

/// Returns the name of the holder. A holder that has not written its name yet is shown as another process.
fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(1024).read_to_string(&mut text);
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(path: &Path) -> StoreConfig {
        StoreConfig { url: format!("sqlite:{}", path.display()), ..StoreConfig::default() }
    }

    #[test]
    fn second_holder_is_refused_naming_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("svc.db");
        let lock = FileLock::acquire(&config(&path), "first").unwrap().expect("a file is locked");
        let line = FileLock::acquire(&config(&path), "second").unwrap_err().to_string();
        assert!(line.contains("node 'first'") && line.contains(&std::process::id().to_string()), "{line}");
        assert!(line.contains("since 20") && !line.contains('\n'), "{line}");
        drop(lock);
        FileLock::acquire(&config(&path), "second").unwrap().expect("it is free");
    }

    #[cfg(unix)]
    #[test]
    fn every_path_to_a_file_names_one_lock() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("svc.db"), directory.path().join("link.db"));
        let (folder, odd) = (directory.path().join("folder"), directory.path().join("./folder/./svc.db"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        std::os::unix::fs::symlink(directory.path(), &folder).unwrap();
        let _lock = FileLock::acquire(&config(&link), "first").unwrap().expect("a dangling link is followed");
        for other in [path, odd, folder.join("svc.db")] {
            let refused = FileLock::acquire(&config(&other), "second");
            assert!(matches!(refused, Err(OpenError::InUse { .. })), "{}: {refused:?}", other.display());
        }
    }

    #[test]
    fn text_of_a_former_holder_locks_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("svc.db");
        std::fs::write(directory.path().join("svc.db-lock"), "node 'killed' (process 1, since long)")
            .unwrap();
        assert!(FileLock::acquire(&config(&path), "next").unwrap().is_some());
    }

    #[test]
    fn server_and_impossible_path_have_no_lock() {
        let server = StoreConfig { url: "postgres://svc@localhost/svc".into(), ..StoreConfig::default() };
        assert!(FileLock::acquire(&server, "n").unwrap().is_none());
        assert!(FileLock::acquire(&config(Path::new("/nowhere/svc.db")), "n").unwrap().is_none());
    }
}
