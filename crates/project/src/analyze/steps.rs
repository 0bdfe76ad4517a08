//! The lists of steps of a workflow, and what is certain about them.

use serde_json::Value;
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
    let is_certain = is_unconditional(&document["condition"]);
    collect("loop.setup", &document["loop"]["setup"], None, is_certain, &mut lists);
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
            collect(&format!("{path}[{n}].{key}"), &step[key], group, runs && key == "tasks", lists);
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
    let has_end = || step["parallel"] != true && members(step, "tasks").iter().any(always_ends);
    is_reached && (step["terminal"] == true || has_end())
}

/// Returns the members of a group under a key.
pub(super) fn members<'d>(step: &'d Value, key: &str) -> &'d [Value] {
    step[key].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the name of the function of a task.
pub(super) fn function_name(step: &Value) -> Option<&str> {
    step["function"]["name"].as_str()
}

/// Returns the paths that a step writes by their names, those of the members of a group too.
pub(super) fn written_paths(step: &Value) -> Vec<String> {
    let mut written: Vec<String> =
        STEP_LISTS.iter().flat_map(|key| members(step, key)).flat_map(written_paths).collect();
    let input = &step["function"]["input"];
    match function_name(step) {
        Some("map") => {
            let mappings = input["mappings"].as_array().into_iter().flatten();
            written.extend(mappings.filter_map(|mapping| mapping["path"].as_str()).map(str::to_owned));
        }
        Some("parse_csv" | "parse_json" | "parse_xml" | "publish_csv" | "publish_json" | "publish_xml") => {
            written.extend(input["target"].as_str().map(|target| format!("data.{target}")));
        }
        _ => {
            let output = input["output"].as_str().or_else(|| input["response_path"].as_str());
            written.extend(output.map(str::to_owned));
        }
    }
    written.extend(step["for_each"]["into"].as_str().map(str::to_owned));
    written
}

/// Returns `true` if one path leads to the other, or through it.
pub(super) fn overlap(one: &str, other: &str) -> bool {
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
    }

    #[test]
    fn paths_overlap_by_their_segments() {
        assert!(overlap("data.a", "data.a.b") && overlap("data.a.b", "data.a") && overlap("data", "data.a"));
        assert!(!overlap("data.a", "data.ab") && !overlap("data.a.b", "data.a.c"));
    }
}
