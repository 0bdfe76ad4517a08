//! The files that the commands over projects read.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use svc_project::{Boundary, Finding, Project, ProjectFiles, SourceFile};

use super::report::{self, TextStyle};
use crate::exit;

/// The boundary of a set, as arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Boundaries {
    /// A channel that the set calls and does not hold; may be repeated
    #[arg(long = "requires-channel", value_name = "NAME")]
    pub requires_channels: Vec<String>,
    /// A connector that the set names and does not hold; may be repeated
    #[arg(long = "requires-connector", value_name = "NAME")]
    pub requires_connectors: Vec<String>,
}

impl Boundaries {
    /// Returns `true` if nothing is named.
    pub(super) fn is_empty(&self) -> bool {
        self.requires_channels.is_empty() && self.requires_connectors.is_empty()
    }

    /// Returns the boundary.
    pub(super) fn to_boundary(&self) -> Boundary {
        Boundary::new(self.requires_channels.clone(), self.requires_connectors.clone())
    }
}

/// An input that a command cannot work with.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    /// The directory cannot be read.
    #[error("{path} cannot be read")]
    Directory {
        /// The directory.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// The directory holds nothing to work on.
    #[error("{path} holds no workflow, connector or channel")]
    Empty {
        /// The directory.
        path: String,
    },
}

/// Reads the files of a directory; `None` for one that cannot be read, which is told on `err`.
pub(super) fn walk_directory(directory: &Path, err: &mut dyn Write) -> io::Result<Option<ProjectFiles>> {
    match svc_project::walk(directory) {
        Ok(walked) => Ok(Some(walked)),
        Err(source) => {
            let error = InputError::Directory { path: directory.display().to_string(), source };
            exit::write_error(&error, err).map(|()| None)
        }
    }
}

/// A project directory that was read.
pub(super) struct ReadProject {
    /// The project.
    pub(super) project: Project,
    /// A warning for each file that cannot be read. It counts neither as an error nor as a warning.
    pub(super) unreadable: Vec<Finding>,
}

/// Reads a project directory. Files that are no part of the project are told on `err`. Returns `None` for a directory
/// without an entity; `err` tells which files could not be read then.
pub(super) fn read_project(
    directory: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Option<ReadProject>> {
    let Some(walked) = walk_directory(directory, err)? else { return Ok(None) };
    report::write_text(&walked.unreadable, directory, style, err)?;
    let project = Project::read(walked.files.into_iter().map(Arc::new).collect());
    let cases = walked.cases.iter().map(|name| (name, "skipped, a test case; svc-server test runs it"));
    let others =
        project.skipped.iter().map(|name| (name, "skipped, neither an entity nor shared definitions"));
    others.chain(cases).try_for_each(|(name, why)| writeln!(err, "note: {name}: {why}"))?;
    if project.entities.is_empty() {
        let error = InputError::Empty { path: directory.display().to_string() };
        return exit::write_error(&error, err).map(|()| None);
    }
    Ok(Some(ReadProject { project, unreadable: walked.unreadable }))
}

/// Reads a file; `None` for one that cannot be read, which is told on `err`.
pub(super) fn read_source(path: &Path, err: &mut dyn Write) -> io::Result<Option<Arc<SourceFile>>> {
    let name = path.display().to_string();
    match SourceFile::read(&name, path) {
        Ok(source) => Ok(Some(Arc::new(source))),
        Err(error) => {
            writeln!(err, "Error: {name}: {error}")?;
            Ok(None)
        }
    }
}
