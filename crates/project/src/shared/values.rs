//! The pass `shared.values`: replaces references to shared values by them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Expansion, ExpansionPass, Origin, SharedDefinitions, SharedValue};
use crate::checks::Check;
use crate::finding::Finding;

/// The expansion of the references of one document.
pub(super) struct ValuePass<'s> {
    pub(super) shared: &'s SharedDefinitions,
    pub(super) entity: &'s str,
    pub(super) expansion: &'s mut Expansion,
}

impl<'s> ValuePass<'s> {
    /// Replaces all references of the document.
    pub(super) fn run(mut self, document: &mut Value) {
        if self.value(document, &mut String::new()) {
            self.expansion.passes.push(ExpansionPass::Values);
        }
    }

    /// Replaces the references below a value, which is at `at`. Returns `true` if there were any.
    fn value(&mut self, value: &mut Value, at: &mut String) -> bool {
        let length = at.len();
        match value {
            Value::Array(items) => {
                let mut is_rewritten = false;
                for (index, item) in items.iter_mut().enumerate() {
                    let _ = write!(at, "[{index}]");
                    is_rewritten |= self.value(item, at);
                    at.truncate(length);
                }
                is_rewritten
            }
            Value::Object(members) => {
                let mut is_rewritten = false;
                for (key, member) in members.iter_mut() {
                    let _ = write!(at, "{}{key}", if length == 0 { "" } else { "." });
                    is_rewritten |= self.value(member, at);
                    at.truncate(length);
                }
                if members.contains_key("$param") {
                    self.refuse_param(at);
                }
                if members.contains_key("$from") {
                    is_rewritten |= self.reference(value, at);
                }
                is_rewritten
            }
            _ => false,
        }
    }

    /// Replaces the object at `at`, which is a reference. Returns `false` for one that leads nowhere.
    fn reference(&mut self, node: &mut Value, at: &str) -> bool {
        let Value::Object(members) = node else { return false };
        let Some(shared) = self.find(members.get("$from"), at) else {
            self.expansion.broken.insert(at.to_owned());
            return false;
        };
        if !self.expansion.has_room_for(&shared.value) {
            return false;
        }
        if shared.is_broken {
            self.expansion.broken.insert(at.to_owned());
        }
        members.shift_remove("$from");
        match &shared.value {
            Value::Object(target) => {
                let merged = merge(members, target);
                for key in merged {
                    let at = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
                    self.expansion.origins.insert(at, shared.origin.join(key), None);
                }
            }
            other if members.is_empty() => {
                *node = other.clone();
                self.expansion.origins.replace(at.to_owned(), shared.origin.clone());
            }
            // A value that has no members cannot be merged with those beside the reference, which stay.
            _ => {}
        }
        true
    }

    /// Returns the value that a reference at `at` names.
    fn find(&mut self, target: Option<&Value>, at: &str) -> Option<&'s SharedValue> {
        let origin = self.expansion.origins.trace(at).join("$from");
        let name = target.and_then(Value::as_str);
        let Some((name, (namespace, key))) = name.and_then(|name| Some((name, name.split_once('.')?))) else {
            let message = format!("{}: a reference has the form namespace.key", origin.path);
            self.report(Check::ClosureSharedValue, &origin, message);
            return None;
        };
        let value = self.shared.namespaces.get(namespace).and_then(|values| values.get(key));
        if value.is_none() {
            let hint = self.expansion.hint(name, self.shared.names.iter().map(String::as_str));
            let message = format!("{}: no shared document defines '{name}'{hint}", origin.path);
            self.report(Check::ClosureSharedValue, &origin, message);
        }
        value
    }

    /// Reports a parameter outside of a fragment; those of fragments have been replaced or reported.
    fn refuse_param(&mut self, at: &str) {
        if self.expansion.is_broken(at) {
            return;
        }
        let origin = self.expansion.origins.trace(at);
        let message = format!("{}: a parameter stands in the tasks of a fragment only", origin.path);
        self.report(Check::SharedFragmentParam, &origin, message);
        self.expansion.broken.insert(at.to_owned());
    }

    fn report(&mut self, check: Check, origin: &Origin, message: String) {
        let finding = Finding { place: origin.place(), ..check.finding(self.entity, message) };
        self.expansion.findings.push(finding);
    }
}

/// Adds the members of a shared object to the siblings of its reference, which win. Returns the keys that were added.
fn merge<'t>(members: &mut Map<String, Value>, target: &'t Map<String, Value>) -> Vec<&'t str> {
    let mut added = Vec::new();
    for (key, value) in target {
        if !members.contains_key(key) {
            members.insert(key.clone(), value.clone());
            added.push(key.as_str());
        }
    }
    added
}
