//! `lint`: checks a file as the admin API would, or a project directory as a whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use svc_project::shared::SharedDefinitions;
use svc_project::{Check, Finding, LintSummary, LintedFile, SetForm, Severity, SourceFile};

use super::project_files::{Boundaries, read_project, read_source, read_values, walk_directory};
use crate::exit::{EXIT_FAILURE, EXIT_OK, EXIT_USAGE};
use crate::plugins::{PluginArgs, write_problems};
use crate::report::{self, FindingReport, ReportFormat, ReportRule, TextStyle};

/// The arguments of `lint`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct LintArgs {
    /// A workflow, connector or channel, or a project directory
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Fail on warnings too
    #[arg(long)]
    pub deny_warnings: bool,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// Directory with the shared definitions that a file uses
    #[arg(long, value_name = "DIR")]
    pub definitions: Option<PathBuf>,
    /// Check what a directory reads against `values/NAME.yaml` of it, or against a file
    #[arg(long, value_name = "NAME|FILE")]
    pub values: Option<String>,
    /// The boundary of a directory.
    #[command(flatten)]
    pub boundary: Boundaries,
    /// The plugins that workflows may call.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Runs `lint` and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn lint(
    args: &LintArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    if args.path.is_dir() {
        if args.definitions.is_some() {
            writeln!(err, "error: --definitions is for a file; a directory brings its own")?;
            return Ok(EXIT_USAGE);
        }
        return lint_directory(args, style, out, err);
    }
    if args.values.is_some() {
        writeln!(err, "error: --values is for a directory")?;
        return Ok(EXIT_USAGE);
    }
    if !args.boundary.is_empty() {
        writeln!(
            err,
            "error: --requires-channel, --requires-connector and --requires-svc are for a directory"
        )?;
        return Ok(EXIT_USAGE);
    }
    lint_file(args, style, out, err)
}

fn lint_directory(
    args: &LintArgs,
    style: TextStyle,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let project = match read_project(&args.path, style, err)? {
        Ok(project) => project,
        Err(findings) => return refuse_input(&findings, args.format, out),
    };
    let engine = match args.plugins.checking_engine(Some(&args.path)) {
        Ok(engine) => engine,
        Err(problems) => {
            write_problems(&problems, err)?;
            return refuse_input(&[], args.format, out);
        }
    };
    let mut linted = svc_project::lint(&project, &engine, &args.boundary.to_boundary(), SetForm::Directory);
    if let Some(name) = &args.values {
        match read_values(name, &args.path, style, err)? {
            Ok(values) => linted.check_values(&engine, &values),
            Err(findings) => return refuse_input(&findings, args.format, out),
        }
    }
    report::write_text(&linted.findings, &args.path, style, err)?;
    match args.format {
        ReportFormat::Text => writeln!(out, "{}", linted.summary)?,
        format => write_report(&linted.findings, &args.path, format, linted.summary, out)?,
    }
    Ok(exit_code(linted.summary.passes(args.deny_warnings)))
}

fn lint_file(args: &LintArgs, style: TextStyle, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let source = match read_source(&args.path, style, err)? {
        Ok(source) => source,
        Err(finding) => return refuse_input(&[*finding], args.format, out),
    };
    let shared = match &args.definitions {
        None => None,
        Some(directory) => match read_definitions(directory, err)? {
            Some(shared) => Some(shared),
            None => return refuse_input(&[], args.format, out),
        },
    };
    let engine = match args.plugins.checking_engine(None) {
        Ok(engine) => engine,
        Err(problems) => {
            write_problems(&problems, err)?;
            return refuse_input(&[], args.format, out);
        }
    };
    let linted = svc_project::lint_file(&source, shared, &engine);
    write_file_findings(&source.name, &linted, style, err)?;
    let summary = linted.summary;
    match args.format {
        ReportFormat::Text => {
            writeln!(out, "{}: {} error(s), {} warning(s)", source.name, summary.errors, summary.warnings)?;
        }
        format => write_report(&linted.findings, Path::new(""), format, summary, out)?,
    }
    Ok(exit_code(summary.passes(args.deny_warnings)))
}

/// Writes the refused fields as lines of their own, as the admin API lists them; on a terminal all findings
/// with their source.
fn write_file_findings(
    name: &str,
    linted: &LintedFile,
    style: TextStyle,
    err: &mut dyn Write,
) -> io::Result<()> {
    if style != TextStyle::Plain {
        return report::write_text(&linted.findings, Path::new(""), style, err);
    }
    if !linted.refused.is_empty() {
        writeln!(err, "error: {name}: a create would refuse {} field(s)", linted.refused.len())?;
        linted.refused.iter().try_for_each(|refused| writeln!(err, "{refused}"))?;
    }
    report::write_text(linted.other_findings(), Path::new(""), style, err)
}

/// Reads the shared definitions below a directory, with a warning for each file that cannot be read.
pub(crate) fn read_definitions(
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

/// Writes the report of an input that cannot be checked and returns the exit code. The findings were printed before.
pub(crate) fn refuse_input(
    findings: &[Finding],
    format: ReportFormat,
    out: &mut dyn Write,
) -> io::Result<u8> {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let summary = LintSummary { errors, ..LintSummary::default() };
    write_report(findings, Path::new(""), format, summary, out).map(|()| EXIT_FAILURE)
}

/// Writes findings in a machine format; nothing for [`ReportFormat::Text`].
pub(crate) fn write_report(
    findings: &[Finding],
    base: &Path,
    format: ReportFormat,
    summary: LintSummary,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rules: Vec<_> = Check::ALL.iter().map(|check| rule(*check)).collect();
    report::write_machine(&FindingReport { findings, base, rules: &rules }, format, &counts(summary), out)
}

fn rule(check: Check) -> ReportRule {
    ReportRule {
        id: check.id(),
        severity: check.severity(),
        description: check.condition(),
        remedy: check.remedy(),
    }
}

/// Returns the counts of the summary line.
fn counts(summary: LintSummary) -> Value {
    let LintSummary { connectors, workflows, channels, shared_values, fragments, errors, warnings } = summary;
    json!({
        "connectors": connectors,
        "workflows": workflows,
        "channels": channels,
        "shared_values": shared_values,
        "fragments": fragments,
        "errors": errors,
        "warnings": warnings,
    })
}

/// Returns the exit code of a check.
pub(crate) const fn exit_code(passes: bool) -> u8 {
    if passes { EXIT_OK } else { EXIT_FAILURE }
}
