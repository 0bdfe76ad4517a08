//! Every metric is on the page of metrics, and the page has no other.

use std::collections::BTreeSet;

use crate::{files_with, root};

/// The page.
const PAGE: &str = "docs/metrics.md";

/// Returns the metrics of a source file: names followed by their help, and those of collectors.
fn registered(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let parts: Vec<&str> = text.split('"').collect();
    for (index, name) in parts.iter().enumerate().skip(1).step_by(2) {
        let is_name = name.contains(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let before = parts[index - 1].trim_end();
        let has_help = parts.get(index + 1).is_some_and(|between| between.trim() == ",")
            && parts
                .get(index + 2)
                .is_some_and(|help| help.starts_with(|c: char| c.is_ascii_uppercase() || c == '1'));
        // Types stand before the help of the metrics of the process.
        let is_type = matches!(*name, "counter" | "gauge");
        if is_name && !is_type && (has_help || before.ends_with("encode_descriptor(")) {
            names.insert(format!("svc_{name}"));
        } else if is_name && name.starts_with("process_") {
            names.insert((*name).to_owned());
        }
    }
    names
}

/// Returns the metrics of the page, without the suffix of counters.
fn documented(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`');
        let is_counter = cells[2] == "counter";
        if is_counter { name.strip_suffix("_total").unwrap_or("no _total") } else { name }.to_owned()
    })
    .collect()
}

#[test]
fn manual_lists_exactly_the_existing_metrics() {
    let is_source =
        |path: &str| (path.starts_with("src/") || path.contains("/src/")) && !path.contains("/tests");
    let sources = files_with(&[".rs"]).into_iter().filter(|(path, text)| {
        is_source(path)
            && (text.contains("registry::Registry")
                || text.contains("DescriptorEncoder")
                || path.ends_with("process.rs"))
    });
    let registered: BTreeSet<_> = sources.flat_map(|(_, text)| registered(&text)).collect();
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    let documented = documented(&page);
    assert!(registered.len() > 70, "{registered:?}");
    let missing: Vec<_> = registered.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&registered).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "{PAGE} lacks {missing:?}, and names {unknown:?}");
}
