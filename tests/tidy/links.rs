//! Links between pages lead somewhere.

use std::path::Path;

use crate::{files_with, root};

/// Folders of texts that are no pages by themselves.
const PARTS: [&str; 3] = ["src/", "crates/", "tests/service/"];

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let words = heading.trim().to_lowercase();
    let words = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    words.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_fence && !is_code
    })
}

/// The targets of the links of a page.
fn targets(text: &str) -> Vec<&str> {
    prose(text).flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split(')').next()).collect()
}

fn has_anchor(page: &str, wanted: &str) -> bool {
    prose(page)
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == wanted)
}

#[test]
fn links_between_pages_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    // What stands under a crate's sources and tests is a part of a page under docs/.
    let is_part = |path: &str| PARTS.iter().any(|folder| path.starts_with(folder));
    let pages = files_with(&[".md"]).into_iter().filter(|(path, _)| !is_part(path));
    for (path, text) in pages {
        let folder = root().join(Path::new(&path).parent().unwrap_or(Path::new("")));
        for target in targets(&text).into_iter().filter(|target| !target.contains("://")) {
            let (file, wanted) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            let page = std::fs::read_to_string(&file).unwrap_or_default();
            if !file.exists() || !(wanted.is_empty() || has_anchor(&page, wanted)) {
                broken.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
