//! Findings with the lines of the source, for terminals.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use svc_outbound::printable;
use svc_project::{Finding, Severity, SourcePlace, read_text};

use super::finding_report::FindingReport;

/// Maximum length of a line that is shown, in bytes. A longer one, of a minified file, is of no use.
const MAX_LINE: usize = 2000;

/// Writes the findings, each with its lines if the file can still be read.
pub(super) fn write(report: &FindingReport<'_>, color: bool, err: &mut dyn Write) -> io::Result<()> {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut files = OpenFiles::default();
    for finding in report.findings {
        let lines = finding.place.as_ref().and_then(|place| {
            let path = printable(&report.path(place));
            let excerpt = Excerpt::from_place(files.text(report, place)?, place)?;
            Some((path, excerpt))
        });
        writeln!(err, "{}\n", renderer.render(&[group(finding, lines.as_ref())]))?;
    }
    Ok(())
}

fn group<'f>(finding: &'f Finding, lines: Option<&'f (String, Excerpt<'f>)>) -> Group<'f> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = format!("{}: {}", printable(&finding.entity), printable(&finding.message));
    let title = level.primary_title(title).id(finding.check);
    let mut group = Group::with_title(title);
    if let Some((path, excerpt)) = lines {
        let annotation = AnnotationKind::Primary.span(excerpt.span.clone());
        let snippet = Snippet::source(excerpt.text).line_start(excerpt.line).path(path.as_str());
        group = group.element(snippet.annotation(annotation));
    }
    match &finding.fix {
        Some(fix) => group.element(Level::HELP.message(format!("fix: {}", printable(fix)))),
        None => group,
    }
}

/// The line of a place, and its neighbours.
struct Excerpt<'t> {
    text: &'t str,
    line: usize,
    span: Range<usize>,
}

impl<'t> Excerpt<'t> {
    /// Cuts the lines out of a text; `None` if they are too long, or the text is not the one that was
    /// checked.
    fn from_place(text: &'t str, place: &SourcePlace) -> Option<Self> {
        if place.column > MAX_LINE {
            return None;
        }
        text.get(place.span.clone())?;
        let start_of_line = |offset: usize| text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let first = start_of_line(place.span.start);
        let start = if first == 0 { 0 } else { start_of_line(first - 1) };
        let line = if first == 0 { place.line } else { place.line.saturating_sub(1) };
        let end_of_line =
            |offset: usize| text[offset..].find('\n').map_or(text.len(), |length| offset + length);
        let end = end_of_line((end_of_line(place.span.end) + 1).min(text.len()));
        let text = &text[start..end];
        let is_short = text.lines().all(|line| line.len() <= MAX_LINE);
        is_short.then(|| Self { text, line, span: place.span.start - start..place.span.end - start })
    }
}

/// The text of the file that was shown last: findings are in the order of the files.
#[derive(Default)]
struct OpenFiles {
    last: Option<(String, Option<String>)>,
}

impl OpenFiles {
    fn text(&mut self, report: &FindingReport<'_>, place: &SourcePlace) -> Option<&str> {
        if self.last.as_ref().is_none_or(|(file, _)| *file != place.file) {
            let path = report.base.join(&place.file);
            let is_shown = !leads_out(report.base, &path);
            let text = is_shown.then(|| read_text(&place.file, &path).ok()).flatten();
            self.last = Some((place.file.clone(), text));
        }
        self.last.as_ref().and_then(|(_, text)| text.as_ref()).map(String::as_str)
    }
}

/// Returns `true` for a file to which a link leads out of the directory of a project: the project may be that of a
/// stranger, and a terminal a log of CI.
fn leads_out(base: &Path, path: &Path) -> bool {
    match (base.canonicalize(), path.canonicalize()) {
        (Ok(base), Ok(path)) => base.is_dir() && !path.starts_with(base),
        _ => false,
    }
}
