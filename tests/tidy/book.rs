//! The manual as a book: every page is in its summary once, and a quoted message is one of the program.

use std::collections::BTreeSet;

use crate::{files_with, root};

/// The order of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages of the book at least: with fewer the check would pass on nothing.
const FEWEST: usize = 40;

/// Returns the pages of a summary, in order, each with its title.
fn entries(summary: &str) -> Vec<(&str, &str)> {
    let links = summary.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix('['));
    links.filter_map(|link| link.strip_suffix(')')?.split_once("](")).collect()
}

#[test]
fn summary_has_every_page_once() {
    let summary = std::fs::read_to_string(root().join(SUMMARY)).unwrap_or_default();
    let entries = entries(&summary);
    let listed: BTreeSet<String> = entries.iter().map(|(_, page)| format!("docs/{page}")).collect();
    let is_page = |path: &String| path.starts_with("docs/") && path != SUMMARY;
    let pages: BTreeSet<String> =
        files_with(&[".md"]).into_iter().map(|(path, _)| path).filter(is_page).collect();
    let missing: Vec<_> = pages.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&pages).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "{SUMMARY} lacks {missing:?}, and names {unknown:?}");
    assert_eq!(entries.len(), listed.len(), "{SUMMARY} names a page twice");
    assert!(pages.len() >= FEWEST, "the check saw {} pages only", pages.len());
}

#[test]
fn check_reads_nested_and_single_entries() {
    let summary = "# Summary\n\n[First](README.md)\n\n# Part\n\n- [Second](a.md)\n  - [Third](b/c.md)\n";
    assert_eq!(entries(summary), [("First", "README.md"), ("Second", "a.md"), ("Third", "b/c.md")]);
}

/// The page of messages.
const MESSAGES: &str = "docs/troubleshooting.md";

/// Messages of that page at least.
const FEWEST_MESSAGES: usize = 40;

/// Returns the messages of the first cells of a page's tables.
fn quoted_messages(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

#[test]
fn troubleshooting_quotes_messages_of_the_program() {
    let is_source = |path: &str| path.starts_with("src/") || path.contains("/src/");
    let sources = files_with(&[".rs"]).into_iter().filter(|(path, _)| is_source(path));
    // A literal may go on in the next line.
    let sources: Vec<String> = sources.map(|(_, text)| join_literals(&text)).collect();
    let page = std::fs::read_to_string(root().join(MESSAGES)).unwrap_or_default();
    let messages: Vec<_> = quoted_messages(&page).collect();
    for message in &messages {
        let parts = message.split('…').map(str::trim).filter(|part| part.len() > 2);
        for part in parts {
            let is_known = sources.iter().any(|text| text.contains(part));
            assert!(is_known, "{MESSAGES}: no source has {part:?} of {message:?}");
        }
    }
    assert!(messages.len() >= FEWEST_MESSAGES, "the check saw {} messages only", messages.len());
}

/// Returns a source with the literals that go on in another line in one.
fn join_literals(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |joined, part| joined + part.trim_start())
}

#[test]
fn literals_over_several_lines_are_joined() {
    assert_eq!(join_literals("\"one \\\n        two\""), "\"one two\"");
    assert_eq!(quoted_messages("| `a …` (exit 1) | why |\n| b |\n").collect::<Vec<_>>(), ["a …"]);
}
