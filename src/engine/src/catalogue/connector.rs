//! Functions that talk to a connector, but for the document ones.

use super::field::{InputField, PathUse};
use super::{FunctionEntry, FunctionSource};

/// What entries of connector functions share.
pub(super) const SERVICE: FunctionEntry = FunctionEntry {
    name: "",
    category: "connector",
    source: FunctionSource::Service,
    aliases: &[],
    retry_safety: "",
    description: "",
    strict: false,
    fields: &[],
    cases: &[],
};

pub(super) static CACHE_READ: FunctionEntry = FunctionEntry {
    name: "cache_read",
    retry_safety: "read",
    description: "Reads one key of a cache; a miss is null",
    fields: &[
        InputField::connector("Cache connector"),
        InputField::string("key", "Key to look up").required().resolvable(),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static CACHE_WRITE: FunctionEntry = FunctionEntry {
    name: "cache_write",
    retry_safety: "idempotent_write",
    description: "Writes one key of a cache, with or without an expiry",
    fields: &[
        InputField::connector("Cache connector"),
        InputField::string("key", "Key to write").required().resolvable(),
        InputField::any("value", "Value to keep, stored as JSON").required().resolvable(),
        InputField::number("ttl_secs", "Seconds until it expires; without it, never").resolvable(),
    ],
    ..SERVICE
};

const SQL_PARAMS: InputField = InputField::array(
    "params",
    "Values bound to the placeholders, in order; objects and arrays bind as JSON",
)
.resolvable();

pub(super) static DB_READ: FunctionEntry = FunctionEntry {
    name: "db_read",
    retry_safety: "read",
    description: "Runs a SQL query and returns its rows as objects",
    fields: &[
        InputField::connector("SQL connector"),
        InputField::string("query", "SQL with the placeholders of the driver").required(),
        SQL_PARAMS,
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static DB_WRITE: FunctionEntry = FunctionEntry {
    name: "db_write",
    retry_safety: "depends_on:query",
    description: "Runs a SQL statement that writes and returns the number of rows affected",
    fields: &[
        InputField::connector("SQL connector"),
        InputField::string("query", "SQL with the placeholders of the driver").required(),
        SQL_PARAMS,
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static HTTP_CALL: FunctionEntry = FunctionEntry {
    name: "http_call",
    retry_safety: "depends_on:method",
    description: "Calls an HTTP endpoint of a connector",
    strict: true,
    fields: &[
        InputField::connector("HTTP connector"),
        InputField::string("method", "HTTP method, GET by default")
            .one_of(&["GET", "POST", "PUT", "PATCH", "DELETE"]),
        InputField::string("path", "Appended to the connector's URL; path_logic wins")
            .overridden_by("path_logic"),
        InputField::object("headers", "Headers of this request"),
        InputField::logic(
            "headers_logic",
            "Expression for an object of more headers; they win over headers, a null leaves one out",
        ),
        InputField::any("body", "Body as written; body_logic wins").overridden_by("body_logic"),
        InputField::string("body_format", "How the body is sent, json by default")
            .one_of(&["json", "form", "text"]),
        InputField::string("output", "Path the response is written to; without it the response is discarded")
            .alias("response_path")
            .path(PathUse::Target { alone: false }),
        InputField::string("response_format", "How the response is read, json by default")
            .one_of(&["json", "text"]),
        InputField::bool(
            "capture_error_body",
            "Keep the body of an answer that is no success, up to 4096 bytes, in the error of the task",
        ),
        InputField::number(
            "timeout_ms",
            "Milliseconds one attempt may take; engine.global_http_timeout_secs is the most, and the default",
        ),
    ],
    ..SERVICE
};

pub(super) static PUBLISH_KAFKA: FunctionEntry = FunctionEntry {
    name: "publish_kafka",
    retry_safety: "unsafe_write",
    description: "Publishes one record and waits for the broker's acknowledgement",
    strict: true,
    fields: &[
        InputField::connector("Kafka connector"),
        InputField::string("topic", "Topic; the connector's own by default"),
        InputField::logic("key", "Expression for the record's key").alias("key_logic"),
        InputField::logic("value", "Expression for the record's value; without it the whole of data")
            .alias("value_logic"),
    ],
    ..SERVICE
};

pub(super) static SEND_EMAIL: FunctionEntry = FunctionEntry {
    name: "send_email",
    retry_safety: "unsafe_write",
    description: "Sends one mail; it is never sent again",
    strict: true,
    fields: &[
        InputField::connector("SMTP connector"),
        InputField::any("to", "Recipient or recipients").required().resolvable(),
        InputField::any("cc", "Recipients in copy").resolvable(),
        InputField::any("bcc", "Recipients in blind copy").resolvable(),
        InputField::string("subject", "Subject, one line").required().resolvable(),
        InputField::string("text", "Plain-text body").resolvable(),
        InputField::string("html", "HTML body").resolvable(),
        InputField::string("from", "Sender, where the connector allows it").resolvable(),
        InputField::string("reply_to", "Address for replies").resolvable(),
        InputField::object("headers", "Further headers"),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static STORAGE_HEAD: FunctionEntry = FunctionEntry {
    name: "storage_head",
    retry_safety: "read",
    description: "Tells whether an object exists, and its size and type",
    strict: true,
    fields: &[
        InputField::connector("Storage connector"),
        InputField::string("key", "Object key").required().resolvable(),
        InputField::output(),
    ],
    ..SERVICE
};

pub(super) static STORAGE_PRESIGN: FunctionEntry = FunctionEntry {
    name: "storage_presign",
    retry_safety: "pure",
    description: "Signs a URL for one object, without any network access",
    strict: true,
    fields: &[
        InputField::connector("Storage connector"),
        InputField::string("method", "What the URL allows, GET by default").one_of(&["GET", "PUT"]),
        InputField::string("key", "Object key").required().resolvable(),
        InputField::any("expires_in", "Seconds, or a duration such as 15m; at most seven days")
            .required()
            .resolvable(),
        InputField::string("response_content_type", "Content type the store answers with, GET only")
            .resolvable(),
        InputField::string(
            "response_content_disposition",
            "Content disposition the store answers with, GET only",
        )
        .resolvable(),
        InputField::string("content_type", "Content type the upload must have, PUT only").resolvable(),
        InputField::output(),
    ],
    ..SERVICE
};
