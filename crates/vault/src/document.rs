//! The documents of a secret store.

use serde_json::Value;
use svc_secrets::Secret;

/// A document of a store, whichever version of the key-value engine it comes from.
pub(crate) struct Document(Value);

impl Document {
    /// `None` when the answer is no JSON. A byte order mark before it means nothing.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
        serde_json::from_slice(body).ok().map(Self)
    }

    /// Returns a field, from the place of version 2 of the engine or else of version 1. Texts are taken as
    /// they are, other values as compact JSON; null counts as missing, so that it never becomes a credential
    /// that can be guessed.
    pub(crate) fn field(&self, name: &str) -> Option<Secret> {
        let data = self.0.get("data")?;
        let of = |members: &Value| members.get(name).filter(|value| !value.is_null()).cloned();
        match data.get("data").and_then(of).or_else(|| of(data))? {
            Value::String(text) => Some(Secret::new(text)),
            other => Some(Secret::new(other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(document: &Value, name: &str) -> Option<String> {
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        document.field(name).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn both_engine_versions_are_read_the_newer_wins() {
        let older = json!({"data": {"key": "one", "data": "a text"}});
        assert_eq!(field(&older, "key").as_deref(), Some("one"));
        assert_eq!(field(&older, "data").as_deref(), Some("a text"));
        let newer = json!({"data": {"data": {"key": "two"}, "metadata": {"version": 3}, "key": "outer"}});
        assert_eq!(field(&newer, "key").as_deref(), Some("two"));
        assert_eq!(field(&newer, "absent"), None);
    }

    #[test]
    fn non_text_field_is_json_null_is_none() {
        let document =
            json!({"data": {"data": {"n": 5, "on": true, "o": {"b": [1, "x"], "a": 1.5}, "none": null}}});
        assert_eq!(field(&document, "n").as_deref(), Some("5"));
        assert_eq!(field(&document, "on").as_deref(), Some("true"));
        assert_eq!(field(&document, "o").as_deref(), Some(r#"{"b":[1,"x"],"a":1.5}"#));
        assert_eq!(field(&document, "none"), None);
    }

    #[test]
    fn other_answers_have_no_field() {
        for document in
            [json!({}), json!([]), json!({"data": null}), json!({"data": "text"}), json!({"errors": []})]
        {
            assert_eq!(field(&document, "key"), None, "{document}");
        }
        assert!(Document::parse(b"<html>").is_none());
        assert!(Document::parse("\u{feff}{}".as_bytes()).is_some());
    }
}
