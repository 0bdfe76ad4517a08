//! Paths and tests that the pages about the code name.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{files_with, root};

/// The pages about the code, and the folder of the decisions.
const PAGES: [&str; 5] =
    ["ARCHITECTURE.md", "CODE_STYLE.md", "CONTRIBUTING.md", "docs/runtime-semantics.md", "docs/adr/"];

/// Endings by which a name is that of a file.
const ENDINGS: [&str; 8] = [".rs", ".md", ".toml", ".sql", ".txt", ".sh", ".lock", ".json"];

/// Indentation of a folder in a list at most; a line further right continues the text of an entry.
const DEEPEST: usize = 6;

/// Number of references that the pages have at least: below it the check would pass on nothing.
const FEWEST: usize = 100;

/// A reference of a page to a file or folder, and to a function of it.
#[derive(Debug, PartialEq, Eq)]
struct CodeReference<'p> {
    path: &'p str,
    function: Option<&'p str>,
}

impl<'p> CodeReference<'p> {
    /// Parses a word of a page; `None` for a word that is no reference. Of a path with a placeholder (`drivers/<type>`)
    /// the folders before the placeholder count.
    fn parse(word: &'p str) -> Option<Self> {
        let word = word.trim_start_matches('(').trim_end_matches([',', ';', ':', '.', '(', ')']);
        let (path, function) = match word.split_once("::") {
            Some((path, function)) if path.ends_with(".rs") => (path, Some(function)),
            _ => (word, None),
        };
        let path = match path.split_once('<') {
            Some((before, _)) => &before[..=before.rfind('/')?],
            None => path,
        };
        let has_path_letters = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        let starts_as_name = path.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        let is_file =
            ENDINGS.iter().any(|ending| path.strip_suffix(ending).is_some_and(|stem| !stem.is_empty()));
        let is_reference = has_path_letters && starts_as_name && (path.contains('/') || is_file);
        is_reference.then_some(Self { path, function })
    }

    /// Returns the problem of a reference. `folder` is the folder that the surrounding text is about. A name without a
    /// folder may be that of any file of `names`.
    fn problem(&self, folder: &Path, names: &BTreeSet<String>) -> Option<String> {
        let Self { path, function } = self;
        let place = [root().join(path), folder.join(path)].into_iter().find(|place| place.exists());
        let Some(place) = place else {
            return (path.contains('/') || !names.contains(*path)).then(|| format!("{path} does not exist"));
        };
        let function = (*function)?;
        let source = std::fs::read_to_string(place).unwrap_or_default();
        let is_there = source.contains(&format!("fn {function}("));
        (!is_there).then(|| format!("{path} has no function {function}"))
    }
}

/// Returns the words of a line of prose that are written as code, and have no blank.
fn code_words(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|code| !code.contains(char::is_whitespace))
}

/// Follows the folders that an indented list (`src/`, below it `model/`) opens.
#[derive(Default)]
struct FolderList(Vec<(usize, String)>);

impl FolderList {
    /// Opens the folder with which a line begins, if it begins with one; returns the rest of the line.
    fn open<'l>(&mut self, line: &'l str) -> (bool, &'l str) {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        if !first.ends_with('/') || indentation > DEEPEST {
            return (false, line);
        }
        self.0.retain(|(other, _)| *other < indentation);
        self.0.push((indentation, first.to_owned()));
        (true, rest)
    }

    /// Returns the folder that is open.
    fn current(&self) -> String {
        self.0.iter().map(|(_, name)| name.as_str()).collect()
    }
}

/// Returns the problems of all references of a page, and the number of references.
fn check(page: &str, text: &str, names: &BTreeSet<String>) -> (Vec<String>, usize) {
    let (mut problems, mut count, mut block) = (Vec::new(), 0, None);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            block = if block.is_none() { Some(FolderList::default()) } else { None };
            continue;
        }
        let mut folder = String::new();
        let words: Vec<&str> = match &mut block {
            None => code_words(line).collect(),
            Some(folders) => {
                let (is_opened, rest) = folders.open(line);
                folder = folders.current();
                if is_opened && !root().join(&folder).is_dir() {
                    problems.push(format!("{page}:{}: {folder} does not exist", number + 1));
                }
                rest.split_whitespace().collect()
            }
        };
        for reference in words.into_iter().filter_map(CodeReference::parse) {
            count += 1;
            let problem = reference.problem(&root().join(&folder), names);
            problems.extend(problem.map(|problem| format!("{page}:{}: {problem}", number + 1)));
        }
    }
    (problems, count)
}

/// The names of all files that a page may name without a folder.
fn file_names() -> BTreeSet<String> {
    let files = files_with(&[".rs", ".md", ".toml", ".sql", ".txt"]);
    files.iter().filter_map(|(path, _)| Some(Path::new(path).file_name()?.to_str()?.to_owned())).collect()
}

#[test]
fn paths_and_tests_of_pages_exist() {
    let (names, mut problems, mut count) = (file_names(), Vec::new(), 0);
    for (path, text) in files_with(&[".md"]) {
        if PAGES.iter().any(|page| path.starts_with(page)) {
            let (found, references) = check(&path, &text, &names);
            problems.extend(found);
            count += references;
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(count >= FEWEST, "the check saw {count} references only");
}

#[test]
fn every_invariant_names_its_test() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page is there");
    let (_, section) = page.split_once("## Invariants\n").expect("the page has invariants");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            items.push(line.to_owned());
        } else if let Some(item) = items.last_mut() {
            item.push_str(line);
        }
    }
    assert!(items.len() > 20, "the check saw {} invariants only", items.len());
    for (number, item) in items.iter().enumerate() {
        assert!(item.starts_with(&format!("{}. ", number + 1)), "out of order: {item}");
        let mut references = code_words(item).filter_map(CodeReference::parse);
        assert!(references.any(|reference| reference.function.is_some()), "no test: {item}");
    }
}

#[test]
fn embedding_page_names_options_and_features() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("the file is there");
    let (page, options) = (read("docs/embedding.md"), read("src/options.rs"));
    let fields = options.lines().filter_map(|line| line.strip_prefix("    pub ")?.split_once(": "));
    let fields: Vec<_> = fields.map(|(field, _)| field).collect();
    assert!(fields.contains(&"environment"), "the check saw {fields:?}");
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).expect("the manifest parses");
    let features = manifest["features"]["default"].as_array().expect("features are listed").clone();
    let features: Vec<_> = features.iter().filter_map(toml::Value::as_str).collect();
    let words: BTreeSet<_> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let absent: Vec<_> = fields.into_iter().chain(features).filter(|name| !words.contains(name)).collect();
    assert!(absent.is_empty(), "docs/embedding.md does not name {absent:?}");
}

#[test]
fn check_finds_absent_paths_and_functions() {
    let names = BTreeSet::from(["main.rs".to_owned()]);
    let text = "`tests/tidy/pages.rs`, `main.rs`, `env://NAME`, `/health`, `gone.rs`, `tests/gone/`,\n\
        `tests/tidy/pages.rs::check`, `tests/tidy/pages.rs::gone`, `tests/<area>/`, `gone/<area>`\n\
        ```text\ntests/   the tests; scenarios/\n  tidy/  checks\n  gone/  nothing\n```\n";
    let (problems, count) = check("page", text, &names);
    let expected = [
        "page:1: gone.rs does not exist",
        "page:1: tests/gone/ does not exist",
        "page:2: tests/tidy/pages.rs has no function gone",
        "page:2: gone/ does not exist",
        "page:6: tests/gone/ does not exist",
    ];
    assert_eq!(problems, expected);
    assert_eq!(count, 9);
}
