//! The language of the code: openings of doc comments, names of types, names of tests.

use std::collections::BTreeMap;

use syn::{Item, Visibility};

use crate::files_with;
use crate::modules::definition;

/// Words that open a question. A doc comment opens with a verb or a noun phrase instead.
const INTERROGATIVES: &[&str] = &["What", "Whether", "How", "Where", "When", "Who", "Whom", "Whose", "Which"];

/// Doc lines of a crate in a hundred that may open with one: a line may wrap at such a word.
const SHARE: usize = 1;

/// Type names that mean the same role in every crate.
const ROLES: &[&str] = &["Error", "Handle", "Message", "Metrics", "Settings", "State"];

/// Type names that occur more than once, with the reason.
const TWICE: &[(&str, &str)] = &[];

const LONGEST_TEST_NAME: usize = 80;

/// Names that do not say what a function does. A function is a verb with its object (CODE_STYLE.md, section 5).
const VAGUE_NAMES: &[&str] = &[
    "alone", "asked", "at", "begun", "done", "ended", "found", "given", "gone", "heard", "held", "kept",
    "known", "left", "made", "meant", "of", "on", "one", "said", "seen", "sent", "shown", "taken",
    "together", "told", "tried", "wanted", "written",
];

#[test]
fn doc_comments_open_with_a_verb_or_a_noun() {
    let mut lines: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for (path, text) in files_with(&[".rs"]) {
        let (count, questions) = lines.entry(crate_of(&path)).or_default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
                continue;
            };
            *count += 1;
            let first = comment.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            if INTERROGATIVES.contains(&first) {
                questions.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    for (directory, (count, questions)) in lines {
        let share = questions.len() * 100;
        assert!(share <= count * SHARE, "{directory}: more than {SHARE} % of {count} lines: {questions:#?}");
    }
}

/// The directory of the crate that a file belongs to.
fn crate_of(path: &str) -> String {
    let levels = if path.starts_with("crates/") || path.starts_with("actors/") { 2 } else { 1 };
    path.split('/').take(levels).collect::<Vec<_>>().join("/")
}

#[test]
fn a_type_name_means_one_thing() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in files_with(&[".rs"]) {
        for name in visible_types(&syn::parse_file(&text).expect(&path).items) {
            files.entry(name).or_default().push(path.clone());
        }
    }
    let excepted = |name: &str| ROLES.contains(&name) || TWICE.iter().any(|(twice, _)| *twice == name);
    let twice: BTreeMap<_, _> =
        files.iter().filter(|(name, files)| files.len() > 1 && !excepted(name)).collect();
    assert!(twice.is_empty(), "give each thing a name of its own: {twice:#?}");
    for (name, _) in TWICE {
        assert!(files.get(*name).is_some_and(|files| files.len() > 1), "{name} is excepted for nothing");
    }
}

/// The types of a file, those of tests too, that others may see.
fn visible_types(items: &[Item]) -> Vec<String> {
    let mut names = Vec::new();
    for item in items {
        match item {
            Item::Mod(module) => {
                names.extend(module.content.iter().flat_map(|(_, items)| visible_types(items)));
            }
            Item::Enum(_) | Item::Struct(_) | Item::Trait(_) | Item::Type(_) | Item::Union(_) => {
                let (name, visibility) = definition(item).expect("a type has a name");
                if visibility.is_some_and(|visibility| !matches!(visibility, Visibility::Inherited)) {
                    names.push(name);
                }
            }
            _ => {}
        }
    }
    names
}

/// Returns the name of the function that a line of code begins, if it begins one.
pub(crate) fn function_name(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ")?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn functions_are_named_by_verb_and_object() {
    for (path, text) in files_with(&[".rs"]) {
        let vague: Vec<_> =
            text.lines().filter_map(function_name).filter(|name| VAGUE_NAMES.contains(name)).collect();
        assert!(vague.is_empty(), "{path}: {vague:?} do not say what they do");
    }
}

#[test]
fn test_names_fit_a_line() {
    for (path, text) in files_with(&[".rs"]) {
        for name in text.lines().filter_map(function_name) {
            assert!(name.len() <= LONGEST_TEST_NAME, "{path}: {name} has {} characters", name.len());
        }
    }
}

/// Returns the type of each hand-written `Debug` impl, and the name that it prints. A name may be followed by masked
/// content: `Secret(******)`.
fn printed_names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("Debug for ").skip(1).filter_map(|rest| {
        let (type_name, body) = rest.split_once(" {")?;
        let type_name = type_name.split(['<', ' ']).next()?;
        let body = body.split("\n}").next()?;
        let mut calls = ["debug_struct(\"", "debug_tuple(\"", "f.write_str(\""].into_iter();
        let (_, printed) = calls.find_map(|call| body.split_once(call))?;
        Some((type_name, printed.split(['"', '(']).next()?))
    })
}

#[test]
fn debug_output_names_its_type() {
    let mut count = 0;
    for (path, text) in files_with(&[".rs"]) {
        for (type_name, printed) in printed_names(&text) {
            count += 1;
            assert_eq!(printed, type_name, "{path}: the type has another name");
        }
    }
    assert!(count > 50, "{count} hand-written impls: the check would pass on nothing");
}
