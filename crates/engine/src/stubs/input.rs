//! The input of a stubbed call, as its function would send it.

use serde_json::{Map, Value};
use svc_model::FieldError;

use crate::catalogue::{
    DefaultInput, FunctionEntry, FunctionTarget, InputField, InputKind, SentForm, SentValue,
};
use crate::error::TaskError;
use crate::expression::Expression;
use crate::function::{CompileCx, TaskCx};
use crate::inputs::InputSource;
use crate::redaction::Redaction;
use crate::template::Template;

/// The inputs of a call that are sent.
pub(crate) struct SentInput(Vec<SentField>);

/// One input: its name in the record, and the origin of its value.
struct SentField {
    name: &'static str,
    /// Its name in messages.
    spelling: &'static str,
    kind: InputKind,
    form: SentForm,
    origin: Origin,
}

enum Origin {
    Folded(Template),
    Evaluated(Expression),
    /// An input that may be computed.
    Computed(InputSource),
    Written(Value),
    /// Members that are expressions; one that is null is left out.
    Members(Vec<(String, Expression)>),
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
    pub(crate) fn compile(
        entry: &'static FunctionEntry,
        input: &Value,
        cx: &CompileCx<'_>,
    ) -> Result<Self, String> {
        let is_set = |flag: &str| input.get(flag).and_then(Value::as_bool) == Some(true);
        let is_sent =
            |field: &&InputField| field.sent_as != SentForm::Unsent && !field.unless.is_some_and(is_set);
        let sent = entry.fields.iter().filter(is_sent);
        let mut parts: Vec<SentField> = Vec::new();
        for field in sent.clone().filter(|field| field.secret_at.is_empty()) {
            let written = |name: &str| input.get(name).filter(|value| !value.is_null());
            let aliased = field.alias.and_then(|alias| Some((alias, written(alias)?)));
            let named = written(field.name).map(|value| (field.name, value));
            let wins = field.alias_wins || entry.target == FunctionTarget::Channel;
            let source = if wins { aliased.or(named) } else { named.or(aliased) };
            parts.extend(
                source.map(|(spelling, value)| SentField::compile(field, spelling, value, cx)).transpose()?,
            );
        }
        let defaults = sent.filter_map(|field| Some(SentField::of_default(field, field.default?)));
        let absent: Vec<_> =
            defaults.filter(|default| parts.iter().all(|part| part.name != default.name)).collect();
        parts.extend(absent);
        Ok(Self(parts))
    }

    /// Returns the input for the message of a task. Adds the secrets that it holds to `redaction`: the caller
    /// masks it.
    ///
    /// # Errors
    /// The error that the function would report.
    pub(crate) fn evaluate(
        &self,
        cx: &mut TaskCx<'_>,
        redaction: &mut Redaction,
    ) -> Result<Map<String, Value>, TaskError> {
        let mut input = Map::new();
        for part in &self.0 {
            if let Some(value) = part.convert(part.value(cx, redaction)?)? {
                merge(&mut input, part.name, value);
            }
        }
        Ok(input)
    }
}

impl SentInput {
    /// Returns the name of a secret that its expressions read.
    pub(crate) fn first_secret(&self) -> Option<&str> {
        self.0.iter().find_map(SentField::first_secret)
    }
}

/// Compiles the members of an object of expressions.
fn compile_members(
    spelling: &str,
    value: &Value,
    cx: &CompileCx<'_>,
) -> Result<Vec<(String, Expression)>, String> {
    let members = value.as_object().into_iter().flatten();
    let compiled = members.map(|(name, source)| {
        let expression = cx.expression(source).map_err(|reason| format!("{spelling}.{name}: {reason}"));
        expression.map(|expression| (name.clone(), expression))
    });
    compiled.collect()
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
        } else if field.template {
            Origin::Computed(InputSource::compile(field, value, cx)?)
        } else if field.resolvable {
            Origin::Folded(Template::compile(value))
        } else if field.holds_logic {
            Origin::Members(compile_members(spelling, value, cx)?)
        } else {
            Origin::Written(value.clone())
        };
        let name = field.name.strip_suffix("_logic").unwrap_or(field.name);
        Ok(Self { name, spelling, kind: field.kind, form: field.sent_as, origin })
    }

    fn of_default(field: &'static InputField, default: DefaultInput) -> Self {
        let origin = match default {
            DefaultInput::Text(text) => Origin::Written(text.into()),
            DefaultInput::Data => Origin::Data,
            DefaultInput::Payload => Origin::Payload,
        };
        Self { name: field.name, spelling: field.name, kind: InputKind::Any, form: SentForm::Value, origin }
    }

    fn first_secret(&self) -> Option<&str> {
        let name = match &self.origin {
            Origin::Evaluated(expression) => expression.secret_names().first(),
            Origin::Members(members) => {
                members.iter().find_map(|(_, expression)| expression.secret_names().first())
            }
            _ => None,
        };
        name.map(String::as_str)
    }

    fn value(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<Value, TaskError> {
        match &self.origin {
            Origin::Folded(template) => Ok(cx.resolve(template)),
            Origin::Computed(source) => source.value(cx),
            Origin::Evaluated(expression) => cx.evaluate_tainted(expression, redaction),
            Origin::Written(value) => Ok(value.clone()),
            Origin::Members(members) => {
                let mut evaluated = Map::new();
                for (name, expression) in members {
                    let value = cx.evaluate_tainted(expression, redaction)?;
                    evaluated.extend(Some((name.clone(), value)).filter(|(_, value)| !value.is_null()));
                }
                Ok(evaluated.into())
            }
            Origin::Data => Ok(cx.message().data.clone()),
            Origin::Payload => Ok(cx.message().payload.clone()),
        }
    }

    /// Converts a value to the form in which the function sends it; `None` for one that it leaves out.
    fn convert(&self, value: Value) -> Result<Option<Value>, TaskError> {
        let invalid = |reason: &str| TaskError::validation(format!("{}: {reason}", self.spelling));
        match self.form.convert(self.name, value).map_err(|reason| invalid(&reason))? {
            SentValue::LeftOut => Ok(None),
            SentValue::Typed(value)
                if matches!(self.origin, Origin::Folded(_) | Origin::Computed(_))
                    && !self.kind.holds(&value) =>
            {
                let mismatch = FieldError::type_mismatch(self.spelling, self.kind.name(), &value);
                Err(invalid(&mismatch.message))
            }
            SentValue::Converted(value) | SentValue::Typed(value) => Ok(Some(value)),
        }
    }
}
