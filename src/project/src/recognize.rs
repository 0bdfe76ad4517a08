//! Recognition of authored documents by their shape, whatever their folders and names.

use serde_json::Value;
use svc_model::EntityKind;

/// The shape of an authored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentShape {
    /// A workflow, connector or channel.
    Entity(EntityKind),
    /// A document of shared definitions.
    Shared,
    /// Anything else.
    Other,
}

/// Top-level keys, one of which makes a document one of shared definitions.
const SHARED: [&str; 3] = ["constants", "errors", "fragments"];

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
        } else {
            Self::Other
        }
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
        for other in [json!({"limits": {}}), json!([{"tasks": []}]), json!(null), json!({})] {
            assert_eq!(shape(other), DocumentShape::Other);
        }
    }
}
