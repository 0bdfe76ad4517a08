//! Translates bound documents of the dialect to MongoDB operations in extended JSON.
//!
//! Comparisons follow the dialect's table of comparisons; a missing member counts as null. A filter can look
//! through a relation only if its documents are embedded under the name of the relation.

mod filter;

use serde_json::{Map, Value, json};

use crate::constant::Constant;
use crate::query::{Projection, Select};
use crate::refusal::DialectRefusal;
use crate::schema::SchemaColumn;
use crate::write::{Conflict, ConflictAction, WriteChange};

pub use filter::filter;

/// A find operation.
#[derive(Clone, Debug, PartialEq)]
pub struct MongoFind {
    /// The collection to read.
    pub collection: String,
    /// The query document.
    pub filter: Value,
    /// The projection; `None` returns all members.
    pub projection: Option<Value>,
    /// The sort document; empty leaves the order open.
    pub sort: Value,
    /// Maximum number of documents.
    pub limit: u64,
    /// Number of documents to skip.
    pub skip: u64,
}

/// A write operation.
#[derive(Clone, Debug, PartialEq)]
pub enum MongoStatement {
    /// Inserts documents.
    Insert {
        /// The collection to write.
        collection: String,
        documents: Vec<Value>,
    },
    /// Updates every document that matches. With `upsert`, updates one document or inserts it.
    Update {
        /// The collection to write.
        collection: String,
        /// The query document.
        filter: Value,
        /// The update operators.
        update: Value,
        /// True to insert a document if none matches.
        upsert: bool,
    },
    /// Deletes every document that matches.
    Delete {
        /// The collection to write.
        collection: String,
        /// The query document.
        filter: Value,
    },
}

/// Builds the find operation of a read.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for what MongoDB does not support: related rows (`include`), or a filter that
/// [`filter()`] refuses.
pub fn find(select: &Select) -> Result<MongoFind, DialectRefusal> {
    if !select.include.is_empty() {
        return Err(DialectRefusal::invalid("query.include", "MongoDB has no related rows to bring along"));
    }
    let order = |sort: &crate::query::SortKey| {
        (sort.column.physical.to_string(), json!(if sort.descending { -1 } else { 1 }))
    };
    Ok(MongoFind {
        collection: select.source.physical.to_string(),
        filter: filter(&select.predicate)?,
        projection: projection(&select.fields),
        sort: Value::Object(select.sort.iter().map(order).collect()),
        limit: select.limit,
        skip: select.skip,
    })
}

/// A count of documents.
#[derive(Clone, Debug, PartialEq)]
pub struct MongoCount {
    /// The collection to count in.
    pub collection: String,
    /// The stages of the pipeline; its only document has the number as `count`, and there is none for no match.
    pub pipeline: [Value; 2],
}

/// Builds the count of the rows of a read.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a filter that [`filter()`] refuses.
pub fn count(select: &Select) -> Result<MongoCount, DialectRefusal> {
    let matched = json!({"$match": filter(&select.predicate)?});
    let counted = json!({"$group": {"_id": null, "count": {"$sum": 1}}});
    Ok(MongoCount { collection: select.source.physical.to_string(), pipeline: [matched, counted] })
}

/// Converts a document to a row. Members get the names that the query used; a missing member becomes null.
pub fn row(fields: &Projection, document: Value) -> Value {
    match (fields, document) {
        (Projection::Only(columns), Value::Object(mut members)) => {
            let named = |column: &SchemaColumn| {
                let value = members.remove(&*column.physical).unwrap_or_default();
                (column.name.to_string(), value)
            };
            Value::Object(columns.iter().map(named).collect())
        }
        (_, document) => document,
    }
}

