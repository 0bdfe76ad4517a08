//! Members of a parallel group that write the same place. Their writes are repeated in the order of the list, so that
//! only the last one would be seen.

use serde_json::Value;
use svc_model::documents::STEP_LISTS;
use svc_model::{FieldCode, FieldError};

use super::reads::task_writes;
use super::written::is_prefix;
use crate::catalogue::{Catalogue, DefaultOutput};

/// A literal path that a member writes.
struct MemberWrite {
    member: usize,
    /// The place of the task that writes it.
    at: String,
    path: String,
    /// The path without the marks that force a key: `data.#1` and `data.1` are one member of an object.
    place: String,
}

impl MemberWrite {
    fn new(member: usize, at: &str, path: String) -> Self {
        let keys: Vec<&str> = path.split('.').map(|key| key.strip_prefix('#').unwrap_or(key)).collect();
        let place = keys.join(".");
        Self { member, at: at.to_owned(), path, place }
    }
}

/// Adds an error for every member that writes the same literal path as one before it, or one below or above it.
pub(super) fn find(catalogue: &Catalogue, at: &str, members: &[Value], errors: &mut Vec<FieldError>) {
    let mut writes = Vec::new();
    for (member, step) in members.iter().enumerate() {
        collect(catalogue, step, &format!("{at}.tasks[{member}]"), member, &mut writes);
    }
    writes.sort_by(|one, other| one.place.split('.').cmp(other.place.split('.')));
    let mut conflicts: Vec<(usize, FieldError)> = Vec::new();
    for (n, one) in writes.iter().enumerate() {
        // The paths below a path follow it in this order.
        let mut below = writes.iter().skip(n + 1).take_while(|other| is_prefix(&one.place, &other.place));
        if let Some(other) = below.find(|other| other.member != one.member) {
            let (first, second) = if one.member < other.member { (one, other) } else { (other, one) };
            let message = format!(
                "the task at {} writes {} at the same time as this one writes {}: members of a parallel group \
                 write different places",
                first.at, first.path, second.path
            );
            let error = FieldError::new(&*second.at, FieldCode::ConflictingWrites, message);
            conflicts.push((second.member, error.with_got(&*second.path)));
        }
    }
    conflicts.sort_by_key(|(member, _)| *member);
    conflicts.dedup_by_key(|(member, _)| *member);
    errors.extend(conflicts.into_iter().map(|(_, error)| error));
}

fn collect(catalogue: &Catalogue, step: &Value, at: &str, member: usize, writes: &mut Vec<MemberWrite>) {
    if let Some(block) = step.get("for_each").filter(|block| block.is_object()) {
        // The writes of its elements are not kept.
        let into = block["into"].as_str().map(str::to_owned);
        writes.extend(into.map(|path| MemberWrite::new(member, at, path)));
        return;
    }
    if step.get("tasks").is_some() {
        for key in STEP_LISTS {
            for (n, inner) in step[key].as_array().into_iter().flatten().enumerate() {
                collect(catalogue, inner, &format!("{at}.{key}[{n}]"), member, writes);
            }
        }
        return;
    }
    let function = &step["function"];
    let mut paths = Vec::new();
    task_writes(catalogue, function, &mut paths);
    paths.extend(removals(function));
    let entry = function["name"].as_str().and_then(|name| catalogue.find(name));
    let replaces = entry.filter(|entry| entry.default_output == DefaultOutput::ReplacesData);
    if let (Some(output), true) = (replaces.and_then(|entry| entry.field("output")), paths.is_empty()) {
        let is_named =
            std::iter::once(output.name).chain(output.alias).any(|name| !function["input"][name].is_null());
        if !is_named {
            paths.push("data".to_owned());
        }
    }
    writes.extend(paths.into_iter().map(|path| MemberWrite::new(member, at, path)));
}

/// Returns the paths that a task removes.
fn removals(function: &Value) -> impl Iterator<Item = String> {
    let mappings = function["input"]["mappings"].as_array().filter(|_| function["name"] == "map");
    let removed = mappings.into_iter().flatten().filter(|mapping| mapping["unset"] == true);
    removed.filter_map(|mapping| mapping["path"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::Engine;

    fn write(path: &str) -> Value {
        json!({"id": path, "function": {"name": "map", "input": {"mappings": [{"path": path, "logic": 1}]}}})
    }

    fn conflicts(members: &[Value]) -> Vec<String> {
        let mut errors = Vec::new();
        find(Engine::builder().build().catalogue(), "tasks[0]", members, &mut errors);
        assert!(errors.iter().all(|error| error.code == FieldCode::ConflictingWrites));
        errors.into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn equal_and_nested_paths_conflict() {
        for (first, second) in [
            ("data.a", "data.a"),
            ("data.a", "data.a.b"),
            ("data.a.b", "data.a"),
            ("data", "data.x.y"),
            ("data.a-b", "data.a-b.c"),
            ("data.#1", "data.1"),
            ("data.x.1", "data.x.#1.y"),
        ] {
            assert_eq!(conflicts(&[write(first), write(second)]), ["tasks[0].tasks[1]"], "{first} {second}");
        }
    }

    #[test]
    fn removal_conflicts_as_a_write_does() {
        let unset = |path: &str| json!({"id": path, "function": {"name": "map", "input": {"mappings": [{"path": path, "unset": true}]}}});
        assert_eq!(conflicts(&[unset("data.a"), write("data.a.b")]), ["tasks[0].tasks[1]"]);
        assert_eq!(conflicts(&[write("data.a"), unset("data.a")]), ["tasks[0].tasks[1]"]);
        assert_eq!(conflicts(&[unset("data.a"), write("data.b")]), [""; 0]);
    }

    #[test]
    fn different_places_and_own_paths_are_allowed() {
        let group = json!({"tasks": [write("data.b"), write("data.b.c")]});
        assert_eq!(conflicts(&[write("data.a"), group, write("data.ab"), write("temp_data.a")]), [""; 0]);
        let each =
            json!({"for_each": {"over": [], "into": "data.list"}, "function": write("data.a")["function"]});
        assert_eq!(conflicts(&[write("data.a"), each.clone()]), [""; 0]);
        assert_eq!(conflicts(&[write("data.list"), each]), ["tasks[0].tasks[1]"]);
    }
}
