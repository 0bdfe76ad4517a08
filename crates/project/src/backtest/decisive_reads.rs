//! The reads of a definition whose text decides: an operator compares it or computes with it.
//!
//! A recording masks credentials. A version that passes a masked text on ends as the recorded run did, but for the mask;
//! one that compares it takes another way, which says nothing of the version.

use serde_json::{Map, Value, json};
use svc_engine::{Engine, RunRecording};
use svc_model::MASK;

use crate::analyze::overlap;

/// The operators that read a path.
const READING: [&str; 2] = ["var", "val"];

/// The operators that pass texts on, or ask only whether they are there: texts that are masked are not empty.
const PASSING: [&str; 9] = ["cat", "if", "?:", "and", "or", "!", "!!", "exists", "missing"];

/// The functions that compute with their input.
const COMPUTING: [&str; 2] = ["crypto", "jwt_sign"];

/// The paths whose texts decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DecisiveReads {
    paths: Vec<String>,
}

impl DecisiveReads {
    /// Collects the reads of an expression, or of a whole workflow.
    pub(super) fn collect(engine: &Engine, definition: &Value) -> Self {
        let mut walk = ReadWalk { engine, paths: Vec::new(), copies: Vec::new() };
        walk.visit(definition, false);
        let ReadWalk { mut paths, mut copies, .. } = walk;
        // What a mapping copies decides if the copy does; the copy may be copied in turn.
        loop {
            let decides = |copy: &PathCopy| paths.iter().any(|path| overlap(path, &copy.target));
            let Some(at) = copies.iter().position(decides) else { break };
            paths.extend(copies.swap_remove(at).sources);
        }
        Self { paths }
    }

    /// Finds a path below `metadata` that decides, and that a recording masks.
    pub(super) fn find_masked(&self, recording: &RunRecording) -> Option<String> {
        collect_masked_paths(recording).into_iter().find(|masked| overlaps_any(masked, &self.paths))
    }

    /// Returns true if one of these paths decides.
    pub(super) fn overlaps(&self, paths: &[String]) -> bool {
        paths.iter().any(|path| overlaps_any(path, &self.paths))
    }
}

/// A mapping that copies what it reads.
struct PathCopy {
    target: String,
    sources: Vec<String>,
}

/// The walk through a definition.
struct ReadWalk<'e> {
    engine: &'e Engine,
    paths: Vec<String>,
    copies: Vec<PathCopy>,
}

impl ReadWalk<'_> {
    /// Visits a part of the definition. `decides` is true below an operator for which the text counts.
    fn visit(&mut self, part: &Value, decides: bool) {
        match part {
            Value::Array(items) => items.iter().for_each(|item| self.visit(item, decides)),
            Value::Object(members) => self.visit_object(members, decides),
            _ => {}
        }
    }

    fn visit_object(&mut self, members: &Map<String, Value>, decides: bool) {
        if let Some((target, logic)) = mapping(members) {
            let mut sources = Vec::new();
            collect_reads(logic, &mut sources);
            self.copies.push(PathCopy { target: target.to_owned(), sources });
        }
        let computes =
            members.get("name").and_then(Value::as_str).is_some_and(|name| COMPUTING.contains(&name));
        let is_single = members.len() == 1;
        for (name, operands) in members {
            if is_single && READING.contains(&name.as_str()) {
                if decides {
                    self.paths.extend(read_path(operands));
                }
                self.visit(operands, decides);
                continue;
            }
            let is_decisive = is_single && !PASSING.contains(&name.as_str()) && self.is_operator(name);
            self.visit(operands, decides || is_decisive || computes && name == "input");
        }
    }

    fn is_operator(&self, name: &str) -> bool {
        self.engine.calls_operator(&json!({(name): null}))
    }
}

/// Returns the target and the expression of a mapping of `map`.
fn mapping(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    Some((members.get("path")?.as_str()?, members.get("logic")?))
}

