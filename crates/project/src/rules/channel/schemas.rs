//! Probable mistakes in the schemas of a channel: JSON Schema ignores keywords that it does not know, so that one which
//! is misspelt demands nothing, and a body has only the types that its form can have.

use serde_json::{Map, Value};
use svc_model::config::{ChannelConfig, RequestBodyFormat};
use svc_model::{Issue, distance, nearest};

/// Keywords whose value is a schema.
const SCHEMA: [&str; 13] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "additionalItems",
    "dependencies",
];

/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value has schemas by names.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The other keywords, and those of earlier drafts and of OpenAPI.
const OTHERS: [&str; 32] = [
    "$schema",
    "$id",
    "$ref",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "format",
    "contentEncoding",
    "contentMediaType",
    "nullable",
    "discriminator",
];

/// Keywords that demand nothing, so that a name near to one is no mistake which matters.
const ANNOTATIONS: [&str; 12] = [
    "$comment",
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
    "example",
    "externalDocs",
    "xml",
    "id",
];

/// Types that no text has.
const NO_TEXT: [&str; 5] = ["integer", "number", "boolean", "object", "null"];

/// Adds warnings about both schemas of a channel.
pub(super) fn warn(config: &ChannelConfig, issues: &mut Vec<Issue>) {
    for (block, schema) in [("request", &config.request.schema), ("response", &config.response.schema)] {
        if let Some(schema) = schema {
            warn_of_keywords(&format!("channel.config.{block}.schema"), schema, issues);
        }
    }
    if let Some(schema) = &config.request.schema {
        warn_of_types(config.request.body_format, schema, issues);
    }
}

/// Adds a warning for every keyword that is nearly a known one.
fn warn_of_keywords(at: &str, schema: &Map<String, Value>, issues: &mut Vec<Issue>) {
    warn_of_required(at, schema, issues);
    for (key, value) in schema {
        let (at, key) = (format!("{at}.{key}"), key.as_str());
        if SCHEMA.contains(&key) {
            below(&at, value, issues);
        } else if LISTS.contains(&key) {
            for (n, schema) in value.as_array().into_iter().flatten().enumerate() {
                below(&format!("{at}[{n}]"), schema, issues);
            }
        } else if NAMED.contains(&key) {
            for (name, schema) in value.as_object().into_iter().flatten() {
                below(&format!("{at}.{name}"), schema, issues);
            }
        } else if !OTHERS.contains(&key) && !ANNOTATIONS.contains(&key) && !key.starts_with("x-") {
            let demanding = SCHEMA.into_iter().chain(LISTS).chain(NAMED).chain(OTHERS);
            let candidates = demanding.filter(|known| may_be_meant(known, key));
            issues.extend(nearest(key, candidates).map(|meant| {
                let message =
                    format!("no keyword of JSON Schema, so that it demands nothing, did you mean '{meant}'?");
                Issue::new(at, message)
            }));
        }
    }
}

/// Adds a warning for every required member that is nearly one of the described ones: each payload would be refused.
fn warn_of_required(at: &str, schema: &Map<String, Value>, issues: &mut Vec<Issue>) {
    let Some(described) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    let names: Vec<_> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !described.contains_key(**name)) {
        let meant =
            described.keys().find(|known| distance(name, known) == 1 && !names.contains(&known.as_str()));
        issues.extend(meant.map(|meant| {
            let message = format!("no property '{name}' is described, did you mean '{meant}'?");
            Issue::new(format!("{at}.required[{index}]"), message)
        }));
    }
}

/// Returns false for a keyword that is not meant, however near it is: other tools have keywords of their own. A short
/// one is near to many, another first letter makes another word, and so do two letters more (`tsType`).
fn may_be_meant(known: &str, key: &str) -> bool {
    let first = |name: &str| name.chars().next().map(|first| first.to_ascii_lowercase());
    let letters = key.chars().filter(char::is_ascii_alphanumeric).count();
    known.len() > 3 && first(known) == first(key) && letters <= known.len() + 1
}

