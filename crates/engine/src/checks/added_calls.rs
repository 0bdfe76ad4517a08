//! Calls of operators that 0.1.0 does not have: there, the object was data.

use serde_json::Value;
use svc_model::Issue;

use crate::catalogue::operators::ADDED;

/// Adds the place of every such call in an expression. What `throw` is given is data still.
pub(super) fn find_added_calls(at: &str, source: &Value, found: &mut Vec<Issue>) {
    match source {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                find_added_calls(&format!("{at}[{n}]"), item, found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let (at, is_call) = (format!("{at}.{name}"), members.len() == 1);
                if is_call && name == "throw" {
                    continue;
                }
                if is_call && ADDED.contains(&name.as_str()) {
                    let message = format!("'{name}' is an operator: this object was data, and is a call");
                    found.push(Issue::new(&at, message));
                }
                find_added_calls(&at, member, found);
            }
        }
        _ => {}
    }
}
