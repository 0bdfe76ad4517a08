//! The rules of one item of an import, before those of a create.

use std::borrow::Cow;

use serde_json::Value;
use svc_model::{EntityKind, FieldError, check_import_item};

/// Members of an item that direct its activation; an import ignores them.
const DIRECTIVES: [&str; 3] = ["activate", "rollout_percentage", "rollout"];

/// Returns the create body of an import item: the item without the members that an import ignores.
///
/// # Errors
/// The fields that hold the mask of a read in place of a value.
pub fn import_body(kind: EntityKind, item: &Value) -> Result<Cow<'_, Value>, Vec<FieldError>> {
    let masked = check_import_item(kind, item);
    if masked.is_empty() { Ok(without_directives(item)) } else { Err(masked) }
}

/// Returns an item without the members that direct its activation.
pub(crate) fn without_directives(item: &Value) -> Cow<'_, Value> {
    match item {
        Value::Object(members) if DIRECTIVES.iter().any(|order| members.contains_key(*order)) => {
            let content = members.iter().filter(|(key, _)| !DIRECTIVES.contains(&key.as_str()));
            Cow::Owned(Value::Object(content.map(|(key, value)| (key.clone(), value.clone())).collect()))
        }
        _ => Cow::Borrowed(item),
    }
}
