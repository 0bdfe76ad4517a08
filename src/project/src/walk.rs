//! The files of a project directory.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::finding::{Finding, Severity};
use crate::source::{SourceError, SourceFile, SourceFormat};

/// The check id of a file or directory that cannot be read.
pub const UNREADABLE: &str = "source.unreadable";

/// Directories that hold what tools made.
const SKIPPED_DIRECTORIES: [&str; 2] = ["target", "node_modules"];

/// The authored files of a directory, in the order of their paths.
#[derive(Debug, Default)]
pub struct ProjectFiles {
    /// The files that hold a value, named relative to the directory with `/` between the parts. Test cases
    /// are not among them.
    pub files: Vec<SourceFile>,
    /// The names of the test cases, not read.
    pub cases: Vec<String>,
    /// A warning for each entry that cannot be read. It counts neither as an error nor as a warning of the
    /// project.
    pub unreadable: Vec<Finding>,
}

/// An authored file of a directory, not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The name relative to the directory, with `/` between its parts.
    pub name: String,
    /// The path.
    pub path: PathBuf,
}

/// The authored files of a directory, test cases among them, in the order of their paths.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files.
    pub files: Vec<FoundFile>,
    /// A warning for each entry that cannot be read.
    pub unreadable: Vec<Finding>,
}

/// Finds the authored files of a directory and of all directories in it, links followed. Hidden entries,
/// `target` and `node_modules` are skipped.
///
/// # Errors
/// The directory itself cannot be read.
pub fn find_files(directory: &Path) -> io::Result<FoundFiles> {
    directory.read_dir()?;
    let mut files = FoundFiles::default();
    let walk = WalkDir::new(directory).follow_links(true).min_depth(1).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(is_walked) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => files.add(directory, &entry),
            Err(error) if error.path().is_some_and(is_hidden) => {}
            Err(error) => files.unreadable.push(unreadable_entry(directory, &error)),
        }
    }
    Ok(files)
}

/// Finds and reads the authored files of a directory.
///
/// # Errors
/// The directory itself cannot be read.
pub fn walk(directory: &Path) -> io::Result<ProjectFiles> {
    let found_files = find_files(directory)?;
    let mut project = ProjectFiles { unreadable: found_files.unreadable, ..ProjectFiles::default() };
    for FoundFile { name, path } in found_files.files {
        if is_case(&path) {
            project.cases.push(name);
            continue;
        }
        match SourceFile::read(&name, &path) {
            Ok(file) => project.files.push(file),
            Err(error) => project.unreadable.push(unreadable(&error, &name)),
        }
    }
    project.unreadable.sort_by(|one, other| one.entity.cmp(&other.entity));
    Ok(project)
}

fn unreadable(error: &SourceError, name: &str) -> Finding {
    error.to_finding(Severity::Warning, UNREADABLE, name)
}

/// Returns true for a test case, by its name: `*.case.json`, `*.case.yaml`, `*.case.yml`.
pub fn is_case(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new).and_then(Path::extension);
    SourceFormat::from_path(path).is_some() && stem == Some(OsStr::new("case"))
}

impl FoundFiles {
    fn add(&mut self, directory: &Path, entry: &DirEntry) {
        if SourceFormat::from_path(entry.path()).is_none() {
            return;
        }
        let name = name_within(directory, entry.path());
        match name_problem(directory, entry) {
            Some(problem) => self.unreadable.push(unreadable(&problem, &name)),
            None => self.files.push(FoundFile { name, path: entry.path().to_owned() }),
        }
    }
}

/// Returns true for an entry that the walk looks at.
fn is_walked(entry: &DirEntry) -> bool {
    let is_made = |name| SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped);
    let is_skipped = entry.file_type().is_dir() && is_made(entry.file_name());
    !is_hidden(entry.path()) && !is_skipped
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns the refusal of an entry that must not be opened, or whose name cannot be told.
fn name_problem(directory: &Path, entry: &DirEntry) -> Option<SourceError> {
    let relative = entry.path().strip_prefix(directory).unwrap_or(entry.path());
    if relative.to_str().is_none() {
        return Some(SourceError::without_place("the name is not UTF-8", "rename the file"));
    }
    // Opening a named pipe would wait for a writer.
    if !entry.file_type().is_file() {
        return Some(SourceError::without_place(
            "is not a regular file",
            "remove it from the project directory",
        ));
    }
    None
}

fn unreadable_entry(directory: &Path, error: &walkdir::Error) -> Finding {
    let name = error.path().map_or_else(String::new, |path| name_within(directory, path));
    let problem = match (error.loop_ancestor(), error.io_error()) {
        (Some(ancestor), _) => {
            let ancestor = name_within(directory, ancestor);
            let target = if ancestor.is_empty() {
                "the project directory".to_owned()
            } else {
                format!("'{ancestor}'")
            };
            SourceError::without_place(format!("is a link back to {target}"), "remove the link")
        }
        (None, Some(error)) => SourceError::unreadable(error),
        (None, None) => SourceError::without_place("cannot be read", "check its permissions"),
    };
    unreadable(&problem, &name)
}

/// Returns a path relative to the directory, with `/` between its parts.
fn name_within(directory: &Path, path: &Path) -> String {
    let relative: PathBuf = path.strip_prefix(directory).unwrap_or(path).to_owned();
    let parts = relative.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
