//! Files that only their owner can read: the database, its lock, its copies.
//!
//! SQLite gives its side files the mode of the database file, so that the mode counts from the first byte of each.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options under which a new file is readable by its owner only. An existing file keeps its mode.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates an empty file if there is none, through dangling links as well. An existing file is not opened: to close
/// it again would release the locks of this process on it.
///
/// # Errors
/// There is no file and none can be created.
pub(crate) fn create_if_missing(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    private_options().create(true).append(true).open(path).map(drop)
}

/// Returns whether users who neither own the file nor are of its group can read it.
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _unknown = fs::metadata(path);
        false
    }
}
