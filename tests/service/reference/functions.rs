//! `docs/functions.md`: the catalogue, with an example for each name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use svc::Options;
use svc_engine::catalogue::{Catalogue, FunctionEntry, FunctionTarget, InputField};
use svc_model::{Issue, validate_workflow};

use super::{assert_golden, codes, table};
use crate::kit::with_service;

/// Notes and examples of a function, next to the catalogue.
fn notes(name: &str) -> String {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/service/reference/functions/{name}.md"));
    std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display())).unwrap()
}

fn page(catalogue: &Catalogue) -> String {
    let mut page = include_str!("functions.md").to_owned();
    page.push_str("\n## Overview\n\n");
    let rows = catalogue.entries().map(|entry| {
        let names: Vec<_> = entry.names().map(|name| format!("[`{name}`](#{})", entry.name)).collect();
        vec![
            names.join(", "),
            entry.category.into(),
            format!("`{}`", entry.retry_safety),
            entry.description.into(),
        ]
    });
    table(&mut page, &["Function", "Category", "Repeating", "Meaning"], rows);
    for entry in catalogue.entries() {
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

/// The rows of an input: an expression that may replace it, and the members of its elements, have
/// rows of their own.
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
        InputField { template: true, .. } => "computed",
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

/// Runs a test over the catalogue of a whole service.
fn with_catalogue(test: impl FnOnce(&Catalogue) + Send + 'static) {
    with_service(Options::default(), |running| test(running.service.state().serving.engine.catalogue()));
}

#[test]
fn page_of_functions_is_made_from_the_catalogue() {
    with_catalogue(|catalogue| assert_golden("functions.md", &page(catalogue)));
}

#[test]
fn catalogue_names_have_examples_in_their_section() {
    with_catalogue(|catalogue| {
        for entry in catalogue.entries() {
            let notes = notes(entry.name);
            let blocks = notes.split("```json tasks\n").skip(1).filter_map(|rest| rest.split("```").next());
            let tasks: Vec<Value> =
                blocks.flat_map(|block| serde_json::from_str::<Vec<Value>>(block).unwrap()).collect();
            let used: BTreeSet<_> =
                tasks.iter().map(|task| task["function"]["name"].as_str().unwrap().to_owned()).collect();
            for name in entry.names() {
                assert!(used.contains(name), "{name}");
            }
            assert!(used.iter().all(|name| catalogue.find(name).is_some()), "{used:?}");
            assert!(notes.contains("```json run\n"), "{}", entry.name);
        }
    });
}

#[test]
fn target_is_an_input_of_its_function() {
    with_catalogue(|catalogue| {
        for entry in catalogue.entries() {
            let named =
                ["channel", "connector", "topic"].into_iter().find(|name| entry.field(name).is_some());
            assert_eq!(entry.target.input(), named, "{}", entry.name);
            if let FunctionTarget::Connector(accepted) = entry.target {
                assert!(!accepted.types.is_empty(), "{}", entry.name);
                let inherited = accepted.inherited_input;
                assert!(inherited.is_none_or(|input| entry.field(input).is_some()), "{}", entry.name);
            }
        }
    });
}

#[test]
fn cases_name_inputs_of_their_table() {
    with_catalogue(|catalogue| {
        for entry in catalogue.entries().filter(|entry| !entry.cases.is_empty()) {
            let ops: Vec<_> = entry.cases.iter().map(|case| case.op).collect();
            assert_eq!(entry.field("op").unwrap().one_of, ops, "{}", entry.name);
            for case in entry.cases {
                let mut named = case.required.iter().chain(case.optional);
                assert!(named.all(|input| entry.field(input).is_some()), "{} {}", entry.name, case.op);
                let names = entry.field("algorithm").unwrap().one_of;
                assert!(case.algorithms.iter().all(|algorithm| names.contains(algorithm)));
                assert_eq!(case.names("algorithm"), !case.algorithms.is_empty(), "{}", case.op);
            }
        }
    });
}

#[test]
fn input_that_decides_about_repetition_exists() {
    with_catalogue(|catalogue| {
        for entry in catalogue.entries() {
            if let Some(input) = entry.retry_safety.strip_prefix("depends_on:") {
                let inside = input == "op" && entry.name == "data_write";
                assert!(inside || entry.field(input).is_some(), "{}: {input}", entry.name);
            }
        }
    });
}

#[test]
fn every_function_refuses_unknown_inputs() {
    with_service(Options::default(), |running| {
        let engine = &running.service.state().serving.engine;
        for name in engine.catalogue().names() {
            let function = json!({"name": name, "input": {"outptu": "data.x"}});
            let body = json!({"name": "w", "tasks": [{"id": "t", "name": "", "function": function}]});
            let report = validate_workflow(&body, &**engine);
            let unknown = |issue: &Issue| issue.field == "tasks[0].function.input.outptu";
            assert!(report.errors.iter().any(unknown), "{name}: {:?}", report.errors);
        }
    });
}
