//! The differences between the tasks that two runs ran.

use std::collections::{HashMap, HashSet};

/// Describes the tasks that ran before or after alone; if there is none, the first place at which the order differs. Of
/// lists and loops each run may have a million.
pub(super) fn describe_path(before: &[String], after: &[String]) -> Vec<String> {
    let (runs_before, runs_after) = (count_runs(before), count_runs(after));
    let mut lines = Vec::new();
    for (tasks, runs, others, what) in [
        (before, &runs_before, &runs_after, "no longer run"),
        (after, &runs_after, &runs_before, "run in addition"),
    ] {
        let mut named = HashSet::new();
        let mut more = Vec::new();
        for task in tasks {
            if runs.get(task.as_str()) > others.get(task.as_str()) && named.insert(task.as_str()) {
                more.push(task.as_str());
            }
        }
        if !more.is_empty() {
            lines.push(format!("{what}: {}", more.join(", ")));
        }
    }
    if lines.is_empty() {
        let at = before.iter().zip(after).position(|(one, other)| one != other);
        let names = at.and_then(|at| Some((before.get(at)?, after.get(at)?)));
        lines.push(match names {
            Some((one, other)) => format!("'{other}' runs in the place of '{one}'"),
            None => "the condition of the workflow has another result".to_owned(),
        });
    }
    lines
}

/// Counts the runs of each task.
pub(super) fn count_runs(tasks: &[String]) -> HashMap<&str, usize> {
    let mut runs = HashMap::new();
    for task in tasks {
        *runs.entry(task.as_str()).or_insert(0) += 1;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(tasks: &[&str], count: usize) -> Vec<String> {
        tasks.iter().cycle().take(count).map(|task| (*task).to_owned()).collect()
    }

    #[test]
    fn each_task_is_named_once() {
        let (before, after) = (repeat(&["a", "b", "c"], 9), repeat(&["a", "d"], 8));
        assert_eq!(describe_path(&before, &after), ["no longer run: b, c", "run in addition: a, d"]);
        let turned = describe_path(&repeat(&["a", "b"], 4), &repeat(&["b", "a"], 4));
        assert_eq!(turned, ["'b' runs in the place of 'a'"]);
        let none = describe_path(&[], &[]);
        assert_eq!(none, ["the condition of the workflow has another result"]);
    }

    #[test]
    fn runs_of_long_lists_are_counted() {
        let (before, after) = (repeat(&["a", "b"], 400_000), repeat(&["a", "c"], 400_000));
        assert_eq!(describe_path(&before, &after), ["no longer run: b", "run in addition: c"]);
    }
}
