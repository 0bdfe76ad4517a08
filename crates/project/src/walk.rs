//! The files of a project directory.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::checks::Check;
use crate::finding::Finding;
use crate::ignore_file::IgnoreFile;
use crate::plugins::MANIFEST_FILE;
use crate::source::{SourceError, SourceFile, SourceFormat};
use crate::statements::include_statements;

/// The check id of an input of a command that cannot be read. A file that a walk finds has
/// [`Check::ProjectUnreadable`].
pub const UNREADABLE: &str = "source.unreadable";

/// Directories that hold what tools made.
const SKIPPED_DIRECTORIES: [&str; 2] = ["target", "node_modules"];

/// The authored files of a directory, in the order of their paths.
#[derive(Debug, Default)]
pub struct ProjectFiles {
    /// The files that hold a value, named relative to the directory with `/` between the parts. Test cases
    /// are not among them.
    pub files: Vec<SourceFile>,
    /// The names of the readable test cases.
    pub cases: Vec<String>,
    /// An error for each entry that cannot be read.
    pub unreadable: Vec<Finding>,
}

/// An authored file of a directory, not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The name relative to the directory, with `/` between its parts.
    pub name: String,
    pub path: PathBuf,
}

/// The authored files of a directory, test cases among them, in the order of their paths.
#[derive(Debug, Default)]
pub struct FoundFiles {
    pub files: Vec<FoundFile>,
    /// The files of SQL, which authored files may name.
    pub statements: Vec<FoundFile>,
    /// The names of the links out of the directory that were not followed.
    pub links: Vec<String>,
    /// An error for each entry that cannot be read.
    pub unreadable: Vec<Finding>,
}

/// The treatment of links by a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Links are followed, for those who read.
    Follow,
    /// Links are left alone, for those who write: what a link within the directory leads to is found by its own name.
    Leave,
}

/// Finds the authored files of a directory and of all directories in it. Hidden entries, `target`, `node_modules`, the
/// folders of plugins and what `.svcignore` names are skipped.
///
/// # Errors
/// The directory itself cannot be read.
pub fn find_files(directory: &Path, links: LinkPolicy) -> io::Result<FoundFiles> {
    directory.read_dir()?;
    let mut files = FoundFiles::default();
    let (ignored, faults) = IgnoreFile::read(directory);
    files.unreadable.extend(faults);
    let walk = WalkDir::new(directory)
        .follow_links(links == LinkPolicy::Follow)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| {
            is_walked(entry) && !ignored.names(relative(directory, entry.path()), is_dir(entry))
        });
    for entry in walk {
        match entry {
            Ok(entry) if entry.path_is_symlink() && links == LinkPolicy::Leave => {
                files.add_link(directory, &entry);
            }
            Ok(entry) if is_dir(&entry) => {}
            Ok(entry) => files.add(directory, &entry),
            Err(error)
                if error.path().is_some_and(|path| {
                    is_hidden(path) || ignored.names_either(relative(directory, path))
                }) => {}
            Err(error) => files.unreadable.push(unreadable_entry(directory, &error)),
        }
    }
    Ok(files)
}

/// Finds and reads the authored files of a directory, links followed.
///
/// # Errors
/// The directory itself cannot be read.
pub fn walk(directory: &Path) -> io::Result<ProjectFiles> {
    let found_files = find_files(directory, LinkPolicy::Follow)?;
    let mut project = ProjectFiles { unreadable: found_files.unreadable, ..ProjectFiles::default() };
    for FoundFile { name, path } in found_files.files {
        match SourceFile::read(&name, &path) {
            Ok(_) if is_case(&path) => project.cases.push(name),
            Ok(mut file) => {
                let problems = include_statements(&mut file, &path, directory).into_iter();
                let findings =
                    problems.map(|problem| Check::ProjectStatement.source_finding(&problem, &file.name));
                project.unreadable.extend(findings);
                project.files.push(file);
            }
            Err(error) => project.unreadable.push(Check::ProjectUnreadable.source_finding(&error, &name)),
        }
    }
    project.unreadable.sort_by(|one, other| one.entity.cmp(&other.entity));
    Ok(project)
}

/// Returns true for a test case, by its name: `*.case.json`, `*.case.yaml`, `*.case.yml`.
pub fn is_case(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new).and_then(Path::extension);
    SourceFormat::from_path(path).is_some() && stem.is_some_and(|stem| stem.eq_ignore_ascii_case("case"))
}

impl FoundFiles {
    fn add(&mut self, directory: &Path, entry: &DirEntry) {
        if SourceFormat::from_path(entry.path()).is_none() {
            if entry.path().extension() == Some(OsStr::new("sql")) {
                let (name, path) = (name_within(directory, entry.path()), entry.path().to_owned());
                self.statements.push(FoundFile { name, path });
            }
            return;
        }
        let name = name_within(directory, entry.path());
        match name_problem(directory, entry) {
            Some(problem) => self.unreadable.push(Check::ProjectUnreadable.source_finding(&problem, &name)),
            None => self.files.push(FoundFile { name, path: entry.path().to_owned() }),
        }
    }

    /// Adds a link to an authored file or a directory, if it leads out of the directory.
    fn add_link(&mut self, directory: &Path, entry: &DirEntry) {
        let (Ok(target), Ok(directory_path)) = (entry.path().canonicalize(), directory.canonicalize()) else {
            return;
        };
        let is_authored = target.is_dir() || SourceFormat::from_path(entry.path()).is_some();
        if is_authored && !target.starts_with(directory_path) {
            self.links.push(name_within(directory, entry.path()));
        }
    }
}

/// Returns true for an entry that the walk looks at.
fn is_walked(entry: &DirEntry) -> bool {
    let is_made = |name| SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped);
    // The sources of a plugin are in files of its language, some of them JSON.
    let is_plugin = || entry.path().join(MANIFEST_FILE).is_file();
    let is_skipped = is_dir(entry) && (is_made(entry.file_name()) || is_plugin());
    !is_hidden(entry.path()) && !is_skipped
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_dir()
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns the refusal of an entry that must not be opened, or whose name cannot be shown.
fn name_problem(directory: &Path, entry: &DirEntry) -> Option<SourceError> {
    if relative(directory, entry.path()).to_str().is_none() {
        return Some(SourceError::without_place("the name is not UTF-8", "rename the file"));
    }
    // Opening a named pipe would wait for a writer.
    if !entry.file_type().is_file() {
        return Some(SourceError::without_place(
            "is not a regular file",
            "remove it from the project directory, or leave it out by a line in .svcignore",
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
    Check::ProjectUnreadable.source_finding(&problem, &name)
}

fn relative<'p>(directory: &Path, path: &'p Path) -> &'p Path {
    path.strip_prefix(directory).unwrap_or(path)
}

/// Returns a path relative to the directory, with `/` between its parts.
fn name_within(directory: &Path, path: &Path) -> String {
    let parts = relative(directory, path).components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
