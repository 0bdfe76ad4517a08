//! The reader of manifests.

use serde_json::{Map, Value};
use svc_engine::catalogue::InputKind;
use svc_model::{FieldError, unknown_keys};

use crate::ABI;
use crate::manifest::{InputFieldSpec, ManifestLimits, PluginFunctionSpec, PluginManifest};

/// Characters of a name, a version and a description.
const MAX_NAME: usize = 63;
const MAX_TEXT: usize = 512;
/// Functions of a plugin, and inputs of a function.
const MAX_ITEMS: usize = 64;
/// The input that every function has.
const OUTPUT: &str = "output";

const KINDS: [InputKind; 6] = [
    InputKind::String,
    InputKind::Number,
    InputKind::Bool,
    InputKind::Object,
    InputKind::Array,
    InputKind::Any,
];

/// Reads a manifest and reports all problems at once.
pub(crate) fn read_manifest(document: &Value, at: &str) -> Result<PluginManifest, Vec<FieldError>> {
    const KEYS: [&str; 7] = ["abi", "name", "version", "description", "component", "functions", "limits"];
    let mut reader = ManifestReader { errors: Vec::new() };
    let Some(members) = reader.object(document, at, &KEYS) else { return Err(reader.errors) };
    let abi = reader.text(members, at, "abi").unwrap_or_default();
    if !abi.is_empty() && abi != ABI {
        reader.refuse(at, "abi", format!("this service runs plugins of {ABI}"));
    }
    let name = reader.name(members, at);
    let version = reader.text(members, at, "version").unwrap_or_default();
    let description = reader.optional_text(members, at, "description").unwrap_or_default();
    let component = reader.optional_text(members, at, "component");
    let functions = reader.functions(members, at);
    let limits = reader.limits(members, at);
    match reader.errors.is_empty() {
        true => Ok(PluginManifest { name, version, description, component, functions, limits }),
        false => Err(reader.errors),
    }
}

/// Collects the problems of one manifest.
struct ManifestReader {
    errors: Vec<FieldError>,
}

impl ManifestReader {
    fn refuse(&mut self, at: &str, key: &str, message: impl Into<String>) {
        self.errors.push(FieldError::invalid(join(at, key), message));
    }

