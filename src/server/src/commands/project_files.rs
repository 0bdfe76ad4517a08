//! The files that the commands over projects read.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use svc_project::{Boundary, Project, ProjectFiles, SourceFile};

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

/// Reads a project directory. Files that cannot be read, and files that are no part of the project, are told
/// on `err`. Returns `None` for a directory without an entity.
pub(super) fn read_project(directory: &Path, err: &mut dyn Write) -> io::Result<Option<Project>> {
    let Some(walked) = walk_directory(directory, err)? else { return Ok(None) };
    walked
        .unreadable
        .iter()
        .try_for_each(|unreadable| writeln!(err, "warning: {}: {}", unreadable.entity, unreadable.message))?;
    let project = Project::read(walked.files.into_iter().map(Arc::new).collect());
    let cases = walked.cases.iter().map(|name| (name, "skipped, a test case; svc-server test runs it"));
    let others =
        project.skipped.iter().map(|name| (name, "skipped, neither an entity nor shared definitions"));
    others.chain(cases).try_for_each(|(name, why)| writeln!(err, "note: {name}: {why}"))?;
    if project.entities.is_empty() {
        let error = InputError::Empty { path: directory.display().to_string() };
        return exit::write_error(&error, err).map(|()| None);
    }
    Ok(Some(project))
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
