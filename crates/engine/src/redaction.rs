//! The secrets that a run received with its payload, and their removal from everything that it records.
//!
//! A payload may carry the value of a secret, or what an expression made of one: no other part of a
//! message does. The run that gets it may use it in whatever it calls. Of its own it records no values, as it
//! may turn them into anything; what it hands back shows a mask wherever one of them occurs, alone or within
//! a longer text, as it is or in a common encoding. A workflow that computes with a value gives away what it
//! computed.

mod forms;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::mask::MASK;

use forms::forms;

/// A shorter value is found in any text by accident; it is masked only if it is the whole text.
const SHORT: usize = 4;

/// Texts looked for, and their bytes; of more than this, everything is hidden.
const MAX_TEXTS: usize = 200;
const MAX_BYTES: usize = 64 << 10;

/// Values that nothing may show. Cheap to clone, never printable.
#[derive(Clone, Default)]
pub struct Redaction {
    /// The values as texts.
    values: Arc<BTreeSet<String>>,
    /// The texts to look for: the values in every form, the longest first.
    texts: Arc<[String]>,
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redaction({})", self.values.len())
    }
}

impl Redaction {
    /// Returns `true` if there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns these and the texts of more secrets.
    #[must_use]
    pub fn with<'v>(&self, secrets: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut values = BTreeSet::new();
        secrets.into_iter().for_each(|value| collect(value, 1, &mut values));
        self.with_values(values)
    }

    /// Returns these and what was made of a secret; of that nothing short, which would be found by accident.
    pub(crate) fn with_derived<'v>(&self, derived: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut values = BTreeSet::new();
        derived.into_iter().for_each(|value| collect(value, SHORT, &mut values));
        self.with_values(values)
    }

    fn with_values(&self, mut values: BTreeSet<String>) -> Self {
        if values.is_subset(&self.values) {
            return self.clone();
        }
        values.extend(self.values.iter().cloned());
        if values.len() > MAX_TEXTS || values.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            return Self { values: Arc::new(values), texts: Arc::default() };
        }
        let mut texts: Vec<String> = values.iter().flat_map(|value| forms(value)).collect();
        // A text that contains another goes first: masking the shorter one would leave its rest.
        texts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        texts.dedup();
        Self { values: Arc::new(values), texts: texts.into() }
    }

    /// Returns `true` if there are too many values to search for, so that nothing may be shown.
    pub(crate) fn hides_all(&self) -> bool {
        self.texts.is_empty() && !self.is_empty()
    }

    /// Returns a text without these values.
    pub fn mask_text(&self, text: String) -> String {
        if self.hides_all() {
            return MASK.to_owned();
        }
        self.texts.iter().fold(text, |text, hidden| match text.contains(hidden.as_str()) {
            true if text == *hidden => MASK.to_owned(),
            true if hidden.len() >= SHORT => text.replace(hidden.as_str(), MASK),
            _ => text,
        })
    }

    /// Masks these values in every text of a value, the keys of its objects included.
    pub fn mask(&self, value: &mut Value) {
        if self.hides_all() {
            *value = MASK.into();
        } else if !self.is_empty() {
            self.mask_parts(value);
        }
    }

    fn mask_parts(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.mask_text(std::mem::take(text)),
            Value::Number(number) if self.values.contains(&number.to_string()) => *value = MASK.into(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_parts(item)),
            Value::Object(members) => self.mask_members(members),
            _ => {}
        }
    }

    fn mask_members(&self, members: &mut Map<String, Value>) {
        let masked = std::mem::take(members).into_iter().map(|(key, mut value)| {
            self.mask_parts(&mut value);
            (self.mask_text(key), value)
        });
        *members = masked.collect();
    }
}

