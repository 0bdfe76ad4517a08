//! The paths that the tasks of a workflow write, searched by the paths that others read.

use std::cmp::Ordering;

/// Written paths in the order of their segments. A path below another one is left out: what touches it touches the
/// other, too.
pub(super) struct WrittenPaths(Vec<String>);

impl WrittenPaths {
    pub(super) fn new(mut paths: Vec<String>) -> Self {
        paths.sort_unstable_by(|one, other| compare(one, other));
        paths.dedup_by(|path, kept| is_prefix(kept, path));
        Self(paths)
    }

    /// Returns `true` if a written path equals the path, leads to it, or is below it. Takes a logarithmic number of
    /// comparisons: the paths below a prefix are neighbours, behind the prefix itself.
    pub(super) fn touch(&self, path: &str) -> bool {
        let at = self.0.partition_point(|written| compare(written, path) == Ordering::Less);
        let before = at.checked_sub(1).and_then(|before| self.0.get(before));
        self.0.get(at).is_some_and(|next| is_prefix(path, next))
            || before.is_some_and(|before| is_prefix(before, path))
    }
}

/// Compares two paths segment by segment.
fn compare(one: &str, other: &str) -> Ordering {
    #[cfg(test)]
    tests::COMPARISONS.set(tests::COMPARISONS.get() + 1);
    one.split('.').cmp(other.split('.'))
}

/// Returns `true` if a path equals another or leads to it.
pub(super) fn is_prefix(path: &str, of: &str) -> bool {
    of.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::{Value, json};
    use svc_model::WorkflowContent;

    use super::super::reads;
    use super::*;
    use crate::engine::Engine;

    thread_local! {
        /// Comparisons of paths that this thread has made.
        pub(super) static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn paths_touch_their_prefixes_and_what_is_below_them() {
        const PATHS: [&str; 12] =
            ["", "a", "a.b", "a.b.c", "a.bc", "a-b", "a-b.c", "b", "b.", "b..c", "data.x.0", "data.x"];
        for first in PATHS {
            for second in PATHS {
                for third in PATHS {
                    let written = [first, second, third];
                    let index = WrittenPaths::new(written.map(str::to_owned).to_vec());
                    for path in PATHS.into_iter().chain(["a.b.c.d", "a.", "c", "data.x.0.y", "data.xy"]) {
                        let expected =
                            written.iter().any(|other| is_prefix(path, other) || is_prefix(other, path));
                        assert_eq!(index.touch(path), expected, "{path} in {written:?}");
                    }
                }
            }
        }
        assert!(!WrittenPaths::new(Vec::new()).touch("a"));
    }

    /// Returns a workflow in which each task reads what the one before has written.
    fn chain_of_tasks(count: usize) -> WorkflowContent {
        let task = |n: usize| {
            let logic = if n == 0 { json!(1) } else { json!({"var": format!("data.step{}.value", n - 1)}) };
            json!({"id": format!("t{n}"), "name": "", "function": {"name": "map", "input": {"mappings": [
                {"path": format!("data.step{n}.value"), "logic": logic}]}}})
        };
        WorkflowContent {
            name: "chain".to_owned(),
            description: None,
            priority: 0,
            condition: Value::Bool(true),
            tasks: (0..count).map(task).collect(),
            tags: Vec::new(),
            loop_: None,
            continue_on_error: false,
        }
    }

    #[test]
    fn path_comparisons_grow_linearly_with_tasks() {
        let engine = Engine::builder().build();
        let comparisons = |tasks: usize| {
            let content = chain_of_tasks(tasks);
            let mut warnings = Vec::new();
            COMPARISONS.set(0);
            reads::warn(engine.catalogue(), &content, &mut warnings);
            assert!(warnings.is_empty(), "{warnings:?}");
            COMPARISONS.get()
        };
        let (small, large) = (comparisons(1000), comparisons(8000));
        assert!(small > 1000, "the reads are compared at all: {small}");
        // Eight times the tasks, and three steps more in each search.
        assert!(large < small * 8 * 2, "{small} comparisons for 1,000 tasks, {large} for 8,000");
    }
}
