//! Schemas of channels as components of a document, with their references moved along. Their definitions are components
//! too: most generators of clients make types of these alone.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

/// Keywords whose members are schemas, by names that mean nothing.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose members are the definitions of a schema.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords that hold data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords that name a schema.
const ANCHORS: [&str; 2] = ["$anchor", "$dynamicAnchor"];

/// The schemas of a document, by name.
#[derive(Debug, Default)]
pub(crate) struct SchemaComponents(Map<String, Value>);

impl SchemaComponents {
    /// Adds a schema with its definitions, and returns a reference to it. References within lead to their new places.
    pub(crate) fn add(&mut self, name: &str, schema: &Map<String, Value>) -> Value {
        let base = unused_name(&component_name(name), |name| self.0.contains_key(name));
        let place = component_address(&base);
        let mut schema = schema.clone();
        schema.shift_remove("$schema");
        let definitions = self.name_definitions(&base, &schema);
        let mut schema = Value::Object(schema);
        MovedAddresses::find(&schema, &place, &definitions).move_in(&mut schema);
        let parts = take_definitions(&mut schema, &definitions);
        self.0.insert(base, schema);
        self.0.extend(parts);
        json!({"$ref": place})
    }

    /// Names the components that the definitions of a schema become, in their order. Those of a schema with an id of
    /// its own stay.
    fn name_definitions(&self, base: &str, schema: &Map<String, Value>) -> Vec<SchemaDefinition> {
        let mut taken = HashSet::from([base.to_owned()]);
        let keys = DEFINITIONS.iter().filter(|_| !has_id(schema));
        let named = keys.filter_map(|key| Some((*key, schema.get(*key)?.as_object()?)));
        let names = named.flat_map(|(key, named)| named.keys().map(move |name| (key, name)));
        names
            .map(|(key, name)| {
                let wanted = component_name(&format!("{base}.{name}"));
                let component =
                    unused_name(&wanted, |name| self.0.contains_key(name) || taken.contains(name));
                taken.insert(component.clone());
                SchemaDefinition { key, name: name.clone(), component }
            })
            .collect()
    }

    /// Returns the schemas.
    pub(crate) fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

/// A definition of a schema, and the component that it becomes.
#[derive(Debug)]
struct SchemaDefinition {
    key: &'static str,
    name: String,
    component: String,
}

/// Takes the definitions out of a schema, by the names of their components.
fn take_definitions(schema: &mut Value, definitions: &[SchemaDefinition]) -> Vec<(String, Value)> {
    let mut parts = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let part = schema.get_mut(definition.key).and_then(|named| named.get_mut(&definition.name));
        parts.extend(part.map(|part| (definition.component.clone(), part.take())));
    }
    if let (Value::Object(members), false) = (schema, definitions.is_empty()) {
        members.retain(|key, member| !(DEFINITIONS.contains(&key.as_str()) && member.is_object()));
    }
    parts
}

fn component_address(name: &str) -> String {
    format!("#/components/schemas/{name}")
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

/// The addresses of a schema, from the place where it was to its new one.
struct MovedAddresses<'p> {
    place: &'p str,
    /// Pointers by the names of anchors: those of a part of a document are not known in the whole.
    anchors: HashMap<String, String>,
    /// The components of definitions by their pointers, as references and as anchors have these.
    definitions: HashMap<String, &'p str>,
}

impl<'p> MovedAddresses<'p> {
    fn find(schema: &Value, place: &'p str, definitions: &'p [SchemaDefinition]) -> Self {
        let pointers = definitions.iter().flat_map(|SchemaDefinition { key, name, component }| {
            let plain = name.replace('~', "~0").replace('/', "~1");
            [plain, pointer_part(name)].map(|part| (format!("/{key}/{part}"), component.as_str()))
        });
        let mut moved = Self { place, anchors: HashMap::new(), definitions: pointers.collect() };
        moved.find_anchors(schema, "");
        moved
    }

    fn find_anchors(&mut self, schema: &Value, pointer: &str) {
        match schema {
            Value::Object(members) if !has_id(members) => {
                for name in ANCHORS.iter().filter_map(|key| members.get(*key)?.as_str()) {
                    self.anchors.entry(name.to_owned()).or_insert_with(|| pointer.to_owned());
                }
                for (key, member) in members.iter().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                    let pointer = format!("{pointer}/{}", pointer_part(key));
                    match member {
                        Value::Object(named) if NAMED.contains(&key.as_str()) => {
                            for (name, schema) in named {
                                self.find_anchors(schema, &format!("{pointer}/{}", pointer_part(name)));
                            }
                        }
                        member => self.find_anchors(member, &pointer),
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.find_anchors(item, &format!("{pointer}/{index}"));
                }
            }
            _ => {}
        }
    }

