//! `log`: writes a line to the service's log; never fails the task.

use datalogic_rs::DataValue;
use serde_json::Value;
use slog::Level;

use super::{Cx, Input};
use crate::expression::{Expression, SecretUse};
use crate::function::Outcome;

/// What stands in the line for an expression that failed.
const FAILED: &str = "<eval error>";

#[derive(Debug)]
pub(crate) struct Log {
    level: Level,
    message: Option<Expression>,
    /// By key, sorted.
    fields: Vec<(String, Expression)>,
}

impl Log {
    pub(super) fn compile(input: &mut Input<'_, '_>) -> Option<Self> {
        let level = match input.string_or("level", "info")? {
            "trace" => Some(Level::Trace),
            "debug" => Some(Level::Debug),
            "info" => Some(Level::Info),
            "warn" => Some(Level::Warning),
            "error" => Some(Level::Error),
            _ => {
                input.invalid("level", "one of trace, debug, info, warn, error");
                None
            }
        };
        let message = match input.get("message") {
            None => None,
            Some(source) => Some(input.logic("message", source, SecretUse::Refused("a log message"))?),
        };
        let mut fields = Vec::new();
        match input.get("fields") {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                for (key, source) in map {
                    let logic =
                        input.logic(&format!("fields.{key}"), source, SecretUse::Refused("a log field"))?;
                    fields.push((key.clone(), logic));
                }
            }
            Some(other) => {
                input.mismatch("fields", "object", other);
                return None;
            }
        }
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Some(Self { level: level?, message, fields })
    }

    pub(super) fn run<'r>(&'r self, cx: &mut Cx<'_, 'r>) -> Outcome {
        let mut line = self.message.as_ref().map(|message| text(cx, message)).unwrap_or_default();
        if !self.fields.is_empty() {
            let fields: Vec<String> =
                self.fields.iter().map(|(key, logic)| format!("{key}={}", text(cx, logic))).collect();
            line = format!("{line} [{}]", fields.join(", "));
        }
        let of = slog::kv!("workflow" => cx.workflow, "task" => cx.task);
        match self.level {
            Level::Trace => slog::trace!(cx.logger, "{}", line; of),
            Level::Debug => slog::debug!(cx.logger, "{}", line; of),
            Level::Info => slog::info!(cx.logger, "{}", line; of),
            Level::Warning => slog::warn!(cx.logger, "{}", line; of),
            Level::Error | Level::Critical => slog::error!(cx.logger, "{}", line; of),
        }
        Outcome::Success
    }
}

/// A string as it is, anything else as compact JSON.
fn text<'r>(cx: &mut Cx<'_, 'r>, logic: &'r Expression) -> String {
    match cx.evaluate(logic) {
        Ok(DataValue::String(text)) => (*text).to_owned(),
        Ok(value) => value.to_serde_value().to_string(),
        Err(_) => FAILED.to_owned(),
    }
}
