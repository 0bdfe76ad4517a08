//! Reads of what nothing writes: usually a typo in a path.

use serde_json::Value;
use svc_model::documents::STEP_LISTS;
use svc_model::{Issue, WorkflowContent, distance};

use super::answers;
use super::literals::MESSAGE;
use super::roots::{bracketed_index, describe_index};
use super::written::WrittenPaths;
use crate::builtin;
use crate::catalogue::{Catalogue, DefaultOutput};
use crate::workflow::fan_out_spec::DEFAULT_ELEMENT;

/// More than this are of no use.
const MAX_WARNINGS: usize = 10;

/// Members of `metadata` that the service sets.
const METADATA: [&str; 17] = [
    "auth",
    "body_encoding",
    "channel",
    "cloudevent",
    "cookies",
    "engine_version",
    "headers",
    "http_method",
    "identity",
    "oauth",
    "params",
    "processed_at",
    "progress",
    "query",
    "run",
    "trigger",
    "vars",
];

/// Members of parts that the service sets as a whole.
const MEMBERS: [(&str, &[&str]); 4] = [
    ("metadata.auth.", &["claims", "consumer", "principal"]),
    ("metadata.run.", &["key"]),
    (
        "metadata.trigger.",
        &[
            "attempt",
            "occurrence_id",
            "scheduled_for",
            "singleton_key",
            "singleton_slot",
            "started_at",
            "timezone",
            "type",
        ],
    ),
    (
        "temp_data.error.",
        &["body", "code", "index", "indexes", "message", "status", "task_id", "workflow_id"],
    ),
];

/// Members that are read without their parent.
const ORPHANS: [(&str, &str); 5] = [
    ("metadata.auth.", "claims"),
    ("metadata.auth.", "consumer"),
    ("metadata.auth.", "principal"),
    ("metadata.trigger.", "occurrence_id"),
    ("metadata.trigger.", "scheduled_for"),
];

/// Adds a warning for every read of `data`, `temp_data` or a root of another name that no task prepares, for paths with
/// an index in brackets, and for names that are nearly those of `metadata` or of an answer.
pub(super) fn warn(catalogue: &Catalogue, content: &WorkflowContent, warnings: &mut Vec<Issue>) {
    let mut written = Vec::new();
    let lists = content.step_lists();
    let are_all_known = lists.iter().all(|(_, steps)| writes(catalogue, steps, &mut written));
    written.extend(loop_writes(content));
    let written = WrittenPaths::new(written);
    let written = are_all_known.then_some(&written);
    answers::warn(content, written, warnings);
    let mut reads = literal_reads("condition", &content.condition);
    if let Some(over) = content.loop_.as_ref().and_then(|block| block.get("over")) {
        reads.extend(literal_reads("loop.over", over));
    }
    for (list, steps) in lists {
        for (n, task) in steps.iter().enumerate() {
            reads.extend(literal_reads(&format!("{list}[{n}]"), task));
            sources(&format!("{list}[{n}]"), task, &mut reads);
            collected_lists(&format!("{list}[{n}]"), task, warnings);
        }
    }
    let issues = reads.into_iter().filter_map(|(at, path)| Some(Issue::new(at, problem(&path, written)?)));
    warnings.extend(issues.take(MAX_WARNINGS));
}

/// Returns the likely mistake in a path that is read. `written` is absent where a task may write anything.
fn problem(path: &str, written: Option<&WrittenPaths>) -> Option<String> {
    if let Some(meant) = bracketed_index(path) {
        return Some(describe_index(&meant));
    }
    let written = written?;
    match path.split('.').next().unwrap_or_default() {
        "" | "payload" => None,
        "metadata" => capital_header(path, written)
            .or_else(|| misspelt_metadata(path, written))
            .or_else(|| misspelt_member(path, written)),
        _ if path == "data" || path == "temp_data" => None,
        _ if written.touch(path) => misspelt_member(path, written),
        _ => Some(format!("nothing in the workflow writes {path}")),
    }
}

/// Names of headers are in lower case in the message.
fn capital_header(path: &str, written: &WrittenPaths) -> Option<String> {
    let name = path.strip_prefix("metadata.headers.")?;
    let is_capital = name.bytes().any(|byte| byte.is_ascii_uppercase()) && !written.touch(path);
    is_capital.then(|| {
        let meant = name.to_ascii_lowercase();
        format!("names of headers are in lower case, did you mean 'metadata.headers.{meant}'?")
    })
}

