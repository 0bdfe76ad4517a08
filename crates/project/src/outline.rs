//! The parts of a workflow that runs go through: its tasks, and both ways of its conditions.

use serde_json::Value;

/// The parts of a workflow, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkflowOutline {
    pub(crate) parts: Vec<WorkflowPart>,
}

/// A task, or one way of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkflowPart {
    /// True for a task.
    pub(crate) is_task: bool,
    /// The text for a part that no run went through.
    pub(crate) missing: String,
    pub(crate) reach: PartReach,
}

/// The event of a run by which it goes through a part. Tasks are known by their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartReach {
    /// The condition of the workflow is true, or is not.
    Admission(bool),
    /// One of these tasks runs.
    Runs(Vec<String>),
    /// All of these tasks are skipped by their own condition, or that of their group: one of the `others`, which are
    /// with them in a conditional group, runs. Of a group whose condition is evaluated `once`, none of the tasks runs then:
    /// those of a fan-out may be skipped for one element and run for another.
    Skips { tasks: Vec<String>, others: Vec<String>, once: bool },
}

impl WorkflowOutline {
    /// Reads the parts of a workflow without references to shared definitions.
    pub(crate) fn read(document: &Value) -> Self {
        let mut outline = Self::default();
        if is_conditional(&document["condition"]) {
            outline.branch("the condition was never true".to_owned(), PartReach::Admission(true));
            // A loop ends when it is not.
            if document["loop"].is_null() {
                outline.branch("the condition was always true".to_owned(), PartReach::Admission(false));
            }
        }
        outline.steps(&document["loop"]["setup"], &[], false);
        outline.steps(&document["tasks"], &[], false);
        outline
    }

    /// Adds tasks and groups. `around` are the tasks of the innermost conditional group that they are in; `in_fan_out` is
    /// true within a group with `for_each`.
    fn steps(&mut self, steps: &Value, around: &[String], in_fan_out: bool) {
        for step in steps.as_array().into_iter().flatten() {
            let id = step["id"].as_str().unwrap_or_default();
            let is_conditional = is_conditional(&step["condition"]);
            let own = task_ids(step);
            let others = around.iter().filter(|task| !own.contains(task)).cloned().collect();
            let members = &step["tasks"];
            let once = members.is_array() && !in_fan_out;
            let skips = PartReach::Skips { tasks: own.clone(), others, once };
            if members.is_array() {
                if is_conditional {
                    self.branch(format!("group '{id}' was never entered"), PartReach::Runs(own.clone()));
                    self.branch(format!("group '{id}' was never skipped"), skips);
                }
                let around = if is_conditional { own.as_slice() } else { around };
                let in_fan_out = in_fan_out || !step["for_each"].is_null();
                for steps in [members, &step["on_error"], &step["finally"]] {
                    self.steps(steps, around, in_fan_out);
                }
            } else {
                let missing = format!("task '{id}' never ran");
                self.parts.push(WorkflowPart { is_task: true, missing, reach: PartReach::Runs(own) });
                if is_conditional {
                    self.branch(format!("task '{id}' was never skipped"), skips);
                }
            }
        }
    }

    fn branch(&mut self, missing: String, reach: PartReach) {
        self.parts.push(WorkflowPart { is_task: false, missing, reach });
    }
}

/// Returns `true` for a condition that may go both ways.
fn is_conditional(condition: &Value) -> bool {
    !matches!(condition, Value::Null | Value::Bool(true))
}

/// Returns the ids of the tasks of a step: its own, or those in a group at any depth.
fn task_ids(step: &Value) -> Vec<String> {
    match &step["tasks"] {
        Value::Array(members) => members.iter().flat_map(task_ids).collect(),
        _ => step["id"].as_str().map(str::to_owned).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_have_two_ways() {
        let condition = json!({"var": "data.x"});
        let tasks = json!([
            {"id": "first", "condition": true},
            {"id": "maybe", "condition": condition},
            {"id": "outer", "condition": condition, "tasks": [
                {"id": "a"},
                {"id": "inner", "tasks": [{"id": "b", "condition": condition}]},
            ]},
        ]);
        let outline = WorkflowOutline::read(&json!({"condition": condition, "tasks": tasks}));
        let missing: Vec<_> = outline.parts.iter().map(|part| part.missing.as_str()).collect();
        assert_eq!(
            missing,
            [
                "the condition was never true",
                "the condition was always true",
                "task 'first' never ran",
                "task 'maybe' never ran",
                "task 'maybe' was never skipped",
                "group 'outer' was never entered",
                "group 'outer' was never skipped",
                "task 'a' never ran",
                "task 'b' never ran",
                "task 'b' was never skipped",
            ]
        );
        let last =
            PartReach::Skips { tasks: vec!["b".to_owned()], others: vec!["a".to_owned()], once: false };
        assert_eq!(outline.parts.last().map(|part| &part.reach), Some(&last));
        assert_eq!(WorkflowOutline::read(&Value::Null), WorkflowOutline::default());
        let looped = WorkflowOutline::read(&json!({"condition": condition, "loop": {"max": 9}}));
        assert_eq!(looped.parts.len(), 1, "{looped:?}");
    }
}
