//! The bodies of requests about webhooks.

use std::time::Duration;

use serde_json::{Map, Value};
use svc_model::mask::holds_mask;
use svc_model::{
    ALL_WEBHOOK_TOPICS, FieldError, MAX_WEBHOOK_TOPIC, MAX_WEBHOOK_TOPICS, ServiceError, Timestamp,
    webhook_topic_problem,
};
use svc_outbound::Url;
use svc_store::{NewWebhookEndpoint, WebhookChange};
use svc_webhooks::{generate_secret, secret_problem};

use crate::admin::request_body::{read_flag, read_instant, read_text, require_known_keys};

/// Longest URL, in bytes.
const MAX_URL: usize = 2048;
/// Time for which a replaced secret signs as well, unless given.
const OVERLAP: u64 = 86_400;
/// Longest such time.
const MAX_OVERLAP: u64 = 7 * 86_400;

/// The deliveries of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplaySelection {
    pub(crate) since: Timestamp,
    pub(crate) is_failed_only: bool,
}

/// A new secret and the time for which the former one signs as well.
pub(super) struct SecretRotation {
    pub(super) secret: String,
    pub(super) overlap: Duration,
}

/// Reads an endpoint to be registered.
pub(super) fn read_registration(body: &Value) -> Result<NewWebhookEndpoint, ServiceError> {
    let members = require_known_keys(body, &["url", "consumer", "topics", "connector", "secret"])?;
    let url = required(read_url(members)?, "url")?;
    refuse_mask(&url)?;
    Ok(NewWebhookEndpoint {
        url,
        consumer: read_name(members, "consumer")?,
        topics: required(read_topics(members)?, "topics")?,
        connector: required(read_name(members, "connector")?, "connector")?,
        secret: read_secret(members)?,
    })
}

/// Reads a change: a member that is absent stays, and `null` removes the consumer.
pub(super) fn read_change(body: &Value) -> Result<WebhookChange, ServiceError> {
    let members = require_known_keys(body, &["url", "consumer", "topics", "connector"])?;
    for key in ["url", "topics", "connector"] {
        if members.get(key).is_some_and(Value::is_null) {
            return Err(FieldError::type_mismatch(format!("body.{key}"), "a value", &Value::Null).into());
        }
    }
    Ok(WebhookChange {
        url: read_url(members)?,
        consumer: members.contains_key("consumer").then(|| read_name(members, "consumer")).transpose()?,
        topics: read_topics(members)?,
        connector: read_name(members, "connector")?,
    })
}

pub(super) fn read_rotation(body: &Value) -> Result<SecretRotation, ServiceError> {
    let members = require_known_keys(body, &["secret", "overlap_secs"])?;
    let overlap = match members.get("overlap_secs") {
        None | Some(Value::Null) => OVERLAP,
        Some(number) => number.as_u64().filter(|seconds| *seconds <= MAX_OVERLAP).ok_or_else(|| {
            let expected = format!("whole number of seconds, {MAX_OVERLAP} at most");
            FieldError::type_mismatch("body.overlap_secs", &expected, number)
        })?,
    };
    Ok(SecretRotation { secret: read_secret(members)?, overlap: Duration::from_secs(overlap) })
}

/// Reads whether an endpoint that is to be enabled is challenged.
pub(super) fn read_enabling(body: &Value) -> Result<bool, ServiceError> {
    read_flag(require_known_keys(body, &["verify"])?, "verify", true)
}

/// Reads the deliveries that are to be made again.
pub(crate) fn read_replay(body: &Value) -> Result<ReplaySelection, ServiceError> {
    let members = require_known_keys(body, &["since", "failed_only"])?;
    let since = required(read_instant(members, "since")?, "since")?;
    Ok(ReplaySelection { since, is_failed_only: read_flag(members, "failed_only", false)? })
}

fn required<T>(value: Option<T>, key: &str) -> Result<T, ServiceError> {
    value.ok_or_else(|| FieldError::required(format!("body.{key}")).into())
}

fn read_name(members: &Map<String, Value>, key: &str) -> Result<Option<String>, ServiceError> {
    match read_text(members, key)? {
        Some(name) if name.trim().is_empty() || name.contains(char::is_control) => {
            Err(FieldError::invalid(format!("body.{key}"), "a name is a text without control characters")
                .into())
        }
        name => Ok(name.map(str::to_owned)),
    }
}

/// Reads an address in its one spelling, by which attempts at one host are counted together. Its connector decides later
/// which ports and hosts it allows.
fn read_url(members: &Map<String, Value>) -> Result<Option<String>, ServiceError> {
    const PATH: &str = "body.url";
    let Some(text) = read_text(members, "url")? else { return Ok(None) };
    if text.len() > MAX_URL {
        return Err(FieldError::too_long(PATH, MAX_URL, text.len(), "bytes").into());
    }
    let mut url = Url::parse(text).map_err(|error| FieldError::invalid(PATH, format!("no URL: {error}")))?;
    let problem = if url.scheme() != "https" {
        Some("an endpoint is called over https alone")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("an address has no credentials before its host; the signature proves the sender")
    } else if text.contains(char::is_whitespace) || text.contains(char::is_control) {
        Some("an address has no blanks")
    } else {
        None
    };
    match problem {
        Some(why) => Err(FieldError::invalid(PATH, why).into()),
        None => {
            url.set_fragment(None);
            Ok(Some(url.into()))
        }
    }
}

/// Refuses an address with a mask, which a read shows in the place of a secret.
pub(super) fn refuse_mask(url: &str) -> Result<(), ServiceError> {
    if holds_mask(url) {
        let message = "it has the mask of a read in the place of a secret; send the secret";
        return Err(FieldError::invalid("body.url", message).into());
    }
    Ok(())
}