/// A caller may send metadata of its own, so that only a name which is nearly one of the service is a mistake.
fn misspelt_metadata(path: &str, written: &WrittenPaths) -> Option<String> {
    let name = path.split('.').nth(1)?;
    if METADATA.contains(&name) || name.starts_with('_') || written.touch(&format!("metadata.{name}")) {
        return None;
    }
    let near = METADATA.into_iter().find(|known| distance(name, known) == 1);
    let meant = near.map(|known| format!("metadata.{known}")).or_else(|| {
        let (parent, _) = ORPHANS.into_iter().find(|(_, member)| *member == name)?;
        Some(format!("{parent}{name}"))
    })?;
    Some(format!("the service sets no metadata.{name}, did you mean '{meant}'?"))
}

/// Describes a member that its parent has not: any of the caller, of the others one that is nearly another.
fn misspelt_member(path: &str, written: &WrittenPaths) -> Option<String> {
    let (parent, members, rest) = MEMBERS
        .into_iter()
        .find_map(|(parent, members)| Some((parent, members, path.strip_prefix(parent)?)))?;
    let name = rest.split('.').next().unwrap_or_default();
    // The whole of the error is written by a group with `on_error`.
    let is_written = parent.starts_with("metadata.") && written.touch(&format!("{parent}{name}"));
    if members.contains(&name) || is_written {
        return None;
    }
    let whole = parent.trim_end_matches('.');
    match members.iter().find(|known| distance(name, known) == 1) {
        Some(meant) => Some(format!("{whole} has no '{name}', did you mean '{parent}{meant}'?")),
        None if whole == "metadata.auth" => Some(format!(
            "{whole} has no '{name}', it has {}; a claim is below metadata.auth.claims",
            members.join(", ")
        )),
        None => None,
    }
}

/// Returns the paths that a loop writes by itself: its counter, the element and the scratch space.
fn loop_writes(content: &WorkflowContent) -> Vec<String> {
    let Some(block) = content.loop_.as_ref().filter(|block| block.is_object()) else { return Vec::new() };
    let element = (!block["over"].is_null()).then(|| block["as"].as_str().unwrap_or(DEFAULT_ELEMENT));
    let keys = [block["counter"].as_str(), element, block["scratch"].as_str()];
    keys.into_iter().flatten().map(|key| format!("temp_data.{key}")).collect()
}

/// Warns of elements that collect the list which is made of them.
fn collected_lists(at: &str, step: &Value, warnings: &mut Vec<Issue>) {
    let block = &step["for_each"];
    if let Some(path) = block["collect"].as_str().filter(|path| block["into"].as_str() == Some(*path)) {
        let message =
            format!("no element has {path}, which is made of all of them: collect what an element writes");
        warnings.push(Issue::new(format!("{at}.for_each.collect"), message));
    }
    for key in STEP_LISTS {
        for (n, member) in step[key].as_array().into_iter().flatten().enumerate() {
            collected_lists(&format!("{at}.{key}[{n}]"), member, warnings);
        }
    }
}

/// The paths that functions which copy read, and those that are collected.
fn sources(at: &str, step: &Value, reads: &mut Vec<(String, String)>) {
    if let Some(path) = step["for_each"]["collect"].as_str() {
        reads.push((format!("{at}.for_each.collect"), path.to_owned()));
    }
    if step.get("tasks").is_some() {
        for key in STEP_LISTS {
            for (n, member) in step[key].as_array().into_iter().flatten().enumerate() {
                sources(&format!("{at}.{key}[{n}]"), member, reads);
            }
        }
        return;
    }
    let function = &step["function"];
    let Some(source) = function["input"]["source"].as_str() else { return };
    let at = format!("{at}.function.input.source");
    match function["name"].as_str() {
        Some("parse_csv" | "parse_json" | "parse_xml") => reads.push((at, source.to_owned())),
        Some("publish_csv" | "publish_json" | "publish_xml") => reads.push((at, format!("data.{source}"))),
        _ => {}
    }
}

