//! `mongo_write`: documents of a collection are inserted, changed, replaced, removed.

use bson::Document;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use svc_engine::{CompileCx, ErrorCode, Function, Outcome, Task, TaskCx, TaskError};
use svc_model::FieldError;

use super::bound::{Bound, Place};
use super::common::{Target, allowed, document, documents, extended, inserted};
use super::update;
use crate::drivers::mongo::{self, Operation};
use crate::functions::{WriteSettings, input};
use crate::handle::Connectors;

/// The function.
pub(crate) struct MongoWrite {
    connectors: Connectors,
    settings: WriteSettings,
}

impl MongoWrite {
    pub(crate) fn new(connectors: Connectors, settings: WriteSettings) -> Self {
        Self { connectors, settings }
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
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "insert_one" => Self::InsertOne,
            "insert_many" => Self::InsertMany,
            "update_one" => Self::Update { many: false },
            "update_many" => Self::Update { many: true },
            "replace_one" => Self::Replace,
            "delete_one" => Self::Delete { many: false },
            "delete_many" => Self::Delete { many: true },
            _ => return None,
        })
    }

    /// Inputs that must be there, and those that may be: but for these, what says what is written has no use.
    const fn inputs(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::InsertOne => (&["document"], &[]),
            Self::InsertMany => (&["documents"], &[]),
            Self::Update { many: false } => (&["filter", "update"], &["array_filters"]),
            Self::Update { many: true } => (&["update"], &["filter", "array_filters"]),
            Self::Replace => (&["filter", "document"], &[]),
            Self::Delete { many: false } => (&["filter"], &[]),
            Self::Delete { many: true } => (&[], &["filter"]),
        }
    }

    const fn gate(self) -> &'static str {
        match self {
            Self::InsertOne | Self::InsertMany => "insert",
            Self::Update { .. } | Self::Replace => "update",
            Self::Delete { .. } => "delete",
        }
    }
}

/// Inputs that say what is written.
const CONTENT: [&str; 5] = ["document", "documents", "filter", "update", "array_filters"];

impl Function for MongoWrite {
    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let name = input.get("op").and_then(Value::as_str).unwrap_or_default();
        let Some(op) = Op::named(name) else { return };
        let (required, optional) = op.inputs();
        for input_name in CONTENT {
            let given = input.get(input_name).is_some_and(|value| !value.is_null());
            let path = format!("{at}.{input_name}");
            if required.contains(&input_name) && !given {
                errors.push(FieldError::required(path));
            } else if given && !required.contains(&input_name) && !optional.contains(&input_name) {
                errors.push(FieldError::invalid(
                    path,
                    format!("{input_name} is no input of mongo_write {name}"),
                ));
            }
        }
        if input.get("update").and_then(Value::as_object).is_some_and(Map::is_empty) {
            let why = "empty_update: name at least one operator, such as $set";
            errors.push(FieldError::invalid(format!("{at}.update"), why));
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn Task>, String> {
        let table = input::table("mongo_write")?;
        let op = input::text(table, input, "op").and_then(Op::named).ok_or("op: unknown")?;
        let flag = |name: &str| input.get(name).and_then(Value::as_bool);
        Ok(Box::new(MongoWriteTask {
            target: Target::compile(&self.connectors, table, input)?,
            op,
            filter: Bound::compile(input, "filter", Place::Query, cx),
            update: Bound::compile(input, "update", Place::Update, cx),
            array_filters: Bound::compile(input, "array_filters", Place::Query, cx),
            ordered: flag("ordered").unwrap_or(true),
            all: flag("all").unwrap_or(false),
            settings: self.settings,
        }))
    }
}

struct MongoWriteTask {
    target: Target,
    op: Op,
    filter: Option<Bound>,
    update: Option<Bound>,
    array_filters: Option<Bound>,
    ordered: bool,
    all: bool,
    settings: WriteSettings,
}

impl MongoWriteTask {
    fn operation(&self, cx: &TaskCx<'_>, upsert: bool) -> Result<Operation, TaskError> {
        Ok(match self.op {
            Op::InsertOne => {
                let inserted = document("document", self.target.inputs.require(cx, "document")?)?;
                Operation::Insert { documents: vec![inserted], ordered: true }
            }
            Op::InsertMany => {
                let documents = documents("documents", self.target.inputs.require(cx, "documents")?)?;
                let most = self.settings.max_rows;
                if documents.is_empty() || documents.len() as u64 > most {
                    let why = format!("documents: {} of them, 1 to {most} can be inserted", documents.len());
                    return Err(TaskError::validation(why));
                }
                Operation::Insert { documents, ordered: self.ordered }
            }
            Op::Update { many } => {
                let update = bound(self.update.as_ref(), "update", cx)?;
                let array_filters = match &self.array_filters {
                    Some(filters) => documents("array_filters", filters.resolve(cx)?)?,
                    None => Vec::new(),
                };
                update::check(&update, &array_filters)?;
                Operation::Update { filter: self.filter(cx, many)?, update, array_filters, upsert, many }
            }
            Op::Replace => {
                let document = document("document", self.target.inputs.require(cx, "document")?)?;
                if let Some(key) = document.keys().find(|key| key.starts_with('$')) {
                    let why = format!("document: \"{key}\" is an operator; use update_one for those");
                    return Err(TaskError::validation(why));
                }
                Operation::Replace { filter: self.filter(cx, false)?, document, upsert }
            }
            Op::Delete { many } => Operation::Delete { filter: self.filter(cx, many)?, many },
        })
    }

