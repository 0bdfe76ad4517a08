//! Recognition of authored documents by their shape, whatever their folders and names.

use serde_json::{Map, Value};
use svc_model::{EntityKind, distance};

/// The shape of an authored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentShape {
    /// A workflow, connector or channel.
    Entity(EntityKind),
    /// A document of shared definitions.
    Shared,
    /// A document with what the project requires from elsewhere.
    Requirements,
    /// A document with the values of an environment.
    Values,
    /// Anything else.
    Other,
}

/// Top-level keys, one of which makes a document one of shared definitions.
const SHARED: [&str; 3] = ["constants", "errors", "fragments"];

/// The one top-level key of a document with requirements. Documents of others have it next to keys of their own.
const REQUIRES: &str = "requires";

/// Top-level keys, one of which makes a document an entity.
const ENTITY: [&str; 4] = ["tasks", "connector_type", "channel_type", "protocol"];

/// Further top-level keys that only an entity has.
const OF_ENTITY: [&str; 4] = ["workflow_id", "channel_id", "route_pattern", "transport_config"];

/// Maximum number of edits between a key and the one that it was probably meant to be.
const NEAR: usize = 2;

impl DocumentShape {
    /// Returns the shape of a document.
    pub fn recognize(document: &Value) -> Self {
        let Value::Object(members) = document else { return Self::Other };
        let has = |key: &str| members.contains_key(key);
        if has("tasks") {
            Self::Entity(EntityKind::Workflow)
        } else if has("connector_type") {
            Self::Entity(EntityKind::Connector)
        } else if has("channel_type") || has("protocol") {
            Self::Entity(EntityKind::Channel)
        } else if SHARED.iter().any(|key| has(key)) {
            Self::Shared
        } else if members.get(REQUIRES).is_some_and(Value::is_object)
            && members.keys().all(|key| key == REQUIRES || key.starts_with('$'))
        {
            Self::Requirements
        } else if holds_values(members) {
            Self::Values
        } else {
            Self::Other
        }
    }
}

/// Returns true for the members of a document of values. Documents of others have such keys next to keys of their own.
fn holds_values(members: &Map<String, Value>) -> bool {
    let is_value = |key: &str, value: &Value| match key {
        "vars" => value.is_object(),
        "secrets" => value.is_array(),
        _ => key.starts_with('$') || key.starts_with("x-"),
    };
    let is_named = members.contains_key("vars") || members.contains_key("secrets");
    is_named && members.iter().all(|(key, value)| is_value(key, value))
}

/// Returns the key of a document of no known shape that suggests which shape was meant, and the known key. The first
/// item counts for a list.
pub(crate) fn suspect_key(document: &Value) -> Option<(String, &'static str)> {
    match document {
        Value::Array(items) => {
            let (key, known) = suspect_key(items.first()?)?;
            Some((format!("[0].{key}"), known))
        }
        Value::Object(members) => {
            // A key that would make a shape says more than one that stands beside it.
            let makers = ENTITY.iter().chain(&SHARED).map(|known| (0, *known));
            let known: Vec<_> = makers.chain(OF_ENTITY.iter().map(|known| (1, *known))).collect();
            let near = |key: &str| {
                let ranked = known.iter().map(|(rank, known)| (*rank, distance(key, known), *known));
                ranked.filter(|(_, edits, _)| *edits <= NEAR).min()
            };
            let suspect = members.keys().filter_map(|key| Some((near(key)?, key)));
            let nearest = suspect.min_by_key(|((rank, edits, _), _)| (*rank, *edits));
            nearest.map(|((_, _, known), key)| (key.clone(), known))
        }
        // In YAML a colon makes a key only with a blank behind it.
        Value::String(text) => text.split_whitespace().find_map(|word| {
            let (key, _) = word.split_once(':').filter(|(_, value)| !value.is_empty())?;
            let mut all = ENTITY.iter().chain(&SHARED).chain(&OF_ENTITY);
            all.find(|known| **known == key).map(|known| (key.to_owned(), *known))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_recognized_by_their_keys_alone() {
        let shape = |document| DocumentShape::recognize(&document);
        let entity = DocumentShape::Entity;
        assert_eq!(shape(json!({"tasks": 1, "connector_type": "db"})), entity(EntityKind::Workflow));
        assert_eq!(shape(json!({"connector_type": null, "protocol": "rest"})), entity(EntityKind::Connector));
        assert_eq!(shape(json!({"channel_type": "sync"})), entity(EntityKind::Channel));
        assert_eq!(shape(json!({"protocol": "cron", "constants": {}})), entity(EntityKind::Channel));
        for key in SHARED {
            assert_eq!(shape(json!({key: 1, "limits": {}})), DocumentShape::Shared);
        }
        assert_eq!(shape(json!({"$schema": "x", "requires": {}})), DocumentShape::Requirements);
        assert_eq!(shape(json!({"vars": {"a": 1}, "secrets": ["k"]})), DocumentShape::Values);
        assert_eq!(shape(json!({"secrets": ["k"], "$schema": "x"})), DocumentShape::Values);
        assert_eq!(shape(json!({"vars": {}, "services": {}})), DocumentShape::Other);
        let lock = json!({"name": "page", "requires": {"svc": "1"}});
        let others = [json!({"limits": {}}), json!([{"tasks": []}]), json!(null), json!({})];
        for other in others.into_iter().chain([lock, json!({"requires": true})]) {
            assert_eq!(shape(other), DocumentShape::Other);
        }
    }

    #[test]
    fn key_that_nearly_makes_a_shape_is_suspect() {
        for (document, expected) in [
            (json!({"workflow_id": "w", "name": "w", "taks": []}), Some(("taks", "tasks"))),
            (json!({"chanel_typ": "sync", "name": "c"}), Some(("chanel_typ", "channel_type"))),
            (json!({"channel_id": "c", "name": "c"}), Some(("channel_id", "channel_id"))),
            (json!({"fragment": {}}), Some(("fragment", "fragments"))),
            (json!([{"tasks": []}]), Some(("[0].tasks", "tasks"))),
            (json!({"name": "x", "version": "1", "dependencies": {}}), None),
            (json!({"openapi": "3.1.0", "paths": {}, "components": {}}), None),
            (json!("tasks"), None),
            (json!("name:w workflow_id:w"), Some(("workflow_id", "workflow_id"))),
            (json!("see tasks: below"), None),
            (json!("a note: on other things"), None),
            (json!([]), None),
        ] {
            let expected = expected.map(|(key, known)| (key.to_owned(), known));
            assert_eq!(suspect_key(&document), expected, "{document}");
        }
    }
}
