//! `mongo_write`: documents of a collection are inserted, changed, replaced, removed.

use bson::Document;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, QueryLanguage};
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_model::{ConnectorType, FieldCode, FieldError};

use super::common::{
    COLLECTION, CollectionTarget, DATABASE, check_allowed, check_names, document, documents, insert_output,
    to_extended_json,
};
use super::content;
use super::operator_guard::{GuardedInput, InputContext, is_var};
use crate::directory::ConnectorDirectory;
use crate::drivers::mongo::{self, CollectionOperation};
use crate::functions::{WriteSettings, input};

/// The catalogue entry of `mongo_write`.
static ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "depends_on:op",
    strict: true,
    fields: &[
        InputField::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        InputField::string(
            "op",
            "insert_one, insert_many, update_one, update_many, replace_one, delete_one or delete_many",
        )
        .required(),
        InputField::object("document", "The document, for insert_one and replace_one").resolvable(),
        InputField::array("documents", "The documents, for insert_many").resolvable(),
        InputField::object("filter", "Which documents, for updates, replacements and deletes").resolvable(),
        InputField::object("update", "Update operators").resolvable(),
        InputField::array("array_filters", "Filters of the identifiers the update names").resolvable(),
        InputField::bool("upsert", "Inserts when nothing matches, for updates and replacements"),
        InputField::bool("ordered", "Stops insert_many at the first error, true by default"),
        InputField::bool("all", "Confirms that an empty filter is meant, for update_many and delete_many"),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "mongo_write",
        "Writes documents of a collection",
        ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::MongoDb),
    )
};

/// The task function.
pub(crate) struct MongoWrite {
    connectors: ConnectorDirectory,
    settings: WriteSettings,
}

impl MongoWrite {
    pub(crate) fn new(connectors: ConnectorDirectory, settings: WriteSettings) -> Self {
        Self { connectors, settings }
    }

    /// Checks what no message changes; how many documents are too many is the server's to say when it runs.
    fn written_out(op: Op, input: &Map<String, Value>) -> Result<(), FieldError> {
        let object = |name| input.get(name).filter(|value| !is_var(value)).and_then(Value::as_object);
        match op {
            Op::Update { .. } => {
                object("update").map_or(Ok(()), content::operators)?;
                let filters = match input.get("array_filters") {
                    None | Some(Value::Null) => Some(Value::Array(Vec::new())),
                    Some(_) => input::literal_value(input, "array_filters"),
                };
                match (input::literal_value(input, "update"), filters) {
                    (Some(Value::Object(update)), Some(Value::Array(filters))) => {
                        content::identifiers(&update, &filters)
                    }
                    _ => Ok(()),
                }
            }
            Op::Replace => object("document").map_or(Ok(()), content::plain),
            Op::InsertMany => {
                let documents = input.get("documents").and_then(Value::as_array);
                documents.map_or(Ok(()), |documents| content::batch(documents, u64::MAX))
            }
            Op::InsertOne | Op::Delete { .. } => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    InsertOne,
    InsertMany,
    Update { many: bool },
    Replace,
    Delete { many: bool },
}

impl Op {
    const ALL: [(&str, Self); 7] = [
        ("insert_one", Self::InsertOne),
        ("insert_many", Self::InsertMany),
        ("update_one", Self::Update { many: false }),
        ("update_many", Self::Update { many: true }),
        ("replace_one", Self::Replace),
        ("delete_one", Self::Delete { many: false }),
        ("delete_many", Self::Delete { many: true }),
    ];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, op)| *op)
    }

    /// Inputs that must be there, and those that may be; the others of [`OF_SOME`] have no use.
    const fn inputs(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::InsertOne => (&["document"], &[]),
            Self::InsertMany => (&["documents"], &["ordered"]),
            Self::Update { many: false } => (&["filter", "update"], &["array_filters", "upsert"]),
            Self::Update { many: true } => (&["update"], &["filter", "array_filters", "upsert", "all"]),
            Self::Replace => (&["filter", "document"], &["upsert"]),
            Self::Delete { many: false } => (&["filter"], &[]),
            Self::Delete { many: true } => (&[], &["filter", "all"]),
        }
    }

    const fn check_operation(self) -> &'static str {
        match self {
            Self::InsertOne | Self::InsertMany => "insert",
            Self::Update { .. } | Self::Replace => "update",
            Self::Delete { .. } => "delete",
        }
    }
}

