//! Promises of the pages and the tests that check them.

use std::collections::BTreeMap;

use crate::root;

/// The pages with promises, and the sections whose every item names a test.
const PAGES: [(&str, &[&str]); 2] = [
    ("SECURITY.md", &["What the service promises", "Limits that hold under attack"]),
    ("README.md", &["What it promises"]),
];

/// A reference to a test, as a page defines it: `[name]: path#function`.
struct TestReference {
    path: String,
    function: String,
}

/// Returns the references of a page to tests, by name.
fn definitions(page: &str) -> BTreeMap<&str, TestReference> {
    page.lines()
        .filter_map(|line| {
            let (name, target) = line.strip_prefix('[')?.split_once("]: ")?;
            let (path, function) = target.split_once('#')?;
            Some((name, TestReference { path: path.to_owned(), function: function.to_owned() }))
        })
        .collect()
}

/// Returns the names of the tests that a text refers to, as `[test][name]` or `[attack][name]`.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let parts = ["[test][", "[attack]["].into_iter().flat_map(|mark| text.split(mark).skip(1));
    parts.filter_map(|rest| rest.split(']').next())
}

/// Returns the list items of a section.
fn items(page: &str, section: &str) -> Vec<String> {
    let heading = format!("## {section}");
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let mut items: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        if line.starts_with("- ") {
            items.push(line.to_owned());
        } else if let (Some(item), true) = (items.last_mut(), line.starts_with("  ")) {
            item.push_str(line);
        }
    }
    items
}

#[test]
fn every_promise_names_a_test() {
    for (path, sections) in PAGES {
        let page = std::fs::read_to_string(root().join(path)).expect("the page is there");
        for section in sections {
            let items = items(&page, section);
            assert!(items.len() > 3, "{path}: {section} has {} items", items.len());
            for item in items {
                assert!(references(&item).next().is_some(), "{path}: no test: {item}");
            }
        }
    }
}

#[test]
fn tests_that_promises_name_are_there() {
    let mut broken = Vec::new();
    for (path, _) in PAGES {
        let page = std::fs::read_to_string(root().join(path)).expect("the page is there");
        let definitions = definitions(&page);
        let used: Vec<&str> = references(&page).collect();
        broken.extend(
            used.iter()
                .filter(|name| !definitions.contains_key(**name))
                .map(|name| format!("{path}: [{name}] is not defined")),
        );
        for (name, TestReference { path: file, function }) in &definitions {
            if !used.contains(name) {
                broken.push(format!("{path}: [{name}] is not used"));
            }
            let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            if !source.contains(&format!("fn {function}(")) {
                broken.push(format!("{path}: {file} has no {function}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
