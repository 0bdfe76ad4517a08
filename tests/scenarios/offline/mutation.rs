//! Mutations of the workflows of the examples: their cases notice them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use svc::offline;
use svc_project::case::{CaseSuite, SuiteSettings};
use tempfile::TempDir;

/// Changes of one workflow, each with a description.
fn mutants(workflow: &Value) -> Vec<(String, Value)> {
    let mut mutants = Vec::new();
    for place in task_places(workflow, "/tasks") {
        let (parent, index) = place.rsplit_once('/').unwrap();
        let mut dropped = workflow.clone();
        let siblings = dropped.pointer_mut(parent).and_then(Value::as_array_mut).unwrap();
        if siblings.len() > 1 {
            siblings.remove(index.parse().unwrap());
            mutants.push((format!("without the task at {place}"), dropped));
        }
        let condition = format!("{place}/condition");
        if let Some(condition) = workflow.pointer(&condition) {
            let mut flipped = workflow.clone();
            *flipped.pointer_mut(&place).unwrap().get_mut("condition").unwrap() = json!({"!": [condition]});
            mutants.push((format!("the condition of {place} flipped"), flipped));
        }
    }
    let mut constants = Vec::new();
    constant_places(workflow.get("tasks").unwrap_or(&Value::Null), "/tasks".to_owned(), &mut constants);
    for place in constants {
        let mut changed = workflow.clone();
        let constant = changed.pointer_mut(&place).unwrap();
        *constant = match constant.as_f64() {
            Some(number) => json!(number + 1.0),
            None => json!(!constant.as_bool().unwrap_or_default()),
        };
        mutants.push((format!("another constant at {place}"), changed));
    }
    mutants
}

fn task_places(workflow: &Value, at: &str) -> Vec<String> {
    let mut places = Vec::new();
    for n in 0..workflow.pointer(at).and_then(Value::as_array).map_or(0, Vec::len) {
        let place = format!("{at}/{n}");
        let members = task_places(workflow, &format!("{place}/tasks"));
        places.push(place);
        places.extend(members);
    }
    places
}

/// Finds numbers and booleans inside expressions.
fn constant_places(part: &Value, at: String, places: &mut Vec<String>) {
    match part {
        Value::Number(_) | Value::Bool(_) if at.contains("/logic") || at.contains("/condition") => {
            places.push(at)
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| constant_places(item, format!("{at}/{n}"), places));
        }
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            constant_places(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), places);
        }),
        _ => {}
    }
}

/// Copies the files of a project.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns what the cases of a directory find wrong.
fn failures(tests: &Path) -> Vec<String> {
    let engine = offline::engine_builder().build();
    let settings = SuiteSettings {
        engine: &engine,
        expand: None,
        values: None,
        answers: None,
        coverage: None,
        threads: None,
        progress: None,
    };
    let results = CaseSuite::find(tests).unwrap().run(&settings).unwrap();
    let failed = results.into_iter().flat_map(|result| {
        let lines = result.failures.into_iter().flat_map(|failure| failure.lines);
        lines.map(move |line| format!("{}: {line}", result.name)).collect::<Vec<_>>()
    });
    failed.collect()
}

/// Lists the workflows of a project that its cases name.
fn tested_workflows(project: &Path) -> Vec<PathBuf> {
    let cases = std::fs::read_dir(project.join("tests")).unwrap().map(|entry| entry.unwrap().path());
    let named = cases.filter(|path| path.to_string_lossy().ends_with(".case.json")).map(|path| {
        let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        project.join("tests").join(case["workflow"].as_str().unwrap())
    });
    let mut workflows: Vec<_> = named.map(|path| path.canonicalize().unwrap()).collect();
    workflows.sort();
    workflows.dedup();
    workflows
}

#[test]
fn the_cases_of_the_examples_notice_most_mutations() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let (mut noticed, mut total, mut unnoticed) = (0, 0, String::new());
    for entry in std::fs::read_dir(examples).unwrap() {
        let example = entry.unwrap().path();
        if !example.join("tests").is_dir() {
            continue;
        }
        let project = TempDir::new().unwrap();
        copy(&example, project.path());
        let tests = project.path().join("tests");
        assert_eq!(failures(&tests), [""; 0], "{}", example.display());
        for file in tested_workflows(project.path()) {
            let text = std::fs::read_to_string(&file).unwrap();
            let Ok(workflow) = serde_json::from_str(&text) else { continue };
            for (change, mutant) in mutants(&workflow) {
                std::fs::write(&file, mutant.to_string()).unwrap();
                total += 1;
                if failures(&tests).is_empty() {
                    writeln!(unnoticed, "{}: {change}", file.file_name().unwrap().to_string_lossy()).unwrap();
                } else {
                    noticed += 1;
                }
            }
            std::fs::write(&file, text).unwrap();
        }
    }
    println!("{noticed} of {total} mutations noticed; not these:\n{unnoticed}");
    assert!(total > 0, "some example has cases");
    assert!(noticed * 10 >= total * 7, "{noticed} of {total} mutations noticed; not these:\n{unnoticed}");
}
