//! The habits of files: size, opening words, what must not be in them.

use std::collections::BTreeMap;

use crate::files_with;
use crate::language::function_name;

/// A source file longer than this has more than one reason to be.
const LONGEST: usize = 500;

#[test]
fn no_source_file_is_longer_than_500_lines() {
    let long: Vec<_> = files_with(&[".rs"])
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .collect();
    assert!(long.is_empty(), "split these: {long:#?}");
}

/// Source files of a folder: more of them hide its design.
const FULLEST: usize = 20;

/// Returns the folder of a source file of the program, an actor or a library.
fn source_folder(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    let is_in_floor = ["crates/", "actors/"].iter().any(|floor| path.starts_with(floor));
    (path.starts_with("src/") || is_in_floor && path.contains("/src/")).then_some(folder)
}

#[test]
fn no_folder_has_more_than_20_source_files() {
    let mut counts = BTreeMap::<String, usize>::new();
    for (path, _) in files_with(&[".rs"]) {
        if let Some(folder) = source_folder(&path) {
            *counts.entry(folder.to_owned()).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count > FULLEST);
    assert!(counts.is_empty(), "group the files by what they are: {counts:#?}");
}

/// Lines beyond which a function is long.
const LONG_FUNCTION: usize = 60;

/// Maximum of long functions in the program, the actors and the libraries. Only to be lowered.
const LONG_FUNCTIONS: usize = 8;

/// Returns the names of the long functions of a formatted source file, without those of its tests.
fn long_functions(text: &str) -> Vec<&str> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let mut names = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let is_function = code.split_once("fn ").is_some_and(|(before, _)| {
            before.split_whitespace().all(|word| {
                matches!(word, "async" | "const" | "pub" | "unsafe")
                    || word.starts_with("pub(")
                    || word.ends_with(')')
            })
        });
        if !is_function || code.ends_with([';', '}']) {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let (end, signature_end) = (format!("{indent}}}"), format!("{indent})"));
        let rest = &lines[start + 1..];
        let Some(length) = rest.iter().position(|line| **line == end) else { continue };
        // A declaration has no body: what ends is the trait around it, or the next function.
        let mut body = rest[..length].iter();
        let is_declared = body.any(|line| line.starts_with(&signature_end) && line.ends_with(';'));
        if length + 2 > LONG_FUNCTION && !is_declared {
            names.extend(function_name(code));
        }
    }
    names
}

#[test]
fn long_functions_are_few() {
    let files = files_with(&[".rs"]);
    let product = files.iter().filter(|(path, _)| {
        source_folder(path).is_some() && !path.contains("/tests/") && !path.ends_with("tests.rs")
    });
    let long: Vec<_> = product
        .flat_map(|(path, text)| long_functions(text).into_iter().map(move |name| format!("{path}: {name}")))
        .collect();
    assert!(long.len() <= LONG_FUNCTIONS, "split one of these {}: {long:#?}", long.len());
}

#[test]
fn long_function_is_found_by_its_end() {
    let body = "        one();\n".repeat(LONG_FUNCTION);
    let text = format!(
        "trait A {{\n    fn a(\n        b: u8,\n    );\n\n    fn c() {{\n{body}    }}\n\n    fn d() {{}}\n}}\n"
    );
    assert_eq!(long_functions(&text), ["c"]);
}

#[test]
fn every_source_file_opens_with_what_it_is() {
    for (path, text) in files_with(&[".rs"]) {
        let has = text.starts_with("//!") || path.ends_with("/tests.rs");
        assert!(has, "{path} does not open with a module comment");
    }
}

#[test]
fn lints_are_expected_with_a_reason_never_allowed() {
    for (path, text) in files_with(&[".rs"]) {
        for (number, line) in text.lines().enumerate() {
            let attribute = line.trim_start();
            let allows = attribute.starts_with("#[allow(") || attribute.starts_with("#![allow(");
            assert!(!allows, "{path}:{}: use #[expect(…, reason = …)]", number + 1);
        }
    }
}

#[test]
fn changelog_has_unreleased_and_dated_sections() {
    let version = env!("CARGO_PKG_VERSION");
    let (_, changelog) = files_with(&["CHANGELOG.md"]).remove(0);
    let entries: Vec<_> = changelog.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(entries[0], "## [Unreleased]");
    assert!(entries[1].starts_with(&format!("## [{version}] - 20")), "{entries:?}");
}

#[test]
fn modules_lie_where_the_compiler_looks_for_them() {
    for (path, text) in files_with(&[".rs"]) {
        let attribute = text.lines().find(|line| line.trim_start().starts_with("#[path"));
        assert!(
            attribute.is_none(),
            "{path}: {attribute:?}: move the file, or share it as a module of a crate"
        );
    }
}

/// Places in which a test may name a pause: the clock is virtual there, or the pause lies between two looks
/// at a state.
const MAY_PAUSE: &[&str] = &[
    "actors/supervision/",
    "actors/store/tests/suite/outages.rs",
    "crates/vault/tests/by_wire_contract.rs",
    "tests/attack/",
    "tests/kit/server.rs",
    "tests/tidy/",
];

#[test]
fn no_test_sleeps() {
    for (path, text) in files_with(&[".rs"]) {
        let is_test = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs");
        let may = MAY_PAUSE.iter().any(|place| path.starts_with(place));
        // A database that is told to be slow is no test that waits.
        let sleeps = text.replace("pg_sleep(", "").contains("sleep(");
        assert!(!is_test || may || !sleeps, "{path} sleeps: wait for a state instead");
    }
}

#[test]
fn no_file_names_a_machine() {
    for (path, text) in files_with(&[".rs", ".md", ".toml", ".json", ".sql", ".sh", "Makefile"]) {
        for word in [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")] {
            assert!(!text.contains(word), "{path} names a machine's path: {word}");
        }
    }
}

/// Columns of a line of prose in a page.
const COLUMNS: usize = 120;

#[test]
fn lines_of_pages_have_at_most_120_columns() {
    for (path, text) in files_with(&[".md"]) {
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            in_code ^= line.trim_start().starts_with("```");
            // A row of a table is one line, and an address cannot be broken.
            let may_be_long = in_code || line.starts_with('|') || line.split_whitespace().count() < 3;
            let columns = line.chars().count();
            assert!(may_be_long || columns <= COLUMNS, "{path}:{}: {columns} columns", number + 1);
        }
    }
}

#[test]
fn log_messages_are_lowercase_without_a_final_dot() {
    let mut count = 0;
    for (path, text) in files_with(&[".rs"]) {
        if !text.contains("slog::") || path.starts_with("tests/tidy/") {
            continue;
        }
        for message in log_messages(&text) {
            let first = message.chars().next().unwrap_or('a');
            assert!(!first.is_uppercase() && !message.ends_with('.'), "{path}: {message:?}");
            count += 1;
        }
    }
    assert!(count > 10, "the check saw {count} log messages only");
}

/// The first literal of every log macro.
fn log_messages(text: &str) -> Vec<&str> {
    let macros = ["trace!(", "debug!(", "info!(", "warn!(", "error!(", "crit!("];
    let mut messages = Vec::new();
    for name in macros {
        for (at, _) in text.match_indices(name) {
            let bare = !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let arguments = &text[at + name.len()..];
            let statement = &arguments[..arguments.find(");").unwrap_or(arguments.len())];
            if let (true, Some((_, literal))) = (bare, statement.split_once('"')) {
                messages.push(literal.split('"').next().unwrap_or_default());
            }
        }
    }
    messages
}
