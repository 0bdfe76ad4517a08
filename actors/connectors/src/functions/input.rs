//! Reading an authored input that fits its table.

use serde_json::{Map, Value};
use svc_engine::catalogue::{self, Entry};
use svc_engine::{CompileCx, Expression, Path};
use svc_model::FieldError;

/// The table of a function.
pub(crate) fn table(function: &str) -> Result<&'static Entry, String> {
    catalogue::find(function).ok_or_else(|| format!("the catalogue has no {function}"))
}

/// An input under its name or its second spelling. Null counts as absent.
pub(crate) fn given<'i>(table: &Entry, input: &'i Value, name: &str) -> Option<&'i Value> {
    let alias = table.field(name).and_then(|field| field.alias).filter(|alias| !alias.ends_with("_logic"));
    let value = input.get(name).or_else(|| input.get(alias?));
    value.filter(|value| !value.is_null())
}

/// An input that is a text.
pub(crate) fn text<'i>(table: &Entry, input: &'i Value, name: &str) -> Option<&'i str> {
    given(table, input, name).and_then(Value::as_str)
}

/// An input that is written out, or computed under its second spelling, which wins.
pub(crate) enum Either {
    Literal(Value),
    Logic(Expression),
}

impl Either {
    pub(crate) fn compile(input: &Value, name: &str, cx: &CompileCx<'_>) -> Result<Option<Self>, String> {
        if let Some(logic) = input.get(format!("{name}_logic")).filter(|logic| !logic.is_null()) {
            return cx.expression(logic).map(|logic| Some(Self::Logic(logic)));
        }
        Ok(input.get(name).filter(|value| !value.is_null()).cloned().map(Self::Literal))
    }
}

/// Where a result goes.
pub(crate) fn path(text: &str) -> Result<Path, String> {
    Path::parse_target(text).map_err(|error| format!("output: {error}"))
}

/// Refuses a number that counts nothing.
pub(crate) fn check_positive(input: &Map<String, Value>, name: &str, at: &str, errors: &mut Vec<FieldError>) {
    let wrong = input
        .get(name)
        .filter(|value| value.is_number())
        .filter(|value| value.as_u64().is_none_or(|n| n == 0));
    if wrong.is_some() {
        errors.push(FieldError::invalid(format!("{at}.{name}"), "must be a whole number of at least 1"));
    }
}