/// Inputs that belong to some operations.
const OF_SOME: [&str; 8] =
    ["document", "documents", "filter", "update", "array_filters", "upsert", "ordered", "all"];

impl Function for MongoWrite {
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        check_names(input, at, errors);
        let Some(name) = input.get("op").and_then(Value::as_str) else { return };
        let Some(op) = Op::from_name(name) else {
            let names: Vec<_> = Op::ALL.iter().map(|(name, _)| *name).collect();
            let message = format!("unknown op; known: {}", names.join(", "));
            let unknown = FieldError::new(format!("{at}.op"), FieldCode::UnknownOp, message);
            return errors.push(unknown.with_expected(names).with_got(name));
        };
        let (required, optional) = op.inputs();
        for input_name in OF_SOME {
            let is_given = input.get(input_name).is_some_and(|value| !value.is_null());
            let path = format!("{at}.{input_name}");
            if required.contains(&input_name) && !is_given {
                let message = format!("{name} needs {input_name}");
                errors.push(FieldError::new(path, FieldCode::MissingRequired, message));
            } else if is_given && !required.contains(&input_name) && !optional.contains(&input_name) {
                let message = format!("{input_name} is no input of {name}");
                errors.push(FieldError::new(path, FieldCode::FieldNotApplicable, message));
            }
        }
        if let Err(problem) = Self::written_out(op, input) {
            errors.push(FieldError { path: format!("{at}.{}", problem.path), ..problem });
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &ENTRY;
        let op = input::text(table, input, "op").and_then(Op::from_name).ok_or("op: unknown")?;
        let flag = |name: &str| input.get(name).and_then(Value::as_bool);
        Ok(Box::new(MongoWriteTask {
            target: CollectionTarget::compile(&self.connectors, NO_DOCUMENTS, table, input)?,
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
    op: Op,
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
            Op::InsertOne => {
                let inserted = document("document", self.target.inputs.require(cx, "document")?)?;
                CollectionOperation::Insert { documents: vec![inserted], ordered: true }
            }
            Op::InsertMany => {
                let batch = self.target.inputs.require(cx, "documents")?;
                check_present(batch.as_array(), |batch| content::batch(batch, self.settings.max_rows))?;
                CollectionOperation::Insert {
                    documents: documents("documents", batch)?,
                    ordered: self.ordered,
                }
            }
            Op::Update { many } => {
                let update = resolve_optional(self.update.as_ref(), cx, Map::new().into())?;
                let array_filters =
                    resolve_optional(self.array_filters.as_ref(), cx, Value::Array(Vec::new()))?;
                check_present(update.as_object(), content::operators)?;
                check_present(update.as_object().zip(array_filters.as_array()), |(update, filters)| {
                    content::identifiers(update, filters)
                })?;
                CollectionOperation::Update {
                    filter: self.filter(cx, many)?,
                    update: document("update", update)?,
                    array_filters: documents("array_filters", array_filters)?,
                    upsert,
                    many,
                }
            }
            Op::Replace => {
                let replacement = self.target.inputs.require(cx, "document")?;
                check_present(replacement.as_object(), content::plain)?;
                let document = document("document", replacement)?;
                CollectionOperation::Replace { filter: self.filter(cx, false)?, document, upsert }
            }
            Op::Delete { many } => CollectionOperation::Delete { filter: self.filter(cx, many)?, many },
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
                check_allowed(settings, self.op.check_operation())?;
                if self.upsert { check_allowed(settings, "upsert") } else { Ok(()) }
            });
            let (result, outcome) = self.result(answer.await?)?;
            cx.write(&self.target.output, result)?;
            Ok(outcome)
        })
    }
}
