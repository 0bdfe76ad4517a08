//! `docs/functions.md`: the catalogue, with an example for each name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use svc_engine::catalogue::{self, ENTRIES, FunctionEntry, InputField};

use super::{assert_golden, codes, table};

/// Notes and examples of a function, beside the catalogue.
fn notes(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/catalogue/examples/{name}.md"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn page() -> String {
    let mut page = include_str!("functions.md").to_owned();
    page.push_str("\n## Overview\n\n");
    let rows = ENTRIES.iter().map(|entry| {
        let names = std::iter::once(entry.name).chain(entry.aliases.iter().copied());
        let names: Vec<_> = names.map(|name| format!("[`{name}`](#{})", entry.name)).collect();
        vec![
            names.join(", "),
            entry.category.into(),
            format!("`{}`", entry.retry_safety),
            entry.description.into(),
        ]
    });
    table(&mut page, &["Function", "Category", "Repeating", "Meaning"], rows);
    for entry in ENTRIES {
        section(&mut page, entry);
    }
    page
}

fn section(page: &mut String, entry: &FunctionEntry) {
    let _ = write!(page, "\n## `{}`\n\n{}.\n\n", entry.name, entry.description);
    if !entry.fields.is_empty() {
        let rows = entry.fields.iter().flat_map(rows);
        table(page, &["Input", "Kind", "Value", "Meaning"], rows);
        page.push('\n');
    }
    page.push_str(&notes(entry.name).replace("{cases}\n", &cases(entry)));
}

/// The rows of an input: an expression that may stand in its place, and the members of its elements, have rows of their own.
fn rows(field: &InputField) -> Vec<Vec<String>> {
    let logic = field.alias.filter(|alias| alias.ends_with("_logic"));
    let logic = logic.map(|logic| {
        let meaning = format!("Expression for `{}`, which it wins over", field.name);
        vec![format!("`{logic}`"), "any".to_owned(), "expression".to_owned(), meaning]
    });
    let members =
        field.members.iter().map(|member| row(member, &format!("{}[].{}", field.name, member.name)));
    std::iter::once(row(field, field.name)).chain(logic).chain(members).collect()
}

fn row(field: &InputField, name: &str) -> Vec<String> {
    let logic = field.alias.filter(|alias| alias.ends_with("_logic"));
    let mut names = format!("`{name}`");
    if let Some(alias) = field.alias.filter(|_| logic.is_none()) {
        let _ = write!(names, ", `{alias}`");
    }
    let mut meaning = field.description.to_owned();
    if !field.one_of.is_empty() {
        let _ = write!(meaning, ": {}", codes(field.one_of.iter().copied()));
    }
    if field.required {
        meaning = match logic {
            Some(_) => format!("**required**, or its expression. {meaning}"),
            None => format!("**required**. {meaning}"),
        };
    }
    let value = match field {
        InputField { logic: true, .. } => "expression",
        InputField { holds_logic: true, .. } => "expressions",
        InputField { secret_at: [_, ..], .. } => "secret",
        InputField { resolvable: true, .. } => "`var`",
        _ => "literal",
    };
    vec![names, field.kind.name().to_owned(), value.to_owned(), meaning]
}

/// The rows of the table of cases, for the notes of a function that has some.
fn cases(entry: &FunctionEntry) -> String {
    entry.cases.iter().fold(String::new(), |mut rows, case| {
        let inputs = [(case.required, "**required**: "), (case.optional, "optional: ")];
        let inputs = inputs.into_iter().filter(|(names, _)| !names.is_empty());
        let inputs: Vec<_> =
            inputs.map(|(names, label)| format!("{label}{}", codes(names.iter().copied()))).collect();
        let _ = writeln!(
            rows,
            "| `{}` | {} | {} |",
            case.op,
            inputs.join("; "),
            codes(case.algorithms.iter().copied())
        );
        rows
    })
}

#[test]
fn page_of_functions_is_made_from_the_catalogue() {
    assert_golden("functions.md", &page());
}

#[test]
fn every_name_of_the_catalogue_is_in_an_example_of_its_section() {
    for entry in ENTRIES {
        let notes = notes(entry.name);
        let blocks = notes.split("```json tasks\n").skip(1).filter_map(|rest| rest.split("```").next());
        let tasks: Vec<Value> =
            blocks.flat_map(|block| serde_json::from_str::<Vec<Value>>(block).unwrap()).collect();
        let used: BTreeSet<_> =
            tasks.iter().map(|task| task["function"]["name"].as_str().unwrap().to_owned()).collect();
        for name in std::iter::once(entry.name).chain(entry.aliases.iter().copied()) {
            assert!(used.contains(name), "{name}");
        }
        assert!(used.iter().all(|name| catalogue::find(name).is_some()), "{used:?}");
        assert!(notes.contains("```json run\n"), "{}", entry.name);
    }
}
