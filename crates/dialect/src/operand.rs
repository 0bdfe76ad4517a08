//! Operands: values of a document that are literals, or open until a message is bound.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError};

use crate::constant::{BINARY, Constant};
use crate::reader::{DocumentReader, join, single};
use crate::refusal::DialectRefusal;

/// The values that [`QueryDocument::bind`](crate::QueryDocument::bind) and
/// [`WriteDocument::bind`](crate::WriteDocument::bind) put into a document.
#[derive(Clone, Copy, Debug)]
pub struct Bindings<'b> {
    /// The named parameters.
    pub params: &'b Map<String, Value>,
    /// The results of the open values ([`QueryDocument::folded_values`](crate::QueryDocument::folded_values),
    /// [`WriteDocument::folded_values`](crate::WriteDocument::folded_values)) for this message, in the same order.
    pub folded: &'b [Value],
}

/// Floats from here on may stand for several whole numbers.
const LARGEST_FLOAT: f64 = 9_007_199_254_740_992.0;

/// A value of a document, literal or open.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    /// Its path in the document, for error messages.
    pub(crate) at: Arc<str>,
    pub(crate) source: OperandSource,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OperandSource {
    Literal(Value),
    /// The parameter of this name.
    Param(String),
    /// The open value with this index in [`Bindings::folded`].
    Folded(usize),
}

/// An argument of a filter operator.
pub(crate) enum Argument<'v> {
    /// The name of a column or relation.
    Field(&'v str),
    Value(Operand),
    List(&'v [Value]),
}

impl Operand {
    pub(crate) fn literal(at: &str, value: &Value) -> Self {
        Self { at: at.into(), source: OperandSource::Literal(value.clone()) }
    }

    /// Returns the bound value. Its content is data and is never read as a part of the document.
    ///
    /// # Errors
    /// [`DialectRefusal::Invalid`] if no value is bound, or a text in it holds U+0000, which some databases
    /// refuse and others treat as the end of the text.
    pub(crate) fn value<'v>(&'v self, with: &Bindings<'v>) -> Result<&'v Value, DialectRefusal> {
        let value = self.bind_value(with)?;
        if holds_nul(value) {
            return Err(DialectRefusal::invalid(
                &self.at,
                "a text holds U+0000, which not every database can hold",
            ));
        }
        Ok(value)
    }

    fn bind_value<'v>(&'v self, with: &Bindings<'v>) -> Result<&'v Value, DialectRefusal> {
        match &self.source {
            OperandSource::Literal(value) => Ok(value),
            OperandSource::Param(name) => {
                let missing = || DialectRefusal::invalid(&self.at, format!("params has no \"{name}\""));
                with.params.get(name).ok_or_else(missing)
            }
            OperandSource::Folded(number) => with
                .folded
                .get(*number)
                .ok_or_else(|| DialectRefusal::invalid(&self.at, "the value was not folded")),
        }
    }

    /// Returns the bound value as a constant; `None` for null.
    pub(crate) fn constant(&self, with: &Bindings<'_>) -> Result<Option<Constant>, DialectRefusal> {
        Constant::from_json(self.value(with)?).map_err(|why| DialectRefusal::invalid(&self.at, why))
    }

    pub(crate) fn text(&self, with: &Bindings<'_>) -> Result<String, DialectRefusal> {
        match self.value(with)? {
            Value::String(text) => Ok(text.clone()),
            _ => Err(DialectRefusal::invalid(&self.at, "this must be a text")),
        }
    }

    /// Returns the bound value as an integer from `least` to `most`.
    pub(crate) fn whole(&self, with: &Bindings<'_>, least: u64, most: u64) -> Result<u64, DialectRefusal> {
        let number = whole_number(self.value(with)?).filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            DialectRefusal::invalid(&self.at, format!("this must be a whole number from {least} to {most}"))
        })
    }
}

