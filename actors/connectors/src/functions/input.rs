//! Reading an authored input that fits its table.

use serde_json::Value;
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, Expression, Path};

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
