//! Faults in projects, each refused or warned of at its place. The projects are those that new users wrote with the manual
//! alone; the table of each has its faults, of which one at a time is planted in a copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use crate::support::{CliRun, server_binary};

/// Fewest faults of a project.
const FEWEST: usize = 20;

/// Keys of a row: a text of a file and its replacement (a new file without `old`), then either the check, the place and a
/// part of the message that `lint` reports, or another command with its exit code and a part of what it prints. The place is
/// the line of `at` in `in`, by default the line of `old` in `file`.
const KEYS: [&str; 11] = ["name", "before", "file", "old", "new", "check", "in", "at", "says", "run", "exit"];

/// Returns the directory of the projects and of their tables.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/planted")
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Runs the server in a project, with the variables that its settings read.
fn run_server(project: &Path, line: &str) -> CliRun {
    let output = Command::new(server_binary())
        .args(line.split_whitespace())
        .current_dir(project)
        .env_clear()
        .env("HOME", project)
        .env("ADMIN_KEY", "0123456789abcdef0123456789abcdef")
        .env("CHAT_SIGNING_KEY", "not-a-real-key")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CliRun { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Returns the line of the only occurrence of a part of a text.
fn line_of(text: &str, part: &str) -> usize {
    assert_eq!(text.matches(part).count(), 1, "{part:?} occurs once");
    text.split_once(part).unwrap().0.matches('\n').count() + 1
}

/// A row of a table.
struct PlantedFault<'t>(&'t Table);

impl PlantedFault<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|item| item.as_str().unwrap())
    }

    fn text(&self, key: &str) -> &str {
        self.get(key).unwrap_or_else(|| panic!("a row has no {key}: {:?}", self.0))
    }

    /// Plants the fault and returns the line of it.
    fn plant(&self, project: &Path) -> usize {
        if let Some(before) = self.get("before") {
            let run = run_server(project, before);
            assert_eq!(run.code, 0, "{run:?}");
        }
        let Some(file) = self.get("file") else { return 1 };
        let path = project.join(file);
        let Some(old) = self.get("old") else {
            assert!(!path.exists(), "{file}");
            fs::write(path, self.text("new")).unwrap();
            return 1;
        };
        let text = fs::read_to_string(&path).unwrap();
        let line = line_of(&text, old);
        fs::write(path, text.replace(old, self.text("new"))).unwrap();
        line
    }

    /// Returns the difference between what is found and what is expected.
    fn judge(&self, project: &Path, planted_line: usize) -> Option<String> {
        let says = self.text("says");
        if let Some(command) = self.get("run") {
            let run = run_server(project, command);
            let expected = self.0.get("exit").and_then(Item::as_integer).unwrap();
            let is_told = run.out.contains(says) || run.err.contains(says);
            return (i64::from(run.code) != expected || !is_told)
                .then(|| format!("expected exit {expected} and {says:?}, got {run:?}"));
        }
        let file = self.get("in").unwrap_or_else(|| self.text("file"));
        let line = self.get("at").map_or(planted_line, |at| {
            let text = fs::read_to_string(project.join(file)).unwrap();
            line_of(&text, at)
        });
        let check = self.text("check");
        let run = run_server(project, "lint . --deny-warnings --format json");
        let report: Value = serde_json::from_str(&run.out).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let is_told = findings.iter().any(|finding| {
            let place = &finding["place"];
            let is_there = place["file"] == file && place["line"] == line;
            is_there && finding["check"] == check && finding["message"].as_str().unwrap().contains(says)
        });
        (run.code != 1 || !is_told).then(|| {
            let faults: Vec<_> = findings.iter().filter(|finding| finding["severity"] != "note").collect();
            format!("expected {check} at {file}:{line} with {says:?}, got exit {}, {faults:#?}", run.code)
        })
    }
}

/// Plants each fault of a project in a copy of it, and checks that it is found where it is.
fn assert_found(project: &str) {
    let table = fs::read_to_string(directory().join(format!("{project}.toml"))).unwrap();
    let document: DocumentMut = table.parse().unwrap();
    let rows = document.get("fault").and_then(Item::as_array_of_tables).unwrap();
    assert!(rows.len() >= FEWEST, "{project} has {} faults", rows.len());
    let mut missed = Vec::new();
    for row in rows {
        assert!(row.iter().all(|(key, _)| KEYS.contains(&key)), "{row:?}");
        let fault = PlantedFault(row);
        let home = tempfile::tempdir().unwrap();
        let copy = home.path().join(project);
        copy_directory(&directory().join(project), &copy);
        let line = fault.plant(&copy);
        missed.extend(fault.judge(&copy, line).map(|why| format!("{}: {why}", fault.text("name"))));
    }
    assert!(missed.is_empty(), "{project}: {} of {}:\n{}", missed.len(), rows.len(), missed.join("\n"));
}

#[test]
fn projects_without_a_fault_are_clean() {
    for project in ["issues", "nightly-report", "orders", "payments", "pipeline", "products", "suppliers"] {
        let home = tempfile::tempdir().unwrap();
        let copy = home.path().join(project);
        copy_directory(&directory().join(project), &copy);
        for line in [
            "lint . --deny-warnings",
            "fmt --check .",
            "test tests --definitions .",
            "validate-config -c svc.toml",
            "compile . --name project --version 1.0.0 -o package.json",
            "package lint -f package.json --deny-warnings",
        ] {
            let run = run_server(&copy, line);
            assert_eq!(run.code, 0, "{project}: {line}: {run:?}");
        }
    }
}

#[test]
fn planted_faults_of_issues_are_found() {
    assert_found("issues");
}

#[test]
fn planted_faults_of_nightly_report_are_found() {
    assert_found("nightly-report");
}

#[test]
fn planted_faults_of_orders_are_found() {
    assert_found("orders");
}

#[test]
fn planted_faults_of_payments_are_found() {
    assert_found("payments");
}

#[test]
fn planted_faults_of_pipeline_are_found() {
    assert_found("pipeline");
}

#[test]
fn planted_faults_of_products_are_found() {
    assert_found("products");
}

#[test]
fn planted_faults_of_suppliers_are_found() {
    assert_found("suppliers");
}
