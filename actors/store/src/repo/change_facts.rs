//! The facts of a change of a definition in its audit row, without the origin of its request.

use serde_json::{Map, Value, json};

/// The version that a change concerns and the content before and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangeFacts {
    version: Option<i64>,
    rollout_percentage: Option<i64>,
    /// The content hashes before and after the change; `None` for a change that concerns no definition.
    hashes: Option<[Option<String>; 2]>,
}

impl ChangeFacts {
    /// Returns the facts of a change from one content hash to another. `before` is `None` if there was no
    /// definition, `after` if none is left that serves or is stored.
    pub(super) const fn of_content(before: Option<String>, after: Option<String>) -> Self {
        Self { version: None, rollout_percentage: None, hashes: Some([before, after]) }
    }

    /// Adds the version that was written, deleted, activated or archived; `None` for a kind without versions.
    pub(super) const fn with_version(mut self, version: Option<i64>) -> Self {
        self.version = version;
        self
    }

    /// Adds the share of the traffic that the version takes.
    pub(super) const fn with_rollout(mut self, percentage: Option<i64>) -> Self {
        self.rollout_percentage = percentage;
        self
    }

    /// Returns the details of an audit row with these facts among them.
    pub(super) fn add_to(self, details: Option<Value>) -> Option<Value> {
        let mut facts = Map::new();
        facts.extend(self.version.map(|version| ("version".to_owned(), version.into())));
        facts.extend(self.rollout_percentage.map(|share| ("rollout_percentage".to_owned(), share.into())));
        facts.extend(
            self.hashes.map(|[before, after]| {
                ("content_hash".to_owned(), json!({ "before": before, "after": after }))
            }),
        );
        match details {
            details if facts.is_empty() => details,
            Some(Value::Object(mut details)) => {
                details.extend(facts);
                Some(Value::Object(details))
            }
            None => Some(Value::Object(facts)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_join_the_origin_of_the_request() {
        let origin = || Some(json!({ "request_id": "r" }));
        assert_eq!(ChangeFacts::default().add_to(origin()), origin());
        assert_eq!(ChangeFacts::default().add_to(None), None);
        let facts =
            ChangeFacts::of_content(None, Some("b".to_owned())).with_version(Some(2)).with_rollout(Some(10));
        let expected = json!({"request_id": "r", "version": 2, "rollout_percentage": 10,
            "content_hash": {"before": null, "after": "b"}});
        assert_eq!(facts.clone().add_to(origin()), Some(expected));
        assert_eq!(facts.add_to(None).unwrap()["version"], 2);
    }
}
