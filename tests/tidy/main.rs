//! Checks of the workspace itself: what the compiler cannot hold, a test holds.

#![expect(clippy::expect_used, reason = "a failed expectation is the finding")]

mod book;
mod circles;
mod commands;
mod dependencies;
mod files;
mod language;
mod links;
mod messages;
mod metrics;
mod migrations;
mod modules;
mod pages;
mod promises;
mod words;

use std::path::{Path, PathBuf};

/// The workspace's root directory.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_path_buf).expect("the test kit lies one level below the root")
}

/// Every tracked-looking file below the root with one of these extensions, with its text.
pub(crate) fn files_with(extensions: &[&str]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open = vec![root()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).expect("the directory is readable") {
            let path = entry.expect("the entry is readable").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") {
                    open.push(path);
                }
            } else if extensions.iter().any(|wanted| name.ends_with(wanted)) {
                let shown = path.strip_prefix(root()).expect("below the root").display().to_string();
                files.push((shown, std::fs::read_to_string(&path).expect("the file is text")));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no file with {extensions:?}: the check would pass on nothing");
    files
}
