//! The catalogue entries of plugins.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use svc_engine::catalogue::{FunctionEntry, InputField, PluginIdentity};
use svc_model::content_hash;

use crate::manifest::{InputFieldSpec, PluginFunctionSpec, PluginManifest};

/// The entries by manifest and digest. An entry lives as long as the process, as those of the service do: compiled
/// workflows, records and answers refer to it. One is made for each distinct manifest of a component, however often it
/// is loaded.
static ENTRIES: LazyLock<Mutex<HashMap<String, Vec<&'static FunctionEntry>>>> = LazyLock::new(Mutex::default);

impl PluginManifest {
    /// Returns the catalogue entries of the functions, for the component of this digest.
    pub fn entries(&self, digest: &str) -> Vec<&'static FunctionEntry> {
        let key = format!("{digest} {}", content_hash(&self.to_json()));
        let mut entries = ENTRIES.lock();
        entries.entry(key).or_insert_with(|| self.make_entries(digest)).clone()
    }

    fn make_entries(&self, digest: &str) -> Vec<&'static FunctionEntry> {
        let identity = PluginIdentity { id: keep_text(&self.name), version: keep_text(&self.version) };
        let digest = keep_text(digest);
        let entry = |function: &PluginFunctionSpec| -> &'static FunctionEntry {
            let fields = function.input_fields.iter().map(InputFieldSpec::to_field);
            let fields: Vec<_> = fields.chain([InputField::output()]).collect();
            let name = keep_text(&format!("{}.{}", self.name, function.name));
            Box::leak(Box::new(FunctionEntry {
                category: "compute",
                retry_safety: "pure",
                accepts_any_input: false,
                fields: Vec::leak(fields),
                plugin: Some(identity),
                component_digest: Some(digest),
                ..FunctionEntry::plugin(name, keep_text(&function.description))
            }))
        };
        self.functions.iter().map(entry).collect()
    }
}

impl InputFieldSpec {
    fn to_field(&self) -> InputField {
        InputField {
            required: self.required,
            resolvable: self.resolvable,
            template: self.computed,
            ..InputField::new(keep_text(&self.name), self.kind, keep_text(&self.description))
        }
    }
}

fn keep_text(text: &str) -> &'static str {
    String::leak(text.to_owned())
}
