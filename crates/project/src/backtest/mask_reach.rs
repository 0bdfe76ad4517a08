//! The reach of masked metadata that a version compares: the values, the tasks and the errors that the comparison can
//! decide. What lies outside of it differs for another reason.
//!
//! Over-approximated: a comparison whose reach cannot be followed reaches the whole run.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use svc_engine::{AnsweredCall, CallMatch, Engine, ReplayReport, RunRecording, RunRecordingEnd};
use svc_model::documents::STEP_LISTS;

use super::decisive_reads::{DecisiveReads, collect_masked_paths, collect_reads, overlaps_any, read_path};
use super::task_path::count_runs;

/// The operators whose later operands see an element in the place of the message.
const ITERATING: [&str; 9] =
    ["map", "filter", "reduce", "all", "some", "none", "sort", "group_by", "distinct"];

/// The keys of a step that hold no expression.
const PLAIN_KEYS: [&str; 3] = ["id", "name", "description"];

/// The parts of a run that masked metadata can decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MaskReach {
    /// Paths whose values are decided.
    values: Vec<String>,
    /// Tasks whose conditions are decided, and those inside of such groups.
    conditional: BTreeSet<String>,
    /// Tasks that work with a decided value, and may fail for it.
    affected: BTreeSet<String>,
    /// Tasks whose calls have a decided input.
    calling: BTreeSet<String>,
    /// True if the condition of the workflow, or a filter, is decided.
    decides_flow: bool,
}

impl MaskReach {
    /// Follows the masked metadata of a recording through a workflow. `None` if they reach the whole run.
    pub(super) fn find(engine: &Engine, workflow: &Value, recording: &RunRecording) -> Option<Self> {
        let mut mappings = Vec::new();
        collect_mappings(workflow, &mut mappings);
        let mut walk = MaskWalk { engine, masked: collect_masked_paths(recording), reach: Self::default() };
        walk.follow_values(&mappings);
        walk.visit_workflow(workflow)?;
        Some(walk.reach)
    }

    /// Returns true if every decision that the metadata make had the same result in both runs, as far as it can change
    /// the tasks, the calls and the errors.
    pub(super) fn has_equal_flow(&self, recording: &RunRecording, replayed: &ReplayReport) -> bool {
        let (before, after) = (&recording.end, &replayed.end);
        let differing = find_differing_tasks(&before.tasks, &after.tasks);
        let is_same_way = before.matched == after.matched && differing.is_empty();
        let has_moved = differing.iter().any(|task| self.conditional.contains(*task));
        if has_moved || (self.decides_flow && !is_same_way) {
            return false;
        }
        !self.has_failed(before) && !self.has_failed(after) && self.has_equal_calls(recording, replayed)
    }

    /// Returns true if a task that works with a decided value has failed, or may have.
    fn has_failed(&self, end: &RunRecordingEnd) -> bool {
        match &end.errors {
            Some(errors) => errors
                .as_array()
                .into_iter()
                .flatten()
                .any(|error| error["task_id"].as_str().is_some_and(|task| self.affected.contains(task))),
            None => end.error.is_some() && !self.affected.is_empty(),
        }
    }

    /// Returns true if each task whose call has a decided input made the recorded calls, and got their answers.
    fn has_equal_calls(&self, recording: &RunRecording, replayed: &ReplayReport) -> bool {
        self.calling.iter().all(|task| {
            let mut own = replayed.calls.iter().filter(|call| call.call.task == *task).peekable();
            let has_run = replayed.end.tasks.contains(task) || recording.end.tasks.contains(task);
            let is_answered = own.peek().is_some() || !has_run;
            let mut missing = replayed.missing.iter().filter_map(|at| recording.calls.get(*at));
            is_answered
                && own.all(|call| call.matching != CallMatch::New && !call.is_made)
                && missing.all(|call| call.task != *task)
        })
    }

    /// Removes the decided values from the data of a run.
    pub(super) fn remove_values(&self, data: &mut Value) {
        for path in &self.values {
            // An index counts from another side than a name does: the list counts as a whole.
            let names = path.split('.').take_while(|name| !name.starts_with('#') && !is_index(name));
            let names: Vec<&str> = names.collect();
            if let Some(("data", rest)) = names.split_first().map(|(root, rest)| (*root, rest)) {
                remove_with_empty_parents(data, rest);
            }
        }
    }

    /// Takes calls with a decided input for equal.
    pub(super) fn accept_calls(&self, calls: &mut [AnsweredCall]) {
        for call in calls.iter_mut().filter(|call| self.calling.contains(&call.call.task)) {
            call.matching = CallMatch::Same;
        }
    }
}

