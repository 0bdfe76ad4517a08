//! The manifest of a plugin: its functions and their inputs.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use svc_engine::catalogue::InputKind;
use svc_model::FieldError;

use crate::manifest_reader::read_manifest;

/// The manifest of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginManifest {
    /// The name of the plugin, the first part of the names of its functions.
    pub name: String,
    /// The version that its author gave it; informational.
    pub version: String,
    /// A description of the plugin.
    pub description: String,
    /// The file of the component, relative to that of the manifest. Not stored.
    pub component: Option<String>,
    pub functions: Vec<PluginFunctionSpec>,
    /// The bounds that its author lowers.
    pub limits: ManifestLimits,
}

/// One function of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginFunctionSpec {
    /// Its name within the plugin, which the component is called with.
    pub name: String,
    /// One line.
    pub description: String,
    pub input_fields: Vec<InputFieldSpec>,
}

/// One input of a function of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct InputFieldSpec {
    pub name: String,
    pub kind: InputKind,
    /// True for a required input.
    pub required: bool,
    /// True if `{"var": path}` nodes in it are folded.
    pub resolvable: bool,
    /// True if an expression may be in the place of the value.
    pub computed: bool,
    /// One line.
    pub description: String,
}

/// The bounds of a plugin; each only lowers that of the service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ManifestLimits {
    /// Mebibytes of memory of one call.
    pub memory_mib: Option<u64>,
    /// Milliseconds of one call.
    pub timeout_ms: Option<u64>,
    /// Bytes of the input of one call.
    pub max_request_bytes: Option<u64>,
    /// Bytes of the result of one call.
    pub max_response_bytes: Option<u64>,
    /// Calls of one function at once.
    pub max_concurrent_calls: Option<u64>,
}

impl PluginManifest {
    /// Parses a manifest; `at` is its path in the paths of the problems.
    ///
    /// # Errors
    /// All problems, each with its path and the remedy.
    pub fn parse(document: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        read_manifest(document, at)
    }

    /// Parses the text of a manifest file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and one problem for a text that is no TOML.
    pub fn parse_toml(text: &str) -> Result<Self, Vec<FieldError>> {
        match toml::from_str::<Value>(text) {
            Ok(document) => read_manifest(&document, ""),
            // Not with its line: the file may be a link to one that is not meant to be shown.
            Err(error) => {
                let before = error.span().and_then(|place| text.get(..place.start)).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let message = format!("no TOML: {}", error.message());
                Err(vec![FieldError::invalid(format!("line {line}"), message)])
            }
        }
    }

    /// Returns the manifest as it is stored: without the file of the component.
    pub fn to_json(&self) -> Value {
        let functions = self.functions.iter().map(PluginFunctionSpec::to_json);
        let mut document = json!({
            "abi": crate::ABI,
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "functions": functions.collect::<Vec<_>>(),
        });
        let limits = self.limits.to_json();
        if !limits.is_empty() {
            document["limits"] = limits.into();
        }
        document
    }

    /// Lists the names that workflows call the functions by.
    pub fn function_names(&self) -> Vec<String> {
        self.functions.iter().map(|function| format!("{}.{}", self.name, function.name)).collect()
    }
}

impl PluginFunctionSpec {
    fn to_json(&self) -> Value {
        let fields = self.input_fields.iter().map(|field| {
            json!({
                "name": field.name,
                "kind": field.kind.name(),
                "required": field.required,
                "resolvable": field.resolvable,
                "template_at": if field.computed { &[""][..] } else { &[] },
                "description": field.description,
            })
        });
        let fields: Vec<_> = fields.collect();
        json!({"name": self.name, "description": self.description, "input_fields": fields})
    }
}

impl ManifestLimits {
    /// The names of the bounds in a manifest.
    pub(crate) const NAMES: [&'static str; 5] =
        ["memory_mib", "timeout_ms", "max_request_bytes", "max_response_bytes", "max_concurrent_calls"];

    /// Returns the place of the bound of a name.
    pub(crate) fn member(&mut self, name: &str) -> Option<&mut Option<u64>> {
        match name {
            "memory_mib" => Some(&mut self.memory_mib),
            "timeout_ms" => Some(&mut self.timeout_ms),
            "max_request_bytes" => Some(&mut self.max_request_bytes),
            "max_response_bytes" => Some(&mut self.max_response_bytes),
            "max_concurrent_calls" => Some(&mut self.max_concurrent_calls),
            _ => None,
        }
    }

    fn to_json(mut self) -> Map<String, Value> {
        let bounds =
            Self::NAMES.iter().filter_map(|name| Some(((*name).to_owned(), (*self.member(name)?)?.into())));
        bounds.collect()
    }
}

/// Returns the identity of a component: `sha256:` and the hash of its bytes.
pub fn component_digest(component: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(component)))
}
