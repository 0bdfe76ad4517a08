//! Functions over documents: MongoDB, and the dialect that fits every database.

use super::Entry;
use super::connector::SERVICE;
use super::field::Field;

const DATABASE: Field = Field::string("database", "Database").required();
const COLLECTION: Field = Field::string("collection", "Collection").required();

pub(super) static DATA_QUERY: Entry = Entry {
    name: "data_query",
    retry_safety: "read",
    description: "Reads rows with one query document, whatever the database",
    fields: &[
        Field::connector("Database or Elasticsearch connector"),
        Field::object("query", "Source, filter, fields, sort, limit, skip and include")
            .required()
            .resolvable(),
        Field::string("database", "Database, for MongoDB"),
        Field::object("schema", "How entities map to tables and columns"),
        Field::object("params", "Named values the query refers to").resolvable(),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static DATA_WRITE: Entry = Entry {
    name: "data_write",
    retry_safety: "depends_on:op",
    description: "Inserts, updates, deletes or upserts with one write document, whatever the database",
    fields: &[
        Field::connector("Database or Elasticsearch connector"),
        Field::object("write", "Operation, target, values, set, filter and on_conflict")
            .required()
            .resolvable(),
        Field::string("database", "Database, for MongoDB"),
        Field::object("schema", "How entities map to tables and columns"),
        Field::object("params", "Named values the write refers to").resolvable(),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static MONGO_AGGREGATE: Entry = Entry {
    name: "mongo_aggregate",
    retry_safety: "read",
    description: "Runs an aggregation pipeline",
    strict: true,
    fields: &[
        Field::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        Field::array("pipeline", "Stages; the names of stages are literal").required().resolvable(),
        Field::bool("allow_disk_use", "Lets stages spill to disk"),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static MONGO_READ: Entry = Entry {
    name: "mongo_read",
    retry_safety: "read",
    description: "Finds documents of a collection",
    fields: &[
        Field::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        Field::object("filter", "Which documents; all by default").resolvable(),
        Field::object("projection", "Which fields").resolvable(),
        Field::object("sort", "In which order").resolvable(),
        Field::number("limit", "How many at most").resolvable(),
        Field::number("skip", "How many to pass over").resolvable(),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static MONGO_WRITE: Entry = Entry {
    name: "mongo_write",
    retry_safety: "depends_on:op",
    description: "Writes documents of a collection",
    strict: true,
    fields: &[
        Field::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        Field::string(
            "op",
            "insert_one, insert_many, update_one, update_many, replace_one, delete_one or delete_many",
        )
        .required(),
        Field::object("document", "The document, for insert_one and replace_one").resolvable(),
        Field::array("documents", "The documents, for insert_many").resolvable(),
        Field::object("filter", "Which documents, for updates, replacements and deletes").resolvable(),
        Field::object("update", "Update operators").resolvable(),
        Field::array("array_filters", "Filters of the identifiers the update names").resolvable(),
        Field::bool("upsert", "Inserts when nothing matches, for updates and replacements"),
        Field::bool("ordered", "Stops insert_many at the first error, true by default"),
        Field::bool("all", "Confirms that an empty filter is meant, for update_many and delete_many"),
        Field::output(),
    ],
    ..SERVICE
};
