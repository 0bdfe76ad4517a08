//! The files that the commands over projects read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use svc_outbound::describe_cause;
use svc_project::{
    Boundary, EnvironmentValues, Finding, Project, ProjectFiles, Severity, SourceError, SourceFile,
    SourceFormat, UNREADABLE, check_range, read_package_file, read_with_statements,
};

use crate::exit;
use crate::report::{self, TextStyle};

/// The boundary of a set, as arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Boundaries {
    /// A channel that the set calls and does not hold; may be repeated
    #[arg(long = "requires-channel", value_name = "NAME")]
    pub requires_channels: Vec<String>,
    /// A connector that the set names and does not hold; may be repeated
    #[arg(long = "requires-connector", value_name = "NAME")]
    pub requires_connectors: Vec<String>,
    /// The versions of svc that the set runs on, such as `>=0.2, <1`
    #[arg(long = "requires-svc", value_name = "RANGE", value_parser = parse_range)]
    pub requires_svc: Option<String>,
}

/// Takes a range of versions as it is.
fn parse_range(text: &str) -> Result<String, String> {
    check_range(text).map(|()| text.to_owned())
}

impl Boundaries {
    /// Returns `true` if nothing is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.requires_channels.is_empty()
            && self.requires_connectors.is_empty()
            && self.requires_svc.is_none()
    }

    pub(crate) fn to_boundary(&self) -> Boundary {
        let named = Boundary::new(self.requires_channels.clone(), self.requires_connectors.clone());
        Boundary { svc: self.requires_svc.clone(), ..named }
    }
}

/// An input that a command cannot work with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
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

/// The folder of a project with the values of its environments.
const VALUES: &str = "values";

/// The id of the finding about a directory without an entity.
const EMPTY: &str = "source.empty";

impl InputError {
    /// Returns the finding of the reports for machines.
    fn to_finding(&self) -> Finding {
        let (check, entity, message, fix) = match self {
            Self::Directory { path, source } => {
                let message = format!("cannot be read: {}", describe_cause(source));
                (UNREADABLE, path, message, "check that the directory exists and may be read")
            }
            Self::Empty { path } => {
                let message = "holds no workflow, connector or channel".to_owned();
                (EMPTY, path, message, "name the directory of the project")
            }
        };
        let fix = Some(fix.to_owned());
        Finding { severity: Severity::Error, check, entity: entity.clone(), message, fix, place: None }
    }
}

/// Returns the finding about a directory that cannot be read.
pub(crate) fn unreadable_directory(directory: &Path, source: io::Error) -> Finding {
    InputError::Directory { path: directory.display().to_string(), source }.to_finding()
}

/// Reads the files of a directory; `None` for one that cannot be read, which is reported on `err`.
pub(crate) fn walk_directory(directory: &Path, err: &mut dyn Write) -> io::Result<Option<ProjectFiles>> {
    match svc_project::walk(directory) {
        Ok(walked) => Ok(Some(walked)),
        Err(source) => {
            let error = InputError::Directory { path: directory.display().to_string(), source };
            exit::write_error(&error, err).map(|()| None)
        }
    }
}

/// Reads a project directory. Files that cannot be read are findings of the project; notes about other files are
/// printed to `err`.
///
/// # Errors
/// The findings about a directory that cannot be read or has no entity; they were printed.
pub(crate) fn read_project(
    directory: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Result<Project, Vec<Finding>>> {
    let walked = match svc_project::walk(directory) {
        Ok(walked) => walked,
        Err(source) => {
            let error = InputError::Directory { path: directory.display().to_string(), source };
            return write_input_error(&error, Vec::new(), err).map(Err);
        }
    };
    let mut project = Project::read(walked.files.into_iter().map(Arc::new).collect());
    project.findings.extend(walked.unreadable);
    let cases = walked.cases.iter().map(|name| (name, "skipped, a test case; the command test runs it"));
    let others =
        project.skipped.iter().map(|name| (name, "skipped, neither an entity nor shared definitions"));
    others.chain(cases).try_for_each(|(name, why)| writeln!(err, "note: {name}: {why}"))?;
    if project.entities.is_empty() {
        report::write_text(&project.findings, directory, style, err)?;
        let error = InputError::Empty { path: directory.display().to_string() };
        return write_input_error(&error, project.findings, err).map(Err);
    }
    Ok(Ok(project))
}

/// Writes an error and returns the findings of the report: those there are, and the error.
fn write_input_error(
    error: &InputError,
    mut findings: Vec<Finding>,
    err: &mut dyn Write,
) -> io::Result<Vec<Finding>> {
    exit::write_error(error, err)?;
    findings.push(error.to_finding());
    Ok(findings)
}

/// Reads a file.
///
/// # Errors
/// The finding about one that cannot be read, which was reported on `err`.
pub(crate) fn read_source(
    path: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Result<Arc<SourceFile>, Box<Finding>>> {
    read_by(read_with_statements, path, style, err)
}

/// Reads the file of a package.
///
/// # Errors
/// As [`read_source`].
pub(crate) fn read_package_source(
    path: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Result<Arc<SourceFile>, Box<Finding>>> {
    read_by(read_package_file, path, style, err)
}

fn read_by(
    read: fn(&str, &Path) -> Result<SourceFile, SourceError>,
    path: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Result<Arc<SourceFile>, Box<Finding>>> {
    let name = path.display().to_string();
    let error = match read(&name, path) {
        Ok(source) => return Ok(Ok(Arc::new(source))),
        Err(error) => error,
    };
    let finding = error.to_finding(Severity::Error, UNREADABLE, &name);
    match style {
        TextStyle::Plain => writeln!(err, "Error: {}", error.report(&name))?,
        TextStyle::Excerpt { .. } => {
            report::write_text(std::slice::from_ref(&finding), Path::new(""), style, err)?
        }
    }
    Ok(Err(Box::new(finding)))
}

/// Reads the values of an environment: those of a file, or of `values/<name>.yaml` in a directory or the nearest one
/// above.
///
/// # Errors
/// The findings about a file that cannot be read, or has another form; they were printed.
pub(crate) fn read_values(
    name: &str,
    directory: &Path,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<Result<EnvironmentValues, Vec<Finding>>> {
    let source = match read_source(&values_path(name, directory), style, err)? {
        Ok(source) => source,
        Err(finding) => return Ok(Err(vec![*finding])),
    };
    match EnvironmentValues::read(&source) {
        Ok(values) => Ok(Ok(values)),
        Err(findings) => {
            report::write_text(&findings, Path::new(""), style, err)?;
            Ok(Err(findings))
        }
    }
}

/// Returns the path of the values of an environment.
fn values_path(name: &str, directory: &Path) -> PathBuf {
    if SourceFormat::from_path(Path::new(name)).is_some() {
        return PathBuf::from(name);
    }
    let named = |folder: &Path, ending: &str| folder.join(VALUES).join(format!("{name}.{ending}"));
    let endings = ["yaml", "yml", "json"];
    let mut found = directory.ancestors().flat_map(|folder| endings.map(|ending| named(folder, ending)));
    // Of a package the folder next to it is named, which can be made.
    let base = if directory.is_file() { directory.parent().unwrap_or(directory) } else { directory };
    found.find(|file| file.is_file()).unwrap_or_else(|| named(base, endings[0]))
}