fn below(at: &str, schema: &Value, issues: &mut Vec<Issue>) {
    if let Some(schema) = schema.as_object() {
        warn_of_keywords(at, schema, issues);
    }
}

/// Adds a warning for every type that no body in the form of the channel has.
fn warn_of_types(body: RequestBodyFormat, schema: &Map<String, Value>, issues: &mut Vec<Issue>) {
    let at = "channel.config.request.schema";
    let (form, whole, part) = match body {
        RequestBodyFormat::Csv => ("rows", "array", schema.get("items").and_then(Value::as_object)),
        RequestBodyFormat::Form => ("fields", "object", Some(schema)),
        _ => return,
    };
    if let Some(kind) = schema.get("type").and_then(Value::as_str).filter(|kind| *kind != whole) {
        let message =
            format!("a body of {form} is of the type {whole}, so that every one is refused as no {kind}");
        issues.push(Issue::new(format!("{at}.type"), message));
        return;
    }
    let at = if body == RequestBodyFormat::Csv { format!("{at}.items") } else { at.to_owned() };
    let members = part.and_then(|part| part.get("properties")).and_then(Value::as_object);
    for (name, member) in members.into_iter().flatten() {
        let kind = member.get("type").and_then(Value::as_str);
        if let Some(kind) = kind.filter(|kind| NO_TEXT.contains(kind)) {
            let message = format!(
                "the {form} of a body are texts, so that every one is refused as no {kind}: use a pattern, and compute \
                 with the number of the text"
            );
            issues.push(Issue::new(format!("{at}.properties.{name}.type"), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(config: &Value) -> Vec<String> {
        let mut issues = Vec::new();
        warn(&ChannelConfig::parse(config).unwrap(), &mut issues);
        let mut places: Vec<_> =
            issues.into_iter().map(|issue| issue.field.replace("channel.config.", "")).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn misspelt_keyword_is_warned_of() {
        let schema = json!({"type": "object", "requird": ["id"], "x-own": 1, "note": "n", "properties": {
            "requird": {"type": "string", "minLenght": 2}, "list": {"type": "array", "items": {"enumm": [1]}}},
            "allOf": [{"propertis": {}}], "examples": [{"requird": 1}]});
        let found = places(&json!({"request": {"schema": schema}}));
        assert_eq!(
            found,
            [
                "request.schema.allOf[0].propertis",
                "request.schema.properties.list.items.enumm",
                "request.schema.properties.requird.minLenght",
                "request.schema.requird",
            ]
        );
        assert_eq!(places(&json!({"response": {"schema": {"maxlength": 3}}})), ["response.schema.maxlength"]);
    }

    #[test]
    fn keyword_of_another_tool_is_no_misspelling() {
        let own = json!({"tsType": "Date", "comments": "c", "sample": 1, "desc": "d", "titles": ["t"], "labels": [],
            "units": "EUR", "enumNames": ["a"], "propertyOrder": 1, "$comment": "c", "example": 1, "id": "i"});
        assert_eq!(places(&json!({"request": {"schema": own}})), [""; 0]);
        let misspelt = json!({"Type": "string", "tpye": "string", "min_length": 1, "$reff": "#"});
        let found = places(&json!({"request": {"schema": misspelt}}));
        let expected = ["$reff", "Type", "min_length", "tpye"].map(|key| format!("request.schema.{key}"));
        assert_eq!(found, expected);
    }

    #[test]
    fn type_that_no_body_has_is_warned_of() {
        let typed = |body: &str, schema: Value| places(&json!({"request": {"body": body, "schema": schema}}));
        let fields =
            json!({"type": "object", "properties": {"qty": {"type": "integer"}, "sku": {"type": "string"}}});
        assert_eq!(typed("json", fields.clone()), [""; 0]);
        assert_eq!(typed("form", fields.clone()), ["request.schema.properties.qty.type"]);
        assert_eq!(typed("csv", fields.clone()), ["request.schema.type"]);
        let rows = json!({"type": "array", "items": fields});
        assert_eq!(typed("csv", rows), ["request.schema.items.properties.qty.type"]);
    }
}
