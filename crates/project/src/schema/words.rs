//! From the words of a reference (`list of texts`) to the schema of a value.

use serde_json::{Value, json};

use super::nodes::{list, members, one_of, one_of_any_case, one_of_or_unresolved, reference};

/// The treatment of texts from a fixed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choices {
    /// Only the words.
    Strict,
    /// Placeholders and references too, whose values are known only when the document is loaded.
    OrUnresolved,
}

/// Returns the schema of a value; `None` for words that name a part of the document, such as `block`.
pub(super) fn value_schema(kind: &str, choices: Choices) -> Option<Value> {
    if kind.contains('`') {
        return Some(choice_schema(kind, choices));
    }
    let text = || json!({"type": "string"});
    let scalar = || json!({"type": ["string", "number", "boolean"]});
    Some(match kind {
        "text" => text(),
        "list of texts" => list(text()),
        "text or list" => json!({"anyOf": [text(), list(text())]}),
        "integer" => json!({"type": "integer"}),
        "list of integers" => list(json!({"type": "integer"})),
        "number" => json!({"type": "number"}),
        "boolean" => json!({"type": "boolean"}),
        "any value" => json!({}),
        "object" => json!({"type": "object"}),
        "object of texts" => members(text()),
        "object of scalars" => members(scalar()),
        "expression" => reference("expression"),
        _ => return None,
    })
}

fn choice_schema(kind: &str, choices: Choices) -> Value {
    let words: Vec<_> = kind.split('`').skip(1).step_by(2).collect();
    let one = match choices {
        _ if kind.ends_with("in any case") => one_of_any_case(&words),
        Choices::OrUnresolved => one_of_or_unresolved(&words),
        Choices::Strict => one_of(&words),
    };
    match kind.strip_prefix("list of ") {
        Some(words) if words.ends_with(" or boolean") => json!({"anyOf": [{"type": "boolean"}, list(one)]}),
        Some(_) => list(one),
        None => one,
    }
}
