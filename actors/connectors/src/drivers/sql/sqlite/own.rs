//! The service's own database, which no connector may open: its rows hold the audit log and the configs of
//! connectors.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};

use svc_model::FieldError;
use svc_model::config::connector::{ConnectorConfig, DatabaseKind};

use super::target::SqliteTarget;

/// Endings of the files that SQLite keeps beside a database, and of the database itself.
const ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Symbolic links followed by hand where the file at their end does not exist.
const MOST_LINKS: usize = 16;

/// Refuses a `db` connector whose connection string leads to the service's own database, the file `own`, by
/// any name.
pub(crate) fn check_own_database(own: Option<&Path>, config: &ConnectorConfig) -> Option<FieldError> {
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

/// Tells whether a path leads to the file `own` or to one that SQLite keeps beside it: by the path with its
/// links resolved, and by the inode. Blocks: it reads the file system.
pub(super) fn is_own(own: Option<&Path>, candidate: &Path) -> bool {
    let Some(file) = own else { return false };
    let own = Identity::from_path(file);
    let candidate = resolve_path(candidate);
    let beside_own = |ending| Identity::from_path(&with_ending(&own.place, ending)).is_same(&candidate);
    // A side file of the candidate may be the database.
    let beside_candidate = |ending| own.is_same(&with_ending(&candidate, ending));
    ENDINGS.iter().any(|ending| beside_own(ending) || beside_candidate(ending))
}

/// The text of the refusal.
pub(super) const REFUSED: &str = "this is the database of the service itself, which no connector may open";

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(_, place)| super::target::is_uri(place.trim_start_matches('/')))
}

/// The identity of a file.
struct Identity {
    place: PathBuf,
    /// Device and inode; none where there is no file.
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
    fn own_database_is_known_by_every_name_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("svc.db"), "x").unwrap();
        fs::create_dir(at("sub")).unwrap();
        symlink(at("svc.db"), at("link")).unwrap();
        symlink("link", at("link-to-link")).unwrap();
        symlink(at("svc.db-journal"), at("dangling")).unwrap();
        symlink(dir.path(), at("sub/up")).unwrap();
        fs::hard_link(at("svc.db"), at("hard")).unwrap();
        let own = at("svc.db");
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
            "dangling",
        ] {
            assert!(is_own(Some(&own), &at(name)), "{name}");
        }
        for name in ["other.db", "sub/svc.db", "svc.db2", "nowhere/svc.db"] {
            assert!(!is_own(Some(&own), &at(name)), "{name}");
        }
        assert!(is_own(Some(&at("a-wal")), &at("a")), "its log would be the database");
        assert!(!is_own(None, &at("svc.db")));
    }
}
