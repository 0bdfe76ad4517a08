//! `svc-server lint`: checks a file as the admin API would, or a project directory as a whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use svc_project::shared::SharedDefinitions;
use svc_project::{Check, Finding, SetForm, SourceFile};

use super::project_files::{Boundaries, read_project, read_source, walk_directory};
use crate::exit::{EXIT_FAILURE, EXIT_OK, EXIT_USAGE};
use crate::offline;

/// The arguments of `lint`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct LintArgs {
    /// A workflow, connector or channel, or a project directory
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Fail on warnings too
    #[arg(long)]
    pub deny_warnings: bool,
    /// Directory with the shared definitions that a file uses
    #[arg(long, value_name = "DIR")]
    pub definitions: Option<PathBuf>,
    /// The boundary of a directory.
    #[command(flatten)]
    pub boundary: Boundaries,
}

/// Runs `lint` and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(super) fn lint(args: &LintArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    if args.path.is_dir() {
        if args.definitions.is_some() {
            writeln!(err, "error: --definitions is for a file; a directory brings its own")?;
            return Ok(EXIT_USAGE);
        }
        return lint_directory(args, out, err);
    }
    if !args.boundary.is_empty() {
        writeln!(err, "error: --requires-channel and --requires-connector are for a directory")?;
        return Ok(EXIT_USAGE);
    }
    lint_file(args, out, err)
}

fn lint_directory(args: &LintArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let Some(project) = read_project(&args.path, err)? else { return Ok(EXIT_FAILURE) };
    let engine = Arc::new(offline::engine_builder().build());
    let linted = svc_project::lint(&project, &engine, &args.boundary.to_boundary(), SetForm::Directory);
    write_findings(&linted.findings, err)?;
    writeln!(out, "{}", linted.summary)?;
    Ok(exit_code(linted.summary.passes(args.deny_warnings)))
}

fn lint_file(args: &LintArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let Some(source) = read_source(&args.path, err)? else { return Ok(EXIT_FAILURE) };
    let shared = match &args.definitions {
        None => None,
        Some(directory) => match read_definitions(directory, err)? {
            Some(shared) => Some(shared),
            None => return Ok(EXIT_FAILURE),
        },
    };
    let engine = Arc::new(offline::engine_builder().build());
    let linted = svc_project::lint_file(&source, shared, &engine);
    if !linted.refused.is_empty() {
        writeln!(err, "error: {}: a create would refuse {} field(s)", source.name, linted.refused.len())?;
        linted.refused.iter().try_for_each(|refused| writeln!(err, "{refused}"))?;
    }
    write_findings(linted.other_findings(), err)?;
    let summary = linted.summary;
    writeln!(out, "{}: {} error(s), {} warning(s)", source.name, summary.errors, summary.warnings)?;
    Ok(exit_code(summary.passes(args.deny_warnings)))
}

/// Reads the shared definitions below a directory, with a warning for each file that cannot be read.
pub(super) fn read_definitions(
    directory: &Path,
    err: &mut dyn Write,
) -> io::Result<Option<(SharedDefinitions, Vec<Finding>)>> {
    let Some(walked) = walk_directory(directory, err)? else { return Ok(None) };
    let sources: Vec<Arc<SourceFile>> = walked.files.into_iter().map(Arc::new).collect();
    let (shared, mut findings) = SharedDefinitions::collect(&sources);
    findings.extend(walked.unreadable.into_iter().map(|unreadable| {
        let finding = Check::SharedUnparseable.finding(unreadable.entity, unreadable.message);
        Finding { fix: unreadable.fix.or(finding.fix.clone()), place: unreadable.place, ..finding }
    }));
    Ok(Some((shared, findings)))
}

/// Writes findings, one after the other.
pub(super) fn write_findings(findings: &[Finding], err: &mut dyn Write) -> io::Result<()> {
    findings.iter().try_for_each(|finding| writeln!(err, "{finding}"))
}

/// Returns the exit code of a check.
pub(super) const fn exit_code(passes: bool) -> u8 {
    if passes { EXIT_OK } else { EXIT_FAILURE }
}
