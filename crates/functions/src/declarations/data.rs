//! `data_query` and `data_write`.

use serde_json::{Map, Value};
use svc_dialect::{QueryDocument, WriteDocument};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, InputShape};
use svc_model::{ConnectorType, FieldError};

use super::FunctionDeclaration;
use super::input::{BINARY_AS, NUMERIC_AS};

/// The declaration of `data_query`.
pub static DATA_QUERY: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        fields: &[
            InputField::connector("Database or Elasticsearch connector"),
            InputField::object(
                "query",
                "Source, filter, fields, sort, limit, skip, after and include; or count",
            )
            .required()
            .resolvable()
            .dialect(&["values", "set"])
            .shape(InputShape::QueryDocument),
            InputField::string("database", "Database, for MongoDB"),
            InputField::object("schema", "How entities map to tables and columns")
                .shape(InputShape::EntityMap),
            InputField::object("params", "Named values the query refers to").resolvable(),
            BINARY_AS,
            NUMERIC_AS,
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "data_query",
            "Reads rows with one query document, whatever the database",
            ConnectorRequirement::new(&[ConnectorType::Db, ConnectorType::Es]),
        )
    },
    check: check_query,
};

/// The declaration of `data_write`.
pub static DATA_WRITE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "depends_on:op",
        fields: &[
            InputField::connector("Database or Elasticsearch connector"),
            InputField::object("write", "Operation, target, values, set, filter and on_conflict")
                .required()
                .resolvable()
                .dialect(&["values", "set"])
                .shape(InputShape::WriteDocument),
            InputField::string("database", "Database, for MongoDB"),
            InputField::object("schema", "How entities map to tables and columns")
                .shape(InputShape::EntityMap),
            InputField::object("params", "Named values the write refers to").resolvable(),
            BINARY_AS,
            NUMERIC_AS,
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "data_write",
            "Inserts, updates, deletes or upserts with one write document, whatever the database",
            ConnectorRequirement::new(&[ConnectorType::Db, ConnectorType::Es]),
        )
    },
    check: check_write,
};

fn check_query(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    if let (Some(query), Ok(schema)) = (input.get("query").filter(|query| query.is_object()), schema(input)) {
        check_document(QueryDocument::read(query, schema, at), QueryDocument::missing_params, input, errors);
    }
}

fn check_write(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    if let (Some(write), Ok(schema)) = (input.get("write").filter(|write| write.is_object()), schema(input)) {
        check_document(WriteDocument::read(write, schema, at), WriteDocument::missing_params, input, errors);
    }
}

/// The schema of an input that fits the table; `Err` if it does not, which the table says.
fn schema(input: &Map<String, Value>) -> Result<Option<&Value>, ()> {
    match input.get("schema") {
        None => Ok(None),
        Some(schema) if schema.is_object() => Ok(Some(schema)),
        Some(_) => Err(()),
    }
}

/// Adds what is wrong with a document, as reading it found, and the parameters it names that are not given.
fn check_document<D>(
    read: Result<D, Vec<FieldError>>,
    missing: impl Fn(&D, &Map<String, Value>) -> Vec<FieldError>,
    input: &Map<String, Value>,
    errors: &mut Vec<FieldError>,
) {
    match (read, input.get("params")) {
        (Err(found), _) => errors.extend(found),
        (Ok(document), None | Some(Value::Null)) => errors.extend(missing(&document, &Map::new())),
        // Where all of them come with the message, what they are is not known yet.
        (Ok(document), Some(Value::Object(params))) if !params.contains_key("var") => {
            errors.extend(missing(&document, params));
        }
        (Ok(_), Some(_)) => {}
    }
}