/// Reads topics, each of which is kept once.
fn read_topics(members: &Map<String, Value>) -> Result<Option<Vec<String>>, ServiceError> {
    const PATH: &str = "body.topics";
    let listed = match members.get("topics") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(listed)) => listed,
        Some(other) => return Err(FieldError::type_mismatch(PATH, "array", other).into()),
    };
    if listed.is_empty() {
        return Err(FieldError::invalid(PATH, "name a topic, or \"*\" for all").into());
    }
    if listed.len() > MAX_WEBHOOK_TOPICS {
        return Err(FieldError::too_long(PATH, MAX_WEBHOOK_TOPICS, listed.len(), "topics").into());
    }
    let mut topics: Vec<String> = Vec::with_capacity(listed.len());
    for (index, topic) in listed.iter().enumerate() {
        let path = format!("{PATH}[{index}]");
        let Value::String(topic) = topic else {
            return Err(FieldError::type_mismatch(path, "string", topic).into());
        };
        if topic.len() > MAX_WEBHOOK_TOPIC {
            return Err(FieldError::too_long(path, MAX_WEBHOOK_TOPIC, topic.len(), "bytes").into());
        }
        if let Some(why) = webhook_topic_problem(topic).filter(|_| topic != ALL_WEBHOOK_TOPICS) {
            return Err(FieldError::invalid(path, why).into());
        }
        if !topics.contains(topic) {
            topics.push(topic.clone());
        }
    }
    Ok(Some(topics))
}

/// Reads a secret, or generates one.
fn read_secret(members: &Map<String, Value>) -> Result<String, ServiceError> {
    match read_text(members, "secret")? {
        None => generate_secret().map_err(ServiceError::internal_error),
        Some(secret) => match secret_problem(secret) {
            Some(why) => Err(FieldError::invalid("body.secret", why).into()),
            None => Ok(secret.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn registration_is_read_strictly() {
        let good =
            json!({"url": "https://a.example:8443/in?x=1", "topics": ["a", "*", "a"], "connector": "c"});
        let read = read_registration(&good).unwrap();
        assert_eq!((read.topics.len(), read.consumer, read.connector.as_str()), (2, None, "c"));
        assert!(read.secret.starts_with("whsec_"));
        for spelled in
            ["https://A.example:443/in?x=1#part", "https:\\\\a.example\\in?x=1", "https:/a.example/in?x=1"]
        {
            let mut body = good.clone();
            body["url"] = json!(spelled);
            assert_eq!(read_registration(&body).unwrap().url, "https://a.example/in?x=1", "{spelled}");
        }
        let with = |key: &str, value: Value| {
            let mut body = good.clone();
            body[key] = value;
            body
        };
        for (bad, hint) in [
            (json!({}), "url"),
            (with("url", json!("http://a.example/")), "https"),
            (with("url", json!("https://u@a.example/")), "credentials"),
            (with("url", json!("nothing")), "no URL"),
            (with("url", json!("https://a.example/in?token=******")), "the mask of a read"),
            (with("url", json!(format!("https://a.example/{}", "x".repeat(MAX_URL)))), "bytes"),
            (with("topics", json!([])), "name a topic"),
            (with("topics", json!(["a b"])), "topics[0]"),
            (with("topics", json!(["t".repeat(MAX_WEBHOOK_TOPIC + 1)])), "TOO_LONG"),
            (with("topics", json!(vec!["t"; MAX_WEBHOOK_TOPICS + 1])), "topics"),
            (with("connector", json!(null)), "connector"),
            (with("consumer", json!(" ")), "consumer"),
            (with("secret", json!("whsec_short")), "24 to 64"),
            (with("topic", json!("a")), "topics"),
        ] {
            let refused = read_registration(&bad).map(|_| ()).unwrap_err();
            let text = refused.body(None).to_string();
            assert!(refused.status() == 400 && text.contains(hint), "{bad}: {text}");
        }
    }

    #[test]
    fn absent_members_of_change_stay() {
        let change = |body| read_change(&body).unwrap();
        assert_eq!(change(json!({})), WebhookChange::default());
        let freed = WebhookChange { consumer: Some(None), ..WebhookChange::default() };
        assert_eq!(change(json!({"consumer": null})), freed);
        for bad in [json!({"url": null}), json!({"secret": "x"}), json!({"topics": null})] {
            assert_eq!(read_change(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn rotation_and_replay_have_bounds() {
        assert_eq!(read_rotation(&json!({})).map(|read| read.overlap.as_secs()).unwrap(), OVERLAP);
        assert_eq!(
            read_rotation(&json!({"overlap_secs": 0})).map(|read| read.overlap).unwrap(),
            Duration::ZERO
        );
        for bad in [json!({"overlap_secs": 604_801}), json!({"overlap_secs": -1}), json!({"overlap": 1})] {
            assert_eq!(read_rotation(&bad).map(|_| ()).unwrap_err().status(), 400, "{bad}");
        }
        let read = read_replay(&json!({"since": "2026-01-01T00:00:00Z", "failed_only": true})).unwrap();
        assert!(read.is_failed_only);
        for bad in [json!({}), json!({"since": "-1h"}), json!({"since": "2026-01-01T00:00:00Z", "all": true})]
        {
            assert_eq!(read_replay(&bad).unwrap_err().status(), 400, "{bad}");
        }
        assert!(read_enabling(&json!({})).unwrap() && !read_enabling(&json!({"verify": false})).unwrap());
    }
}
