//! Questionable consumers of channels.

use serde_json::Value;
use svc_auth::{ConsumerTable, MAX_SIGNING_KEYS};
use svc_model::config::AuthConfig;
use svc_model::config::auth::ConsumerSelection;
use svc_model::{ChannelConfig, Issue, Timestamp};

/// Returns what is questionable about the consumers that a channel accepts: names or tags that no consumer has, and keys
/// that are not tried. None of it keeps the channel from serving those that it knows.
pub(crate) fn list_consumer_issues(consumers: &ConsumerTable, config: &Value) -> Vec<Issue> {
    if config.pointer("/auth/consumers").is_none() {
        return Vec::new();
    }
    let auth = ChannelConfig::parse(config).ok().and_then(|config| config.auth);
    let Some((auth, selection)) = auth.as_ref().and_then(|auth| Some((auth, auth.consumers()?))) else {
        return Vec::new();
    };
    let mut issues = Vec::new();
    let unknown = consumers.unknown(selection);
    if !unknown.is_empty() {
        let (member, what) = match selection {
            ConsumerSelection::Names(_) => ("names", "no consumer is named"),
            ConsumerSelection::Tags(_) => ("tags", "no consumer has the tag"),
        };
        let why = format!("{what} {}: its requests get 401 until one does", unknown.join(", "));
        issues.push(Issue::new(format!("channel.config.auth.consumers.{member}"), why));
    }
    if matches!(auth, AuthConfig::Hmac(_)) {
        let now = Timestamp::now().naive().and_utc().timestamp();
        let keys = consumers.count_signing_keys(selection, now);
        if keys > MAX_SIGNING_KEYS {
            let why = format!(
                "its consumers have {keys} keys of kind hmac, of which the first {MAX_SIGNING_KEYS} by name are tried: \
                 accept fewer consumers"
            );
            issues.push(Issue::new("channel.config.auth.consumers", why));
        }
    }
    issues
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_consumers_of_channels_are_named() {
        let nobody = ConsumerTable::default();
        for (auth, expected) in [
            (
                json!({"mode": "api_key", "consumers": {"names": ["acme", "b"]}}),
                "no consumer is named acme, b",
            ),
            (json!({"mode": "hmac", "consumers": {"tags": ["gold"]}}), "no consumer has the tag gold"),
        ] {
            let issues = list_consumer_issues(&nobody, &json!({ "auth": auth }));
            assert!(issues.len() == 1 && issues[0].message.starts_with(expected), "{issues:?}");
        }
        let own = json!({"auth": {"mode": "api_key", "keys": ["k"]}});
        assert!(list_consumer_issues(&nobody, &own).is_empty());
    }
}
