//! Accepted issuers and audiences of a token: literal, secret, or taken from the message.

use serde_json::Value;
use svc_engine::{CompileCx, TaskCx, TaskError, Template};

use crate::input::InputProblems;
use crate::secret::{self, LoadedSecret, is_declared, literal};

const TEXTS: &str = "string or array of strings";

/// The accepted values of one claim. They may be secrets and cannot be printed.
pub(super) struct AcceptedValues {
    field: &'static str,
    parts: Vec<Part>,
}

enum Part {
    /// A literal text or secret; an error if the secret has no value.
    Text(LoadedSecret<String>),
    /// A template that the message evaluates to texts.
    Folded(Template),
}

/// Returns the entries of the field, each with its index as a path suffix; null has no entries.
fn entries(source: &Value) -> Vec<(String, &Value)> {
    let listed: Vec<_> = match source {
        Value::Array(items) => items.iter().enumerate().map(|(n, item)| (format!("[{n}]"), item)).collect(),
        single => vec![(String::new(), single)],
    };
    listed.into_iter().filter(|(_, item)| !item.is_null()).collect()
}

/// Returns true if the message determines the whole entry.
fn is_folded(entry: &Value) -> bool {
    entry.get("var").is_some() && Template::compile(entry).as_literal().is_none()
}

/// Reports entries that no token can satisfy, and an empty list, which would disable the check.
pub(super) fn check(field: &str, source: &Value, problems: &mut InputProblems<'_>) {
    let entries = entries(source);
    if entries.is_empty() && source.is_array() {
        problems.invalid(field, "name at least one value, or leave the field out");
    }
    for (place, entry) in entries {
        let field = format!("{field}{place}");
        match entry {
            Value::String(_) => problems.note(&field, literal(entry)),
            entry if is_declared(entry) || is_folded(entry) => {}
            other => problems.mismatch(&field, TEXTS, other),
        }
    }
}

impl AcceptedValues {
    /// Loads the field; returns `None` if it is absent.
    pub(super) fn load(
        field: &'static str,
        input: &Value,
        cx: &CompileCx<'_>,
    ) -> Result<Option<Self>, String> {
        let Some(source) = input.get(field).filter(|source| !source.is_null()) else { return Ok(None) };
        let part = |(place, entry): (String, &Value)| {
            if is_folded(entry) {
                return Ok(Part::Folded(cx.template(entry)));
            }
            let keep = |text: &str| Ok::<_, String>(text.to_owned());
            secret::load(&format!("{field}{place}"), entry, cx.material(), keep).map(Part::Text)
        };
        let parts = entries(source).into_iter().map(part).collect::<Result<_, String>>()?;
        Ok(Some(Self { field, parts }))
    }

    /// Returns the accepted values for one message.
    ///
    /// # Errors
    /// A secret has no value, or the message yields something else than texts, or nothing, which must not
    /// disable the check.
    pub(super) fn resolve(&self, cx: &TaskCx<'_>) -> Result<Vec<String>, TaskError> {
        let mut texts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            match part {
                Part::Text(text) => texts.push(text.clone().map_err(|unset| unset.error())?),
                Part::Folded(template) => match cx.resolve(template) {
                    Value::Array(items) => {
                        for item in items {
                            self.push(item, &mut texts)?;
                        }
                    }
                    single => self.push(single, &mut texts)?,
                },
            }
        }
        if texts.is_empty() {
            return Err(TaskError::validation(format!("{}: no value to accept", self.field)));
        }
        Ok(texts)
    }

    fn push(&self, value: Value, texts: &mut Vec<String>) -> Result<(), TaskError> {
        match value {
            Value::Null => {}
            Value::String(text) => texts.push(text),
            _ => return Err(TaskError::validation(format!("{}: expected {TEXTS}", self.field))),
        }
        Ok(())
    }
}