    /// Which documents. An empty filter of several is a mistake unless two parties say that it is meant.
    fn filter(&self, cx: &TaskCx<'_>, many: bool) -> Result<Document, TaskError> {
        let filter = bound(self.filter.as_ref(), "filter", cx)?;
        if !many || !filter.is_empty() {
            return Ok(filter);
        }
        if !self.all {
            return Err(TaskError::validation("filter: it is empty; set all: true to write every document"));
        }
        if !self.settings.allow_unfiltered {
            let why =
                "this server does not allow writes of every document; its setting is write.allow_unfiltered";
            return Err(TaskError::new(ErrorCode::ConnectorDetail, why));
        }
        Ok(filter)
    }

    /// What is written to the output, and whether all was done.
    fn result(&self, answer: mongo::Outcome) -> Result<(Value, Outcome), TaskError> {
        match answer {
            mongo::Outcome::Inserted(items) => {
                let (result, partial) = inserted(&items).map_err(|why| self.target.refused(&why))?;
                Ok((result, if partial { Outcome::Partial } else { Outcome::Success }))
            }
            mongo::Outcome::Updated { matched, modified, upserted } => {
                let mut result = json!({"status": "ok", "matched": matched, "modified": modified});
                if let Some(id) = upserted {
                    result["upserted_id"] = extended(id);
                }
                Ok((result, Outcome::Success))
            }
            mongo::Outcome::Deleted(deleted) => {
                Ok((json!({"status": "ok", "deleted": deleted}), Outcome::Success))
            }
            mongo::Outcome::Documents(documents) => Ok((documents.into(), Outcome::Success)),
        }
    }
}

fn bound(bound: Option<&Bound>, name: &str, cx: &TaskCx<'_>) -> Result<Document, TaskError> {
    let Some(bound) = bound else { return Ok(Document::new()) };
    document(name, bound.resolve(cx)?)
}

impl Task for MongoWriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<Outcome, TaskError>> {
        Box::pin(async move {
            let upsert = self.target.flag(cx, "upsert")?;
            let operation = self.operation(cx, upsert)?;
            let answer = self.target.run(cx, operation, |settings| {
                allowed(settings, self.op.gate())?;
                if upsert { allowed(settings, "upsert") } else { Ok(()) }
            });
            let (result, outcome) = self.result(answer.await?)?;
            cx.write(&self.target.output, result)?;
            Ok(outcome)
        })
    }
}
