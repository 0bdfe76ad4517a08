//! The inputs of a task that depend on the message: folded, or evaluated.
//!
//! An authored input is checked against the table of its function when it is stored. The values that a
//! message yields are checked against the same table here, so a function receives only values of the kinds
//! that it declares.

use serde_json::Value;
use svc_model::FieldError;

use crate::catalogue::{FunctionEntry, InputField, InputKind, operators};
use crate::error::TaskError;
use crate::expression::Expression;
use crate::function::{CompileCx, TaskCx};
use crate::template::Template;

/// The inputs of one task that its table resolves or computes. Inputs that take secrets are left to their function.
#[derive(Debug)]
pub struct Inputs(Vec<(&'static InputField, InputSource)>);

/// The origin of the value of an input.
#[derive(Debug, Clone)]
pub(crate) enum InputSource {
    Folded(Template),
    Evaluated(Expression),
}

impl InputSource {
    /// Compiles the value of an input. A literal and a read of the message are folded, which costs less.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn compile(field: &InputField, value: &Value, cx: &CompileCx<'_>) -> Result<Self, String> {
        if is_evaluated(field, value) {
            let compiled = cx.input_expression(value);
            return compiled.map(Self::Evaluated).map_err(|why| format!("{}: {why}", field.name));
        }
        Ok(Self::Folded(Template::compile(value)))
    }

    /// Returns the value for the message of a task.
    ///
    /// # Errors
    /// `LOGIC_ERROR` with the reason, for an expression that fails.
    pub(crate) fn value(&self, cx: &TaskCx<'_>) -> Result<Value, TaskError> {
        match self {
            Self::Folded(template) => Ok(cx.resolve(template)),
            Self::Evaluated(expression) => cx.evaluate_input(expression),
        }
    }
}

/// Returns `true` for a call of an operator, other than a read of the message that is folded: an input that takes
/// expressions evaluates it.
#[must_use]
pub fn is_computed(value: &Value) -> bool {
    let Some(map) = value.as_object().filter(|map| map.len() == 1) else { return false };
    map.iter().all(|(name, argument)| match name.as_str() {
        // A path that is written is folded.
        "var" => argument.is_object() || argument.get(0).is_some_and(Value::is_object),
        name => operators::find(name).is_some(),
    })
}

/// Returns `true` if the value of an input is evaluated: a call of an operator, or a list with such a call.
pub(crate) fn is_evaluated(field: &InputField, value: &Value) -> bool {
    let takes_list = field.kind == InputKind::Array;
    field.template && (is_computed(value) || (takes_list && holds_computed(value)))
}

/// Returns `true` for a list with a call of an operator among its elements.
#[must_use]
pub fn holds_computed(list: &Value) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(is_computed))
}

impl Inputs {
    /// Prepares the inputs that the table of a function resolves or computes. One of any kind that is written as null
    /// counts as absent.
    ///
    /// # Errors
    /// A text for the author: an expression does not compile, or reads a secret.
    pub fn new(entry: &FunctionEntry, input: &Value, cx: &CompileCx<'_>) -> Result<Self, String> {
        let mut inputs = Vec::new();
        let open = entry.fields.iter().filter(|field| field.resolvable || field.template);
        for field in open.filter(|field| field.secret_at.is_empty()) {
            let alias = || input.get(field.alias?);
            let Some(value) = input.get(field.name).or_else(alias) else { continue };
            if field.kind != InputKind::Any || !value.is_null() {
                inputs.push((field, InputSource::compile(field, value, cx)?));
            }
        }
        Ok(Self(inputs))
    }

    /// Returns an input over the message, whatever its kind; null if it was not given.
    ///
    /// # Errors
    /// `LOGIC_ERROR` with the reason, for an expression that fails.
    pub fn fold(&self, cx: &TaskCx<'_>, name: &str) -> Result<Value, TaskError> {
        let input = self.0.iter().find(|(field, _)| field.name == name);
        input.map_or(Ok(Value::Null), |(_, source)| source.value(cx))
    }

    /// Returns an input over the message of the task; `None` when it was not given.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` naming the input when it is not of its kind; `LOGIC_ERROR` for an expression that fails.
    pub fn get(&self, cx: &TaskCx<'_>, name: &str) -> Result<Option<Value>, TaskError> {
        let Some((field, source)) = self.0.iter().find(|(field, _)| field.name == name) else {
            return Ok(None);
        };
        let value = source.value(cx)?;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_calls_of_operators_are_computed() {
        for call in [
            json!({"cat": ["a", {"var": "data.b"}]}),
            json!({"upper": "a"}),
            json!({"var": {"cat": ["data.", "b"]}}),
            json!({"var": [{"cat": ["data.", "b"]}, 1]}),
            json!({"val": ["data", "b"]}),
        ] {
            assert!(is_computed(&call), "{call}");
        }
        for value in [
            json!("a"),
            json!({"var": "data.b"}),
            json!({"var": ["data.b", 1]}),
            json!({"var": "data..b"}),
            json!({"uper": "a"}),
            json!({"cat": [], "upper": "a"}),
            json!([{"cat": ["a"]}]),
        ] {
            assert!(!is_computed(&value), "{value}");
        }
    }

    #[test]
    fn lists_with_calls_are_evaluated_where_declared() {
        let list = json!(["a", {"cat": ["b", {"var": "data.c"}]}]);
        let computed = InputField::array("keys", "").resolvable().computed();
        assert!(is_evaluated(&computed, &list));
        assert!(is_evaluated(&computed, &json!({"map": [{"var": "data"}, {"var": ""}]})));
        assert!(!is_evaluated(&computed, &json!(["a", {"var": "data.c"}])));
        assert!(!is_evaluated(&InputField::array("params", "").resolvable(), &list));
        assert!(!is_evaluated(&InputField::any("value", "").computed(), &list));
    }
}
