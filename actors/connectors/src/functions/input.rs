//! Reading an authored input that fits its table.

use serde_json::{Map, Value};
use svc_engine::catalogue::FunctionEntry;
#[cfg(any(feature = "es", feature = "mongo", feature = "sql"))]
use svc_engine::catalogue::InputField;
use svc_engine::{CompileCx, Expression, Path};
use svc_model::FieldError;

/// The form of binary values in the result of a SQL database.
#[cfg(any(feature = "es", feature = "mongo", feature = "sql"))]
pub(crate) const BINARY_AS: InputField = InputField::string(
    "binary_as",
    "Form of binary columns of a SQL database; without it text, or {\"$binary\": base64} where they are no text",
)
.one_of(&["hex", "base64", "text"]);

/// An input under its name or its second spelling. Null counts as absent.
pub(crate) fn input_value<'i>(table: &FunctionEntry, input: &'i Value, name: &str) -> Option<&'i Value> {
    let alias = table.field(name).and_then(|field| field.alias).filter(|alias| !alias.ends_with("_logic"));
    let value = input.get(name).or_else(|| input.get(alias?));
    value.filter(|value| !value.is_null())
}

/// An input that is a text.
pub(crate) fn text<'i>(table: &FunctionEntry, input: &'i Value, name: &str) -> Option<&'i str> {
    input_value(table, input, name).and_then(Value::as_str)
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

    /// Returns true if the input is computed from declared secrets.
    pub(crate) fn reads_secrets(&self) -> bool {
        matches!(self, Self::Logic(logic) if logic.reads_secrets())
    }
}

/// Parses the path of a result.
pub(crate) fn path(text: &str) -> Result<Path, String> {
    Path::parse_target(text).map_err(|error| format!("output: {error}"))
}

/// Returns the path of a result that is always written; by default the whole of `data`.
#[cfg(any(feature = "smtp", feature = "storage"))]
pub(crate) fn output(table: &FunctionEntry, input: &Value) -> Result<Path, String> {
    path(text(table, input, "output").unwrap_or("data"))
}

/// The value of a resolvable input that no message changes.
#[cfg(any(feature = "mongo", feature = "smtp", feature = "storage"))]
pub(crate) fn literal_value(input: &Map<String, Value>, field: &str) -> Option<Value> {
    svc_engine::Template::compile(input.get(field)?).as_literal().filter(|value| !value.is_null()).cloned()
}

/// Maximum of every time limit and delay, in milliseconds: a day.
pub(crate) const LONGEST_MS: u64 = 86_400_000;

/// Refuses a time in milliseconds that cannot be waited.
pub(crate) fn check_timeout(input: &Map<String, Value>, name: &str, at: &str, errors: &mut Vec<FieldError>) {
    let number = input.get(name).filter(|value| value.is_number());
    let wrong = number.filter(|value| value.as_u64().is_none_or(|ms| ms == 0 || ms > LONGEST_MS));
    if wrong.is_some() {
        let why = format!("must be a whole number from 1 to {LONGEST_MS}");
        errors.push(FieldError::invalid(format!("{at}.{name}"), why));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duration_is_whole_milliseconds_up_to_a_day() {
        let problems = |value: Value| {
            let mut errors = Vec::new();
            let input = Map::from_iter([("timeout_ms".to_owned(), value)]);
            check_timeout(&input, "timeout_ms", "input", &mut errors);
            errors.len()
        };
        for fine in
            [json!(1), json!(LONGEST_MS), json!(null), json!("of the wrong type, which others report")]
        {
            assert_eq!(problems(fine.clone()), 0, "{fine}");
        }
        for wrong in [json!(0), json!(-1), json!(1.5), json!(LONGEST_MS + 1), json!(u64::MAX)] {
            assert_eq!(problems(wrong.clone()), 1, "{wrong}");
        }
    }
}
