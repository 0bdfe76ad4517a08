//! Functions that talk to a connector, but for the document ones.

use super::field::{Field, PathUse};
use super::{Entry, Source};

/// What entries of connector functions share.
pub(super) const SERVICE: Entry = Entry {
    name: "",
    category: "connector",
    source: Source::Service,
    aliases: &[],
    retry_safety: "",
    description: "",
    strict: false,
    fields: &[],
    cases: &[],
};

pub(super) static CACHE_READ: Entry = Entry {
    name: "cache_read",
    retry_safety: "read",
    description: "Reads one key of a cache; a miss is null",
    fields: &[
        Field::connector("Cache connector"),
        Field::string("key", "Key to look up").required().resolvable(),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static CACHE_WRITE: Entry = Entry {
    name: "cache_write",
    retry_safety: "idempotent_write",
    description: "Writes one key of a cache, with or without an expiry",
    fields: &[
        Field::connector("Cache connector"),
        Field::string("key", "Key to write").required().resolvable(),
        Field::any("value", "Value to keep, stored as JSON").required().resolvable(),
        Field::number("ttl_secs", "Seconds until it expires; without it, never").resolvable(),
    ],
    ..SERVICE
};

const SQL_PARAMS: Field =
    Field::array("params", "Values bound to the placeholders, in order; objects and arrays bind as JSON")
        .resolvable();

pub(super) static DB_READ: Entry = Entry {
    name: "db_read",
    retry_safety: "read",
    description: "Runs a SQL query and returns its rows as objects",
    fields: &[
        Field::connector("SQL connector"),
        Field::string("query", "SQL with the placeholders of the driver").required(),
        SQL_PARAMS,
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static DB_WRITE: Entry = Entry {
    name: "db_write",
    retry_safety: "depends_on:query",
    description: "Runs a SQL statement that writes and returns the number of rows affected",
    fields: &[
        Field::connector("SQL connector"),
        Field::string("query", "SQL with the placeholders of the driver").required(),
        SQL_PARAMS,
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static HTTP_CALL: Entry = Entry {
    name: "http_call",
    retry_safety: "depends_on:method",
    description: "Calls an HTTP endpoint of a connector",
    strict: true,
    fields: &[
        Field::connector("HTTP connector"),
        Field::string("method", "HTTP method, GET by default")
            .one_of(&["GET", "POST", "PUT", "PATCH", "DELETE"]),
        Field::string("path", "Appended to the connector's URL; path_logic wins").overridden_by("path_logic"),
        Field::object("headers", "Headers of this request"),
        Field::logic(
            "headers_logic",
            "Expression for an object of more headers; they win over headers, a null leaves one out",
        ),
        Field::any("body", "Body as written; body_logic wins").overridden_by("body_logic"),
        Field::string("body_format", "How the body is sent, json by default")
            .one_of(&["json", "form", "text"]),
        Field::string("output", "Path the response is written to; without it the response is discarded")
            .alias("response_path")
            .path(PathUse::Target { alone: false }),
        Field::string("response_format", "How the response is read, json by default")
            .one_of(&["json", "text"]),
        Field::bool(
            "capture_error_body",
            "Keep the body of an answer that is no success, up to 4096 bytes, in the error of the task",
        ),
        Field::number(
            "timeout_ms",
            "Milliseconds one attempt may take; engine.global_http_timeout_secs is the most, and the default",
        ),
    ],
    ..SERVICE
};

pub(super) static PUBLISH_KAFKA: Entry = Entry {
    name: "publish_kafka",
    retry_safety: "unsafe_write",
    description: "Publishes one record and waits for the broker's acknowledgement",
    strict: true,
    fields: &[
        Field::connector("Kafka connector"),
        Field::string("topic", "Topic; the connector's own by default"),
        Field::logic("key", "Expression for the record's key").alias("key_logic"),
        Field::logic("value", "Expression for the record's value; without it the whole of data")
            .alias("value_logic"),
    ],
    ..SERVICE
};

pub(super) static SEND_EMAIL: Entry = Entry {
    name: "send_email",
    retry_safety: "unsafe_write",
    description: "Sends one mail; it is never sent again",
    strict: true,
    fields: &[
        Field::connector("SMTP connector"),
        Field::any("to", "Recipient or recipients").required().resolvable(),
        Field::any("cc", "Recipients in copy").resolvable(),
        Field::any("bcc", "Recipients in blind copy").resolvable(),
        Field::string("subject", "Subject, one line").required().resolvable(),
        Field::string("text", "Plain-text body").resolvable(),
        Field::string("html", "HTML body").resolvable(),
        Field::string("from", "Sender, where the connector allows it").resolvable(),
        Field::string("reply_to", "Address for replies").resolvable(),
        Field::object("headers", "Further headers"),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static STORAGE_HEAD: Entry = Entry {
    name: "storage_head",
    retry_safety: "read",
    description: "Tells whether an object exists, and its size and type",
    strict: true,
    fields: &[
        Field::connector("Storage connector"),
        Field::string("key", "Object key").required().resolvable(),
        Field::output(),
    ],
    ..SERVICE
};

pub(super) static STORAGE_PRESIGN: Entry = Entry {
    name: "storage_presign",
    retry_safety: "pure",
    description: "Signs a URL for one object, without any network access",
    strict: true,
    fields: &[
        Field::connector("Storage connector"),
        Field::string("method", "What the URL allows, GET by default").one_of(&["GET", "PUT"]),
        Field::string("key", "Object key").required().resolvable(),
        Field::any("expires_in", "Seconds, or a duration such as 15m; at most seven days")
            .required()
            .resolvable(),
        Field::string("response_content_type", "Content type the store answers with, GET only").resolvable(),
        Field::string("response_content_disposition", "Content disposition the store answers with, GET only")
            .resolvable(),
        Field::string("content_type", "Content type the upload must have, PUT only").resolvable(),
        Field::output(),
    ],
    ..SERVICE
};