/// Builds the operation of a write.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for what MongoDB does not support: `returning`, an upsert of several rows or
/// without a value for its key, or a filter that [`filter()`] refuses.
pub fn statement(change: &WriteChange) -> Result<MongoStatement, DialectRefusal> {
    match change {
        WriteChange::Insert { returning: Some(_), .. }
        | WriteChange::Update { returning: Some(_), .. }
        | WriteChange::Delete { returning: Some(_), .. } => {
            Err(DialectRefusal::invalid("write.returning", "MongoDB does not answer what it wrote"))
        }
        WriteChange::Insert { target, columns, rows, conflict: None, .. } => Ok(MongoStatement::Insert {
            collection: target.physical.to_string(),
            documents: rows.iter().map(|row| Value::Object(document(columns, row))).collect(),
        }),
        WriteChange::Insert { target, columns, rows, conflict: Some(conflict), .. } => {
            let [row] = rows.as_slice() else {
                return Err(DialectRefusal::invalid("write.values", "MongoDB upserts one row at a time"));
            };
            upsert(target.physical.to_string(), document(columns, row), conflict)
        }
        WriteChange::Update { target, set, predicate, .. } => Ok(MongoStatement::Update {
            collection: target.physical.to_string(),
            filter: filter(predicate)?,
            update: json!({"$set": assignments(set)}),
            upsert: false,
        }),
        WriteChange::Delete { target, predicate, .. } => {
            Ok(MongoStatement::Delete { collection: target.physical.to_string(), filter: filter(predicate)? })
        }
    }
}

fn projection(fields: &Projection) -> Option<Value> {
    let Projection::Only(columns) = fields else { return None };
    let mut shown: Map<_, _> = columns.iter().map(|column| (column.physical.to_string(), json!(1))).collect();
    if !shown.contains_key("_id") {
        shown.insert("_id".to_owned(), json!(0));
    }
    Some(Value::Object(shown))
}

fn document(columns: &[SchemaColumn], row: &[Value]) -> Map<String, Value> {
    columns.iter().zip(row).map(|(column, value)| (column.physical.to_string(), stored(value))).collect()
}

fn assignments(set: &[(SchemaColumn, Value)]) -> Map<String, Value> {
    set.iter().map(|(column, value)| (column.physical.to_string(), stored(value))).collect()
}

/// Returns a value as MongoDB writes it: bytes have a form of their own there.
fn stored(value: &Value) -> Value {
    match Constant::from_json(value) {
        Ok(Some(binary @ Constant::Binary(_))) => filter::value(&binary),
        _ => value.clone(),
    }
}

/// Builds an upsert. The members of the conflict target form the query, so that MongoDB copies them into a
/// new document; the other members are set always (`$set`) or only on insert (`$setOnInsert`).
fn upsert(
    collection: String,
    mut row: Map<String, Value>,
    conflict: &Conflict,
) -> Result<MongoStatement, DialectRefusal> {
    let mut filter = Map::new();
    for column in &conflict.target {
        let Some(value) = row.shift_remove(&*column.physical) else {
            let why = format!("\"{}\" tells rows apart and has no value", column.name);
            return Err(DialectRefusal::invalid("write.on_conflict.target", why));
        };
        filter.insert(column.physical.to_string(), json!({"$eq": value}));
    }
    let set = match &conflict.action {
        ConflictAction::Nothing => Map::new(),
        ConflictAction::Take(columns) => {
            let entries = columns.iter().filter_map(|column| row.shift_remove_entry(&*column.physical));
            entries.collect()
        }
        ConflictAction::Set(set) => assignments(set),
    };
    row.retain(|name, _| !set.contains_key(name));
    let mut update = Map::new();
    for (operator, members) in [("$set", set), ("$setOnInsert", row)] {
        if !members.is_empty() {
            update.insert(operator.to_owned(), Value::Object(members));
        }
    }
    if update.is_empty() {
        // An update needs at least one operator. Setting the members of the query on insert changes nothing.
        let same = filter.iter().map(|(name, value)| (name.clone(), value["$eq"].clone())).collect();
        update.insert("$setOnInsert".to_owned(), Value::Object(same));
    }
    Ok(MongoStatement::Update {
        collection,
        filter: Value::Object(filter),
        update: Value::Object(update),
        upsert: true,
    })
}

#[cfg(test)]
mod tests;
