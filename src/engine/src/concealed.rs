//! What a run was told in confidence.
//!
//! A payload may carry the value of a secret: the one place where a message does. The run that gets it may use it in
//! whatever it calls; what it records and what it hands back shows a mask instead. The value is found as it stands, alone
//! or within a longer text. A workflow that encodes it first gives it away.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::mask::MASK;

/// A shorter value is found in any text by accident; it is masked only where it stands alone.
const SHORT: usize = 4;

/// Values that nothing may show. Cheap to clone, never printable.
#[derive(Clone, Default)]
pub struct Concealed(Arc<[String]>);

impl fmt::Debug for Concealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Concealed({})", self.0.len())
    }
}

impl Concealed {
    /// Whether everything may be shown.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These and the texts of more values.
    pub(crate) fn with<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut texts = Vec::new();
        values.into_iter().for_each(|value| collect(value, &mut texts));
        if texts.is_empty() {
            return self.clone();
        }
        texts.extend(self.0.iter().cloned());
        // A text that contains another goes first: masking the shorter one would leave its rest.
        texts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        texts.dedup();
        Self(texts.into())
    }

    /// A text without these values.
    pub fn mask_text(&self, text: String) -> String {
        self.0.iter().fold(text, |text, hidden| match text.contains(hidden.as_str()) {
            true if text == *hidden => MASK.to_owned(),
            true if hidden.len() >= SHORT => text.replace(hidden.as_str(), MASK),
            _ => text,
        })
    }

    /// Masks these values in every text of a value, the keys of its objects included.
    pub fn mask(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => *text = self.mask_text(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::Object(members) => self.mask_members(members),
            _ => {}
        }
    }

    fn mask_members(&self, members: &mut Map<String, Value>) {
        let masked = std::mem::take(members).into_iter().map(|(key, mut value)| {
            self.mask(&mut value);
            (self.mask_text(key), value)
        });
        *members = masked.collect();
    }
}

/// The texts of a value, and how JSON text writes those it escapes.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => {
            let escaped = value.to_string();
            texts.push(text.clone());
            texts.extend(
                escaped.get(1..escaped.len() - 1).filter(|escaped| escaped != text).map(str::to_owned),
            );
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => members.values().for_each(|member| collect(member, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn concealed(values: &[Value]) -> Concealed {
        Concealed::default().with(values)
    }

    #[test]
    fn a_value_is_masked_wherever_it_stands() {
        let hidden = concealed(&[json!("s3cret"), json!({"user": "root-user", "n": 5})]);
        let mut value =
            json!({"a": ["s3cret", "Bearer s3cret"], "s3cret": {"b": "root-user"}, "n": 5, "ok": "secret"});
        hidden.mask(&mut value);
        assert_eq!(
            value,
            json!({"a": ["******", "Bearer ******"], "******": {"b": "******"}, "n": 5, "ok": "secret"})
        );
    }

    #[test]
    fn a_value_is_masked_as_json_text_escapes_it() {
        let hidden = concealed(&[json!("line one\nline \"two\"")]);
        let text = json!({"key": "line one\nline \"two\""}).to_string();
        assert_eq!(hidden.mask_text(text), r#"{"key":"******"}"#);
    }

    #[test]
    fn a_short_value_is_masked_only_alone_and_an_empty_one_never() {
        let hidden = concealed(&[json!("e"), json!("")]);
        assert_eq!(hidden.mask_text("e".into()), "******");
        assert_eq!(hidden.mask_text("the rest".into()), "the rest");
        assert!(concealed(&[json!("")]).is_empty());
    }

    #[test]
    fn of_two_values_the_longer_is_masked_first() {
        let hidden = concealed(&[json!("abcd"), json!("abcdefgh")]);
        assert_eq!(hidden.mask_text("abcdefgh abcd".into()), "****** ******");
        assert_eq!(hidden.with(&[json!("wxyz")]).mask_text("abcd wxyz".into()), "****** ******");
    }

    #[test]
    fn nothing_prints_what_is_concealed() {
        assert_eq!(format!("{:?}", concealed(&[json!("s3cret")])), "Concealed(1)");
    }
}