/// A path that a mapping writes, and the expression for its value.
struct ValueMapping<'v> {
    target: &'v str,
    logic: &'v Value,
}

/// The walk that follows masked metadata through a workflow.
struct MaskWalk<'e> {
    engine: &'e Engine,
    /// The masked paths, and those to which mappings copy them.
    masked: Vec<String>,
    reach: MaskReach,
}

impl MaskWalk<'_> {
    /// Finds the targets of the mappings that copy masked texts, and of those that compute with them.
    fn follow_values(&mut self, mappings: &[ValueMapping<'_>]) {
        loop {
            let count = self.masked.len() + self.reach.values.len();
            for ValueMapping { target, logic } in mappings {
                let is_among = |paths: &[String]| paths.iter().any(|path| path == target);
                if !is_among(&self.reach.values) && self.is_decided(logic) {
                    self.reach.values.push((*target).to_owned());
                }
                if !is_among(&self.masked) && self.reads_masked(logic) {
                    self.masked.push((*target).to_owned());
                }
            }
            if count == self.masked.len() + self.reach.values.len() {
                return;
            }
        }
    }

    /// Returns true if masked metadata can decide the value of an expression, or of a part of a step.
    fn is_decided(&self, part: &Value) -> bool {
        DecisiveReads::collect(self.engine, part).overlaps(&self.masked)
            || has_unknown_read(part, false)
            || names_any(part, &self.reach.values)
    }

    fn reads_masked(&self, part: &Value) -> bool {
        let mut reads = Vec::new();
        collect_reads(part, &mut reads);
        reads.iter().any(|read| overlaps_any(read, &self.masked))
    }

    fn visit_workflow(&mut self, workflow: &Value) -> Option<()> {
        self.reach.decides_flow = self.is_decided(&workflow["condition"]);
        let has_loop = workflow["loop"].is_object();
        if has_loop && self.is_decided(&workflow["loop"]) {
            return None;
        }
        for list in STEP_LISTS {
            self.visit_steps(&workflow[list], false)?;
        }
        // Sweeps run a task several times: which of them have run it is not recorded.
        (!has_loop || self.reach.conditional.is_empty()).then_some(())
    }

    /// Visits the steps of a list. `is_repeated` is true inside of `for_each`.
    fn visit_steps(&mut self, steps: &Value, is_repeated: bool) -> Option<()> {
        let mut steps = steps.as_array().into_iter().flatten().filter_map(Value::as_object);
        steps.try_for_each(|step| self.visit_step(step, is_repeated))
    }

    /// Visits a step; `None` if something is decided that the ends of runs do not show.
    fn visit_step(&mut self, step: &Map<String, Value>, is_repeated: bool) -> Option<()> {
        let id = step.get("id").and_then(Value::as_str)?;
        let is_repeated = is_repeated || step.contains_key("for_each");
        // The list that an element is collected into holds its masked texts too.
        if is_repeated && step.values().any(|part| self.reads_masked(part)) {
            return None;
        }
        for (key, part) in step {
            match key.as_str() {
                key if PLAIN_KEYS.contains(&key) => {}
                key if STEP_LISTS.contains(&key) => self.visit_steps(part, is_repeated)?,
                "function" => self.visit_function(id, part, is_repeated)?,
                _ if !self.is_decided(part) => {}
                "condition" if !is_repeated => {
                    self.reach.affected.insert(id.to_owned());
                    collect_ids(step, &mut self.reach.conditional);
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn visit_function(&mut self, id: &str, function: &Value, is_repeated: bool) -> Option<()> {
        let mappings = function["input"]["mappings"].as_array().filter(|_| function["name"] == "map");
        let is_affected = match mappings {
            Some(mappings) => mappings.iter().any(|mapping| self.is_decided(&mapping["logic"])),
            None => {
                self.is_decided(function)
                    || [&self.masked, &self.reach.values]
                        .iter()
                        .any(|paths| names_outside_of_reads(function, paths))
            }
        };
        if !is_affected {
            return Some(());
        }
        if is_repeated {
            return None;
        }
        self.reach.affected.insert(id.to_owned());
        match function["name"].as_str() {
            Some("map") => {}
            Some("filter") => self.reach.decides_flow = true,
            _ => {
                self.reach.calling.insert(id.to_owned());
            }
        }
        Some(())
    }
}

/// Returns true if a text of a part, or the path that a list of texts gives, touches one of these paths.
fn names_any(part: &Value, paths: &[String]) -> bool {
    match part {
        Value::String(text) => overlaps_any(text, paths),
        Value::Array(items) => {
            read_path(part).is_some_and(|path| overlaps_any(&path, paths))
                || items.iter().any(|item| names_any(item, paths))
        }
        Value::Object(members) => members.values().any(|member| names_any(member, paths)),
        _ => false,
    }
}

/// Collects the paths that mappings write, each with its expression.
fn collect_mappings<'v>(part: &'v Value, mappings: &mut Vec<ValueMapping<'v>>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| collect_mappings(item, mappings)),
        Value::Object(members) => {
            if let (Some(Value::String(path)), Some(logic)) = (members.get("path"), members.get("logic")) {
                mappings.push(ValueMapping { target: path.as_str(), logic });
            }
            members.values().for_each(|member| collect_mappings(member, mappings));
        }
        _ => {}
    }
}

/// Returns true if a part reads a path that it computes, or the whole of a message.
fn has_unknown_read(part: &Value, is_element: bool) -> bool {
    match part {
        Value::Array(items) => items.iter().any(|item| has_unknown_read(item, is_element)),
        Value::Object(members) => members.iter().any(|(name, operands)| {
            if members.len() == 1 && matches!(name.as_str(), "var" | "val") {
                return read_path(operands).is_none() && !is_element
                    || has_unknown_read(operands, is_element);
            }
            match operands {
                Value::Array(items) if members.len() == 1 && ITERATING.contains(&name.as_str()) => {
                    items.iter().enumerate().any(|(n, item)| has_unknown_read(item, is_element || n > 0))
                }
                _ => has_unknown_read(operands, is_element),
            }
        }),
        _ => false,
    }
}

/// Returns true if a text that is not the path of a `var` or `val` touches one of these paths, as `source` does.
fn names_outside_of_reads(part: &Value, paths: &[String]) -> bool {
    match part {
        Value::String(text) => overlaps_any(text, paths) || overlaps_any(&format!("data.{text}"), paths),
        Value::Array(items) => items.iter().any(|item| names_outside_of_reads(item, paths)),
        Value::Object(members) => members.iter().any(|(name, operands)| {
            let is_read = members.len() == 1 && matches!(name.as_str(), "var" | "val");
            !is_read && names_outside_of_reads(operands, paths)
        }),
        _ => false,
    }
}

/// Collects the ids of a step and of those inside of it.
fn collect_ids(step: &Map<String, Value>, ids: &mut BTreeSet<String>) {
    ids.extend(step.get("id").and_then(Value::as_str).map(str::to_owned));
    let members = STEP_LISTS.iter().filter_map(|list| step.get(*list)?.as_array()).flatten();
    members.filter_map(Value::as_object).for_each(|member| collect_ids(member, ids));
}

/// Returns the tasks that one of two runs has more often.
fn find_differing_tasks<'t>(before: &'t [String], after: &'t [String]) -> BTreeSet<&'t str> {
    let (runs_before, runs_after) = (count_runs(before), count_runs(after));
    let all = runs_before.keys().chain(runs_after.keys()).copied();
    all.filter(|task| runs_before.get(*task) != runs_after.get(*task)).collect()
}

fn is_index(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes the member at a path, and the objects on the way that it leaves empty: a write makes them.
fn remove_with_empty_parents(value: &mut Value, path: &[&str]) {
    let Some((name, rest)) = path.split_first() else {
        *value = Value::Null;
        return;
    };
    let Value::Object(members) = value else { return };
    if let Some(member) = members.get_mut(*name).filter(|_| !rest.is_empty()) {
        remove_with_empty_parents(member, rest);
    }
    let is_empty = |member: &Value| member.as_object().is_some_and(Map::is_empty);
    if rest.is_empty() || members.get(*name).is_some_and(is_empty) {
        members.remove(*name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_engine::CallRecording;
    use svc_model::MASK;

    use super::*;

    fn recording(tasks: &[&str], data: Value) -> RunRecording {
        let metadata = json!({"headers": {"x-api-token": MASK}}).as_object().unwrap().clone();
        let tasks = tasks.iter().map(|task| (*task).to_owned()).collect();
        let end = RunRecordingEnd {
            matched: true,
            tasks,
            data,
            errors: Some(json!([])),
            ..RunRecordingEnd::default()
        };
        RunRecording { metadata, end, ..RunRecording::default() }
    }

    fn find(workflow: &Value) -> Option<MaskReach> {
        MaskReach::find(&Engine::builder().build(), workflow, &recording(&[], json!({})))
    }

    fn is_gold() -> Value {
        json!({"==": [{"var": "metadata.headers.x-api-token"}, "gold"]})
    }

    fn map(id: &str, mappings: &Value) -> Value {
        json!({"id": id, "function": {"name": "map", "input": {"mappings": mappings}}})
    }

    #[test]
    fn decided_values_are_followed_through_mappings() {
        let mappings = json!([
            {"path": "data.copy", "logic": {"var": "data.kind"}},
            {"path": "data.kind.name", "logic": {"if": [is_gold(), "vip", "plain"]}},
            {"path": "data.token", "logic": {"var": "metadata.headers.x-api-token"}},
            {"path": "data.sum", "logic": {"var": "payload.sum"}},
            {"path": "data.list", "logic": {"map": [{"var": "payload.list"}, {"var": ""}]}},
            {"path": "data.sorted", "logic": {"sort": [{"var": "payload.list"}, true, {"var": ""}]}},
            {"path": "data.groups", "logic": {"group_by": [{"var": "payload.list"}, {"var": ""}]}},
            {"path": "data.unique", "logic": {"distinct": [{"var": "payload.list"}, {"val": []}]}},
        ]);
        let reach = find(&json!({"tasks": [map("mark", &mappings)]})).unwrap();
        let values: BTreeSet<&str> = reach.values.iter().map(String::as_str).collect();
        assert_eq!(values, BTreeSet::from(["data.copy", "data.kind.name"]));
        let mut data = json!({"kind": {"name": "vip"}, "copy": {}, "sum": 1, "list": [1]});
        reach.remove_values(&mut data);
        assert_eq!(data, json!({"sum": 1, "list": [1]}));
    }

    #[test]
    fn decided_condition_counts_if_its_task_differs() {
        let mut step = map("mark", &json!([{"path": "data.sum", "logic": 1}]));
        step["condition"] = is_gold();
        let reach = find(&json!({"tasks": [step, map("end", &json!([]))]})).unwrap();
        let has_equal_flow = |before: &[&str], after: &[&str]| {
            let replayed = ReplayReport { end: recording(after, json!({})).end, ..ReplayReport::default() };
            reach.has_equal_flow(&recording(before, json!({})), &replayed)
        };
        assert!(has_equal_flow(&["mark", "end"], &["mark", "end"]));
        assert!(has_equal_flow(&["end"], &[]), "another task is no longer run");
        assert!(!has_equal_flow(&["mark", "end"], &["end"]));
    }

    #[test]
    fn reach_that_cannot_be_followed_is_unbounded() {
        let mut repeated = map("mark", &json!([{"path": "data.kind", "logic": is_gold()}]));
        repeated["for_each"] = json!({"over": [], "into": "data.list"});
        let mut timed = map("mark", &json!([]));
        timed["retry"] = json!({"attempts": is_gold()});
        for step in [repeated, timed] {
            assert_eq!(find(&json!({"tasks": [step]})), None, "{step}");
        }
    }

    #[test]
    fn failed_task_with_decided_value_is_no_proof() {
        let mappings =
            json!([{"path": "data.n", "logic": {"-": [{"var": "metadata.headers.x-api-token"}, 1]}}]);
        let reach = find(&json!({"tasks": [map("count", &mappings)]})).unwrap();
        let mut failed = recording(&["count"], json!({}));
        let replayed = ReplayReport { end: failed.end.clone(), ..ReplayReport::default() };
        assert!(reach.has_equal_flow(&failed, &replayed));
        failed.end.errors = Some(json!([{"code": "WORKFLOW_ERROR", "task_id": "count"}]));
        assert!(!reach.has_equal_flow(&failed, &replayed));
    }

    #[test]
    fn call_with_decided_input_needs_recorded_answer() {
        let input = json!({"connector": "shop", "method": "POST", "body": {"is_gold": is_gold()}});
        let step = json!({"id": "ask", "function": {"name": "http_call", "input": input}});
        let reach = find(&json!({"tasks": [step]})).unwrap();
        let run = recording(&["ask"], json!({}));
        let call = CallRecording { task: "ask".into(), ..CallRecording::default() };
        let mut answered =
            AnsweredCall { call, recorded: Some(0), matching: CallMatch::ChangedInput, is_made: false };
        let report = |calls: Vec<AnsweredCall>| ReplayReport {
            end: run.end.clone(),
            calls,
            ..ReplayReport::default()
        };
        assert!(reach.has_equal_flow(&run, &report(vec![answered.clone()])));
        assert!(!reach.has_equal_flow(&run, &report(Vec::new())));
        reach.accept_calls(std::slice::from_mut(&mut answered));
        assert_eq!(answered.matching, CallMatch::Same);
        answered.matching = CallMatch::New;
        assert!(!reach.has_equal_flow(&run, &report(vec![answered])));
    }
}