/// Returns the whole number that a value is. Arithmetic, or a caller, may have made it a float.
pub(crate) fn whole_number(value: &Value) -> Option<u64> {
    let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..LARGEST_FLOAT).contains(float));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, and bounded above"
    )]
    let whole = float.map(|float| float as u64);
    value.as_u64().or(whole)
}

impl DocumentReader {
    /// Reads an argument of an operator: a column, a list or a value.
    pub(crate) fn argument<'v>(&mut self, value: &'v Value, at: &str) -> Option<Argument<'v>> {
        match value {
            Value::Array(items) => Some(Argument::List(items)),
            Value::Object(_) => match single(value) {
                Some(("field", name)) => self.name(name, &join(at, "field")).map(Argument::Field),
                _ => self.open(value, at).map(Argument::Value),
            },
            scalar => Some(Argument::Value(Operand::literal(at, scalar))),
        }
    }

    /// Reads a constant, a parameter or a `var`.
    pub(crate) fn operand(&mut self, value: &Value, at: &str) -> Option<Operand> {
        match value {
            Value::Object(_) => self.open(value, at),
            Value::Array(_) => {
                self.invalid(at, "a list is no value here");
                None
            }
            scalar => Some(Operand::literal(at, scalar)),
        }
    }

    fn open(&mut self, value: &Value, at: &str) -> Option<Operand> {
        let source = match single(value) {
            Some(("param", name)) => self.param(name, at)?,
            Some(("var", _)) if is_var(value) => OperandSource::Folded(self.fold(value)),
            Some(("var", path)) => {
                self.mismatch(&join(at, "var"), "string", path);
                return None;
            }
            Some(("$oid" | "$date" | BINARY, Value::String(_))) => OperandSource::Literal(value.clone()),
            Some(("$oid" | "$date" | BINARY, inner)) if is_var(inner) => {
                OperandSource::Folded(self.fold(value))
            }
            Some((name @ ("$oid" | "$date" | BINARY), inner)) => {
                self.mismatch(&join(at, name), "string", inner);
                return None;
            }
            Some((name, _)) if !name.starts_with('$') => {
                let message = format!("\"{name}\" makes no value; use a constant, param or var");
                self.errors
                    .push(FieldError::new(join(at, name), FieldCode::UnknownOp, message).with_wrong_key());
                return None;
            }
            _ => {
                self.invalid(at, "an object is no value here");
                return None;
            }
        };
        Some(Operand { at: at.into(), source })
    }

    fn param(&mut self, name: &Value, at: &str) -> Option<OperandSource> {
        let name = self.text(name, &join(at, "param"))?.to_owned();
        self.params.push((at.to_owned(), name.clone()));
        Some(OperandSource::Param(name))
    }

    /// Reads a value to be stored. It may be anything but a reference to a column.
    pub(crate) fn read_stored_value(&mut self, value: &Value, at: &str) -> Option<Operand> {
        let source = match single(value) {
            Some(("param", name)) => self.param(name, at)?,
            Some(("field", _)) => {
                self.invalid(at, "a column cannot be given another column's value");
                return None;
            }
            _ if holds_var(value) => OperandSource::Folded(self.fold(value)),
            _ => OperandSource::Literal(value.clone()),
        };
        Some(Operand { at: at.into(), source })
    }
}

/// Returns true if a text or a member name anywhere in the value holds U+0000.
fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(members) => {
            members.iter().any(|(name, member)| name.contains('\0') || holds_nul(member))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true for a `{"var": path}` node, which is replaced by a value of the message.
pub(crate) fn is_var(value: &Value) -> bool {
    let Some(("var", argument)) = single(value) else { return false };
    match argument {
        Value::String(_) => true,
        Value::Array(items) => matches!(items.as_slice(), [Value::String(_)] | [Value::String(_), _]),
        _ => false,
    }
}

fn holds_var(value: &Value) -> bool {
    is_var(value)
        || match value {
            Value::Array(items) => items.iter().any(holds_var),
            Value::Object(members) => members.values().any(holds_var),
            _ => false,
        }
}
