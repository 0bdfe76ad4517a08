//! Operations on a collection, and their execution.

use std::collections::BTreeMap;
use std::time::Duration;

use bson::{Bson, Document, doc, oid::ObjectId};
use mongodb::action::Action;
use mongodb::error::{ErrorKind, IndexedWriteError};
use mongodb::{Collection, Cursor};
use serde_json::{Value, json};
use svc_engine::value_bytes;

use super::error::MongoError;

/// One operation of a collection.
#[derive(Clone, Debug)]
pub(crate) enum CollectionOperation {
    /// Reads documents; with more than `cap` of them it fails.
    Find { find: Find, cap: u64 },
    /// Runs a pipeline; with more than `cap` documents it fails.
    Aggregate { pipeline: Vec<Document>, allow_disk_use: bool, cap: u64 },
    /// Inserts documents. With `ordered` nothing is tried after the first failure.
    Insert { documents: Vec<Document>, ordered: bool },
    /// Changes documents by update operators.
    Update { filter: Document, update: Document, array_filters: Vec<Document>, upsert: bool, many: bool },
    /// Replaces one document.
    Replace { filter: Document, document: Document, upsert: bool },
    /// Removes documents.
    Delete { filter: Document, many: bool },
}

/// A query of a collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Find {
    pub(crate) filter: Document,
    pub(crate) projection: Option<Document>,
    pub(crate) sort: Option<Document>,
    pub(crate) limit: Option<u64>,
    pub(crate) skip: u64,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OperationResult {
    /// Documents, as extended JSON.
    Documents(Vec<Value>),
    /// The result of each inserted document.
    Inserted(Vec<InsertedItem>),
    /// The number that matched, the number that changed, and the id of a document inserted instead.
    Updated { matched: u64, modified: u64, upserted: Option<Bson> },
    /// The number of removed documents.
    Deleted(u64),
}

/// One of several documents to insert.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InsertedItem {
    /// Stored under this id.
    Stored(Bson),
    /// Not stored, for this reason.
    Failed(MongoError),
    /// Not tried: an earlier document failed.
    Skipped,
}

impl CollectionOperation {
    /// Runs the operation; `limit` is the time limit that the server gets, `max_bytes` bounds the returned
    /// documents.
    pub(crate) async fn run(
        self,
        collection: &Collection<Document>,
        limit: Duration,
        max_bytes: usize,
    ) -> Result<OperationResult, MongoError> {
        let failed = |error| MongoError::from_driver(&error, limit);
        let bounds = Bounds { documents: 0, bytes: max_bytes };
        match self {
            Self::Find { find, cap } => {
                let most = find.limit.unwrap_or_else(|| cap.saturating_add(1));
                let query = collection
                    .find(find.filter)
                    .optional(find.projection, |query, fields| query.projection(fields))
                    .optional(find.sort, |query, order| query.sort(order))
                    .skip(find.skip)
                    .limit(i64::try_from(most).unwrap_or(i64::MAX))
                    .max_time(limit);
                collect(query.await.map_err(failed)?, Bounds { documents: cap, ..bounds }, limit).await
            }
            Self::Aggregate { pipeline, allow_disk_use, cap } => {
                let query = collection.aggregate(pipeline).allow_disk_use(allow_disk_use).max_time(limit);
                collect(query.await.map_err(failed)?, Bounds { documents: cap, ..bounds }, limit).await
            }
            Self::Insert { documents, ordered } => insert(collection, documents, ordered, limit).await,
            Self::Update { filter, update, array_filters, upsert, many } => {
                let change = if many {
                    collection.update_many(filter, update)
                } else {
                    collection.update_one(filter, update)
                };
                let filters = Some(array_filters).filter(|filters| !filters.is_empty());
                let change =
                    change.upsert(upsert).optional(filters, |change, filters| change.array_filters(filters));
                change.await.map(update_result).map_err(failed)
            }
            Self::Replace { filter, document, upsert } => {
                let change = collection.replace_one(filter, document).upsert(upsert);
                change.await.map(update_result).map_err(failed)
            }
            Self::Delete { filter, many } => {
                let removal =
                    if many { collection.delete_many(filter) } else { collection.delete_one(filter) };
                removal.await.map(|done| OperationResult::Deleted(done.deleted_count)).map_err(failed)
            }
        }
    }
}

