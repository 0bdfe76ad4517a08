//! Applications with planted faults: each is refused or warned of at its place.
//!
//! A table (`applications/<name>.faults`) has a block for each fault: `file` names the file, `-` lines are replaced by
//! `+` lines (without `-` lines they are the whole file), `=` names the check. The mark `«` is the place that the
//! report must point to.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use svc_project::{Boundary, Finding, Project, SetForm, Severity};
use tempfile::TempDir;

use super::kit::ENGINE;

/// The mark before the place that a report must point to.
const MARK: char = '«';

/// Number of faults of each application.
const FAULTS: usize = 20;

/// A fault to plant.
#[derive(Debug, Default)]
struct Fault {
    file: String,
    from: String,
    to: String,
    check: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/project/applications")
}

fn read_table(name: &str) -> Vec<Fault> {
    let table = fs::read_to_string(root().join(format!("{name}.faults"))).unwrap();
    let parse = |block: &str| {
        let mut fault = Fault::default();
        for line in block.lines().filter(|line| !line.starts_with('#')) {
            let (kind, text) = line.split_at(1);
            let text = text.strip_prefix(' ').unwrap_or(text);
            match kind {
                "-" => fault.from = format!("{}{text}\n", fault.from),
                "+" => fault.to = format!("{}{text}\n", fault.to),
                "=" => fault.check = text.to_owned(),
                _ => fault.file = line.strip_prefix("file ").unwrap().to_owned(),
            }
        }
        fault
    };
    let faults: Vec<_> = table.split("\n\n").map(|block| parse(block.trim_end())).collect();
    assert_eq!(faults.len(), FAULTS, "{name}");
    faults
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => assert!(fs::copy(entry.path(), to).is_ok()),
        }
    }
}

fn lint(directory: &Path) -> Vec<Finding> {
    let walked = svc_project::walk(directory).unwrap();
    let mut project = Project::read(walked.files.into_iter().map(Arc::new).collect());
    project.findings.extend(walked.unreadable);
    let findings = svc_project::lint(&project, &ENGINE, &Boundary::default(), SetForm::Directory).findings;
    findings.into_iter().filter(|finding| finding.severity != Severity::Note).collect()
}

/// Plants a fault, and returns the place it has to be reported at.
fn plant(fault: &Fault, directory: &Path) -> String {
    let path = directory.join(&fault.file);
    // A part of a line is replaced where it stands.
    let (from, to) = (fault.from.trim_end_matches('\n'), fault.to.trim_end_matches('\n'));
    let text = match from.is_empty() {
        true => format!("{to}\n"),
        false => {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{}: {from}", fault.file);
            text.replacen(from, to, 1)
        }
    };
    let before = text.split_once(MARK).unwrap().0;
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text.replace(MARK, "")).unwrap();
    let line = if before.is_empty() { 1 } else { line };
    format!("{}:{line}:{column}", fault.file)
}

fn assert_every_fault_is_told(name: &str, sources: &Path) {
    assert_eq!(lint(sources), [], "{name}: the application itself");
    for fault in read_table(name) {
        let directory = TempDir::new().unwrap();
        copy(sources, directory.path());
        let place = plant(&fault, directory.path());
        let findings = lint(directory.path());
        let is_told = findings.iter().any(|finding| {
            let at =
                finding.place.as_ref().map(|place| format!("{}:{}:{}", place.file, place.line, place.column));
            finding.check == fault.check && at.as_deref() == Some(place.as_str())
        });
        let told: Vec<_> = findings.iter().map(|finding| format!("{finding} {:?}", finding.place)).collect();
        assert!(is_told, "{name}: {} at {place}: {}\n{}", fault.check, fault.to, told.join("\n"));
    }
}

fn example(name: &str) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    assert_every_fault_is_told(name, &examples.join(name));
}

fn own(name: &str) {
    assert_every_fault_is_told(name, &root().join(name));
}

#[test]
fn payments_faults_are_reported_at_their_places() {
    example("payments");
}

#[test]
fn orders_faults_are_reported_at_their_places() {
    example("orders");
}

#[test]
fn nightly_report_faults_are_reported_at_their_places() {
    example("nightly-report");
}

#[test]
fn pipeline_faults_are_reported_at_their_places() {
    example("pipeline");
}

#[test]
fn webhook_faults_are_reported_at_their_places() {
    own("notify");
}

#[test]
fn products_faults_are_reported_at_their_places() {
    own("products");
}

#[test]
fn quotes_faults_are_reported_at_their_places() {
    own("quotes");
}
