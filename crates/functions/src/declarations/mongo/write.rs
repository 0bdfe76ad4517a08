//! `mongo_write`.

use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, QueryLanguage};
use svc_model::{ConnectorType, FieldCode, FieldError};

use super::super::FunctionDeclaration;
use super::super::input::literal_value;
use super::{COLLECTION, DATABASE, check_names, content, is_var};

/// The declaration of `mongo_write`.
pub static MONGO_WRITE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
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
            InputField::object("filter", "Which documents, for updates, replacements and deletes")
                .resolvable(),
            InputField::object("update", "Update operators").resolvable(),
            InputField::array("array_filters", "Filters of the identifiers the update names").resolvable(),
            InputField::bool("upsert", "Inserts when nothing matches, for updates and replacements"),
            InputField::bool("ordered", "Stops insert_many at the first error, true by default"),
            InputField::bool(
                "all",
                "Confirms that an empty filter is meant, for update_many and delete_many",
            ),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "mongo_write",
            "Writes documents of a collection",
            ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::MongoDb),
        )
    },
    check,
};

/// An operation of `mongo_write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MongoWriteOperation {
    /// Inserts one document.
    InsertOne,
    /// Inserts several documents.
    InsertMany,
    /// Changes documents by update operators.
    Update {
        /// Changes every document that matches, and not the first alone.
        many: bool,
    },
    /// Replaces one document.
    Replace,
    /// Deletes documents.
    Delete {
        /// Deletes every document that matches, and not the first alone.
        many: bool,
    },
}

impl MongoWriteOperation {
    const ALL: [(&str, Self); 7] = [
        ("insert_one", Self::InsertOne),
        ("insert_many", Self::InsertMany),
        ("update_one", Self::Update { many: false }),
        ("update_many", Self::Update { many: true }),
        ("replace_one", Self::Replace),
        ("delete_one", Self::Delete { many: false }),
        ("delete_many", Self::Delete { many: true }),
    ];

    /// Returns the operation of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
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

    /// Returns the permission of the connector that it needs.
    #[must_use]
    pub const fn permission(self) -> &'static str {
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

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_names(input, at, errors);
    let Some(name) = input.get("op").and_then(Value::as_str) else { return };
    let Some(op) = MongoWriteOperation::from_name(name) else {
        let names: Vec<_> = MongoWriteOperation::ALL.iter().map(|(name, _)| *name).collect();
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
    if let Err(problem) = check_literals(op, input) {
        errors.push(FieldError { path: format!("{at}.{}", problem.path), ..problem });
    }
}

/// Checks what no message changes; how many documents are too many is the server's to say when it runs.
fn check_literals(op: MongoWriteOperation, input: &Map<String, Value>) -> Result<(), FieldError> {
    let object = |name| input.get(name).filter(|value| !is_var(value)).and_then(Value::as_object);
    match op {
        MongoWriteOperation::Update { .. } => {
            object("update").map_or(Ok(()), content::operators)?;
            let filters = match input.get("array_filters") {
                None | Some(Value::Null) => Some(Value::Array(Vec::new())),
                Some(_) => literal_value(input, "array_filters"),
            };
            match (literal_value(input, "update"), filters) {
                (Some(Value::Object(update)), Some(Value::Array(filters))) => {
                    content::identifiers(&update, &filters)
                }
                _ => Ok(()),
            }
        }
        MongoWriteOperation::Replace => object("document").map_or(Ok(()), content::plain),
        MongoWriteOperation::InsertMany => {
            let documents = input.get("documents").and_then(Value::as_array);
            documents.map_or(Ok(()), |documents| content::batch(documents, u64::MAX))
        }
        MongoWriteOperation::InsertOne | MongoWriteOperation::Delete { .. } => Ok(()),
    }
}
