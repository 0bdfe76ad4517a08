//! The parts that schemas are made of.

use serde_json::{Map, Value, json};
use svc_model::config::reference::KeyReference;

/// Texts that are not their own value: references and placeholders.
const UNRESOLVED: &str = r"\$\{|^(env|file|vault|var|aws-sm|gcp-sm|azure-kv)://";

/// The schema of an object, under construction.
#[derive(Debug, Default)]
pub(super) struct ObjectSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
    rules: Vec<Value>,
    /// True if unknown members are accepted.
    is_open: bool,
}

impl ObjectSchema {
    /// Accepts members beyond the listed ones.
    pub(super) fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// Adds a member.
    pub(super) fn property(&mut self, name: &str, schema: Value) {
        self.properties.insert(name.to_owned(), schema);
    }

    /// Makes a member required.
    pub(super) fn require(&mut self, name: &str) {
        self.required.push(name.into());
    }

    /// Requires one of several members.
    pub(super) fn require_any<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let choices: Vec<Value> = names.map(|name| json!({"required": [name]})).collect();
        self.rule(json!({"anyOf": choices}));
    }

    /// Adds a condition on the whole object.
    pub(super) fn rule(&mut self, rule: Value) {
        self.rules.push(rule);
    }

    /// Adds the member of a reference, with a schema of its value.
    pub(super) fn key(&mut self, key: &KeyReference, value: Value) {
        let may_be_null = !key.required || !key.alternative.is_empty();
        let value = if may_be_null { nullable(value) } else { value };
        let mut schema = with_description(key.description, or_shared_value(value));
        if let Ok(default) = serde_json::from_str(key.default) {
            schema["default"] = default;
        }
        if schema.get("examples").is_none()
            && let Ok(example) = serde_json::from_str::<Value>(key.example)
        {
            schema["examples"] = json!([example]);
        }
        self.property(key.name, schema);
        if !key.alternative.is_empty() {
            self.require_any(std::iter::once(key.name).chain(key.alternative.split(' ')));
        } else if key.required {
            self.require(key.name);
        }
    }

    /// Returns the schema. Annotations are accepted in every object.
    pub(super) fn finish(mut self) -> Value {
        self.property("$schema", json!({"description": "The schema of this document, for editors; ignored"}));
        let mut schema = json!({
            "type": "object",
            "properties": self.properties,
            "patternProperties": {"^x-": {"description": "For the author's own use; ignored"}},
        });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        if !self.rules.is_empty() {
            schema["allOf"] = self.rules.into();
        }
        if !self.is_open {
            schema["additionalProperties"] = false.into();
        }
        schema
    }
}

/// Describes a value.
pub(super) fn with_description(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}

/// Accepts a shared value in the place of a value. The words of a choice are examples too: editors do not look for them
/// below `else` before there is a value.
pub(super) fn or_shared_value(schema: Value) -> Value {
    let words = words(&schema);
    let mut either = json!({"if": {"$ref": "#/$defs/shared_value"}, "else": schema});
    if !words.is_empty() {
        either["examples"] = words.into();
    }
    either
}

/// Accepts a reference to a declared value in the place of a value that has a type or is one of some words. Other texts
/// accept it as they are.
pub(super) fn or_declared_value(kind: &str, schema: Value) -> Value {
    match kind {
        "integer" | "number" | "boolean" => {}
        kind if kind.contains('`') && !kind.starts_with("list of ") => {}
        _ => return schema,
    }
    json!({"anyOf": [schema, {"type": "string", "pattern": r"^var://[A-Za-z_][A-Za-z0-9_]*$"}]})
}

/// Returns the words that a schema lists.
fn words(schema: &Value) -> Vec<Value> {
    let own = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let own = own.filter(|word| !word.is_null()).cloned();
    let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    own.chain(alternatives.flat_map(words)).collect()
}

/// Accepts null in addition to the values of a schema.
pub(super) fn nullable(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").filter(|kind| kind.is_string()).cloned() {
        schema["type"] = json!([kind, "null"]);
        if let Some(Value::Array(words)) = schema.get_mut("enum") {
            words.push(Value::Null);
        }
        return schema;
    }
    if schema.as_object().is_none_or(Map::is_empty) {
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// Refers to a definition of the same schema.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Accepts a list.
pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": or_shared_value(items)})
}

/// Accepts an object whose members have one schema.
pub(super) fn members(of: Value) -> Value {
    json!({"type": "object", "additionalProperties": or_shared_value(of)})
}

/// Accepts one of some words.
pub(super) fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Accepts one of some words, or a text whose value is known only later.
pub(super) fn one_of_or_unresolved(words: &[&str]) -> Value {
    json!({"type": "string", "anyOf": [{"enum": words}, {"pattern": UNRESOLVED}]})
}

/// Accepts one of some words in any case; editors offer them as they are listed.
#[must_use]
pub fn one_of_any_case(words: &[&str]) -> Value {
    json!({"type": "string", "anyOf": [{"enum": words}, {"pattern": any_case(words)}]})
}

/// Returns the pattern of some words in any case.
pub(super) fn any_case(words: &[&str]) -> String {
    let letter = |letter: char| match letter.is_ascii_alphabetic() {
        true => format!("[{}{}]", letter.to_ascii_lowercase(), letter.to_ascii_uppercase()),
        false => letter.to_string(),
    };
    let words: Vec<_> = words.iter().map(|word| word.chars().map(letter).collect::<String>()).collect();
    format!("^({})$", words.join("|"))
}
