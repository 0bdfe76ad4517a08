//! References to declared values: `var://name` in a stored definition means the value that `[vars]` of the
//! settings declares, of whatever type.
//!
//! A reference is the whole text of a value. Expressions, which are the keys ending in `_logic`, the payload of a
//! schedule, schemas and examples hold none: a text there is what it says.

use serde_json::{Map, Value};

use crate::field::{FieldCode, FieldError, json_type};

/// The beginning of a reference.
const SCHEME: &str = "var://";
/// Fields that are read where no value is at hand: from stored definitions that may not be served.
const LITERAL: [&str; 3] = [
    "channel.config.on_failure",
    "channel.config.request.by_name",
    "channel.config.oauth2_login.callback_path",
];
/// Fields that hold data: a text there is what it says.
const DATA: [&str; 4] = [
    "channel.config.examples",
    "channel.config.request.schema",
    "channel.config.response.schema",
    "channel.transport_config.payload",
];
/// The end of the keys that hold expressions.
const EXPRESSION: &str = "_logic";

/// A part of a definition that may hold references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueScope {
    /// The `config` of a connector.
    ConnectorConfig,
    /// The `config` of a channel.
    ChannelConfig,
    /// The `transport_config` of a channel.
    ChannelTransport,
}

impl ValueScope {
    /// Returns the path of the part, as problems name it.
    pub const fn path(self) -> &'static str {
        match self {
            Self::ConnectorConfig => "connector.config",
            Self::ChannelConfig => "channel.config",
            Self::ChannelTransport => "channel.transport_config",
        }
    }
}

/// A reference to a declared value, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueReference {
    /// The path of the field: `channel.config.timeout_ms`.
    pub path: String,
    /// The JSON pointer below the part.
    pub pointer: String,
    /// The text behind `var://`.
    pub name: String,
}

impl ValueReference {
    /// Returns the problem of a reference that no value can replace: it has no name, or its field takes none.
    pub(crate) fn form_problem(&self) -> Option<FieldError> {
        let message = if LITERAL.contains(&self.path.as_str()) {
            "this field takes no reference to a declared value; write the value"
        } else if !is_value_name(&self.name) {
            "expected var:// and a name of letters, digits and underscores that begins with no digit"
        } else {
            return None;
        };
        Some(FieldError::invalid(self.path.as_str(), message))
    }
}

/// Returns true if the text starts like a reference to a declared value.
pub fn is_value_reference(text: &str) -> bool {
    text.starts_with(SCHEME)
}

/// Returns true for a name that `[vars]` can declare.
pub fn is_value_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Finds the references of a part of a definition.
pub fn find_value_references(scope: ValueScope, part: &Value) -> Vec<ValueReference> {
    let mut found = Vec::new();
    find(scope.path().to_owned(), String::new(), part, &mut found);
    found
}

fn find(path: String, pointer: String, value: &Value, found: &mut Vec<ValueReference>) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(SCHEME) {
                found.push(ValueReference { path, pointer, name: name.to_owned() });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find(format!("{path}[{index}]"), format!("{pointer}/{index}"), item, found);
            }
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| find_in_member(&path, &pointer, key, member, found));
        }
        _ => {}
    }
}

fn find_in_member(path: &str, pointer: &str, key: &str, member: &Value, found: &mut Vec<ValueReference>) {
    let path = format!("{path}.{key}");
    if !key.ends_with(EXPRESSION) && !DATA.contains(&path.as_str()) {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        find(path, format!("{pointer}/{escaped}"), member, found);
    }
}

/// Replaces the references of a part of a definition with the declared values.
///
/// # Errors
/// A problem for each reference to a value that is not declared, or is no text, number or boolean.
pub fn replace_value_references(
    scope: ValueScope,
    part: &mut Value,
    declared: Option<&Map<String, Value>>,
) -> Result<(), Vec<FieldError>> {
    let mut problems = Vec::new();
    for reference in find_value_references(scope, part) {
        match declared_value(&reference, declared) {
            Ok(value) => {
                if let Some(place) = part.pointer_mut(&reference.pointer) {
                    place.clone_from(value);
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Returns the declared value of a reference.
///
/// # Errors
/// The reason why it has no value, with the names that are declared.
pub fn declared_value<'v>(
    reference: &ValueReference,
    declared: Option<&'v Map<String, Value>>,
) -> Result<&'v Value, FieldError> {
    let ValueReference { path, name, .. } = reference;
    let refuse = |message| FieldError::new(path.as_str(), FieldCode::NotLoadable, message);
    match declared.and_then(|declared| declared.get(name)) {
        Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => Ok(value),
        Some(other) => Err(refuse(format!(
            "var://{name} is of the type {}; a reference takes a text, a number or a boolean",
            json_type(other)
        ))),
        None => Err(refuse(format!("var://{name} is not declared in [vars]; {}", list_names(declared)))),
    }
}

fn list_names(declared: Option<&Map<String, Value>>) -> String {
    let mut names: Vec<_> = declared.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if names.is_empty() { "nothing is".to_owned() } else { format!("declared: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared() -> Map<String, Value> {
        let declared = json!({"url": "https://a.example", "limit": 5, "on": true, "many": [1]});
        declared.as_object().unwrap().clone()
    }

    #[test]
    fn reference_becomes_the_declared_value_typed() {
        let mut config = json!({
            "timeout_ms": "var://limit", "cache": {"enabled": "var://on"}, "a/b": ["x", "var://url"],
            "validation_logic": {"==": ["var://url", 1]}, "text": "see var://url",
        });
        let replaced = replace_value_references(ValueScope::ChannelConfig, &mut config, Some(&declared()));
        assert_eq!(replaced, Ok(()));
        let expected = json!({
            "timeout_ms": 5, "cache": {"enabled": true}, "a/b": ["x", "https://a.example"],
            "validation_logic": {"==": ["var://url", 1]}, "text": "see var://url",
        });
        assert_eq!(config, expected);
    }

    #[test]
    fn payload_of_a_schedule_stays_as_it_is() {
        let mut transport = json!({"schedule": "var://url", "payload": {"a": "var://gone"}});
        let scope = ValueScope::ChannelTransport;
        assert_eq!(replace_value_references(scope, &mut transport, Some(&declared())), Ok(()));
        let expected = json!({"schedule": "https://a.example", "payload": {"a": "var://gone"}});
        assert_eq!(transport, expected);
    }

    #[test]
    fn missing_value_is_refused_naming_declared_ones() {
        let refusals = |declared: Option<&Map<String, Value>>| {
            let mut config = json!({"url": "var://gone", "list": "var://many"});
            let problems =
                replace_value_references(ValueScope::ConnectorConfig, &mut config, declared).unwrap_err();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let told = refusals(Some(&declared()));
        assert!(
            told[0].starts_with("connector.config.url: var://gone is not declared in [vars]"),
            "{told:?}"
        );
        for name in ["limit", "many", "on", "url"] {
            assert!(told[0].contains(name), "{told:?}");
        }
        assert!(told[1].contains("of the type array"), "{told:?}");
        assert!(refusals(None)[0].ends_with("[vars]; nothing is"));
    }
}
