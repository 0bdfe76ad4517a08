//! The inputs of a task that are folded over every message.
//!
//! An authored input is checked against the table of its function when it is stored. The values that a
//! message yields are checked against the same table here, so a function receives only values of the kinds
//! that it declares.

use serde_json::Value;
use svc_model::FieldError;

use crate::catalogue::{FunctionEntry, InputField, InputKind};
use crate::error::TaskError;
use crate::function::TaskCx;
use crate::template::Template;

/// The resolvable inputs of one task. Inputs that take secrets are left to their function.
#[derive(Debug)]
pub struct Inputs(Vec<(&'static InputField, Template)>);

impl Inputs {
    /// Prepares the inputs that the table of a function resolves. One of any kind that is written as null
    /// counts as absent.
    pub fn new(entry: &FunctionEntry, input: &Value) -> Self {
        let resolvable = entry.fields.iter().filter(|field| field.resolvable && field.secret_at.is_empty());
        let templates = resolvable.filter_map(|field| {
            let value = input.get(field.name).or_else(|| input.get(field.alias?))?;
            (field.kind != InputKind::Any || !value.is_null()).then(|| (field, Template::compile(value)))
        });
        Self(templates.collect())
    }

    /// Folds an input over the message, whatever its kind; null if it was not given.
    pub fn fold(&self, cx: &TaskCx<'_>, name: &str) -> Value {
        let input = self.0.iter().find(|(field, _)| field.name == name);
        input.map(|(_, template)| cx.resolve(template)).unwrap_or_default()
    }

    /// Returns an input over the message of the task; `None` when it was not given.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` naming the input when it is not of its kind.
    pub fn get(&self, cx: &TaskCx<'_>, name: &str) -> Result<Option<Value>, TaskError> {
        let Some((field, template)) = self.0.iter().find(|(field, _)| field.name == name) else {
            return Ok(None);
        };
        let value = cx.resolve(template);
        if !field.kind.holds(&value) {
            return Err(mismatch(name, field.kind.name(), &value));
        }
        Ok(Some(value))
    }

    /// Returns an input that must be there.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` naming the input when it is not of its kind, or not given.
    pub fn require(&self, cx: &TaskCx<'_>, name: &str) -> Result<Value, TaskError> {
        self.get(cx, name)?.ok_or_else(|| TaskError::validation(format!("{name}: required")))
    }

    /// Returns a text that must be there.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` naming the input when it is no text, or not given.
    pub fn require_text(&self, cx: &TaskCx<'_>, name: &str) -> Result<String, TaskError> {
        match self.require(cx, name)? {
            Value::String(text) => Ok(text),
            other => Err(mismatch(name, "string", &other)),
        }
    }
}

fn mismatch(name: &str, expected: &str, got: &Value) -> TaskError {
    TaskError::validation(format!("{name}: {}", FieldError::type_mismatch(name, expected, got).message))
}
