//! The functions that workflows may name, each with the table of its inputs.
//!
//! A function owns its entry ([`Function::entry`](crate::Function::entry)). The [`Catalogue`] of an engine
//! holds the entries of the built-ins and of all registered functions, so it lists exactly what the engine
//! can run.

mod entry;
mod field;
pub mod operators;
mod plugin_table;
mod sent;

use std::collections::BTreeMap;

use serde_json::Value;

pub use entry::{
    ConnectorRequirement, DefaultOutput, FunctionEntry, FunctionSource, FunctionTarget, OperationCase,
    PluginIdentity, QueryLanguage,
};
pub use field::{InputField, InputKind, InputShape, PathUse};
pub(crate) use plugin_table::PluginTable;
pub(crate) use sent::SentValue;
pub use sent::{DefaultInput, SentForm};

/// The entries of all functions of one engine, by name.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    entries: BTreeMap<&'static str, &'static FunctionEntry>,
    /// Functions whose driver may be left out of a build, each with the cargo features that bring it.
    optional: BTreeMap<&'static str, &'static str>,
    /// The functions of plugins, which come and go while the engine serves.
    plugins: PluginTable,
}

impl Catalogue {
    /// Adds an entry; it replaces one of the same name.
    pub(crate) fn insert(&mut self, entry: &'static FunctionEntry) {
        self.entries.insert(entry.name, entry);
    }

    /// Records the cargo features that bring a function into a build.
    pub(crate) fn declare_optional(&mut self, name: &'static str, features: &'static str) {
        self.optional.insert(name, features);
    }

    /// Returns the reason why this build lacks a function that other builds have.
    pub(crate) fn absence(&self, name: &str) -> Option<String> {
        let features = self.optional.get(name).filter(|_| self.find(name).is_none())?;
        Some(format!(
            "this build has no driver for the function \"{name}\": it was compiled without the feature {features}"
        ))
    }

    /// Takes the functions of plugins of another catalogue, now and later.
    pub(crate) fn share_plugins(&mut self, other: &Self) {
        self.plugins = other.plugins.clone();
    }

    /// Returns the functions of plugins.
    pub(crate) fn plugins(&self) -> &PluginTable {
        &self.plugins
    }

    /// Lists the entries, sorted by name, those of plugins behind the others.
    pub fn entries(&self) -> impl Iterator<Item = &'static FunctionEntry> {
        self.entries.values().copied().chain(self.plugins.entries())
    }

    /// Returns the entry of this name or alias.
    pub fn find(&self, name: &str) -> Option<&'static FunctionEntry> {
        let named = self.entries.get(name).copied();
        let aliased = || self.entries.values().copied().find(|entry| entry.aliases.contains(&name));
        named.or_else(aliased).or_else(|| Some(self.plugins.find(name)?.entry()))
    }

    /// Lists the accepted names, aliases included.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries().flat_map(FunctionEntry::names)
    }

    /// Returns the function list; the inputs of built-ins are included only if `all` is set.
    pub fn to_json(&self, all: bool) -> Value {
        self.entries().map(|entry| entry.to_json(all)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Engine;

    fn built_in(name: &str) -> &'static FunctionEntry {
        Engine::builder().build().catalogue().find(name).unwrap()
    }

    #[test]
    fn alias_finds_the_entry_and_unknown_name_finds_none() {
        let engine = Engine::builder().build();
        assert_eq!(engine.catalogue().find("validate").map(|entry| entry.name), Some("validation"));
        assert!(engine.catalogue().find("enrich").is_none());
    }

    #[test]
    fn inputs_of_built_ins_are_listed_on_request() {
        let map = built_in("map").to_json(false);
        assert_eq!(
            (&map["source"], &map["category"], &map["aliases"]),
            (&json!("engine"), &json!("data"), &json!([]))
        );
        assert!(map.get("input_fields").is_none());
        let map = built_in("map").to_json(true);
        let names: Vec<_> = map["input_fields"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(
            names,
            [
                "mappings",
                "mappings[].path",
                "mappings[].logic",
                "mappings[].mode",
                "mappings[].unset",
                "mappings[].on_null"
            ]
        );
    }

    #[test]
    fn inputs_of_a_registered_function_are_always_listed() {
        static ENTRY: FunctionEntry = FunctionEntry {
            fields: &[InputField::string("key", "Key to look up").required().resolvable()],
            ..FunctionEntry::plugin("look_up", "Looks a key up")
        };
        assert_eq!(
            ENTRY.to_json(false)["input_fields"][0],
            json!({"name": "key", "kind": "string", "required": true, "resolvable": true, "template_at": [],
                   "secret_at": [], "alias": null, "description": "Key to look up"})
        );
    }

    #[test]
    fn input_that_may_be_computed_says_so() {
        static ENTRY: FunctionEntry = FunctionEntry {
            fields: &[InputField::string("key", "Key to look up").computed()],
            ..FunctionEntry::plugin("look_up", "Looks a key up")
        };
        let row = &ENTRY.to_json(false)["input_fields"][0];
        assert_eq!((&row["resolvable"], &row["template_at"]), (&json!(false), &json!([""])));
    }

    #[test]
    fn plugin_function_has_application_and_declaration_digest() {
        static FIRST: FunctionEntry = FunctionEntry {
            plugin: Some(PluginIdentity { id: "shop", version: "1.2.3" }),
            ..FunctionEntry::plugin("look_up", "Looks a key up")
        };
        static NEXT: FunctionEntry =
            FunctionEntry { plugin: Some(PluginIdentity { id: "shop", version: "1.2.4" }), ..FIRST };
        let (first, next) = (FIRST.to_json(false)["plugin"].clone(), NEXT.to_json(false)["plugin"].clone());
        assert_eq!((&first["id"], &first["version"]), (&json!("shop"), &json!("1.2.3")));
        assert!(first["digest"].as_str().is_some_and(|digest| digest.len() >= 64), "{first}");
        assert_ne!(first["digest"], next["digest"]);
        assert_eq!(first, FIRST.to_json(true)["plugin"], "the same in every list");
        assert!(built_in("map").to_json(true).get("plugin").is_none());
    }
}
