//! Reads of `data` that nothing in the workflow writes: usually a typo in a path.

use serde_json::Value;
use svc_model::{Issue, WorkflowContent};

use crate::builtin;
use crate::catalogue;

/// More than this help nobody.
const MAX_WARNINGS: usize = 10;

/// Adds a warning for every read of `data` no task prepares.
pub(super) fn warn(content: &WorkflowContent, warnings: &mut Vec<Issue>) {
    let mut written = Vec::new();
    if !writes(&content.tasks, &mut written) {
        return;
    }
    let mut reads = Vec::new();
    collect("condition", &content.condition, &mut reads);
    for (n, task) in content.tasks.iter().enumerate() {
        collect(&format!("tasks[{n}]"), task, &mut reads);
    }
    let orphans = reads.into_iter().filter(|(_, path)| !written.iter().any(|other| touches(path, other)));
    for (at, path) in orphans.take(MAX_WARNINGS) {
        warnings.push(Issue::new(at, format!("nothing in the workflow writes {path}")));
    }
}

/// The paths tasks write. False when they cannot be told: a task replaces the whole of `data`, or is unknown.
fn writes(steps: &[Value], written: &mut Vec<String>) -> bool {
    steps.iter().all(|step| match step.get("tasks") {
        Some(members) => members.as_array().is_none_or(|members| writes(members, written)),
        None => task_writes(&step["function"], written),
    })
}

fn task_writes(function: &Value, written: &mut Vec<String>) -> bool {
    let Some(name) = function["name"].as_str() else { return false };
    let input = &function["input"];
    match name {
        "map" => {
            let mappings = input["mappings"].as_array();
            written.extend(
                mappings
                    .into_iter()
                    .flatten()
                    .filter_map(|mapping| mapping["path"].as_str())
                    .map(str::to_owned),
            );
        }
        "parse_json" | "parse_xml" | "publish_json" | "publish_xml" => {
            written.extend(input["target"].as_str().map(|target| format!("data.{target}")));
        }
        name if builtin::NAMES.contains(&name) => {}
        name => {
            let Some(entry) = catalogue::find(name) else { return false };
            if let Some(output) = entry.field("output") {
                let path = [Some(output.name), output.alias]
                    .into_iter()
                    .flatten()
                    .find_map(|key| input[key].as_str());
                match path {
                    Some(path) => written.push(path.to_owned()),
                    None if name == "http_call" => {}
                    None => return false,
                }
            }
        }
    }
    !written.iter().any(|path| path == "data")
}

/// Every `{"var": "data.…"}` without a default below `value`.
fn collect(at: &str, value: &Value, reads: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, item) in map {
                let path = match item {
                    Value::String(path) => Some(path),
                    Value::Array(items) => match items.as_slice() {
                        [Value::String(path)] => Some(path),
                        _ => None,
                    },
                    _ => None,
                };
                match path.filter(|path| map.len() == 1 && key == "var" && path.starts_with("data.")) {
                    Some(path) => reads.push((at.to_owned(), path.clone())),
                    None => collect(&format!("{at}.{key}"), item, reads),
                }
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                collect(&format!("{at}[{n}]"), item, reads);
            }
        }
        _ => {}
    }
}

/// Whether one path is the other or leads to it.
fn touches(read: &str, written: &str) -> bool {
    let leads = |from: &str, to: &str| {
        to.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    leads(read, written) || leads(written, read)
}
