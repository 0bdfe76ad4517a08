//! The lists of steps of a workflow, and what is certain about them.

use serde_json::Value;
use svc_engine::Engine;
use svc_engine::catalogue::DefaultOutput;
use svc_model::documents::STEP_LISTS;

/// A list of tasks and groups.
pub(super) struct StepList<'d> {
    /// Its path in the workflow.
    pub(super) path: String,
    pub(super) steps: &'d [Value],
    /// The group that has the list, and the key of the list there; `None` for a list of the workflow.
    pub(super) group: Option<(&'d Value, &'static str)>,
    /// The number of its first steps that run whenever the workflow is begun.
    pub(super) certain: usize,
}

/// Returns the lists of a workflow, those of groups after those that they are in.
pub(super) fn step_lists(document: &Value) -> Vec<StepList<'_>> {
    let mut lists = Vec::new();
    let (looping, condition) = (&document["loop"], &document["condition"]);
    // The setup runs before the condition is asked, and a list may have no element.
    collect("loop.setup", &looping["setup"], None, true, &mut lists);
    let is_certain = is_unconditional(condition)
        && looping["over"].is_null()
        && !members(looping, "setup").iter().any(may_end);
    collect("tasks", &document["tasks"], None, is_certain, &mut lists);
    lists
}

fn collect<'d>(
    path: &str,
    steps: &'d Value,
    group: Option<(&'d Value, &'static str)>,
    is_certain: bool,
    lists: &mut Vec<StepList<'d>>,
) {
    let Some(steps) = steps.as_array() else { return };
    let ends = steps.iter().position(may_end).map_or(steps.len(), |end| end + 1);
    let certain = if is_certain { ends } else { 0 };
    lists.push(StepList { path: path.to_owned(), steps, group, certain });
    for (n, step) in steps.iter().enumerate() {
        let runs = n < certain && is_unconditional(&step["condition"]) && step["for_each"].is_null();
        for key in STEP_LISTS {
            let group = Some((step, key));
            collect(&format!("{path}[{n}].{key}"), &step[key], group, runs && key != "on_error", lists);
        }
    }
}

/// Returns `true` for a condition that stops nothing.
pub(super) fn is_unconditional(condition: &Value) -> bool {
    matches!(condition, Value::Null | Value::Bool(true))
}

/// Returns `true` for a step after which the workflow may have ended.
fn may_end(step: &Value) -> bool {
    step["terminal"] == true
        || matches!(function_name(step), Some("filter" | "validation"))
        || STEP_LISTS.iter().any(|key| members(step, key).iter().any(may_end))
}

/// Returns `true` for a step after which nothing of its list runs, if it is reached.
pub(super) fn always_ends(step: &Value) -> bool {
    let is_reached = is_unconditional(&step["condition"])
        && step["for_each"].is_null()
        && step["continue_on_error"] != true
        && function_name(step) != Some("filter");
    let has_end = |key: &str| members(step, key).iter().any(always_ends);
    let members_end = || (step["parallel"] != true && has_end("tasks")) || has_end("finally");
    is_reached && (step["terminal"] == true || members_end())
}

/// Returns the members of a group under a key.
pub(super) fn members<'d>(step: &'d Value, key: &str) -> &'d [Value] {
    step[key].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the name of the function of a task.
pub(super) fn function_name(step: &Value) -> Option<&str> {
    step["function"]["name"].as_str()
}

/// Returns the paths that a step writes by their names, those of the members of a group too. Of the elements of a
/// `for_each` the list of their values alone is written.
pub(super) fn written_paths(engine: &Engine, step: &Value) -> Vec<String> {
    if step["for_each"].is_object() {
        return step["for_each"]["into"].as_str().map(str::to_owned).into_iter().collect();
    }
    let lists = STEP_LISTS.iter().flat_map(|key| members(step, key));
    let mut written: Vec<String> = lists.flat_map(|member| written_paths(engine, member)).collect();
    let input = &step["function"]["input"];
    match function_name(step) {
        None => {}
        Some("map") => {
            let mappings = input["mappings"].as_array().into_iter().flatten();
            written.extend(mappings.filter_map(|mapping| mapping["path"].as_str()).map(str::to_owned));
        }
        Some("parse_csv" | "parse_json" | "parse_xml" | "publish_csv" | "publish_json" | "publish_xml") => {
            written.extend(input["target"].as_str().map(|target| format!("data.{target}")));
        }
        Some(name) => {
            let output = input["output"].as_str().or_else(|| input["response_path"].as_str());
            let entry = engine.catalogue().find(name).filter(|entry| entry.field("output").is_some());
            let replaces_data =
                entry.is_some_and(|entry| entry.default_output == DefaultOutput::ReplacesData);
            written.extend(output.or(replaces_data.then_some("data")).map(str::to_owned));
        }
    }
    written
}

/// Returns `true` if one path leads to the other, or through it.
pub(crate) fn overlap(one: &str, other: &str) -> bool {
    let leads_to = |one: &str, other: &str| {
        other.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    leads_to(one, other) || leads_to(other, one)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_certain_up_to_an_end() {
        let task = |name: &str| json!({"id": name, "function": {"name": name}});
        let document = json!({"tasks": [
            {"id": "g", "tasks": [task("map"), task("filter"), task("log")], "on_error": [task("log")]},
            {"id": "h", "tasks": [task("log")]}]});
        let found: Vec<_> = step_lists(&document).into_iter().map(|list| (list.path, list.certain)).collect();
        let expected =
            [("tasks", 1_usize), ("tasks[0].tasks", 2), ("tasks[0].on_error", 0), ("tasks[1].tasks", 0)];
        assert_eq!(found, expected.map(|(path, certain)| (path.to_owned(), certain)));
        let certain = |document: Value| -> Vec<usize> {
            step_lists(&document).into_iter().map(|list| list.certain).collect()
        };
        let group = json!({"tasks": [task("filter")], "finally": [task("log")]});
        assert_eq!(certain(json!({"tasks": [group]})), [1, 1, 1]);
        let looping = json!({"setup": [task("log")], "max": 2});
        let condition = json!({"var": "data.x"});
        assert_eq!(certain(json!({"condition": condition, "loop": looping, "tasks": [task("log")]})), [1, 0]);
        assert_eq!(certain(json!({"loop": {"over": condition}, "tasks": [task("log")]})), [0]);
        assert_eq!(certain(json!({"loop": {"setup": [task("filter")]}, "tasks": [task("log")]})), [1, 0]);
    }

    #[test]
    fn paths_overlap_by_their_segments() {
        assert!(overlap("data.a", "data.a.b") && overlap("data.a.b", "data.a") && overlap("data", "data.a"));
        assert!(!overlap("data.a", "data.ab") && !overlap("data.a.b", "data.a.c"));
    }
}
