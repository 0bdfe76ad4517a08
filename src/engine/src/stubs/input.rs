//! The input of a stubbed call, as its function would send it.

use serde_json::{Map, Value};
use svc_model::FieldError;

use crate::catalogue::{FunctionEntry, FunctionTarget, InputField, InputKind};
use crate::error::TaskError;
use crate::expression::Expression;
use crate::function::{CompileCx, TaskCx};
use crate::redaction::Redaction;
use crate::template::Template;

/// Inputs that steer a function and are not sent.
const NOT_SENT: [&str; 5] = ["output", "timeout_ms", "body_format", "response_format", "capture_error_body"];

/// The inputs of a call that are sent.
pub(super) struct SentInput {
    function: &'static str,
    parts: Vec<SentField>,
}

/// One input: its name in the record, and the origin of its value.
struct SentField {
    name: &'static str,
    /// Its name in messages.
    spelling: &'static str,
    kind: InputKind,
    origin: Origin,
}

enum Origin {
    Folded(Template),
    Evaluated(Expression),
    Written(Value),
    /// The whole of `data`.
    Data,
    /// The payload of the run.
    Payload,
}

impl SentInput {
    /// Prepares the inputs of a task. Those that may be secret are left out.
    ///
    /// # Errors
    /// A text for the author.
    pub(super) fn compile(
        entry: &'static FunctionEntry,
        input: &Value,
        cx: &CompileCx<'_>,
    ) -> Result<Self, String> {
        let mut parts = Vec::new();
        let sent = entry.fields.iter().filter(|field| !NOT_SENT.contains(&field.name));
        for field in sent.filter(|field| field.secret_at.is_empty()) {
            let written = |name: &str| input.get(name).filter(|value| !value.is_null());
            let aliased = field.alias.and_then(|alias| Some((alias, written(alias)?)));
            let named = written(field.name).map(|value| (field.name, value));
            let wins = field.alias_wins || entry.target == FunctionTarget::Channel;
            let given = if wins { aliased.or(named) } else { named.or(aliased) };
            parts.extend(
                given.map(|(spelling, value)| SentField::compile(field, spelling, value, cx)).transpose()?,
            );
        }
        if let Some((name, origin)) = default_input(entry.name)
            && parts.iter().all(|part| part.name != name)
        {
            parts.push(SentField { name, spelling: name, kind: InputKind::Any, origin });
        }
        Ok(Self { function: entry.name, parts })
    }

    /// Returns the input for the message of a task. Adds the secrets that it holds to `redaction`: the caller
    /// masks it.
    ///
    /// # Errors
    /// The error that the function would report.
    pub(super) fn evaluate(
        &self,
        cx: &mut TaskCx<'_>,
        redaction: &mut Redaction,
    ) -> Result<Map<String, Value>, TaskError> {
        let mut input = Map::new();
        for part in &self.parts {
            if let Some(value) = part.convert(self.function, part.value(cx, redaction)?)? {
                merge(&mut input, part.name, value);
            }
        }
        Ok(input)
    }
}

/// Returns the input that a function sends although its task does not name it.
fn default_input(function: &str) -> Option<(&'static str, Origin)> {
    match function {
        "http_call" => Some(("method", Origin::Written("GET".into()))),
        "publish_kafka" => Some(("value", Origin::Data)),
        "channel_call" => Some(("data", Origin::Payload)),
        _ => None,
    }
}

/// Adds an input; members of a computed object win over those written for the same input.
fn merge(input: &mut Map<String, Value>, name: &str, value: Value) {
    match (input.get_mut(name), value) {
        (Some(Value::Object(present)), Value::Object(computed)) => {
            present.extend(computed);
            present.retain(|_, value| !value.is_null());
        }
        (_, value) => drop(input.insert(name.to_owned(), value)),
    }
}

impl SentField {
    fn compile(
        field: &'static InputField,
        spelling: &'static str,
        value: &Value,
        cx: &CompileCx<'_>,
    ) -> Result<Self, String> {
        let is_logic = field.logic || spelling.ends_with("_logic");
        let origin = if is_logic {
            Origin::Evaluated(cx.expression(value).map_err(|reason| format!("{spelling}: {reason}"))?)
        } else if field.resolvable {
            Origin::Folded(Template::compile(value))
        } else {
            Origin::Written(value.clone())
        };
        let name = field.name.strip_suffix("_logic").unwrap_or(field.name);
        Ok(Self { name, spelling, kind: field.kind, origin })
    }

    fn value(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<Value, TaskError> {
        match &self.origin {
            Origin::Folded(template) => Ok(cx.resolve(template)),
            Origin::Evaluated(expression) => cx.evaluate_tainted(expression, redaction),
            Origin::Written(value) => Ok(value.clone()),
            Origin::Data => Ok(cx.message().data.clone()),
            Origin::Payload => Ok(cx.message().payload.clone()),
        }
    }

    /// Converts a value to the form in which the function sends it; `None` for one that it leaves out.
    fn convert(&self, function: &str, value: Value) -> Result<Option<Value>, TaskError> {
        let invalid = |reason: &str| TaskError::validation(format!("{}: {reason}", self.spelling));
        match (function, self.name, value) {
            ("http_call", "path", Value::Null) => Ok(Some("".into())),
            ("http_call", "path", value) => Ok(Some(to_text(value))),
            ("http_call", "headers", value @ (Value::Null | Value::Object(_))) => {
                Ok(Some(value).filter(Value::is_object))
            }
            ("http_call", "headers", _) => Err(invalid("expected an object of headers")),
            ("publish_kafka", "key", Value::Null) => Ok(Some(Value::Null)),
            ("publish_kafka", "key", value) => Ok(Some(to_text(value))),
            ("channel_call", "channel", value) => match value.as_str() {
                Some(name) if !name.trim().is_empty() => Ok(Some(value)),
                _ => Err(invalid("expected the name of a channel")),
            },
            ("cache_read" | "cache_write", "key", Value::Null) => Err(invalid("required")),
            ("cache_read" | "cache_write", "key", value @ (Value::Number(_) | Value::Bool(_))) => {
                Ok(Some(to_text(value)))
            }
            ("cache_write", "ttl_secs", Value::Null) => Ok(None),
            (_, _, value) => match &self.origin {
                Origin::Folded(_) if !self.kind.holds(&value) => {
                    let mismatch = FieldError::type_mismatch(self.spelling, self.kind.name(), &value);
                    Err(invalid(&mismatch.message))
                }
                _ => Ok(Some(value)),
            },
        }
    }
}

/// Returns a text as it is, and anything else as its JSON.
fn to_text(value: Value) -> Value {
    match value {
        Value::String(_) => value,
        other => other.to_string().into(),
    }
}
