//! `package lint`: checks a package offline, its header, its hash and its content as a set.

use std::io;
use std::path::Path;

use svc_project::read_packaged_plugins;

use super::{PackageLintArgs, Streams};
use crate::lint::{exit_code, refuse_input, write_report};
use crate::plugins::write_problems;
use crate::project_files::read_package_source;
use crate::report::{self, ReportFormat};

/// Runs `package lint` and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(super) fn lint(args: &PackageLintArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let source = match read_package_source(&args.file, streams.style, streams.err)? {
        Ok(source) => source,
        Err(finding) => return refuse_input(&[*finding], args.format, streams.out),
    };
    // Problems of the packaged plugins are findings.
    let packaged = read_packaged_plugins(&source.value).unwrap_or_default();
    let engine = match args.plugins.checking_engine_of_package(&packaged) {
        Ok(engine) => engine,
        Err(problems) => {
            write_problems(&problems, streams.err)?;
            return refuse_input(&[], args.format, streams.out);
        }
    };
    let (findings, summary) = svc_project::lint_package(&source, &engine);
    // The file is named as the caller named it, and so are the places.
    let base = Path::new("");
    report::write_text(&findings, base, streams.style, streams.err)?;
    match args.format {
        ReportFormat::Text => writeln!(streams.out, "{summary}")?,
        format => write_report(&findings, base, format, summary, streams.out)?,
    }
    Ok(exit_code(summary.passes(args.deny_warnings)))
}