/// Collects the paths that tasks write, `data` for the whole of it; false if a task is unknown.
fn writes(catalogue: &Catalogue, steps: &[Value], written: &mut Vec<String>) -> bool {
    steps.iter().all(|step| {
        block_writes(step, written);
        match step.get("tasks") {
            Some(_) => STEP_LISTS
                .iter()
                .all(|key| step[*key].as_array().is_none_or(|members| writes(catalogue, members, written))),
            None => task_writes(catalogue, &step["function"], written),
        }
    })
}

/// Collects what a step writes by itself: the elements and results of `for_each`, and the error for `on_error`.
fn block_writes(step: &Value, written: &mut Vec<String>) {
    if step.get("on_error").is_some_and(Value::is_array) {
        written.push("temp_data.error".to_owned());
    }
    let Some(block) = step.get("for_each").filter(|block| block.is_object()) else { return };
    let element = block["as"].as_str().unwrap_or(DEFAULT_ELEMENT);
    let keys = std::iter::once(element).chain(block["index_as"].as_str());
    written.extend(keys.map(|key| format!("temp_data.{key}")));
    written.extend(block["into"].as_str().map(str::to_owned));
}

pub(super) fn task_writes(catalogue: &Catalogue, function: &Value, written: &mut Vec<String>) -> bool {
    let Some(name) = function["name"].as_str() else { return false };
    let input = &function["input"];
    match name {
        "map" => {
            let mappings = input["mappings"].as_array();
            written.extend(
                mappings
                    .into_iter()
                    .flatten()
                    .filter(|mapping| mapping["unset"] != true)
                    .filter_map(|mapping| mapping["path"].as_str())
                    .map(str::to_owned),
            );
        }
        "parse_csv" | "parse_json" | "parse_xml" | "publish_csv" | "publish_json" | "publish_xml" => {
            written.extend(input["target"].as_str().map(|target| format!("data.{target}")));
        }
        name if builtin::is_builtin(name) => {}
        name => {
            let strict_entry = catalogue.find(name).filter(|entry| !entry.accepts_any_input);
            let Some(entry) = strict_entry else { return false };
            if let Some(output) = entry.field("output") {
                let path = [Some(output.name), output.alias]
                    .into_iter()
                    .flatten()
                    .find_map(|key| input[key].as_str());
                match path {
                    Some(path) => written.push(path.to_owned()),
                    None if entry.default_output == DefaultOutput::Discarded => {}
                    None if entry.default_output == DefaultOutput::ReplacesData => {
                        written.push("data".to_owned());
                    }
                    None => return false,
                }
            }
        }
    }
    true
}

/// Operators that evaluate an operand for every element of the first, which that operand reads its paths
/// below.
const LOOPS: [&str; 9] = ["map", "filter", "reduce", "all", "some", "none", "sort", "group_by", "distinct"];

/// Returns every path that is read by its literal name below `value`, with its place; not those below the
/// element of a loop, nor those below the error that the last operand of `try` reads.
pub(crate) fn literal_reads(at: &str, value: &Value) -> Vec<(String, String)> {
    let mut reads = Vec::new();
    collect(at, value, &mut reads);
    reads
}

