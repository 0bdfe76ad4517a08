//! The schemas that apply to one value: how many there are, and how deep they lie within one another.
//!
//! The validator follows references and combinations such as `allOf` by calls of its own. A chain of them takes its
//! stack and a tree of them its time, for each value that it meets, so that both are bounded before it compiles.

use std::collections::HashMap;
use std::ptr;

use serde_json::{Map, Value};

/// Maximum number of schemas that apply to one value within one another.
const MAX_NESTED: usize = 64;
/// Maximum number of schemas that apply to one value.
const MAX_APPLIED: usize = 10_000;

/// Keywords with a schema, with a list of schemas, and with the address of one, for the value itself.
const SCHEMAS: [&str; 4] = ["not", "if", "then", "else"];
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const ADDRESSES: [&str; 2] = ["$ref", "$dynamicRef"];
const NAMED_SCHEMAS: &str = "dependentSchemas";
/// Keywords that name a schema.
const ANCHORS: [&str; 2] = ["$anchor", "$dynamicAnchor"];

/// The reason why the schemas that apply to one value are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaApplicationError {
    /// They are too many.
    #[error(
        "at one value at most {} schemas may apply within one another, and {} in all; flatten references and lists",
        MAX_NESTED,
        MAX_APPLIED
    )]
    Involved,
    /// They multiply from level to level.
    #[error(
        "several alternatives describe the same members level after level, so that the schemas that apply multiply; \
         move what they share out of them"
    )]
    Multiplied,
    /// A reference is percent-encoded.
    #[error("the reference {address} is percent-encoded; write the name of a definition without '%'")]
    Encoded {
        /// The reference.
        address: String,
    },
}

/// Checks the schemas that apply to one value, wherever a schema may be. Returns how many apply within one another.
///
/// # Errors
/// Too many of them apply, or a reference is encoded and cannot be followed.
pub(crate) fn check_application(schema: &Value) -> Result<usize, SchemaApplicationError> {
    let places = SchemaPlaces::find(schema);
    let mut measured = HashMap::new();
    places
        .objects
        .iter()
        .try_fold(0, |nested: usize, object| Ok(nested.max(places.measure(object, 0, &mut measured)?.depth)))
}

/// The schemas that one schema applies to a value.
#[derive(Clone, Copy, Debug)]
struct Applied {
    count: usize,
    depth: usize,
}

/// The objects of a document, any of which may be a schema.
#[derive(Debug, Default)]
pub(crate) struct SchemaPlaces<'s> {
    /// The document is the first, unless it is no object.
    pub(crate) objects: Vec<&'s Value>,
    /// The schema with an id that the references of an object are relative to.
    resources: HashMap<*const Value, &'s Value>,
    /// By resource and name.
    anchors: HashMap<(*const Value, &'s str), &'s Value>,
}

impl<'s> SchemaPlaces<'s> {
    /// Finds the objects of a document.
    pub(crate) fn find(schema: &'s Value) -> Self {
        let mut places = Self::default();
        places.add(schema, schema);
        places
    }

