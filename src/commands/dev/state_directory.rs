//! The directory `.svc` of a project: what `dev` keeps from one run to the next. Its name is hidden, so that no walk over
//! the project looks into it; a file in it keeps it out of version control.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name in the directory of the project.
const NAME: &str = ".svc";
/// The file that keeps everything out of version control.
const GITIGNORE: (&str, &str) = (".gitignore", "*\n");
/// The file of the keys of what was served.
const KEYS: &str = "served.json";

/// The directory of the state, which exists.
pub(super) struct StateDirectory(PathBuf);

impl StateDirectory {
    /// Returns the path in a project.
    pub(super) fn path_in(project: &Path) -> PathBuf {
        project.join(NAME)
    }

    /// Makes the directory, if there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn create(project: &Path) -> io::Result<Self> {
        let path = Self::path_in(project);
        fs::create_dir_all(&path)?;
        let (name, text) = GITIGNORE;
        let ignore = path.join(name);
        if !ignore.exists() {
            fs::write(ignore, text)?;
        }
        Ok(Self(path))
    }

    /// Returns the path of the file of the keys.
    pub(super) fn keys(&self) -> PathBuf {
        self.0.join(KEYS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_kept_out_of_version_control() {
        let project = tempfile::tempdir().unwrap();
        let state = StateDirectory::create(project.path()).unwrap();
        assert_eq!(fs::read_to_string(project.path().join(".svc/.gitignore")).unwrap(), "*\n");
        assert!(state.keys().starts_with(project.path().join(".svc")));
        fs::write(project.path().join(".svc/.gitignore"), "own").unwrap();
        StateDirectory::create(project.path()).unwrap();
        assert_eq!(fs::read_to_string(project.path().join(".svc/.gitignore")).unwrap(), "own");
    }
}
