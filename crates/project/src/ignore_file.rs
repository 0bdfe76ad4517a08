//! The file `.svcignore` at the root of a project: patterns of entries that are no part of it, in the syntax of
//! `.gitignore`.

use std::io;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::checks::Check;
use crate::finding::Finding;
use crate::source::{SourceError, read_text};

/// The name of the file.
const NAME: &str = ".svcignore";

/// The patterns of a project.
pub(crate) struct IgnoreFile(Gitignore);

impl IgnoreFile {
    /// Reads the file of a directory, which may have none. A pattern that cannot be used is a finding.
    pub(crate) fn read(directory: &Path) -> (Self, Vec<Finding>) {
        let path = directory.join(NAME);
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Self(Gitignore::empty()), Vec::new()),
            _ => match read_text(NAME, &path) {
                Ok(text) => Self::parse(&text),
                Err(error) => {
                    (Self(Gitignore::empty()), vec![Check::ProjectUnreadable.source_finding(&error, NAME)])
                }
            },
        }
    }

    fn parse(text: &str) -> (Self, Vec<Finding>) {
        let mut builder = GitignoreBuilder::new("");
        let mut faults = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if let Err(error) = builder.add_line(None, line) {
                faults.push(fault(&format!("line {}: {}", index + 1, describe(&error))));
            }
        }
        let patterns = builder.build().unwrap_or_else(|error| {
            faults.push(fault(&describe(&error)));
            Gitignore::empty()
        });
        (Self(patterns), faults)
    }

    /// Returns `true` for an entry that is left out, by its path below the directory.
    pub(crate) fn names(&self, path: &Path, is_dir: bool) -> bool {
        self.0.matched(path, is_dir).is_ignore()
    }

    /// Returns `true` for an entry of unknown type that is left out as a file or as a directory.
    pub(crate) fn names_either(&self, path: &Path) -> bool {
        self.names(path, false) || self.names(path, true)
    }
}

/// Describes a fault without the pattern: the file may be a link to one that is not meant to be shown.
fn describe(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { glob: Some(_), err } => err.clone(),
        other => other.to_string(),
    }
}

fn fault(message: &str) -> Finding {
    let error = SourceError::without_place(message, "write the pattern as .gitignore has it");
    Check::ProjectUnreadable.source_finding(&error, NAME)
}