/// Collects the paths that an expression reads.
pub(super) fn collect_reads(logic: &Value, paths: &mut Vec<String>) {
    match logic {
        Value::Array(items) => items.iter().for_each(|item| collect_reads(item, paths)),
        Value::Object(members) => {
            for (name, operands) in members {
                if members.len() == 1 && READING.contains(&name.as_str()) {
                    paths.extend(read_path(operands));
                }
                collect_reads(operands, paths);
            }
        }
        _ => {}
    }
}

/// Returns the path of a read, as `{"var": "a.b"}`, `{"var": ["a.b", 1]}` and `{"val": ["a", "b"]}` have it.
pub(super) fn read_path(operands: &Value) -> Option<String> {
    let path = match operands {
        Value::String(path) => path.clone(),
        Value::Array(items) => {
            let names: Vec<&str> = items.iter().map_while(Value::as_str).collect();
            names.join(".")
        }
        _ => return None,
    };
    (!path.is_empty()).then_some(path)
}

/// Collects the paths below `metadata` that a recording masks.
pub(super) fn collect_masked_paths(recording: &RunRecording) -> Vec<String> {
    let mut masked = Vec::new();
    for (name, value) in &recording.metadata {
        collect_masked(value, format!("metadata.{name}"), &mut masked);
    }
    masked
}

/// Collects the paths of the masked texts of a value.
fn collect_masked(value: &Value, path: String, masked: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(MASK) => masked.push(path),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_masked(item, format!("{path}.{index}"), masked);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                collect_masked(member, format!("{path}.{name}"), masked);
            }
        }
        _ => {}
    }
}

/// Returns true if a path is one of these, leads to it, or lies below it.
pub(super) fn overlaps_any(path: &str, paths: &[String]) -> bool {
    paths.iter().any(|other| overlap(path, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(definition: &Value) -> Option<String> {
        let metadata = json!({"headers": {"x-api-token": MASK, "x-kind": "a"}});
        let Value::Object(metadata) = metadata else { unreachable!() };
        let recording = RunRecording { metadata, ..RunRecording::default() };
        DecisiveReads::collect(&Engine::builder().build(), definition).find_masked(&recording)
    }

    #[test]
    fn compared_mask_is_found() {
        let expected = Some("metadata.headers.x-api-token".to_owned());
        for definition in [
            json!({"==": [{"var": "metadata.headers.x-api-token"}, "a"]}),
            json!({"if": [{"in": ["a", {"var": ["metadata.headers.x-api-token", ""]}]}, 1, 2]}),
            json!({"!=": [{"cat": ["v", {"val": ["metadata", "headers", "x-api-token"]}]}, "va"]}),
            json!({"tasks": [{"id": "t", "condition": {"==": [{"var": "metadata.headers"}, {}]}}]}),
            json!({"name": "crypto", "input": {"op": "hash", "data": {"var": "metadata.headers.x-api-token"}}}),
            json!([
                {"path": "data.copy", "logic": {"var": "data.token"}},
                {"path": "data.token", "logic": {"var": "metadata.headers.x-api-token"}},
                {"condition": {"==": [{"var": "data.copy"}, "a"]}},
            ]),
        ] {
            assert_eq!(find(&definition), expected, "{definition}");
        }
    }

    #[test]
    fn mask_that_is_passed_on_is_no_reason() {
        for definition in [
            json!({"path": "data.token", "logic": {"var": "metadata.headers.x-api-token"}}),
            json!({"input": {"headers": {"x-token": {"cat": ["t ", {"var": "metadata.headers.x-api-token"}]}}}}),
            json!({"condition": {"and": [{"var": "metadata.headers.x-api-token"}, {"var": "data.n"}]}}),
            json!({"condition": {"==": [{"var": "metadata.headers.x-kind"}, "a"]}}),
        ] {
            assert_eq!(find(&definition), None, "{definition}");
        }
    }
}
