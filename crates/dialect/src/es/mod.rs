//! Translates bound documents of the dialect to Elasticsearch requests.
//!
//! Values of a message appear only in bodies and, as a document id, in one path segment. They are never part
//! of a script, a pattern or an index name.

mod filter;

use serde_json::{Map, Value, json};

use crate::constant::Constant;
use crate::query::{Projection, Select};
use crate::refusal::DialectRefusal;
use crate::schema::{SchemaColumn, SchemaEntity};
use crate::write::{Conflict, ConflictAction, WriteChange};

pub use filter::filter;

/// Largest `from + size` that Elasticsearch accepts in a search (`index.max_result_window`).
const WINDOW: u64 = 10_000;
/// Name under which the dialect exposes the document id, which Elasticsearch keeps outside `_source`.
const ID: &str = "_id";
/// Maximum length of a document id, in bytes.
const LONGEST_ID: usize = 512;
/// Script that sets members of a document. Names and values are parameters, so that the script text is
/// constant.
const SET: &str = "for (entry in params.set.entrySet()) { ctx._source[entry.getKey()] = entry.getValue() }";

/// A request to Elasticsearch, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct EsCall {
    /// The HTTP method.
    pub method: &'static str,
    /// The path segments below the URL of the cluster, not yet percent-encoded.
    pub path: Vec<String>,
    /// The query string, without `?`; may be empty.
    pub query: &'static str,
    /// The request body.
    pub body: EsBody,
    /// The form of the response to expect.
    pub expects: EsExpectation,
}

/// A request body.
#[derive(Clone, Debug, PartialEq)]
pub enum EsBody {
    /// One JSON document.
    Json(Value),
    /// NDJSON: one JSON document per line.
    Lines(Vec<Value>),
}

/// The form of the response to a request, which decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EsExpectation {
    /// The hits of a search.
    Hits,
    /// The number of documents that match.
    Count,
    /// One result per document of a bulk request.
    Items {
        /// Number of documents that were sent.
        sent: usize,
    },
    /// The number of updated documents.
    Updated,
    /// The number of deleted documents.
    Deleted,
    /// The result for a single document. With `keeps`, a version conflict is not an error: the existing
    /// document is kept.
    One {
        /// True if an existing document is kept unchanged.
        keeps: bool,
    },
}

/// Builds the search request of a read.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for what Elasticsearch does not support: related rows (`include`), a page
/// beyond the first 10,000 rows, or a filter that [`filter()`] refuses.
pub fn search(select: &Select) -> Result<EsCall, DialectRefusal> {
    if !select.include.is_empty() {
        return Err(DialectRefusal::invalid(
            "query.include",
            "Elasticsearch has no related rows to bring along",
        ));
    }
    if select.skip.saturating_add(select.limit) > WINDOW {
        let why = format!("skip and limit together reach at most {WINDOW} rows on Elasticsearch");
        return Err(DialectRefusal::invalid("query.skip", why));
    }
    let mut body = json!({
        "query": {"bool": {"filter": [filter(&select.predicate)?]}},
        "from": select.skip,
        "size": select.limit,
        "track_total_hits": false,
    });
    if !select.sort.is_empty() {
        let order = |sort: &crate::query::SortKey| {
            let (order, missing) = if sort.descending { ("desc", "_last") } else { ("asc", "_first") };
            json!({&*sort.column.physical: {"order": order, "missing": missing}})
        };
        body["sort"] = select.sort.iter().map(order).collect();
    }
    if let Projection::Only(columns) = &select.fields {
        let names = columns.iter().map(|column| &*column.physical).filter(|name| *name != ID);
        body["_source"] = names.collect();
    }
    call("POST", &select.source, &["_search"], "", EsBody::Json(body), EsExpectation::Hits)
}

/// Builds the request that counts the rows of a read.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a filter that [`filter()`] refuses.
pub fn count(select: &Select) -> Result<EsCall, DialectRefusal> {
    let body = json!({"query": {"bool": {"filter": [filter(&select.predicate)?]}}});
    call("POST", &select.source, &["_count"], "", EsBody::Json(body), EsExpectation::Count)
}

