//! The schemas of values that the code of a function checks: keys of tokens, and the documents of the portable dialect.
//!
//! They say what the readers of these values say; the mutants of the schema command's tests compare the two.

use serde_json::{Map, Value, json};
use svc_engine::catalogue::InputShape;

use super::nodes::{
    ObjectSchema, list, members, nullable, one_of, or_shared_value, reference, with_description,
};

/// Operators between a column and a value.
const COMPARISONS: [&str; 8] = ["==", "===", "!=", "!==", "<", "<=", ">", ">="];

/// Operators that also compare a column with two bounds.
const BETWEEN: [&str; 2] = ["<", "<="];

/// Operators on the rows that a relation leads to.
const QUANTIFIERS: [&str; 3] = ["some", "none", "all"];

/// Refers to the schema of a shape.
pub(super) fn reference_to(shape: InputShape) -> Value {
    reference(name(shape))
}

/// Returns the schemas of all shapes and of their parts, by the names of their definitions.
pub(super) fn definitions() -> Map<String, Value> {
    let mut definitions: Map<String, Value> =
        InputShape::ALL.into_iter().map(|shape| (name(shape).to_owned(), schema(shape))).collect();
    for (name, schema) in [
        ("dialect_filter", filter()),
        ("dialect_value", open_value()),
        ("dialect_argument", argument()),
        ("dialect_sort", sort()),
        ("dialect_entity", entity()),
    ] {
        definitions.insert(name.to_owned(), schema);
    }
    definitions
}

const fn name(shape: InputShape) -> &'static str {
    match shape {
        InputShape::Texts => "texts",
        InputShape::TextList => "text_list",
        InputShape::Duration => "duration",
        InputShape::Claims => "claims",
        InputShape::VerifyingKeys => "verifying_keys",
        InputShape::QueryDocument => "dialect_query",
        InputShape::WriteDocument => "dialect_write",
        InputShape::EntityMap => "dialect_entities",
    }
}

fn schema(shape: InputShape) -> Value {
    match shape {
        InputShape::Texts => texts(),
        InputShape::TextList => list(text()),
        InputShape::Duration => json!({"anyOf": [{"type": ["number", "string"]}, reference("var")]}),
        InputShape::Claims => claims(),
        InputShape::VerifyingKeys => list(verifying_key()),
        InputShape::QueryDocument => query(),
        InputShape::WriteDocument => write(),
        InputShape::EntityMap => entities(),
    }
}