    fn move_in(&self, schema: &mut Value) {
        match schema {
            // References of a schema with an id of its own are relative to that.
            Value::Object(members) if !has_id(members) => {
                // Without documents around it, an address that others could redefine is a plain one.
                if !members.contains_key("$ref")
                    && let Some(address) = members.shift_remove("$dynamicRef")
                {
                    members.insert("$ref".to_owned(), address);
                }
                for (key, member) in members.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                    match member {
                        Value::String(address) if key == "$ref" => {
                            if let Some(moved) = self.move_address(address) {
                                *address = moved;
                            }
                        }
                        Value::Object(named) if NAMED.contains(&key.as_str()) => {
                            named.values_mut().for_each(|schema| self.move_in(schema));
                        }
                        member => self.move_in(member),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.move_in(item)),
            _ => {}
        }
    }

    fn move_address(&self, address: &str) -> Option<String> {
        let rest = address.strip_prefix('#')?;
        let pointer =
            if rest.is_empty() || rest.starts_with('/') { rest } else { self.anchors.get(rest)?.as_str() };
        Some(self.find_component(pointer).unwrap_or_else(|| format!("{}{pointer}", self.place)))
    }

    /// Returns the new address of what is in a definition.
    fn find_component(&self, pointer: &str) -> Option<String> {
        let end = pointer.match_indices('/').nth(2).map_or(pointer.len(), |(at, _)| at);
        let (definition, rest) = pointer.split_at(end);
        let component = self.definitions.get(definition)?;
        Some(format!("{}{rest}", component_address(component)))
    }
}

fn has_id(schema: &Map<String, Value>) -> bool {
    schema.get("$id").is_some_and(Value::is_string)
}

/// Returns a name as a part of a JSON pointer in the fragment of an address.
fn pointer_part(name: &str) -> String {
    let mut part = String::with_capacity(name.len());
    for byte in name.replace('~', "~0").replace('/', "~1").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~$!&'()*+,;=:@".contains(&byte) {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("%{byte:02X}"));
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(schema: Value) -> Value {
        let mut components = SchemaComponents::default();
        let Value::Object(members) = schema else { panic!("an object") };
        components.add("a", &members);
        components.finish()
    }

    #[test]
    fn reference_to_anchor_becomes_an_address() {
        let moved = moved(json!({"$defs": {"x/y z": {"$anchor": "part", "type": "integer"}},
            "properties": {"a": {"$ref": "#part"}, "b": {"$dynamicRef": "#part"}, "c": {"$ref": "#"},
                "d": {"$ref": "#inner"}, "e": {"$anchor": "inner"}}}));
        let part = json!({"$ref": "#/components/schemas/a.x_y_z"});
        let properties = &moved["a"]["properties"];
        assert_eq!((&properties["a"], &properties["b"]), (&part, &part));
        assert_eq!(properties["c"]["$ref"], "#/components/schemas/a");
        assert_eq!(properties["d"]["$ref"], "#/components/schemas/a/properties/e");
        assert_eq!(moved["a.x_y_z"]["type"], "integer");
    }

    #[test]
    fn definitions_become_components_with_names_of_their_own() {
        let moved = moved(
            json!({"$ref": "#/$defs/x/items", "$defs": {"x": {"items": {"$ref": "#/$defs/x y"}}, "x y": {}},
            "definitions": {"x~y": true, "x y": {"$ref": "#/definitions/x~0y"}}}),
        );
        let named = moved.as_object().unwrap();
        let names: Vec<_> = named.keys().map(String::as_str).collect();
        assert_eq!(names, ["a", "a.x", "a.x_y", "a.x_y_2", "a.x_y_3"]);
        assert_eq!(moved["a"], json!({"$ref": "#/components/schemas/a.x/items"}));
        assert_eq!(moved["a.x"]["items"]["$ref"], "#/components/schemas/a.x_y");
        assert_eq!(
            (&moved["a.x_y_2"], &moved["a.x_y_3"]["$ref"]),
            (&json!(true), &json!("#/components/schemas/a.x_y_2"))
        );
    }

    #[test]
    fn data_and_other_resources_keep_their_references() {
        let data = json!({"$ref": "#/x"});
        let schema = json!({"properties": {"const": {"$ref": "#/$defs/x"}, "a": {"const": data, "enum": [data]}},
            "$defs": {"x": {}, "own": {"$id": "own", "items": {"$ref": "#/y"}}}});
        let moved = moved(schema);
        assert_eq!(moved["a"]["properties"]["const"]["$ref"], "#/components/schemas/a.x");
        assert_eq!(moved["a"]["properties"]["a"], json!({"const": data, "enum": [data]}));
        assert_eq!(moved["a.own"]["items"]["$ref"], "#/y");
    }
}
