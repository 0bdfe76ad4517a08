//! Functions over documents: MongoDB, and the dialect that fits every database.

use super::FunctionEntry;
use super::connector::SERVICE;
use super::field::InputField;

const DATABASE: InputField = InputField::string("database", "Database").required();
const COLLECTION: InputField = InputField::string("collection", "Collection").required();

pub(super) static DATA_QUERY: FunctionEntry = FunctionEntry {
    name: "data_query",
    retry_safety: "read",
    description: "Reads rows with one query document, whatever the database",
    fields: &[
        InputField::connector("Database or Elasticsearch connector"),
        InputField::object("query", "Source, filter, fields, sort, limit, skip and include")
            .required()
            .resolvable(),
        InputField::string("database", "Database, for MongoDB"),
        InputField::object("schema", "How entities map to tables and columns"),
        InputField::object("params", "Named values the query refers to").resolvable(),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static DATA_WRITE: FunctionEntry = FunctionEntry {
    name: "data_write",
    retry_safety: "depends_on:op",
    description: "Inserts, updates, deletes or upserts with one write document, whatever the database",
    fields: &[
        InputField::connector("Database or Elasticsearch connector"),
        InputField::object("write", "Operation, target, values, set, filter and on_conflict")
            .required()
            .resolvable(),
        InputField::string("database", "Database, for MongoDB"),
        InputField::object("schema", "How entities map to tables and columns"),
        InputField::object("params", "Named values the write refers to").resolvable(),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static MONGO_AGGREGATE: FunctionEntry = FunctionEntry {
    name: "mongo_aggregate",
    retry_safety: "read",
    description: "Runs an aggregation pipeline",
    strict: true,
    fields: &[
        InputField::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        InputField::array("pipeline", "Stages; the names of stages are literal").required().resolvable(),
        InputField::bool("allow_disk_use", "Lets stages spill to disk"),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static MONGO_READ: FunctionEntry = FunctionEntry {
    name: "mongo_read",
    retry_safety: "read",
    description: "Finds documents of a collection",
    fields: &[
        InputField::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        InputField::object("filter", "Which documents; all by default").resolvable(),
        InputField::object("projection", "Which fields").resolvable(),
        InputField::object("sort", "In which order").resolvable(),
        InputField::number("limit", "How many at most").resolvable(),
        InputField::number("skip", "How many to pass over").resolvable(),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static MONGO_WRITE: FunctionEntry = FunctionEntry {
    name: "mongo_write",
    retry_safety: "depends_on:op",
    description: "Writes documents of a collection",
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
    ..SERVICE
};
