//! The parts that the functions over collections share: their target, and the conversion between JSON and
//! documents.

use std::ops::RangeInclusive;
use std::sync::Arc;

use bson::{Bson, Document};
use serde_json::{Value, json};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, ErrorCode, Inputs, Path, TaskCx, TaskError};
use svc_functions::declarations::mongo::whole_number;

use crate::directory::ConnectorDirectory;
use crate::drivers::mongo::{
    CollectionOperation, InsertedItem, MongoDriver, MongoError, MongoSettings, OperationResult, RunOperation,
};
use crate::functions::call::{Caller, call_driver, call_with_breaker};
use crate::functions::input::{self, text};

/// The collection of a task, and the path of its result.
pub(super) struct CollectionTarget {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    database: String,
    collection: String,
    max_result_bytes: u64,
    pub(super) inputs: Inputs,
    pub(super) output: Path,
}

impl CollectionTarget {
    pub(super) fn compile(
        connectors: &ConnectorDirectory,
        max_result_bytes: u64,
        table: &'static FunctionEntry,
        input: &Value,
        cx: &CompileCx<'_>,
    ) -> Result<Self, String> {
        let named = |name| text(table, input, name).unwrap_or_default();
        Ok(Self {
            connectors: connectors.clone(),
            connector: named("connector").into(),
            database: named("database").to_owned(),
            collection: named("collection").to_owned(),
            max_result_bytes,
            inputs: Inputs::new(table, input, cx)?,
            output: input::path(text(table, input, "output").unwrap_or("data"))?,
        })
    }

    /// Runs an operation that `check` lets through, as one call.
    pub(super) async fn run(
        &self,
        cx: &TaskCx<'_>,
        operation: CollectionOperation,
        check: impl Fn(&MongoSettings) -> Result<(), String>,
    ) -> Result<OperationResult, TaskError> {
        let message = |driver: &MongoDriver| {
            let closed = |why| {
                TaskError::new(ErrorCode::ConnectorDetail, format!("connector '{}' {why}", self.connector))
            };
            check(&driver.settings).map_err(closed)?;
            let (database, collection) = (self.database.clone(), self.collection.clone());
            let max_bytes = driver.settings.max_bytes(self.max_result_bytes);
            let run = RunOperation { database, collection, operation: operation.clone(), max_bytes };
            Ok((driver.address.clone(), run))
        };
        let call = async {
            let (_, answer) = call_driver(&self.connectors, &self.connector, message).await?;
            answer.map_err(|error| error.to_task_error(&self.connector))
        };
        let caller = Caller::of_task(cx).with_target(self.collection.as_str());
        call_with_breaker(&self.connectors, &caller, &self.connector, call).await
    }

    /// Converts the error of a write that stored no document.
    pub(super) fn task_error(&self, failed: &MongoError) -> TaskError {
        failed.to_task_error(&self.connector)
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &self,
        cx: &TaskCx<'_>,
        name: &str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>, TaskError> {
        let Some(value) = self.inputs.get(cx, name)? else { return Ok(None) };
        let whole = whole_number(&value).filter(|number| bounds.contains(number));
        let wrong = || {
            let (least, most) = (bounds.start(), bounds.end());
            TaskError::validation(format!("{name}: must be a whole number from {least} to {most}"))
        };
        whole.map(Some).ok_or_else(wrong)
    }
}

/// Refuses an operation that a connector does not allow.
pub(super) fn check_allowed(settings: &MongoSettings, operation: &str) -> Result<(), String> {
    if settings.operations.allow(operation) { Ok(()) } else { Err(format!("does not allow {operation}")) }
}

/// A document of extended JSON.
///
/// # Errors
/// `VALIDATION_ERROR` naming the input.
pub(crate) fn document(name: &str, value: Value) -> Result<Document, TaskError> {
    let wrong = |why: &str| TaskError::validation(format!("{name}: {why}"));
    let Value::Object(members) = value else { return Err(wrong("must be an object")) };
    if let Some(number) = members.values().find_map(too_large) {
        return Err(wrong(&format!("the integer {number} does not fit 64 bits")));
    }
    Document::try_from(members).map_err(|_| wrong("it holds what looks like extended JSON and is not"))
}

/// Documents of extended JSON.
///
/// # Errors
/// `VALIDATION_ERROR` naming the input and the place in it.
pub(super) fn documents(name: &str, value: Value) -> Result<Vec<Document>, TaskError> {
    let Value::Array(items) = value else {
        return Err(TaskError::validation(format!("{name}: must be an array")));
    };
    let each = items.into_iter().enumerate();
    each.map(|(index, item)| document(&format!("{name}[{index}]"), item)).collect()
}

/// Returns the output for inserted documents, and `true` if only a part of them is stored.
///
/// # Errors
/// [`MongoError`] if none is stored.
pub(crate) fn insert_output(items: &[InsertedItem]) -> Result<(Value, bool), MongoError> {
    let ids: Vec<_> = items.iter().filter_map(InsertedItem::id).map(to_extended_json).collect();
    if ids.len() == items.len() {
        return Ok((json!({"status": "ok", "inserted": ids.len(), "ids": ids}), false));
    }
    if ids.is_empty() {
        let nothing = || MongoError::Refused("nothing was inserted".to_owned());
        return Err(items.iter().find_map(InsertedItem::failure).cloned().unwrap_or_else(nothing));
    }
    let report: Vec<_> = items.iter().enumerate().map(|(index, item)| item.report(index)).collect();
    Ok((json!({"status": "partial", "inserted": ids.len(), "ids": ids, "items": report}), true))
}

/// A value as extended JSON.
pub(super) fn to_extended_json(value: Bson) -> Value {
    value.into_relaxed_extjson()
}

fn too_large(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) if !number.is_i64() => number.as_u64(),
        Value::Array(items) => items.iter().find_map(too_large),
        Value::Object(members) => members.values().find_map(too_large),
        _ => None,
    }
}
