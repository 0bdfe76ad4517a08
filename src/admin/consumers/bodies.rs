//! The bodies of requests that change consumers.

use serde_json::{Map, Value};
use svc_model::config::QuotaTerms;
use svc_model::{ConsumerKeyKind, FieldError, ServiceError, Timestamp, check_consumer_name, nearest};
use svc_store::{ConsumerContent, ConsumerPatch, NewConsumerKey};

use crate::admin::request_body::{read_instant, read_text, require_known_keys};

/// Most tags of a consumer.
const MAX_TAGS: usize = 20;

/// Longest tag, in characters.
const MAX_TAG: usize = 100;

/// Reads a consumer to be created, with its name.
pub(super) fn read_consumer(body: &Value) -> Result<(String, ConsumerContent), ServiceError> {
    let members = require_known_keys(body, &["name", "tags", "quota", "expires_at"])?;
    let name = require_text(members, "name")?;
    if let Some(error) = check_consumer_name("body.name", name) {
        return Err(error.into());
    }
    let content = ConsumerContent {
        tags: read_tags(members)?.unwrap_or_default(),
        quota: read_quota(members)?,
        expires_at: read_instant(members, "expires_at")?,
    };
    Ok((name.to_owned(), content))
}

/// Reads a change: a member that is absent stays, `null` removes a quota or an end.
pub(super) fn read_patch(body: &Value) -> Result<ConsumerPatch, ServiceError> {
    let members = require_known_keys(body, &["tags", "quota", "expires_at"])?;
    if members.get("tags").is_some_and(Value::is_null) {
        return Err(FieldError::type_mismatch("body.tags", "array", &Value::Null).into());
    }
    let quota: Option<QuotaTerms> = read_quota(members)?;
    let expires_at: Option<Timestamp> = read_instant(members, "expires_at")?;
    Ok(ConsumerPatch {
        tags: read_tags(members)?,
        quota: members.contains_key("quota").then_some(quota),
        expires_at: members.contains_key("expires_at").then_some(expires_at),
    })
}

/// Reads a key to be created.
pub(super) fn read_key(body: &Value) -> Result<NewConsumerKey, ServiceError> {
    let members = require_known_keys(body, &["kind", "expires_at"])?;
    let kind = require_text(members, "kind")?;
    let Some(kind) = ConsumerKeyKind::parse(kind) else {
        let message = match nearest(kind, ConsumerKeyKind::NAMES) {
            Some(meant) => format!("no such kind, did you mean '{meant}'?"),
            None => format!("use {}", ConsumerKeyKind::NAMES.join(" or ")),
        };
        let error = FieldError::invalid("body.kind", message).with_got(kind);
        return Err(error.with_expected(ConsumerKeyKind::NAMES.to_vec()).into());
    };
    Ok(NewConsumerKey { kind, expires_at: read_instant(members, "expires_at")? })
}

fn require_text<'m>(members: &'m Map<String, Value>, key: &str) -> Result<&'m str, ServiceError> {
    read_text(members, key)?.ok_or_else(|| FieldError::required(format!("body.{key}")).into())
}

fn read_quota(members: &Map<String, Value>) -> Result<Option<QuotaTerms>, ServiceError> {
    match members.get("quota") {
        None | Some(Value::Null) => Ok(None),
        Some(block) => Ok(Some(QuotaTerms::parse(block, "body.quota")?)),
    }
}

/// Reads the tags, each of which is kept once.
fn read_tags(members: &Map<String, Value>) -> Result<Option<Vec<String>>, ServiceError> {
    let listed = match members.get("tags") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(listed)) => listed,
        Some(other) => return Err(FieldError::type_mismatch("body.tags", "array", other).into()),
    };
    if listed.len() > MAX_TAGS {
        return Err(FieldError::too_long("body.tags", MAX_TAGS, listed.len(), "tags").into());
    }
    let mut tags = Vec::with_capacity(listed.len());
    for (index, tag) in listed.iter().enumerate() {
        let path = format!("body.tags[{index}]");
        let Value::String(tag) = tag else {
            return Err(FieldError::type_mismatch(path, "string", tag).into());
        };
        let length = tag.chars().count();
        if length > MAX_TAG {
            return Err(FieldError::too_long(path, MAX_TAG, length, "characters").into());
        }
        if tag.trim().is_empty() || tag.contains(char::is_control) {
            return Err(FieldError::invalid(path, "a tag is a text without control characters").into());
        }
        if !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    Ok(Some(tags))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_of_consumers_are_read_strictly() {
        let (name, content) = read_consumer(
            &json!({"name": "acme", "tags": ["a", "b", "a"], "quota": {"limit": 3, "per": "day"}}),
        )
        .unwrap();
        assert_eq!((name.as_str(), content.tags.len(), content.expires_at), ("acme", 2, None));
        assert_eq!(content.quota.map(|quota| quota.limit), Some(3));
        for (bad, hint) in [
            (json!({}), "name"),
            (json!({"name": "a/b"}), "letters"),
            (json!({"name": "a", "tag": []}), "tags"),
            (json!({"name": "a", "tags": [" "]}), "tags[0]"),
            (json!({"name": "a", "tags": vec!["t"; MAX_TAGS + 1]}), "tags"),
            (json!({"name": "a", "quota": {"limit": 0, "per": "day"}}), "limit"),
            (json!({"name": "a", "expires_at": "soon"}), "RFC 3339"),
        ] {
            let refused = read_consumer(&bad).unwrap_err();
            let text = refused.body(None).to_string();
            assert!(refused.status() == 400 && text.contains(hint), "{bad}: {text}");
        }
    }

    #[test]
    fn absent_members_of_patch_stay() {
        let patch = read_patch(&json!({"quota": null})).unwrap();
        assert_eq!(patch, ConsumerPatch { quota: Some(None), ..ConsumerPatch::default() });
        let patch = read_patch(&json!({"expires_at": null, "tags": []})).unwrap();
        let expected =
            ConsumerPatch { tags: Some(Vec::new()), expires_at: Some(None), ..ConsumerPatch::default() };
        assert_eq!(patch, expected);
        assert_eq!(read_patch(&json!({})).unwrap(), ConsumerPatch::default());
        for bad in [json!({"name": "other"}), json!({"tags": null})] {
            assert_eq!(read_patch(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn unknown_kind_of_key_is_refused_by_name() {
        assert_eq!(read_key(&json!({"kind": "hmac"})).unwrap().kind, ConsumerKeyKind::Hmac);
        let refused = read_key(&json!({"kind": "api-key"})).unwrap_err();
        assert!(refused.body(None).to_string().contains("did you mean 'api_key'"), "{}", refused.message());
        assert_eq!(read_key(&json!({"kind": 1})).unwrap_err().status(), 400);
    }
}
