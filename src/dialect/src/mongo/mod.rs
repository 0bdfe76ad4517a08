//! Documents of the dialect as operations of MongoDB, in extended JSON.
//!
//! A comparison with a value is as the table of the dialect says; what is missing counts as null. A relation is looked
//! through only where its documents are embedded, under the relation's own name.

mod filter;

use serde_json::{Map, Value, json};

use crate::query::{Projection, Select};
use crate::refusal::DialectRefusal;
use crate::schema::SchemaColumn;
use crate::write::{Conflict, ConflictAction, WriteChange};

pub use filter::filter;

/// A find.
#[derive(Clone, Debug, PartialEq)]
pub struct MongoFind {
    /// Where.
    pub collection: String,
    /// Which documents.
    pub filter: Value,
    /// Which of their members; `None` for all.
    pub projection: Option<Value>,
    /// In which order; empty for any.
    pub sort: Value,
    /// How many at most.
    pub limit: u64,
    /// How many to pass over.
    pub skip: u64,
}

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub enum MongoStatement {
    /// Adds documents.
    Insert {
        /// Where.
        collection: String,
        /// The documents.
        documents: Vec<Value>,
    },
    /// Changes every document that matches, or with `upsert` one that is there or is made.
    Update {
        /// Where.
        collection: String,
        /// Which documents.
        filter: Value,
        /// The update operators.
        update: Value,
        /// Whether a document is made where none matches.
        upsert: bool,
    },
    /// Removes every document that matches.
    Delete {
        /// Where.
        collection: String,
        /// Which documents.
        filter: Value,
    },
}

/// The find of a read.
///
/// # Errors
/// What MongoDB cannot do.
pub fn find(select: &Select) -> Result<MongoFind, DialectRefusal> {
    if !select.include.is_empty() {
        return Err(DialectRefusal::at("query.include", "MongoDB has no related rows to bring along"));
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

/// A document as a row: its members under the names the query used, what is missing as null.
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

/// The statement of a write.
///
/// # Errors
/// What MongoDB cannot do.
pub fn statement(change: &WriteChange) -> Result<MongoStatement, DialectRefusal> {
    match change {
        WriteChange::Insert { returning: Some(_), .. }
        | WriteChange::Update { returning: Some(_), .. }
        | WriteChange::Delete { returning: Some(_), .. } => {
            Err(DialectRefusal::at("write.returning", "MongoDB does not answer what it wrote"))
        }
        WriteChange::Insert { target, columns, rows, conflict: None, .. } => Ok(MongoStatement::Insert {
            collection: target.physical.to_string(),
            documents: rows.iter().map(|row| Value::Object(document(columns, row))).collect(),
        }),
        WriteChange::Insert { target, columns, rows, conflict: Some(conflict), .. } => {
            let [row] = rows.as_slice() else {
                return Err(DialectRefusal::at("write.values", "MongoDB upserts one row at a time"));
            };
            upsert(target.physical.to_string(), document(columns, row), conflict)
        }
        WriteChange::Update { target, set, predicate, .. } => Ok(MongoStatement::Update {
            collection: target.physical.to_string(),
            filter: filter(predicate)?,
            update: json!({"$set": assigned(set)}),
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
    columns.iter().zip(row).map(|(column, value)| (column.physical.to_string(), value.clone())).collect()
}

fn assigned(set: &[(SchemaColumn, Value)]) -> Map<String, Value> {
    set.iter().map(|(column, value)| (column.physical.to_string(), value.clone())).collect()
}

/// The members that tell documents apart are what is looked for, so a new document has them by that; the others are set
/// always or only in a new one.
fn upsert(
    collection: String,
    mut row: Map<String, Value>,
    conflict: &Conflict,
) -> Result<MongoStatement, DialectRefusal> {
    let mut filter = Map::new();
    for column in &conflict.target {
        let Some(value) = row.shift_remove(&*column.physical) else {
            let why = format!("\"{}\" tells rows apart and has no value", column.name);
            return Err(DialectRefusal::at("write.on_conflict.target", why));
        };
        filter.insert(column.physical.to_string(), json!({"$eq": value}));
    }
    let set = match &conflict.action {
        ConflictAction::Nothing => Map::new(),
        ConflictAction::Take(columns) => {
            let taken = columns.iter().filter_map(|column| row.shift_remove_entry(&*column.physical));
            taken.collect()
        }
        ConflictAction::Set(set) => assigned(set),
    };
    row.retain(|name, _| !set.contains_key(name));
    let mut update = Map::new();
    for (operator, members) in [("$set", set), ("$setOnInsert", row)] {
        if !members.is_empty() {
            update.insert(operator.to_owned(), Value::Object(members));
        }
    }
    if update.is_empty() {
        // An update must name an operator; the members that are looked for are there either way.
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
