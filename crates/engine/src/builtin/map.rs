//! `map`: writes the results of expressions, in order; each mapping sees the writes of those before it.

use super::context::BuiltinCx;
use super::input::BuiltinInput;
use crate::catalogue::{FunctionEntry, InputField, PathUse};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::{Expression, SecretPolicy};
use crate::function::TaskOutcome;
use crate::path::Path;

/// The catalogue entry of `map`.
pub(super) static ENTRY: FunctionEntry = FunctionEntry {
    fields: &[InputField::array(
        "mappings",
        "What is written, in order; each sees the writes of those before it",
    )
    .required()
    .each(&[
        InputField::string("path", "Path that is written, below data, metadata or temp_data")
            .required()
            .path(PathUse::Target { alone: true }),
        InputField::logic("logic", "Expression for the value; null leaves the path alone").required(),
    ])],
    ..FunctionEntry::built_in("map", "Writes the results of expressions into the message")
};

/// Failed mappings that the error lists one by one.
const NAMED: usize = 10;

#[derive(Debug)]
pub(crate) struct MapTask {
    mappings: Box<[Mapping]>,
}

#[derive(Debug)]
struct Mapping {
    path: Path,
    logic: Expression,
}

impl Mapping {
    /// Writes the result. A result of null leaves the path alone.
    fn apply<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<(), String> {
        let value = match self.logic.copies() {
            Some(source) => cx.work.get(cx.scope, source),
            None => cx.evaluate(&self.logic, |value| value.to_serde_value())?,
        };
        if value.is_null() {
            return Ok(());
        }
        cx.work.merge(cx.scope, &self.path, value).map_err(|error| error.to_string())
    }
}

impl MapTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let mappings = input.required_array("mappings")?;
        let mappings = input.each("mappings", mappings, |mapping| {
            let path = mapping.required_target("path");
            let logic = mapping.required_logic("logic", SecretPolicy::Refused("a mapping"));
            Some(Mapping { path: path?, logic: logic? })
        })?;
        Some(Self { mappings })
    }

    /// A mapping that fails leaves its path alone, and the task ends with status 500 once the others have
    /// run.
    pub(super) async fn run<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<TaskOutcome, TaskError> {
        let mut failed = Vec::new();
        for (n, mapping) in self.mappings.iter().enumerate() {
            // The task has just begun with a check.
            if n > 0 {
                cx.pace.check().await?;
            }
            cx.work.keep_mapping_context(cx.scope);
            if let Err(reason) = mapping.apply(cx) {
                failed.push((&mapping.path, reason));
            }
        }
        if failed.is_empty() {
            return Ok(TaskOutcome::Success);
        }
        let mut text: Vec<_> =
            failed.iter().take(NAMED).map(|(path, reason)| format!("{path}: {reason}")).collect();
        if failed.len() > NAMED {
            text.push(format!("and {} more", failed.len() - NAMED));
        }
        let text = format!("mapping failed: {}", text.join("; "));
        cx.work.errors.push(TaskError::new(ErrorCode::TaskStatus, text));
        Ok(TaskOutcome::Status(500))
    }
}
