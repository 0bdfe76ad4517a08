//! Outputs that are there as a whole or not at all: written under a temporary name and renamed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that marks a directory as the output of an earlier run, which may be replaced.
const MARKER: &str = ".svc-compiled";

/// An output that could not be written. Nothing has been replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// The file system refuses.
    #[error("{path} cannot be written")]
    Io {
        /// The file or directory.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Two sources make the same file.
    #[error("two sources lead to '{0}'; rename one of them")]
    Collision(String),
    /// The directory holds something else.
    #[error("{path} is not empty and was not written by compile; name another directory, or empty it")]
    Foreign {
        /// The directory.
        path: String,
    },
    /// The directory is one of the sources.
    #[error(
        "{path} is inside of the project directory, so the next run would read it; name a directory outside"
    )]
    InsideSources {
        /// The directory.
        path: String,
    },
}

impl OutputError {
    fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, source }
    }
}

/// Writes a file. A link is followed to the file that it leads to; a device or a pipe is written as it is, because a file
/// that is renamed would take its place.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), OutputError> {
    let linked;
    let path = match fs::metadata(path) {
        Ok(known) if known.is_file() => {
            linked = path.canonicalize().map_err(OutputError::io_error(path))?;
            &linked
        }
        Ok(known) if !known.is_dir() => return fs::write(path, text).map_err(OutputError::io_error(path)),
        // A directory is refused below, and a missing file is made.
        _ => path,
    };
    let directory = parent(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    write_files(directory, &[(name, text.to_owned())])
}

/// Returns the file that an argument names; `None` for standard output, which is `-` too.
pub(crate) fn named_file(argument: Option<&Path>) -> Option<&Path> {
    argument.filter(|path| path.as_os_str() != "-")
}

/// Writes several files into a directory, which is made if it is missing. None is replaced before all are
/// written.
pub(crate) fn write_files(directory: &Path, files: &[(String, String)]) -> Result<(), OutputError> {
    fs::create_dir_all(directory).map_err(OutputError::io_error(directory))?;
    let mut temporary = Temporary::default();
    let mut written = Vec::new();
    for (name, text) in files {
        let path = temporary.add(directory.join(format!(".{name}.{}.tmp", std::process::id())));
        fs::write(&path, text).map_err(OutputError::io_error(&path))?;
        written.push((path, directory.join(name)));
    }
    for (path, target) in written {
        fs::rename(&path, &target).map_err(OutputError::io_error(&target))?;
    }
    Ok(())
}

/// Replaces a directory by one with these files. One that another tool has written is left alone.
pub(crate) fn replace_directory(
    directory: &Path,
    sources: &Path,
    files: &[(String, String)],
) -> Result<(), OutputError> {
    let shown = || directory.display().to_string();
    if is_inside(directory, sources).map_err(OutputError::io_error(directory))? {
        return Err(OutputError::InsideSources { path: shown() });
    }
    if !is_replaceable(directory).map_err(OutputError::io_error(directory))? {
        return Err(OutputError::Foreign { path: shown() });
    }
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let sibling = |end: &str| parent(directory).join(format!(".{name}.{}.{end}", std::process::id()));
    let mut temporary = Temporary::default();
    let (next, previous) = (temporary.add(sibling("tmp")), sibling("old"));
    fs::create_dir_all(&next).map_err(OutputError::io_error(&next))?;
    let marker = (MARKER.to_owned(), "svc-server compile replaces this directory as a whole.\n".to_owned());
    for (file, text) in files.iter().chain([&marker]) {
        let path = next.join(file);
        fs::create_dir_all(parent(&path)).map_err(OutputError::io_error(&path))?;
        fs::write(&path, text).map_err(OutputError::io_error(&path))?;
    }
    if directory.exists() {
        fs::rename(directory, &previous).map_err(OutputError::io_error(directory))?;
    }
    if let Err(error) = fs::rename(&next, directory) {
        let _restored = fs::rename(&previous, directory);
        return Err(OutputError::io_error(directory)(error));
    }
    // Replaced already: what is left of the old directory hides nothing.
    let _removed = fs::remove_dir_all(&previous);
    Ok(())
}

/// Returns `true` if a directory is absent, empty, or the output of an earlier run.
fn is_replaceable(directory: &Path) -> io::Result<bool> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none() || directory.join(MARKER).is_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns `true` if a directory, which may be absent, is one that the walk over the sources would read.
fn is_inside(directory: &Path, sources: &Path) -> io::Result<bool> {
    let sources = sources.canonicalize()?;
    let resolved = resolve(directory)?;
    let below = resolved.strip_prefix(&sources);
    Ok(below.is_ok_and(|below| !below.iter().any(is_skipped)))
}

/// Returns the absolute path without links of a file or directory that may be absent.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut ancestors = absolute.ancestors();
    let resolved = ancestors.find_map(|ancestor| {
        let rest = absolute.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(rest))
    });
    Ok(resolved.unwrap_or(absolute))
}

/// Returns `true` for the name of a directory that the walk over sources skips.
fn is_skipped(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || name == "target" || name == "node_modules"
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary files and directories, removed at the end unless they were renamed.
#[derive(Default)]
struct Temporary(Vec<PathBuf>);

impl Temporary {
    fn add(&mut self, path: PathBuf) -> PathBuf {
        self.0.push(path.clone());
        path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        for path in &self.0 {
            // Most have been renamed, and are gone.
            let _gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}
