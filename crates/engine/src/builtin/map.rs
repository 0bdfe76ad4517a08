//! `map`: writes the results of expressions, in order; each mapping sees the writes of those before it.
//!
//! A task whose mappings all replace what is at their path is a kind of its own, so that it pays nothing for those that
//! append, extend and remove.

use serde_json::Value;

use super::Builtin;
use super::context::BuiltinCx;
use super::input::BuiltinInput;
use super::map_change::MappingChange;
use crate::catalogue::{FunctionEntry, InputField, PathUse};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::{Expression, SecretPolicy};
use crate::function::TaskOutcome;
use crate::path::{Path, WriteError};

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
        InputField::logic("logic", "Expression for the value, except with unset; null leaves the path alone")
            .required()
            .unless("unset"),
        InputField::string(
            "mode",
            "Use of the value: append adds it to the array at the path, extend its elements",
        )
        .one_of(&MODES),
        InputField::bool("unset", "true removes the path; such a mapping has no other input"),
        InputField::string(
            "on_null",
            "Use of a null: skip, by default, leaves the path alone, unset removes it",
        )
        .one_of(&ON_NULL),
    ])],
    ..FunctionEntry::built_in("map", "Writes the results of expressions into the message")
};

/// The uses of a value, other than to replace what is at the path.
pub(super) const MODES: [&str; 2] = ["append", "extend"];

/// The uses of a null, the default first.
pub(super) const ON_NULL: [&str; 3] = ["skip", "unset", "set"];

/// Failed mappings that the error lists one by one.
const NAMED: usize = 10;

/// The reason why a mapping left its path alone.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MappingRefusal {
    /// The expression failed, or its value is of no use.
    #[error("{0}")]
    Value(String),
    /// The message does not take the write.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<String> for MappingRefusal {
    fn from(reason: String) -> Self {
        Self::Value(reason)
    }
}

/// A step of a task.
pub(crate) trait MappingStep {
    /// Returns the path that is written.
    fn path(&self) -> &Path;

    /// Changes the message.
    ///
    /// # Errors
    /// The reason why the path was left alone.
    fn apply<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<(), MappingRefusal>;
}

#[derive(Debug)]
pub(crate) struct MapTask<M> {
    mappings: Box<[M]>,
}

/// A mapping that replaces what is at its path.
#[derive(Debug)]
pub(crate) struct Mapping {
    path: Path,
    logic: Expression,
}

impl Mapping {
    fn compile(mapping: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let path = mapping.required_target("path");
        let logic = mapping.required_logic("logic", SecretPolicy::Refused("a mapping"));
        Some(Self { path: path?, logic: logic? })
    }
}

impl MappingStep for Mapping {
    fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the result. A result of null leaves the path alone.
    fn apply<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<(), MappingRefusal> {
        let value = match self.logic.copies() {
            Some(source) => cx.work.get(cx.scope, source),
            None => cx.evaluate(&self.logic, |value| value.to_serde_value())?,
        };
        if value.is_null() {
            return Ok(());
        }
        Ok(cx.work.merge(cx.scope, &self.path, value)?)
    }
}

/// Compiles a task: one of plain mappings, or one with mappings that change what is at their path.
pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Builtin> {
    let mappings = input.required_array("mappings")?;
    let is_change =
        |mapping: &Value| ["mode", "unset", "on_null"].iter().any(|key| mapping.get(key).is_some());
    if mappings.iter().any(is_change) {
        let mappings = input.each("mappings", mappings, MappingChange::compile)?;
        return Some(Builtin::MapChanges(MapTask { mappings }));
    }
    let mappings = input.each("mappings", mappings, Mapping::compile)?;
    Some(Builtin::Map(MapTask { mappings }))
}

impl<M: MappingStep> MapTask<M> {
    /// A mapping that fails leaves its path alone, and the task ends with status 500 once the others have
    /// run.
    ///
    /// # Errors
    /// `TIMEOUT_ERROR`: the time of the run is over. `LIMIT_EXCEEDED`: a copy of the message would exceed its share.
    pub(super) async fn run<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<TaskOutcome, TaskError> {
        let mut failed = Vec::new();
        for (n, mapping) in self.mappings.iter().enumerate() {
            // The task has just begun with a check.
            if n > 0 {
                cx.pace.check().await?;
            }
            cx.work.keep_mapping_context(cx.scope);
            if let Err(reason) = mapping.apply(cx) {
                failed.push((mapping.path(), reason));
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
        let is_over_share =
            |reason: &MappingRefusal| matches!(reason, MappingRefusal::Write(WriteError::OverShare(_)));
        if failed.iter().any(|(_, reason)| is_over_share(reason)) {
            return Err(TaskError::new(ErrorCode::LimitExceeded, text));
        }
        cx.work.errors.push(TaskError::new(ErrorCode::TaskStatus, text));
        Ok(TaskOutcome::Status(500))
    }
}
