//! The pages of the manual that are made from the code. `UPDATE_GOLDEN=1 cargo test` writes them anew.

mod channels;
mod commands;
mod counts;
mod endpoints;
mod errors;
mod expressions;
mod functions;
mod prices;
mod project;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A page of the manual.
fn docs(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)
}

/// Compares a page under `docs/` with the text it should have.
fn assert_golden(page: &str, actual: &str) {
    let path = docs(page);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs; run with UPDATE_GOLDEN=1 and look at the change",
        path.display()
    );
}

/// Appends a table; a bar inside a cell is escaped.
fn table(page: &mut String, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let line = |cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let _ = writeln!(page, "{}", line(head.iter().map(|&cell| cell.to_owned()).collect()));
    let _ = writeln!(page, "|{}", "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(page, "{}", line(row));
    }
}

/// Names as code, commas between them.
fn codes<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