/// The texts of a value, those of a text that is JSON itself included, and its numbers. Numbers, and all that
/// is in a JSON text, count only if they are not short.
fn collect(value: &Value, shortest: usize, texts: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.chars().count() >= shortest.max(1) => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                collect(&inner, SHORT, texts);
            }
            texts.insert(text.clone());
        }
        Value::Number(number) => {
            let text = number.to_string();
            if text.len() >= SHORT {
                texts.insert(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, shortest, texts)),
        Value::Object(members) => members.values().for_each(|member| collect(member, shortest, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redaction(values: &[Value]) -> Redaction {
        Redaction::default().with(values)
    }

    #[test]
    fn a_value_is_masked_wherever_it_stands() {
        let hidden = redaction(&[json!("s3cret"), json!({"user": "root-user", "n": 5})]);
        let mut value =
            json!({"a": ["s3cret", "Bearer s3cret"], "s3cret": {"b": "root-user"}, "n": 5, "ok": "secret"});
        hidden.mask(&mut value);
        assert_eq!(
            value,
            json!({"a": ["******", "Bearer ******"], "******": {"b": "******"}, "n": 5, "ok": "secret"})
        );
    }

    #[test]
    fn value_is_masked_as_json_text_escapes_it() {
        let hidden = redaction(&[json!("line one\nline \"two\"")]);
        let text = json!({"key": "line one\nline \"two\""}).to_string();
        assert_eq!(hidden.mask_text(text), r#"{"key":"******"}"#);
    }

    #[test]
    fn short_value_is_masked_alone_empty_never() {
        let hidden = redaction(&[json!("e"), json!("")]);
        assert_eq!(hidden.mask_text("e".into()), "******");
        assert_eq!(hidden.mask_text("the rest".into()), "the rest");
        assert!(redaction(&[json!("")]).is_empty());
    }

    #[test]
    fn of_two_values_the_longer_is_masked_first() {
        let hidden = redaction(&[json!("abcd"), json!("abcdefgh")]);
        assert_eq!(hidden.mask_text("abcdefgh abcd".into()), "****** ******");
        assert_eq!(hidden.with(&[json!("wxyz")]).mask_text("abcd wxyz".into()), "****** ******");
    }

    #[test]
    fn nothing_prints_what_is_concealed() {
        assert_eq!(format!("{:?}", redaction(&[json!("s3cret")])), "Redaction(1)");
    }

    #[test]
    fn a_value_is_masked_however_it_is_encoded() {
        let secret = "Canary&S3cr<t>\"9 ü'/+";
        let hidden = redaction(&[json!(secret)]);
        for form in forms(secret) {
            assert_eq!(hidden.mask_text(form.clone()), "******", "{form}");
            assert!(!hidden.mask_text(format!("x{form}y")).contains(&form), "{form}");
        }
        for around in [("", ""), ("a", "z"), ("ab", "zz"), ("user:", "zzz")] {
            let text = format!("{}{secret}{}", around.0, around.1);
            let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &text);
            assert!(hidden.mask_text(encoded.clone()).contains("******"), "{encoded}");
        }
    }

    #[test]
    fn values_inside_json_text_are_masked() {
        let document = json!({"user": "canary-user", "ids": [12_345_678, 7]}).to_string();
        let hidden = redaction(&[json!(document)]);
        let mut value = json!({"user": "canary-user", "id": 12_345_678, "n": 7, "text": "id 12345678"});
        hidden.mask(&mut value);
        assert_eq!(value, json!({"user": "******", "id": "******", "n": 7, "text": "id ******"}));
    }

    #[test]
    fn derived_secret_is_masked_unless_short() {
        let hidden = Redaction::default().with_derived(&[json!(["Bearer x", "abc", "", 5, true])]);
        let mut value = json!(["Bearer x", "abc", "", 5, true]);
        hidden.mask(&mut value);
        assert_eq!(value, json!(["******", "abc", "", 5, true]));
    }

    #[test]
    fn too_many_derived_values_mask_everything() {
        let many: Vec<_> = (1000..2000).map(Value::from).collect();
        let hidden = Redaction::default().with_derived(&many);
        let mut value = json!({"a": "b"});
        hidden.mask(&mut value);
        assert_eq!((value, hidden.mask_text("b".into())), (json!("******"), "******".to_owned()));
    }
}