    fn object<'v>(&mut self, value: &'v Value, at: &str, keys: &[&str]) -> Option<&'v Map<String, Value>> {
        let Some(members) = value.as_object() else {
            self.errors.push(FieldError::type_mismatch(at, "an object", value));
            return None;
        };
        let unknown = unknown_keys(members, at, keys, &[]).into_iter();
        // The root of a file has no path: its keys have none before them.
        self.errors.extend(unknown.map(|error| FieldError {
            path: error.path.strip_prefix('.').map_or(error.path.clone(), str::to_owned),
            ..error
        }));
        Some(members)
    }

    /// Reads a text that must be there.
    fn text(&mut self, members: &Map<String, Value>, at: &str, key: &str) -> Option<String> {
        if !members.contains_key(key) {
            self.errors.push(FieldError::required(join(at, key)));
        }
        self.optional_text(members, at, key)
    }

    fn optional_text(&mut self, members: &Map<String, Value>, at: &str, key: &str) -> Option<String> {
        let value = members.get(key)?;
        let Some(text) = value.as_str() else {
            self.errors.push(FieldError::type_mismatch(join(at, key), "a string", value));
            return None;
        };
        let length = text.chars().count();
        if length > MAX_TEXT {
            self.errors.push(FieldError::too_long(join(at, key), MAX_TEXT, length, "characters"));
        } else if text.chars().any(char::is_control) {
            self.refuse(at, key, "one line without control characters");
        }
        Some(text.to_owned())
    }

    /// Reads the name of the plugin, a function or an input.
    fn name(&mut self, members: &Map<String, Value>, at: &str) -> String {
        let name = self.text(members, at, "name").unwrap_or_default();
        let mut characters = name.chars();
        let begins = characters.next().is_none_or(|first| first.is_ascii_lowercase());
        let goes_on = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if members.get("name").is_some_and(Value::is_string)
            && (name.is_empty() || name.len() > MAX_NAME || !begins || !characters.all(goes_on))
        {
            let rule = "a lower-case letter, then lower-case letters, digits and `_`, at most 63 characters";
            self.refuse(at, "name", rule);
        }
        name
    }

    fn flag(&mut self, members: &Map<String, Value>, at: &str, key: &str) -> Option<bool> {
        let value = members.get(key)?;
        if !value.is_boolean() {
            self.errors.push(FieldError::type_mismatch(join(at, key), "a boolean", value));
        }
        value.as_bool()
    }

    /// Reads a list of objects with distinct names.
    fn list<T>(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        key: &str,
        item: impl Fn(&mut Self, &Value, &str) -> Option<(String, T)>,
    ) -> Vec<T> {
        let Some(value) = members.get(key) else { return Vec::new() };
        let at = join(at, key);
        let Some(items) = value.as_array() else {
            self.errors.push(FieldError::type_mismatch(at, "an array", value));
            return Vec::new();
        };
        if items.len() > MAX_ITEMS {
            self.errors.push(FieldError::invalid(at, format!("at most {MAX_ITEMS} entries")));
            return Vec::new();
        }
        let mut names: Vec<String> = Vec::new();
        let mut read = Vec::new();
        for (index, value) in items.iter().enumerate() {
            let at = format!("{at}[{index}]");
            let Some((name, entry)) = item(self, value, &at) else { continue };
            if names.contains(&name) {
                self.refuse(&at, "name", format!("\"{name}\" is the name of an entry before"));
            }
            names.push(name);
            read.push(entry);
        }
        read
    }

    fn functions(&mut self, members: &Map<String, Value>, at: &str) -> Vec<PluginFunctionSpec> {
        const KEYS: [&str; 3] = ["name", "description", "input_fields"];
        let functions = self.list(members, at, "functions", |reader, value, at| {
            let members = reader.object(value, at, &KEYS)?;
            let name = reader.name(members, at);
            let description = reader.text(members, at, "description").unwrap_or_default();
            let input_fields = reader.list(members, at, "input_fields", Self::input_field);
            Some((name.clone(), PluginFunctionSpec { name, description, input_fields }))
        });
        if functions.is_empty() && members.get("functions").is_none_or(|list| list == &Value::Array(vec![])) {
            self.errors.push(FieldError::required(join(at, "functions")));
        }
        functions
    }

    fn input_field(&mut self, value: &Value, at: &str) -> Option<(String, InputFieldSpec)> {
        const KEYS: [&str; 6] = ["name", "kind", "required", "resolvable", "template_at", "description"];
        let members = self.object(value, at, &KEYS)?;
        let name = self.name(members, at);
        if name == OUTPUT {
            self.refuse(at, "name", "every function has the input `output`; the service uses it");
        }
        let kind = self.kind(members, at);
        let required = self.flag(members, at, "required").unwrap_or(false);
        let resolvable = self.flag(members, at, "resolvable").unwrap_or(false);
        let scalar = matches!(kind, InputKind::String | InputKind::Number | InputKind::Bool);
        let computed = match members.get("template_at").map(|value| (value, value.as_array())) {
            None => scalar && !resolvable,
            Some((_, Some(places))) if places.is_empty() => false,
            Some((_, Some(places))) if places.len() == 1 && places[0] == "" => true,
            Some(_) => {
                self.refuse(at, "template_at", "either [] or [\"\"], the input itself");
                false
            }
        };
        if computed && resolvable {
            self.refuse(at, "template_at", "an input is either `resolvable` or computed by an expression");
        }
        let description = self.optional_text(members, at, "description").unwrap_or_default();
        Some((name.clone(), InputFieldSpec { name, kind, required, resolvable, computed, description }))
    }

    fn kind(&mut self, members: &Map<String, Value>, at: &str) -> InputKind {
        let name = self.text(members, at, "kind");
        let kind = KINDS.into_iter().find(|kind| name.as_deref() == Some(kind.name()));
        if let (None, Some(_)) = (kind, name) {
            self.refuse(at, "kind", "one of string, number, bool, object, array, any");
        }
        kind.unwrap_or(InputKind::Any)
    }

    fn limits(&mut self, members: &Map<String, Value>, at: &str) -> ManifestLimits {
        let mut limits = ManifestLimits::default();
        let Some(value) = members.get("limits") else { return limits };
        let at = join(at, "limits");
        let Some(members) = self.object(value, &at, &ManifestLimits::NAMES) else { return limits };
        for (name, value) in members {
            let Some(bound) = limits.member(name) else { continue };
            *bound = value.as_u64().filter(|bound| *bound > 0);
            if bound.is_none() {
                self.refuse(&at, name, "a whole number above 0");
            }
        }
        limits
    }
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TAX: &str = r#"
        abi = "svc:plugin@1.0.0"
        name = "tax"
        version = "1.2.0"
        component = "tax.wasm"
        [[functions]]
        name = "vat"
        description = "Adds the value-added tax"
        [[functions.input_fields]]
        name = "net"
        kind = "number"
        required = true
        [[functions.input_fields]]
        name = "lines"
        kind = "array"
        resolvable = true
        [limits]
        timeout_ms = 500
    "#;

    #[test]
    fn manifest_file_is_stored_without_its_component() {
        let manifest = PluginManifest::parse_toml(TAX).unwrap();
        assert_eq!(manifest.component.as_deref(), Some("tax.wasm"));
        assert_eq!(manifest.function_names(), ["tax.vat"]);
        let [net, lines] = &manifest.functions[0].input_fields[..] else { panic!("two inputs") };
        assert!(net.required && net.computed && !net.resolvable, "a scalar takes expressions");
        assert!(lines.resolvable && !lines.computed);
        let stored = manifest.to_json();
        assert!(stored.get("component").is_none());
        assert_eq!(stored["limits"], json!({"timeout_ms": 500}));
        let read_again = PluginManifest::parse(&stored, "plugin.manifest").unwrap();
        assert_eq!(read_again, PluginManifest { component: None, ..manifest });
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        let document = json!({
            "abi": "other@1", "name": "Tax", "versoin": "1",
            "functions": [
                {"name": "vat", "description": "d", "input_fields": [
                    {"name": "output", "kind": "number"},
                    {"name": "a", "kind": "text", "template_at": ["x"]},
                    {"name": "b", "kind": "any", "resolvable": true, "template_at": [""]},
                ]},
                {"name": "vat", "description": "d"},
            ],
            "limits": {"memory_mib": 0},
        });
        let errors = PluginManifest::parse(&document, "m").unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "m.versoin",
                "m.abi",
                "m.name",
                "m.version",
                "m.functions[0].input_fields[0].name",
                "m.functions[0].input_fields[1].kind",
                "m.functions[0].input_fields[1].template_at",
                "m.functions[0].input_fields[2].template_at",
                "m.functions[1].name",
                "m.limits.memory_mib",
            ]
        );
        assert!(errors[0].message.contains("version"), "{}", errors[0].message);
        let refused = PluginManifest::parse_toml("x = 1\nmachine a password s3cret").unwrap_err();
        let [problem] = &refused[..] else { panic!("{refused:?}") };
        assert!(problem.path == "line 2" && problem.message.starts_with("no TOML: "), "{problem}");
        assert!(!problem.message.contains("s3cret"), "{problem}");
        let empty = PluginManifest::parse(&json!({"abi": ABI, "name": "a", "version": "1"}), "").unwrap_err();
        assert_eq!(empty[0].path, "functions");
    }
}
