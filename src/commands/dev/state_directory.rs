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
    /// It cannot be made, or it or an entry of it is a link.
    pub(super) fn create(project: &Path) -> io::Result<Self> {
        let path = Self::path_in(project);
        refuse_link(&path)?;
        fs::create_dir_all(&path)?;
        for entry in fs::read_dir(&path)? {
            refuse_link(&entry?.path())?;
        }
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

/// Refuses a link, which a project of somebody else may contain: what is written to the directory would be written to a
/// place that its author chose.
fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            let reason = format!("{} is a link; remove it", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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

    #[test]
    fn link_to_another_place_is_refused() {
        let (project, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = project.path().join(".svc");
        let refusal = || StateDirectory::create(project.path()).err().unwrap().to_string();
        symlink(other.path(), &state).unwrap();
        assert!(refusal().contains(".svc is a link; remove it"), "{}", refusal());
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
        fs::remove_file(&state).unwrap();
        fs::create_dir(&state).unwrap();
        // Links that lead nowhere would make the file.
        for name in ["dev.db", "served.new", ".gitignore"] {
            symlink(other.path().join("made"), state.join(name)).unwrap();
            assert!(refusal().contains(&format!("{name} is a link")), "{}", refusal());
            fs::remove_file(state.join(name)).unwrap();
        }
        assert!(!other.path().join("made").exists());
        StateDirectory::create(project.path()).unwrap();
    }
}