fn text() -> Value {
    json!({"type": "string"})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

/// Accepts a text, a list of texts, and expressions that yield them.
fn texts() -> Value {
    let one = || json!({"anyOf": [{"type": ["string", "null"]}, read_of_message(), reference("secret")]});
    json!({"anyOf": [one(), list(one())]})
}

/// Accepts claims; the instants among them are numbers.
fn claims() -> Value {
    let instant = or_shared_value(json!({"anyOf": [{"type": ["number", "null"]}, reference("var")]}));
    json!({"type": "object", "properties": {"exp": instant, "iat": instant}})
}

fn verifying_key() -> Value {
    let mut key = ObjectSchema::default();
    key.property(
        "algorithm",
        with_description("algorithm of the tokens it verifies", or_shared_value(text())),
    );
    key.property(
        "key",
        with_description(
            "the key: text, PEM or a secret",
            or_shared_value(json!({"anyOf": [text(), reference("secret")]})),
        ),
    );
    key.property("kid", with_description("id that a token names it by", or_shared_value(text())));
    key.property(
        "key_encoding",
        with_description("encoding of a shared key", or_shared_value(one_of(&["utf8", "hex", "base64"]))),
    );
    key.require("algorithm");
    key.require("key");
    key.finish()
}

/// Accepts an object whose named members have schemas, all with a description.
fn object(properties: &[(&str, &str, Value)], required: &[&str]) -> Value {
    let mut object = ObjectSchema::default();
    for (name, description, schema) in properties {
        object.property(name, with_description(description, or_shared_value(schema.clone())));
    }
    for name in required {
        object.require(name);
    }
    object.finish()
}

fn query() -> Value {
    let include = object(
        &[
            ("fields", "columns of the related rows; all by default", nullable(list(text()))),
            ("sort", "their order", nullable(reference("dialect_sort"))),
            ("limit", "most related rows for each row", whole()),
        ],
        &["sort"],
    );
    object(
        &[
            ("source", "the entity that is read", text()),
            ("filter", "condition on its rows; all by default", optional_filter()),
            ("fields", "columns of the result; all by default", nullable(list(text()))),
            ("sort", "order of the rows", nullable(reference("dialect_sort"))),
            ("limit", "most rows", whole()),
            ("skip", "rows to skip", whole()),
            (
                "after",
                "sort keys of the row behind which the page begins, or all of them as one param or var; null for the \
                 first page",
                json!({"type": ["object", "null"]}),
            ),
            ("include", "related rows to return with each row, by relation", nullable(members(include))),
            ("count", "true: the number of the rows instead of them", json!({"type": "boolean"})),
        ],
        &["source"],
    )
}

fn write() -> Value {
    let row = || json!({"type": "object", "minProperties": 1});
    let conflict = object(
        &[
            ("target", "columns that tell rows apart", list(text())),
            ("action", "treatment of the row that is there", one_of(&["update", "nothing"])),
        ],
        &["target"],
    );
    object(
        &[
            ("op", "operation", one_of(&["insert", "update", "delete", "upsert"])),
            ("target", "the entity that is written", text()),
            ("values", "a row, a list of rows, or a parameter", json!({"anyOf": [row(), list(row())]})),
            ("set", "columns and their new values", json!({"type": "object"})),
            ("filter", "condition on the rows that are changed", optional_filter()),
            ("on_conflict", "columns that tell rows apart, and the action", conflict),
            ("returning", "columns of the changed rows to return", nullable(list(text()))),
            ("all", "confirms that an empty filter is meant", flag()),
        ],
        &["op", "target"],
    )
}

/// Accepts an integer, a parameter or a value of the message.
fn whole() -> Value {
    json!({"anyOf": [{"type": "number"}, reference("dialect_value")]})
}

fn optional_filter() -> Value {
    json!({"anyOf": [{"type": "null"}, {"type": "object", "maxProperties": 0}, reference("dialect_filter")]})
}

/// Accepts one node of a filter: an object with one operator, or a constant.
fn filter() -> Value {
    let node = || or_shared_value(reference("dialect_filter"));
    let nodes = || json!({"type": "array", "items": node()});
    let argument = || or_shared_value(reference("dialect_argument"));
    let mut operators = Map::new();
    for name in COMPARISONS {
        let most = if BETWEEN.contains(&name) { 3 } else { 2 };
        operators.insert(
            name.to_owned(),
            json!({"type": "array", "items": argument(), "minItems": 2, "maxItems": most}),
        );
    }
    let column = || or_shared_value(column());
    let searched = || or_shared_value(json!({"anyOf": [text(), reference("dialect_value")]}));
    let listed = || {
        or_shared_value(json!({"anyOf": [list(reference("dialect_argument")), reference("dialect_value")]}))
    };
    let pair = |first: Value, second: Value| json!({"type": "array", "prefixItems": [first, second], "minItems": 2, "maxItems": 2});
    for name in ["starts_with", "ends_with"] {
        operators.insert(name.to_owned(), pair(column(), searched()));
    }
    for name in QUANTIFIERS {
        operators.insert(name.to_owned(), pair(column(), node()));
    }
    let within = json!({"anyOf": [pair(column(), listed()), pair(searched(), column())]});
    for (name, schema) in [
        ("and", nodes()),
        ("or", nodes()),
        ("!", json!({"anyOf": [node(), {"type": "array", "items": node(), "minItems": 1, "maxItems": 1}]})),
        ("in", within),
        ("missing", list(text())),
    ] {
        operators.insert(name.to_owned(), or_shared_value(schema));
    }
    json!({
        "type": ["object", "boolean"],
        "properties": operators,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": false,
    })
}

/// Accepts `{"field": name}`.
fn column() -> Value {
    json!({"type": "object", "properties": {"field": text()}, "required": ["field"], "maxProperties": 1})
}

/// Accepts the argument of `var`.
fn message_path() -> Value {
    json!({"anyOf": [text(), {"type": "array", "prefixItems": [text()], "minItems": 1, "maxItems": 2}]})
}

/// Accepts `{"var": path}`.
fn read_of_message() -> Value {
    let properties = json!({"var": message_path()});
    json!({"type": "object", "properties": properties, "required": ["var"], "maxProperties": 1})
}

/// Accepts a value that is known only when a message is there, and values with a type.
fn open_value() -> Value {
    let path = message_path();
    let typed = json!({"anyOf": [text(), read_of_message()]});
    json!({
        "type": "object",
        "properties": {"param": text(), "var": path, "$oid": typed, "$date": typed, "$binary": typed},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": false,
    })
}

/// Accepts an argument of a comparison: a column, a constant or an open value.
fn argument() -> Value {
    json!({"anyOf": [{"type": ["string", "number", "boolean", "null"]}, column(), reference("dialect_value")]})
}

fn sort() -> Value {
    let mut key = members(one_of(&["asc", "desc"]));
    key["minProperties"] = 1.into();
    key["maxProperties"] = 1.into();
    list(key)
}

fn entities() -> Value {
    object(
        &[
            ("entities", "entities by name", members(reference("dialect_entity"))),
            ("unmapped", "treatment of names that are not mapped", one_of(&["reject", "identity"])),
        ],
        &[],
    )
}

fn entity() -> Value {
    let column = object(
        &[
            ("name", "name in the database", text()),
            ("type", "type in the database", text()),
            ("queryable", "may be read and compared; true by default", flag()),
            ("writable", "may be written; true by default", flag()),
        ],
        &[],
    );
    let through = object(
        &[
            ("table", "table of pairs", text()),
            ("local", "its column that names the rows of this entity", text()),
            ("foreign", "its column that names the related rows", text()),
        ],
        &["table", "local", "foreign"],
    );
    let kinds = one_of(&["has_one", "has_many", "many_to_many", "one", "many"]);
    let relation = object(
        &[
            ("to", "the related entity", text()),
            ("kind", "number of related rows", kinds),
            ("local", "column of this entity", text()),
            ("foreign", "column of the related entity", text()),
            ("through", "table of pairs", through),
            ("mongo", "place of the related documents in MongoDB", one_of(&["embedded", "referenced"])),
            ("es", "place of the related documents in Elasticsearch", one_of(&["nested", "child"])),
        ],
        &["to", "local", "foreign"],
    );
    object(
        &[
            ("physical", "name of the table or index", text()),
            ("columns", "columns by name", members(column)),
            ("relations", "relations by name", members(relation)),
        ],
        &[],
    )
}
