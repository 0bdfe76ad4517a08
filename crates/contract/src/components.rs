//! Schemas of channels as components of a document, with their references moved along.

use serde_json::{Map, Value, json};

/// The schemas of a document, by name.
#[derive(Debug, Default)]
pub(crate) struct SchemaComponents(Map<String, Value>);

impl SchemaComponents {
    /// Adds a schema and returns a reference to it. References within it lead to its new place.
    pub(crate) fn add(&mut self, name: &str, schema: &Map<String, Value>) -> Value {
        let base = unused_name(&component_name(name), |name| self.0.contains_key(name));
        let place = format!("#/components/schemas/{base}");
        let mut schema = schema.clone();
        schema.shift_remove("$schema");
        let mut schema = Value::Object(schema);
        // References of a schema with an id of its own are relative to that.
        if schema.get("$id").is_none() {
            move_references(&mut schema, &place);
        }
        self.0.insert(base, schema);
        json!({"$ref": place})
    }

    /// Returns the schemas.
    pub(crate) fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

/// Returns a name that the keys of components can have.
pub(crate) fn component_name(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' })
        .collect()
}

/// Returns the name, or the first one with a number behind it that is not used.
pub(crate) fn unused_name(name: &str, is_used: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_used(name)).unwrap_or_else(|| name.to_owned())
}

fn move_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(address) if key == "$ref" => {
                        let rest =
                            address.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
                        if let Some(rest) = rest {
                            *address = format!("{place}{rest}");
                        }
                    }
                    member => move_references(member, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_references(item, place)),
        _ => {}
    }
}
