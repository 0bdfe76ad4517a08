//! The files of the service itself, which no connector may open: its database and its backups contain the audit
//! log, the credentials of channels and the configs of connectors.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};

use svc_model::FieldError;
use svc_model::config::connector::{ConnectorConfig, DatabaseKind};

use super::target::SqliteTarget;
use crate::drivers::own_database::OwnDatabase;

/// Endings of the files that SQLite keeps next to a database, and of the database itself.
const ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Symbolic links followed by hand if the file at their end does not exist.
const MOST_LINKS: usize = 16;

/// Refuses a `db` connector whose connection string leads to a file of the service itself by any name.
pub(crate) fn check_own_files(own: &OwnDatabase, config: &ConnectorConfig) -> Option<FieldError> {
    let ConnectorConfig::Db(config) = config else { return None };
    let text = config.connection_string.expose();
    if DatabaseKind::from_connection_string(text) != Some(DatabaseKind::Sqlite) {
        return None;
    }
    match SqliteTarget::parse(text) {
        Ok(SqliteTarget { file: Some(file), .. }) if is_own(own, &file) => {
            Some(FieldError::invalid("connector.config.connection_string", REFUSED))
        }
        Err(why) if is_uri(text) => {
            let why = why.trim_start_matches("connection_string: ").to_owned();
            Some(FieldError::invalid("connector.config.connection_string", why))
        }
        _ => None,
    }
}

/// Returns `true` if a path leads to the database, to a file that belongs to it, or to a file in the directory of
/// backups: by the path with its links resolved, and by the inode. Blocks: it reads the file system.
pub(super) fn is_own(own: &OwnDatabase, candidate: &Path) -> bool {
    let Some(file) = own.file() else { return false };
    let candidate = resolve_path(candidate);
    is_database(file, &candidate) || own.backup_dir().is_some_and(|backups| is_within(backups, &candidate))
}

/// The text of the refusal.
pub(super) const REFUSED: &str =
    "this file belongs to the service itself, its database or a backup of it, which no connector may open";

/// Returns `true` if a resolved path is the database or a file that belongs to it.
fn is_database(file: &Path, candidate: &Path) -> bool {
    let own = Identity::from_path(file);
    let beside_own = |ending| Identity::from_path(&with_ending(&own.place, ending)).is_same(candidate);
    // A side file of the candidate may be the database.
    let beside_candidate = |ending| own.is_same(&with_ending(candidate, ending));
    has_prefix(&own.place, candidate)
        || ENDINGS.iter().any(|ending| beside_own(ending) || beside_candidate(ending))
}

/// Returns `true` if a resolved path has the name of the database and a suffix: its lock, a database that a
/// restore set aside, the file of a restore in progress.
fn has_prefix(database: &Path, candidate: &Path) -> bool {
    let (Some(name), Some(other)) = (database.file_name(), candidate.file_name()) else { return false };
    let rest = other.as_bytes().strip_prefix(name.as_bytes());
    database.parent() == candidate.parent() && rest.is_some_and(|rest| matches!(rest, [b'-' | b'.', ..]))
}

/// Returns `true` if a resolved path leads into a directory, or to a file that has a name in it as well.
fn is_within(directory: &Path, candidate: &Path) -> bool {
    let directory = resolve_path(directory);
    if candidate.starts_with(&directory) {
        return true;
    }
    let has_other_names = fs::metadata(candidate).is_ok_and(|data| data.nlink() > 1);
    let names = has_other_names.then(|| fs::read_dir(directory).into_iter().flatten().flatten());
    names.into_iter().flatten().any(|entry| inode(&entry.path()) == inode(candidate))
}

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(_, place)| super::target::is_uri(place.trim_start_matches('/')))
}

/// The identity of a file.
struct Identity {
    place: PathBuf,
    /// Device and inode; none if there is no file.
    inode: Option<(u64, u64)>,
}

impl Identity {
    fn from_path(path: &Path) -> Self {
        Self { place: resolve_path(path), inode: inode(path) }
    }

    fn is_same(&self, other: &Path) -> bool {
        self.place == resolve_path(other) || self.inode.is_some() && self.inode == inode(other)
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.to_owned().into_os_string();
    path.push(ending);
    path.into()
}

/// The path without links and dots, also of a file that does not exist yet.
fn resolve_path(path: &Path) -> PathBuf {
    let mut path = absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MOST_LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return whole;
        }
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { break };
        let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        match fs::read_link(&path) {
            Ok(target) => path = place.join(target),
            Err(_) => return place.join(name),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn own_files_are_recognised_by_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("svc.db"), "x").unwrap();
        fs::create_dir(at("sub")).unwrap();
        symlink(at("svc.db"), at("link")).unwrap();
        symlink("link", at("link-to-link")).unwrap();
        symlink(at("svc.db-journal"), at("dangling")).unwrap();
        symlink(dir.path(), at("sub/up")).unwrap();
        fs::hard_link(at("svc.db"), at("hard")).unwrap();
        fs::create_dir(at("backups")).unwrap();
        fs::write(at("backups/svc_backup_1.db"), "x").unwrap();
        symlink(at("backups"), at("sub/copies")).unwrap();
        fs::hard_link(at("backups/svc_backup_1.db"), at("hard-backup")).unwrap();
        let own = OwnDatabase::new(Some(at("svc.db")), Some(at("sub/copies")));
        for name in [
            "svc.db",
            "./svc.db",
            "sub/../svc.db",
            "sub/up/svc.db",
            "link",
            "link-to-link",
            "hard",
            "svc.db-wal",
            "svc.db-shm",
            "svc.db-journal",
            "svc.db-lock",
            "svc.db.replaced-20260102_030405",
            "svc.db.replaced-20260102_030405-wal",
            "svc.db.restore-7",
            "dangling",
            "backups/svc_backup_1.db",
            "backups/svc_backup_2.db.part",
            "backups/new.db",
            "sub/copies/svc_backup_1.db",
            "hard-backup",
        ] {
            assert!(is_own(&own, &at(name)), "{name}");
        }
        for name in ["other.db", "sub/svc.db", "sub/svc.db-wal", "svc.db2", "nowhere/svc.db", "backups.db"] {
            assert!(!is_own(&own, &at(name)), "{name}");
        }
        let is_log_of = |name: &str| is_own(&OwnDatabase::new(Some(at("a-wal")), None), &at(name));
        assert!(is_log_of("a"), "its log would be the database");
        assert!(!is_own(&OwnDatabase::default(), &at("svc.db")));
    }
}
