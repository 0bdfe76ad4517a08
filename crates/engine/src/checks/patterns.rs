//! Separators of `split` that read like regular expressions and are taken as they are written: only a pattern with named
//! groups is one.

use serde_json::Value;
use svc_model::{Issue, WorkflowContent};

use crate::operators::has_named_groups;

/// Parts of a regular expression that no separator of texts has.
const PARTS: [&str; 7] = ["[^", "[0-9", "[a-z", "[A-Z", "\\d", "\\s", "\\w"];

/// Adds a warning for every such separator of a workflow.
pub(super) fn warn(content: &WorkflowContent, warnings: &mut Vec<Issue>) {
    find("condition", &content.condition, warnings);
    for (list, steps) in content.step_lists() {
        for (n, task) in steps.iter().enumerate() {
            find(&format!("{list}[{n}]"), task, warnings);
        }
    }
}

fn find(at: &str, value: &Value, warnings: &mut Vec<Issue>) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                find(&format!("{at}[{n}]"), item, warnings);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let at = format!("{at}.{name}");
                let separator = member.get(1).and_then(Value::as_str);
                if name == "split" && members.len() == 1 && separator.is_some_and(is_like_pattern) {
                    let message = "this separator has no named groups, such as (?P<id>…), so it is no pattern: \
                                   the text is split where it stands as it is written";
                    warnings.push(Issue::new(format!("{at}[1]"), message));
                }
                find(&at, member, warnings);
            }
        }
        _ => {}
    }
}

fn is_like_pattern(separator: &str) -> bool {
    PARTS.iter().any(|part| separator.contains(part)) && !has_named_groups(separator)
}
