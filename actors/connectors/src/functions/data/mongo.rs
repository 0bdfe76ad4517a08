//! Documents over MongoDB.

use bson::{Bson, Document};
use serde_json::{Value, json};
use svc_dialect::mongo::{self, MongoStatement};
use svc_dialect::{DocumentExtent, Select, WriteChange, WriteDocument};
use svc_engine::{ErrorCode, TaskError};

use super::document::{DocumentTask, WriteResult, guard, refusal_error};
use crate::drivers::mongo::{CollectionOperation, Find, MongoDriver, OperationResult, RunOperation};
use crate::functions::call::call_driver;
use crate::functions::mongo::{document, insert_output};

/// Reads rows.
pub(super) async fn query(
    base: &DocumentTask,
    extent: &DocumentExtent,
    select: &Select,
) -> Result<Vec<Value>, TaskError> {
    let find = mongo::find(select).map_err(|refusal| refusal_error(&refusal, &base.connector))?;
    let non_empty =
        |value: Value| value.as_object().is_some_and(|members| !members.is_empty()).then_some(value);
    let operation = CollectionOperation::Find {
        find: Find {
            filter: document("query.filter", find.filter)?,
            projection: find.projection.map(|shown| document("query.fields", shown)).transpose()?,
            sort: non_empty(find.sort).map(|sort| document("query.sort", sort)).transpose()?,
            limit: Some(find.limit),
            skip: find.skip,
        },
        cap: find.limit,
    };
    match run(base, extent, "read", find.collection, operation).await? {
        OperationResult::Documents(documents) => {
            Ok(documents.into_iter().map(|found| mongo::row(&select.fields, found)).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Counts rows.
pub(super) async fn count(
    base: &DocumentTask,
    extent: &DocumentExtent,
    select: &Select,
) -> Result<u64, TaskError> {
    let count = mongo::count(select).map_err(|refusal| refusal_error(&refusal, &base.connector))?;
    let pipeline = count.pipeline.into_iter().map(|stage| document("query.filter", stage));
    let operation = CollectionOperation::Aggregate {
        pipeline: pipeline.collect::<Result<_, _>>()?,
        allow_disk_use: false,
        cap: 1,
    };
    match run(base, extent, "read", count.collection, operation).await? {
        OperationResult::Documents(documents) => {
            let counted = documents.first().and_then(|found| found["count"].as_u64());
            Ok(counted.unwrap_or_default())
        }
        _ => Ok(0),
    }
}

/// Writes rows.
pub(super) async fn write(
    base: &DocumentTask,
    write: &WriteDocument,
    change: &WriteChange,
) -> Result<WriteResult, TaskError> {
    let statement = mongo::statement(change).map_err(|refusal| refusal_error(&refusal, &base.connector))?;
    let (collection, operation) = match statement {
        MongoStatement::Insert { collection, documents } => {
            let documents: Result<Vec<_>, _> =
                documents.into_iter().map(|row| document("write.values", row)).collect();
            (collection, CollectionOperation::Insert { documents: documents?, ordered: true })
        }
        MongoStatement::Update { collection, filter, update, upsert } => {
            let (filter, update) = (document("write.filter", filter)?, document("write", update)?);
            let array_filters = Vec::<Document>::new();
            (collection, CollectionOperation::Update { filter, update, array_filters, upsert, many: !upsert })
        }
        MongoStatement::Delete { collection, filter } => (
            collection,
            CollectionOperation::Delete { filter: document("write.filter", filter)?, many: true },
        ),
    };
    let outcome = run(base, write.extent(), write.operation().name(), collection, operation).await?;
    let (output, partial) = match outcome {
        OperationResult::Inserted(items) => {
            insert_output(&items).map_err(|failed| failed.to_task_error(&base.connector))?
        }
        OperationResult::Updated { matched, modified, upserted } => {
            let mut output = json!({"status": "ok", "matched": matched, "modified": modified});
            if let Some(id) = upserted {
                output["upserted_id"] = id_to_json(id);
            }
            (output, false)
        }
        OperationResult::Deleted(deleted) => (json!({"status": "ok", "deleted": deleted}), false),
        OperationResult::Documents(_) => (Value::Null, false),
    };
    Ok(WriteResult { output, partial })
}

/// An id as a text, if it is one or has one.
fn id_to_json(id: Bson) -> Value {
    match id {
        Bson::ObjectId(id) => id.to_hex().into(),
        other => other.into_relaxed_extjson(),
    }
}

async fn run(
    base: &DocumentTask,
    extent: &DocumentExtent,
    switch: &str,
    collection: String,
    operation: CollectionOperation,
) -> Result<OperationResult, TaskError> {
    let connector = &base.connector;
    let Some(database) = &base.database else {
        return Err(TaskError::validation("database: a MongoDB connector needs it"));
    };
    let message = |driver: &MongoDriver| {
        if !driver.settings.operations.allow(switch) {
            let detail = format!("connector '{connector}' does not allow {switch}");
            return Err(TaskError::new(ErrorCode::ConnectorDetail, detail));
        }
        guard(extent, &driver.settings.dialect, connector)?;
        let (database, collection) = (database.clone(), collection.clone());
        let max_bytes = driver.settings.max_bytes(base.max_result_bytes);
        let run = RunOperation { database, collection, operation: operation.clone(), max_bytes };
        Ok((driver.address.clone(), run))
    };
    let (_, answer) = call_driver(&base.connectors, connector, message).await?;
    answer.map_err(|error| error.to_task_error(connector))
}