/// Converts a hit to a row. Members get the names that the query used; a missing member becomes null.
pub fn row(fields: &Projection, hit: Value) -> Value {
    let Value::Object(mut hit) = hit else { return Value::Null };
    let id = hit.shift_remove(ID).unwrap_or_default();
    let mut members = match hit.shift_remove("_source") {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    match fields {
        Projection::All => {
            members.insert(ID.to_owned(), id);
            Value::Object(members)
        }
        Projection::Only(columns) => {
            let named = |column: &SchemaColumn| {
                let value = if &*column.physical == ID {
                    id.clone()
                } else {
                    members.remove(&*column.physical).unwrap_or_default()
                };
                (column.name.to_string(), value)
            };
            Value::Object(columns.iter().map(named).collect())
        }
    }
}

/// Builds the request of a write.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for what Elasticsearch does not support: `returning`, an upsert of several
/// rows or with a conflict target other than `_id`, a change of `_id`, an unusable id or index name, or a
/// filter that [`filter()`] refuses.
pub fn request(change: &WriteChange) -> Result<EsCall, DialectRefusal> {
    match change {
        WriteChange::Insert { returning: Some(_), .. }
        | WriteChange::Update { returning: Some(_), .. }
        | WriteChange::Delete { returning: Some(_), .. } => {
            Err(DialectRefusal::invalid("write.returning", "Elasticsearch does not answer what it wrote"))
        }
        WriteChange::Insert { target, columns, rows, conflict: None, .. } => {
            let mut lines = Vec::with_capacity(rows.len() * 2);
            for row in rows {
                let (id, source) = document(columns, row)?;
                lines.push(json!({"create": id.map_or_else(|| json!({}), |id| json!({ID: id}))}));
                lines.push(Value::Object(source));
            }
            call(
                "POST",
                target,
                &["_bulk"],
                "refresh=wait_for",
                EsBody::Lines(lines),
                EsExpectation::Items { sent: rows.len() },
            )
        }
        WriteChange::Insert { target, columns, rows, conflict: Some(conflict), .. } => {
            let [row] = rows.as_slice() else {
                return Err(DialectRefusal::invalid(
                    "write.values",
                    "Elasticsearch upserts one row at a time",
                ));
            };
            upsert(target, columns, row, conflict)
        }
        WriteChange::Update { target, set, predicate, .. } => {
            let body = json!({
                "query": filter(predicate)?,
                "script": {"lang": "painless", "source": SET, "params": {"set": assignments(set)?}},
            });
            call(
                "POST",
                target,
                &["_update_by_query"],
                "refresh=true",
                EsBody::Json(body),
                EsExpectation::Updated,
            )
        }
        WriteChange::Delete { target, predicate, .. } => {
            let body = json!({"query": filter(predicate)?});
            call(
                "POST",
                target,
                &["_delete_by_query"],
                "refresh=true",
                EsBody::Json(body),
                EsExpectation::Deleted,
            )
        }
    }
}

fn upsert(
    target: &SchemaEntity,
    columns: &[SchemaColumn],
    row: &[Value],
    conflict: &Conflict,
) -> Result<EsCall, DialectRefusal> {
    if !matches!(conflict.target.as_slice(), [column] if &*column.physical == ID) {
        let why = "Elasticsearch tells documents apart by \"_id\" alone";
        return Err(DialectRefusal::invalid("write.on_conflict.target", why));
    }
    let (id, source) = document(columns, row)?;
    let id =
        id.ok_or_else(|| DialectRefusal::invalid("write.values", "an upsert needs the \"_id\" of its row"))?;
    let body = match &conflict.action {
        ConflictAction::Nothing => {
            let keeps = EsExpectation::One { keeps: true };
            let query = "op_type=create&refresh=wait_for";
            return call("PUT", target, &["_doc", &id], query, EsBody::Json(Value::Object(source)), keeps);
        }
        ConflictAction::Take(_) => json!({"doc": source, "doc_as_upsert": true}),
        ConflictAction::Set(set) => json!({"doc": assignments(set)?, "upsert": source}),
    };
    let one = EsExpectation::One { keeps: false };
    call("POST", target, &["_update", &id], "refresh=wait_for", EsBody::Json(body), one)
}

fn assignments(set: &[(SchemaColumn, Value)]) -> Result<Map<String, Value>, DialectRefusal> {
    if set.iter().any(|(column, _)| &*column.physical == ID) {
        return Err(DialectRefusal::invalid("write.set", "the \"_id\" of a document does not change"));
    }
    set.iter().map(|(column, value)| Ok((column.physical.to_string(), plain("write.set", value)?))).collect()
}

/// Returns a value as it is stored; refuses the types that only MongoDB has.
fn plain(at: &'static str, value: &Value) -> Result<Value, DialectRefusal> {
    match Constant::from_json(value) {
        // The form of its binary fields.
        Ok(Some(Constant::Binary(text))) => Ok(text.into()),
        Ok(Some(constant)) if constant.is_typed() => {
            Err(DialectRefusal::invalid(at, "values of the types $oid and $date are MongoDB's; use a text"))
        }
        _ => Ok(value.clone()),
    }
}

/// Splits a row into its id, if it has one, and its other members.
fn document(
    columns: &[SchemaColumn],
    row: &[Value],
) -> Result<(Option<String>, Map<String, Value>), DialectRefusal> {
    let named = |(column, value): (&SchemaColumn, &Value)| {
        Ok((column.physical.to_string(), plain("write.values", value)?))
    };
    let mut members = columns.iter().zip(row).map(named).collect::<Result<Map<_, _>, DialectRefusal>>()?;
    let id = match members.shift_remove(ID) {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) => return Err(DialectRefusal::invalid("write.values", "an \"_id\" is a text or a number")),
    };
    match &id {
        // As path segments, `.` and `..` would name another resource.
        Some(id) if id.is_empty() || id == "." || id == ".." || id.len() > LONGEST_ID => {
            Err(DialectRefusal::invalid("write.values", "this \"_id\" cannot be used"))
        }
        _ => Ok((id, members)),
    }
}

fn call(
    method: &'static str,
    index: &SchemaEntity,
    below: &[&str],
    query: &'static str,
    body: EsBody,
    expects: EsExpectation,
) -> Result<EsCall, DialectRefusal> {
    let name = &*index.physical;
    // A pattern or a list would name several indices; a name with a leading underscore is an API endpoint.
    let special = |letter: char| letter.is_control() || "\\/*?\"<>|,#: ".contains(letter);
    if name.is_empty()
        || name == "."
        || name == ".."
        || name.starts_with(['-', '_', '+'])
        || name.contains(special)
    {
        return Err(DialectRefusal::Invalid(format!("\"{name}\" is no name of an index of Elasticsearch")));
    }
    let path = std::iter::once(name).chain(below.iter().copied()).map(str::to_owned).collect();
    Ok(EsCall { method, path, query, body, expects })
}

#[cfg(test)]
mod tests;
