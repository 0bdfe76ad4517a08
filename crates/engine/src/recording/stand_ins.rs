//! `{"$secret": name}` in place of every text that holds a secret.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::RunRecording;
use crate::operators::DeclaredSecrets;
use crate::redaction::Redaction;

/// The only member of the object that replaces a secret in a recording.
pub const SECRET_STAND_IN: &str = "$secret";

/// A shorter secret is found in any text by accident.
const SHORT: usize = 4;

/// The name of a stand-in whose secret is not known by its own.
const UNNAMED: &str = "derived";

/// Puts stand-ins in place of secrets.
pub(crate) struct SecretStandIns<'s> {
    /// The texts of the secrets with their names.
    texts: Vec<(String, String)>,
    /// The secrets in every form, and what was made of them.
    redaction: Redaction,
    /// The name of a text that was made of a secret.
    derived_from: Option<&'s str>,
}

impl<'s> SecretStandIns<'s> {
    /// Returns the stand-ins of all declared secrets; `None` if these are too many to look for.
    pub(crate) fn of_all(secrets: &DeclaredSecrets) -> Option<Self> {
        let redaction = Redaction::default().with(secrets.values());
        (!redaction.hides_all()).then(|| Self { texts: list_texts(secrets), redaction, derived_from: None })
    }

    /// Returns the stand-ins of the secrets that a call has read, and of what its expressions made of them.
    pub(crate) fn of_call(
        secrets: &DeclaredSecrets,
        redaction: Redaction,
        derived_from: Option<&'s str>,
    ) -> Self {
        Self { texts: list_texts(secrets), redaction, derived_from }
    }

    /// Replaces the texts that hold a secret.
    pub(crate) fn replace(&self, value: &mut Value) {
        if self.redaction.is_empty() {
            return;
        }
        self.replace_parts(value);
        // Names of members that hold one.
        self.redaction.mask(value);
    }

    fn replace_parts(&self, value: &mut Value) {
        let name = match value {
            Value::Array(items) => return items.iter_mut().for_each(|item| self.replace_parts(item)),
            Value::Object(members) => {
                return members.values_mut().for_each(|member| self.replace_parts(member));
            }
            Value::String(text) => self.find_in(text),
            Value::Number(number) => {
                let text = number.to_string();
                self.texts.iter().find(|(secret, _)| *secret == text).map(|(_, name)| name.as_str())
            }
            _ => None,
        };
        if let Some(name) = name {
            *value = json!({ SECRET_STAND_IN: name });
        }
    }

    /// Returns the name of the secret that a text holds.
    fn find_in(&self, text: &str) -> Option<&str> {
        if self.redaction.mask_text(text.to_owned()) == text {
            return None;
        }
        let holds = |secret: &str| text == secret || (secret.len() >= SHORT && text.contains(secret));
        let plain = self.texts.iter().find(|(secret, _)| holds(secret)).map(|(_, name)| name.as_str());
        plain.or(self.derived_from).or(Some(UNNAMED))
    }

    /// Replaces the secrets in a recording.
    pub(super) fn replace_in(&self, recording: &mut RunRecording) {
        if self.redaction.is_empty() {
            return;
        }
        self.replace(&mut recording.payload);
        recording.metadata.values_mut().for_each(|value| self.replace(value));
        recording.drawn.iter_mut().for_each(|drawn| self.replace(&mut drawn.value));
        self.replace(&mut recording.end.data);
        recording.end.errors.iter_mut().for_each(|errors| self.replace(errors));
        for call in &mut recording.calls {
            self.replace(&mut call.input);
            self.replace(&mut call.answer);
            if let Some(error) = &mut call.error {
                error.message = self.redaction.mask_text(std::mem::take(&mut error.message));
                error.body.iter_mut().for_each(|body| self.replace(body));
            }
        }
    }
}

/// Lists the texts of all secrets, those below others by their paths, the longest first.
fn list_texts(secrets: &DeclaredSecrets) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for (name, value) in secrets.entries() {
        collect(name, value, &mut texts);
    }
    texts.sort_by_key(|(text, _)| Reverse(text.len()));
    texts
}

fn collect(name: &str, value: &Value, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if !text.is_empty() => texts.push((text.clone(), name.to_owned())),
        Value::Number(number) => texts.push((number.to_string(), name.to_owned())),
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, texts)),
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| collect(&format!("{name}.{key}"), member, texts));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_a_secret_becomes_its_name() {
        let secrets: DeclaredSecrets =
            [("api", json!("s3cret-key")), ("db", json!({"password": "pass-word"}))].into_iter().collect();
        let stand_ins = SecretStandIns::of_all(&secrets).unwrap();
        let mut value = json!({"a": "Bearer s3cret-key", "b": ["pass-word"], "c": "plain", "d": 5});
        stand_ins.replace(&mut value);
        let expected =
            json!({"a": {"$secret": "api"}, "b": [{"$secret": "db.password"}], "c": "plain", "d": 5});
        assert_eq!(value, expected);
    }

    #[test]
    fn derived_text_is_named_by_its_origin() {
        let redaction = Redaction::default().with(&[json!("made-of-it")]);
        let secrets = DeclaredSecrets::default();
        let stand_ins = SecretStandIns::of_call(&secrets, redaction, Some("api"));
        let mut value = json!({"signature": "made-of-it"});
        stand_ins.replace(&mut value);
        assert_eq!(value, json!({"signature": {"$secret": "api"}}));
    }
}
