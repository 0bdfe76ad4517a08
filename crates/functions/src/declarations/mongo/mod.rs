//! `mongo_read`, `mongo_write` and `mongo_aggregate`.

pub mod content;
mod pipeline;
mod write;

use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, QueryLanguage};
use svc_model::{ConnectorType, FieldError};

pub use pipeline::writes as pipeline_writes;
pub use write::{MONGO_WRITE, MongoWriteOperation};

use super::FunctionDeclaration;

/// The inputs that name a collection.
const DATABASE: InputField = InputField::string("database", "Database").required();
const COLLECTION: InputField = InputField::string("collection", "Collection").required();

/// The declaration of `mongo_read`.
pub static MONGO_READ: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        fields: &[
            InputField::connector("MongoDB connector"),
            DATABASE,
            COLLECTION,
            InputField::object("filter", "Which documents; all by default").resolvable(),
            InputField::object("projection", "Which fields").resolvable(),
            InputField::object("sort", "In which order").resolvable(),
            InputField::number("limit", "How many at most").computed(),
            InputField::number("skip", "How many to pass over").computed(),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "mongo_read",
            "Finds documents of a collection",
            ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::MongoDb),
        )
    },
    check: check_read,
};

/// The declaration of `mongo_aggregate`.
pub static MONGO_AGGREGATE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        strict: true,
        fields: &[
            InputField::connector("MongoDB connector"),
            DATABASE,
            COLLECTION,
            InputField::array("pipeline", "Stages; the names of stages are literal").required().resolvable(),
            InputField::bool("allow_disk_use", "Lets stages spill to disk"),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "mongo_aggregate",
            "Runs an aggregation pipeline",
            ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::MongoDb),
        )
    },
    check: check_aggregate,
};

fn check_read(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_names(input, at, errors);
    check_number(input, at, "limit", 1, errors);
    check_number(input, at, "skip", 0, errors);
}

fn check_aggregate(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_names(input, at, errors);
    let literal = input.get("pipeline").filter(|value| value.is_array() || value.is_object());
    if let Some(pipeline) = literal {
        pipeline::check(pipeline, &format!("{at}.pipeline"), errors);
    }
}

/// Adds what is wrong with the names of a database and a collection.
fn check_names(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    for name in ["database", "collection"] {
        if input.get(name).is_some_and(|value| value == "") {
            errors.push(FieldError::invalid(format!("{at}.{name}"), "this must not be empty"));
        }
    }
}

/// Adds what is wrong with a number that is written out; how large it may be is the server's to say when it
/// runs.
fn check_number(input: &Map<String, Value>, at: &str, name: &str, least: u64, errors: &mut Vec<FieldError>) {
    let written = input.get(name).filter(|value| value.is_number());
    if written.is_some_and(|value| whole_number(value).is_none_or(|number| number < least)) {
        let why = format!("must be a whole number of at least {least}");
        errors.push(FieldError::invalid(format!("{at}.{name}"), why));
    }
}

/// Returns true if an authored value is taken from the message.
#[must_use]
pub fn is_var(source: &Value) -> bool {
    source.as_object().is_some_and(|map| map.len() == 1 && map.contains_key("var"))
}

/// Reads a whole number, however it is written.
#[must_use]
pub fn whole_number(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was checked to be whole and small"
    )]
    let from_float =
        |number: f64| (number.fract() == 0.0 && (0.0..=1e15).contains(&number)).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(from_float))
}