fn collect(at: &str, value: &Value, reads: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, item) in map {
                if map.len() == 1 && call(at, key, item, reads) {
                    return;
                }
                collect(&format!("{at}.{key}"), item, reads);
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

/// Takes in the call of an operator that reads, or loops; `false` for any other.
fn call(at: &str, operator: &str, operands: &Value, reads: &mut Vec<(String, String)>) -> bool {
    let list = operands.as_array().map_or(std::slice::from_ref(operands), Vec::as_slice);
    match (operator, list) {
        ("var", [Value::String(path), default @ ..]) => {
            reads.push((at.to_owned(), path.clone()));
            default.iter().for_each(|default| collect(&format!("{at}.var[1]"), default, reads));
        }
        ("val" | "exists", [Value::String(_), ..]) if list.iter().all(Value::is_string) => {
            let segments: Vec<_> = list.iter().filter_map(Value::as_str).collect();
            reads.push((at.to_owned(), segments.join(".")));
        }
        ("missing", [..]) if list.iter().all(Value::is_string) => {
            reads.extend(list.iter().filter_map(Value::as_str).map(|path| (at.to_owned(), path.to_owned())));
        }
        (operator, [source, rest @ ..]) if LOOPS.contains(&operator) => {
            collect(&format!("{at}.{operator}[0]"), source, reads);
            if let (true, [_, initial, ..]) = (operator == "reduce", rest) {
                collect(&format!("{at}.{operator}[2]"), initial, reads);
            }
        }
        ("try", [heads @ .., fallback]) if !heads.is_empty() => {
            for (n, head) in heads.iter().enumerate() {
                collect(&format!("{at}.try[{n}]"), head, reads);
            }
            // Any other path is that of a member of the error.
            let behind = literal_reads(&format!("{at}.try[{}]", heads.len()), fallback);
            reads.extend(behind.into_iter().filter(|(_, path)| is_rooted_in_message(path)));
        }
        _ => return false,
    }
    true
}

fn is_rooted_in_message(path: &str) -> bool {
    path.split(['.', '[']).next().is_some_and(|root| MESSAGE.contains(&root))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::Engine;

    /// Returns the warnings about tasks that map these paths, the last one from a read.
    fn warned(written: &[&str], read: &str) -> Vec<String> {
        let mut mappings: Vec<_> = written.iter().map(|path| json!({"path": path, "logic": {}})).collect();
        mappings.push(json!({"path": "data.x", "logic": {"var": read}}));
        let task =
            json!({"id": "t", "name": "", "function": {"name": "map", "input": {"mappings": mappings}}});
        let content = WorkflowContent {
            name: "w".to_owned(),
            description: None,
            priority: 0,
            condition: Value::Bool(true),
            tasks: vec![task],
            tags: Vec::new(),
            loop_: None,
            continue_on_error: false,
        };
        let (engine, mut warnings) = (Engine::builder().build(), Vec::new());
        warn(engine.catalogue(), &content, &mut warnings);
        warnings.into_iter().map(|issue| issue.message).collect()
    }

    #[test]
    fn list_of_elements_is_no_part_of_them() {
        let places = |collect: &str| {
            let step = json!({"id": "g", "tasks": [{"id": "t",
                "for_each": {"over": [1], "collect": collect, "into": "data.sums"}}]});
            let mut warnings = Vec::new();
            collected_lists("tasks[0]", &step, &mut warnings);
            warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
        };
        assert_eq!(places("data.sums"), ["tasks[0].tasks[0].for_each.collect"]);
        assert_eq!(places("data.sum"), [""; 0]);
    }

    #[test]
    fn whole_data_leaves_other_reads_checked() {
        assert_eq!(warned(&["data"], "data.any.x"), [""; 0]);
        assert_eq!(warned(&["data", "temp_data.rows"], "temp_data.rows.0"), [""; 0]);
        assert_eq!(
            warned(&["data", "temp_data.rows"], "temp_data.row.0"),
            ["nothing in the workflow writes temp_data.row.0"]
        );
        assert!(warned(&["data"], "metadata.param.id")[0].ends_with("did you mean 'metadata.params'?"));
    }

    #[test]
    fn unknown_members_of_metadata_are_warned_of() {
        for (read, meant) in [
            ("metadata.claims.sub", "'metadata.auth.claims'?"),
            ("metadata.scheduled_for", "'metadata.trigger.scheduled_for'?"),
            ("metadata.trigger.schedule_for", "'metadata.trigger.scheduled_for'?"),
            ("metadata.auth.consumr", "'metadata.auth.consumer'?"),
            ("metadata.auth.sub", "a claim is below metadata.auth.claims"),
            ("metadata.run.keys", "'metadata.run.key'?"),
        ] {
            let found = warned(&[], read);
            assert!(found.len() == 1 && found[0].ends_with(meant), "{read}: {found:?}");
        }
        let error = warned(&["temp_data.error"], "temp_data.error.taskid");
        assert!(error.len() == 1 && error[0].ends_with("'temp_data.error.task_id'?"), "{error:?}");
        for read in ["metadata.auth.claims.sub", "metadata.auth", "metadata.key", "metadata.timezone"] {
            assert_eq!(warned(&[], read), [""; 0], "{read}");
        }
        assert_eq!(warned(&["metadata.auth.level"], "metadata.auth.level"), [""; 0]);
    }
}