fn update_result(done: mongodb::results::UpdateResult) -> OperationResult {
    OperationResult::Updated {
        matched: done.matched_count,
        modified: done.modified_count,
        upserted: done.upserted_id,
    }
}

/// Bounds of an answer.
#[derive(Clone, Copy)]
struct Bounds {
    documents: u64,
    /// Most bytes of the documents as they are held in memory.
    bytes: usize,
}

async fn collect(
    mut cursor: Cursor<Document>,
    bounds: Bounds,
    limit: Duration,
) -> Result<OperationResult, MongoError> {
    let mut documents = Vec::new();
    let mut bytes = 0_usize;
    while cursor.advance().await.map_err(|error| MongoError::from_driver(&error, limit))? {
        if documents.len() as u64 >= bounds.documents {
            return Err(MongoError::TooMany(bounds.documents));
        }
        let raw = cursor.current();
        if bytes.saturating_add(raw.as_bytes().len()) > bounds.bytes {
            return Err(MongoError::TooLarge(bounds.bytes));
        }
        let document = Document::try_from(raw)
            .map_err(|_| MongoError::Refused("the server sent what is no document".to_owned()))?;
        let document = Bson::Document(document).into_relaxed_extjson();
        bytes = bytes.saturating_add(value_bytes(&document));
        if bytes > bounds.bytes {
            return Err(MongoError::TooLarge(bounds.bytes));
        }
        documents.push(document);
    }
    Ok(OperationResult::Documents(documents))
}

async fn insert(
    collection: &Collection<Document>,
    documents: Vec<Document>,
    ordered: bool,
    limit: Duration,
) -> Result<OperationResult, MongoError> {
    // Named here, so that what was stored beside a failure can be named as well.
    let documents: Vec<_> = documents.into_iter().map(with_id).collect();
    let ids = documents.iter().map(|document| document.get("_id").cloned().unwrap_or(Bson::Null)).collect();
    match collection.insert_many(documents).ordered(ordered).await {
        Ok(_) => Ok(OperationResult::Inserted(items(ids, &[], ordered))),
        Err(error) => match error.kind.as_ref() {
            ErrorKind::InsertMany(failed) => match failed.write_errors.as_deref() {
                Some(errors) if !errors.is_empty() => {
                    Ok(OperationResult::Inserted(items(ids, errors, ordered)))
                }
                _ => Err(MongoError::Refused("the server could not confirm the write".to_owned())),
            },
            _ => Err(MongoError::from_driver(&error, limit)),
        },
    }
}

fn with_id(document: Document) -> Document {
    if document.contains_key("_id") {
        return document;
    }
    let mut identified = doc! {"_id": ObjectId::new()};
    identified.extend(document);
    identified
}

fn items(ids: Vec<Bson>, errors: &[IndexedWriteError], ordered: bool) -> Vec<InsertedItem> {
    let errors: BTreeMap<usize, &IndexedWriteError> =
        errors.iter().map(|error| (error.index, error)).collect();
    let end = errors.keys().next().copied().filter(|_| ordered);
    let item = |(index, id)| match errors.get(&index) {
        Some(error) => InsertedItem::Failed(MongoError::from_server_code(error.code, "", &error.message)),
        None if end.is_some_and(|end| index > end) => InsertedItem::Skipped,
        None => InsertedItem::Stored(id),
    };
    ids.into_iter().enumerate().map(item).collect()
}

impl InsertedItem {
    /// The id of what is stored.
    pub(crate) fn id(&self) -> Option<Bson> {
        match self {
            Self::Stored(id) => Some(id.clone()),
            _ => None,
        }
    }

    /// Returns the reason why it is not stored.
    pub(crate) fn failure(&self) -> Option<&MongoError> {
        match self {
            Self::Failed(why) => Some(why),
            _ => None,
        }
    }

    /// Returns the entry of this document in a partial result.
    pub(crate) fn report(&self, index: usize) -> Value {
        match self {
            Self::Stored(id) => {
                json!({"index": index, "status": "ok", "id": id.clone().into_relaxed_extjson()})
            }
            Self::Failed(why) => json!({"index": index, "status": "error", "error": why.to_string()}),
            Self::Skipped => json!({"index": index, "status": "skipped"}),
        }
    }
}