    fn add(&mut self, value: &'s Value, resource: &'s Value) {
        match value {
            Value::Object(members) => {
                let has_id = members.get("$id").is_some_and(Value::is_string);
                let resource = if has_id { value } else { resource };
                self.objects.push(value);
                self.resources.insert(ptr::from_ref(value), resource);
                for name in ANCHORS.iter().filter_map(|key| members.get(*key)?.as_str()) {
                    self.anchors.insert((ptr::from_ref(resource), name), value);
                }
                members.values().for_each(|member| self.add(member, resource));
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item, resource)),
            _ => {}
        }
    }

    /// Measures what applies by a schema that lies `steps` deep. One that is being measured leads to itself, which the
    /// validator does not follow.
    fn measure(
        &self,
        schema: &'s Value,
        steps: usize,
        measured: &mut HashMap<*const Value, Applied>,
    ) -> Result<Applied, SchemaApplicationError> {
        let mut applied = Applied { count: 1, depth: 0 };
        let Value::Object(members) = schema else { return Ok(applied) };
        if let Some(known) = measured.get(&ptr::from_ref(schema)) {
            return Ok(*known);
        }
        measured.insert(ptr::from_ref(schema), applied);
        for inner in self.applied_schemas(schema, members)? {
            if steps >= MAX_NESTED {
                return Err(SchemaApplicationError::Involved);
            }
            let inner = self.measure(inner, steps + 1, measured)?;
            applied.count = applied.count.saturating_add(inner.count);
            applied.depth = applied.depth.max(inner.depth + 1);
            if steps + applied.depth > MAX_NESTED || applied.count > MAX_APPLIED {
                return Err(SchemaApplicationError::Involved);
            }
        }
        measured.insert(ptr::from_ref(schema), applied);
        Ok(applied)
    }

    /// Returns the schemas that a schema applies to the same value.
    fn applied_schemas(
        &self,
        schema: &'s Value,
        members: &'s Map<String, Value>,
    ) -> Result<Vec<&'s Value>, SchemaApplicationError> {
        let mut found: Vec<_> = SCHEMAS.iter().filter_map(|key| members.get(*key)).collect();
        found.extend(LISTS.iter().filter_map(|key| members.get(*key)?.as_array()).flatten());
        let named = members.get(NAMED_SCHEMAS).and_then(Value::as_object);
        found.extend(named.into_iter().flat_map(Map::values));
        for address in ADDRESSES.iter().filter_map(|key| members.get(*key)?.as_str()) {
            if address.contains('%') {
                return Err(SchemaApplicationError::Encoded { address: address.chars().take(100).collect() });
            }
            found.extend(self.resolve(schema, address));
        }
        Ok(found)
    }

    /// Returns the schema at an address; `None` for one that is not there, which the validator refuses.
    pub(crate) fn resolve(&self, from: &'s Value, address: &'s str) -> Option<&'s Value> {
        let resource = *self.resources.get(&ptr::from_ref(from))?;
        match address.strip_prefix('#')? {
            "" => Some(resource),
            pointer if pointer.starts_with('/') => resource.pointer(pointer),
            name => self.anchors.get(&(ptr::from_ref(resource), name)).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(length: usize, step: impl Fn(String) -> Value) -> Value {
        let mut defs: Map<String, Value> =
            (0..length).map(|at| (at.to_string(), step(format!("#/$defs/{}", at + 1)))).collect();
        defs.insert(length.to_string(), json!({"properties": {"a": {"$ref": "#/$defs/0"}}}));
        json!({"$ref": "#/$defs/0", "$defs": defs})
    }

    #[test]
    fn long_chains_are_refused() {
        let by_reference = |length| check_application(&chain(length, |next| json!({"$ref": next})));
        assert_eq!((by_reference(60), by_reference(500)), (Ok(61), Err(SchemaApplicationError::Involved)));
        let by_list = |length| check_application(&chain(length, |next| json!({"allOf": [{"$ref": next}]})));
        assert_eq!((by_list(30), by_list(500)), (Ok(61), Err(SchemaApplicationError::Involved)));
    }

    #[test]
    fn wide_trees_are_refused() {
        let doubling =
            |length| chain(length, |next| json!({"anyOf": [{"$ref": next}, {"not": {"$ref": next}}]}));
        assert!(check_application(&doubling(8)).is_ok());
        assert_eq!(check_application(&doubling(20)), Err(SchemaApplicationError::Involved));
    }

    #[test]
    fn circles_and_names_are_followed() {
        let circles = json!({"$ref": "#/$defs/a", "$defs": {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$dynamicRef": "#named"}]},
            "b": {"$ref": "#/$defs/a", "$dynamicAnchor": "named"}}});
        assert!(check_application(&circles).is_ok());
        let mut named = chain(62, |next| json!({"$ref": next}));
        named["$defs"]["0"]["$anchor"] = json!("first");
        named["$defs"]["other"] = json!({"allOf": [{"allOf": [{"allOf": [{"$ref": "#first"}]}]}]});
        assert_eq!(check_application(&named), Err(SchemaApplicationError::Involved));
        let encoded = check_application(&json!({"$ref": "#/%24defs/a", "$defs": {"a": {}}}));
        assert!(matches!(encoded, Err(SchemaApplicationError::Encoded { .. })));
    }
}
