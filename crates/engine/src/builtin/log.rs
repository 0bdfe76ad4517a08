//! `log`: writes a line to the service's log; never fails the task.

use datalogic_rs::DataValue;
use serde_json::Value;
use slog::Level;
use svc_model::mask::MASK;

use super::context::BuiltinCx;
use super::input::BuiltinInput;
use crate::catalogue::{FunctionEntry, InputField};
use crate::error::TaskError;
use crate::expression::{Expression, SecretPolicy};
use crate::function::TaskOutcome;

/// The catalogue entry of `log`.
pub(super) static ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::string("level", "Level of the line, info by default")
            .one_of(&["trace", "debug", "info", "warn", "error"]),
        InputField::logic("message", "Expression for the text; a text stands for itself"),
        InputField::object("fields", "Expressions for values to add to the line, by name").of_logic(),
    ],
    ..FunctionEntry::built_in("log", "Writes a line to the service's log")
};

/// The text that replaces an expression that failed.
const FAILED: &str = "<eval error>";

#[derive(Debug)]
pub(crate) struct LogTask {
    level: Level,
    message: Option<Expression>,
    /// By key, sorted.
    fields: Vec<(String, Expression)>,
}

impl LogTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let level = input.one_of("level", &["info", "trace", "debug", "warn", "error"]);
        let level = level.map(|name| match name {
            "trace" => Level::Trace,
            "debug" => Level::Debug,
            "warn" => Level::Warning,
            "error" => Level::Error,
            _ => Level::Info,
        });
        let message = match input.get("message") {
            None => None,
            Some(source) => Some(input.logic("message", source, SecretPolicy::Refused("a log message"))?),
        };
        let mut fields = Vec::new();
        match input.get("fields") {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                for (key, source) in map {
                    let logic = input.logic(
                        &format!("fields.{key}"),
                        source,
                        SecretPolicy::Refused("a log field"),
                    )?;
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

    pub(super) async fn run<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<TaskOutcome, TaskError> {
        let mut line = self.message.as_ref().map(|message| text(cx, message)).unwrap_or_default();
        if !self.fields.is_empty() {
            let mut fields = Vec::with_capacity(self.fields.len());
            for (key, logic) in &self.fields {
                cx.pace.check().await?;
                fields.push(format!("{key}={}", text(cx, logic)));
            }
            line = format!("{line} [{}]", fields.join(", "));
        }
        // The line of the run that a shadow follows is in the log already.
        if cx.work.recorder.as_ref().is_some_and(|recorder| recorder.is_shadow()) {
            return Ok(TaskOutcome::Success);
        }
        let of = slog::kv!("workflow" => cx.workflow, "task" => cx.task);
        match self.level {
            Level::Trace => slog::trace!(cx.logger, "{}", line; of),
            Level::Debug => slog::debug!(cx.logger, "{}", line; of),
            Level::Info => slog::info!(cx.logger, "{}", line; of),
            Level::Warning => slog::warn!(cx.logger, "{}", line; of),
            Level::Error | Level::Critical => slog::error!(cx.logger, "{}", line; of),
        }
        Ok(TaskOutcome::Success)
    }
}

/// A string as it is, anything else as compact JSON; a mask in a run with confidential values,
/// unless it is a constant.
fn text<'r>(cx: &mut BuiltinCx<'_, 'r>, logic: &'r Expression) -> String {
    if !cx.work.redaction.is_empty() && !logic.is_constant() {
        return MASK.to_owned();
    }
    let shown = cx.evaluate(logic, |value| match value {
        DataValue::String(text) => (*text).to_owned(),
        value => value.to_serde_value().to_string(),
    });
    shown.unwrap_or_else(|_| FAILED.to_owned())
}
