//! `mongo_write`: documents of a collection are inserted, changed, replaced, removed.

use bson::Document;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::MONGO_WRITE;
use svc_functions::declarations::mongo::{MongoWriteOperation, content as checks};
use svc_model::FieldError;

use super::common::{CollectionTarget, check_allowed, document, documents, insert_output, to_extended_json};
use super::content;
use super::operator_guard::{GuardedInput, InputContext};
use crate::directory::ConnectorDirectory;
use crate::drivers::mongo::{self, CollectionOperation};
use crate::functions::{WriteSettings, input};

/// The task function.
pub(crate) struct MongoWrite {
    connectors: ConnectorDirectory,
    settings: WriteSettings,
}

impl MongoWrite {
    pub(crate) fn new(connectors: ConnectorDirectory, settings: WriteSettings) -> Self {
        Self { connectors, settings }
    }
}

impl Function for MongoWrite {
    svc_functions::declared_by!(MONGO_WRITE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &MONGO_WRITE.entry;
        let op =
            input::text(table, input, "op").and_then(MongoWriteOperation::from_name).ok_or("op: unknown")?;
        let flag = |name: &str| input.get(name).and_then(Value::as_bool);
        Ok(Box::new(MongoWriteTask {
            target: CollectionTarget::compile(&self.connectors, NO_DOCUMENTS, table, input, cx)?,
            op,
            filter: GuardedInput::compile(input, "filter", InputContext::Query, cx),
            update: GuardedInput::compile(input, "update", InputContext::Update, cx),
            array_filters: GuardedInput::compile(input, "array_filters", InputContext::Query, cx),
            upsert: flag("upsert").unwrap_or(false),
            ordered: flag("ordered").unwrap_or(true),
            all: flag("all").unwrap_or(false),
            settings: self.settings,
        }))
    }
}

/// No bound: a write answers no documents.
const NO_DOCUMENTS: u64 = u64::MAX;

struct MongoWriteTask {
    target: CollectionTarget,
    op: MongoWriteOperation,
    filter: Option<GuardedInput>,
    update: Option<GuardedInput>,
    array_filters: Option<GuardedInput>,
    upsert: bool,
    ordered: bool,
    all: bool,
    settings: WriteSettings,
}

impl MongoWriteTask {
    fn operation(&self, cx: &TaskCx<'_>) -> Result<CollectionOperation, TaskError> {
        let upsert = self.upsert;
        Ok(match self.op {
            MongoWriteOperation::InsertOne => {
                let inserted = document("document", self.target.inputs.require(cx, "document")?)?;
                CollectionOperation::Insert { documents: vec![inserted], ordered: true }
            }
            MongoWriteOperation::InsertMany => {
                let batch = self.target.inputs.require(cx, "documents")?;
                check_present(batch.as_array(), |batch| checks::batch(batch, self.settings.max_rows))?;
                CollectionOperation::Insert {
                    documents: documents("documents", batch)?,
                    ordered: self.ordered,
                }
            }
            MongoWriteOperation::Update { many } => {
                let update = resolve_optional(self.update.as_ref(), cx, Map::new().into())?;
                let array_filters =
                    resolve_optional(self.array_filters.as_ref(), cx, Value::Array(Vec::new()))?;
                check_present(update.as_object(), checks::operators)?;
                check_present(update.as_object().zip(array_filters.as_array()), |(update, filters)| {
                    checks::identifiers(update, filters)
                })?;
                CollectionOperation::Update {
                    filter: self.filter(cx, many)?,
                    update: document("update", update)?,
                    array_filters: documents("array_filters", array_filters)?,
                    upsert,
                    many,
                }
            }
            MongoWriteOperation::Replace => {
                let replacement = self.target.inputs.require(cx, "document")?;
                check_present(replacement.as_object(), checks::plain)?;
                let document = document("document", replacement)?;
                CollectionOperation::Replace { filter: self.filter(cx, false)?, document, upsert }
            }
            MongoWriteOperation::Delete { many } => {
                CollectionOperation::Delete { filter: self.filter(cx, many)?, many }
            }
        })
    }

    /// Returns the filter of the documents to change. A filter that matches every document needs `all` and
    /// the server's permission.
    fn filter(&self, cx: &TaskCx<'_>, many: bool) -> Result<Document, TaskError> {
        let filter = document("filter", resolve_optional(self.filter.as_ref(), cx, Map::new().into())?)?;
        if !many || !content::matches_all(&filter) {
            return Ok(filter);
        }
        if !self.all {
            let why = "filter: every document matches; set all: true if that is meant";
            return Err(TaskError::validation(why));
        }
        if !self.settings.allow_unfiltered {
            let why = "filter: every document matches, and this server does not allow writes of every document; \
                       its setting is write.allow_unfiltered";
            return Err(TaskError::validation(why));
        }
        Ok(filter)
    }

    /// Returns the value for the output, and the outcome of the task.
    fn result(&self, answer: mongo::OperationResult) -> Result<(Value, TaskOutcome), TaskError> {
        match answer {
            mongo::OperationResult::Inserted(items) => {
                let (result, partial) =
                    insert_output(&items).map_err(|failed| self.target.task_error(&failed))?;
                Ok((result, if partial { TaskOutcome::Partial } else { TaskOutcome::Success }))
            }
            mongo::OperationResult::Updated { matched, modified, upserted } => {
                let mut result = json!({"status": "ok", "matched": matched, "modified": modified});
                if let Some(id) = upserted {
                    result["upserted_id"] = to_extended_json(id);
                }
                Ok((result, TaskOutcome::Success))
            }
            mongo::OperationResult::Deleted(deleted) => {
                Ok((json!({"status": "ok", "deleted": deleted}), TaskOutcome::Success))
            }
            mongo::OperationResult::Documents(documents) => Ok((documents.into(), TaskOutcome::Success)),
        }
    }
}

/// An input for one message, or the substitute of an absent one.
fn resolve_optional(
    bound: Option<&GuardedInput>,
    cx: &TaskCx<'_>,
    absent: Value,
) -> Result<Value, TaskError> {
    bound.map_or(Ok(absent), |bound| bound.resolve(cx))
}

/// Checks a value of the right type; one of another type is refused when it is turned into a document.
fn check_present<T>(
    value: Option<T>,
    check: impl FnOnce(T) -> Result<(), FieldError>,
) -> Result<(), TaskError> {
    value.map_or(Ok(()), check).map_err(content::at_run_time)
}

impl CompiledTask for MongoWriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let operation = self.operation(cx)?;
            let answer = self.target.run(cx, operation, |settings| {
                check_allowed(settings, self.op.permission())?;
                if self.upsert { check_allowed(settings, "upsert") } else { Ok(()) }
            });
            let (result, outcome) = self.result(answer.await?)?;
            cx.write(&self.target.output, result)?;
            Ok(outcome)
        })
    }
}
