//! Shared definitions: values that documents splice in with `$from`, and fragments, lists of tasks that workflows call
//! with `use`.
//!
//! [`SharedDefinitions::expand`] runs two passes over an authored document, first `shared.fragments`, then
//! `shared.values`. An expanded document holds neither calls nor references, so that a second expansion changes nothing.
//! [`Origins`] lead from each element of it back to its source.

mod collect;
mod fragments;
mod origin;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use svc_engine::value_bytes;
use svc_model::{EntityKind, nearest};

use crate::checks::Check;
use crate::finding::Finding;
use crate::source::{MAX_DEPTH, MAX_FILE_BYTES};
use fragments::FragmentPass;
use values::ValuePass;

pub use origin::{Origin, Origins};

/// A value under a namespace.
#[derive(Clone, Debug)]
struct SharedValue {
    value: Value,
    origin: Origin,
    /// True if the value holds a reference, which has been reported.
    is_broken: bool,
}

/// A list of tasks with parameters.
#[derive(Clone, Debug)]
struct Fragment {
    tasks: Vec<FragmentTask>,
    /// The parameters with their defaults.
    params: BTreeMap<String, Option<Value>>,
    origin: Origin,
}

/// A task or group of a fragment.
#[derive(Clone, Debug)]
struct FragmentTask {
    /// The index in the authored list.
    index: usize,
    step: Value,
}

/// The shared definitions of a project directory.
#[derive(Clone, Debug, Default)]
pub struct SharedDefinitions {
    namespaces: BTreeMap<String, BTreeMap<String, SharedValue>>,
    /// The names of the values, `namespace.key`.
    names: BTreeSet<String>,
    fragments: BTreeMap<String, Fragment>,
}

/// The result of expanding one document.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// The problems, each at its authored place.
    pub findings: Vec<Finding>,
    /// The authored places of the elements.
    pub origins: Origins,
    /// The passes that changed the document.
    pub passes: Vec<ExpansionPass>,
    /// Paths of what could not be expanded and has been reported: what a validator finds below them follows from it.
    broken: BTreeSet<String>,
    /// Bytes that the expansion has added.
    added: usize,
    /// Unknown names for which the nearest known one was searched.
    searches: usize,
}

/// Maximum number of unknown names of a document for which the nearest known one is searched. A search compares with every
/// name, and so many unknown names have one cause.
const MAX_SEARCHES: usize = 100;

/// Maximum number of bytes that an expansion adds to a document, counted as those of a message are. The admin API takes
/// far less in one body.
const MAX_ADDED_BYTES: usize = MAX_FILE_BYTES;

/// Maximum nesting depth of an expanded document: that of a body which holds it, in a list of a package.
const MAX_EXPANDED_DEPTH: usize = MAX_DEPTH - 2;

/// A pass of the expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpansionPass {
    /// Replaces the calls of fragments by their tasks.
    Fragments,
    /// Replaces references by shared values.
    Values,
}

impl ExpansionPass {
    /// All passes, in their order.
    pub const ALL: [Self; 2] = [Self::Fragments, Self::Values];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fragments => "shared.fragments",
            Self::Values => "shared.values",
        }
    }
}

impl Expansion {
    /// Starts with a document that has not been expanded.
    pub(crate) fn new(root: Origin) -> Self {
        Self { origins: Origins::new(root), ..Self::default() }
    }

    /// Counts a value that is about to be added. Returns `false` if the document becomes too large; nothing of it
    /// counts then.
    fn has_room_for(&mut self, value: &Value) -> bool {
        let had_room = self.added <= MAX_ADDED_BYTES;
        self.added = self.added.saturating_add(value_bytes(value));
        let has_room = self.added <= MAX_ADDED_BYTES;
        if had_room && !has_room {
            self.broken.insert(String::new());
        }
        has_room
    }

    /// Returns `, did you mean '…'?` for an undefined name, if one is near.
    fn hint<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n str>) -> String {
        self.searches += 1;
        let suggestion = if self.searches <= MAX_SEARCHES { nearest(name, known) } else { None };
        suggestion.map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"))
    }

    /// Returns `true` while few names of the document have been unknown: so many messages may list all known names.
    fn may_search(&self) -> bool {
        self.searches <= MAX_SEARCHES
    }

    /// Reports a limit that the whole document exceeds.
    fn refuse_whole(&mut self, kind: EntityKind, entity: &str, message: String) {
        let fix = "call fewer fragments, or pass and share smaller values".to_owned();
        let place = self.origins.root().place();
        let finding = Check::schema(kind).finding(entity, message);
        self.findings.push(Finding { place, fix: Some(fix), ..finding });
    }

    /// Marks an element that could not be expanded, and has been reported.
    pub(crate) fn mark_broken(&mut self, path: String) {
        self.broken.insert(path);
    }

    /// Returns `true` if the element at a path is a part of something that could not be expanded.
    pub fn is_broken(&self, path: &str) -> bool {
        if self.broken.is_empty() {
            return false;
        }
        let mut end = Some(path.len());
        while let Some(length) = end {
            if self.broken.contains(&path[..length]) {
                return true;
            }
            end = path[..length].rfind(['.', '[']);
        }
        self.broken.contains("")
    }
}

impl SharedDefinitions {
    /// Returns the number of values.
    pub fn value_count(&self) -> usize {
        self.namespaces.values().map(BTreeMap::len).sum()
    }

    /// Returns the number of fragments.
    pub fn fragment_count(&self) -> usize {
        self.fragments.len()
    }

    /// Expands a document in place. Only workflows call fragments.
    pub fn expand(&self, kind: EntityKind, document: &mut Value) -> Vec<Finding> {
        self.expand_entity(kind, kind.name(), Origin::default(), document).findings
    }

    /// Expands a document whose root is at `root`, in place. Findings name `entity`.
    pub fn expand_entity(
        &self,
        kind: EntityKind,
        entity: &str,
        root: Origin,
        document: &mut Value,
    ) -> Expansion {
        let mut expansion = Expansion::new(root);
        let calls_fragments = kind == EntityKind::Workflow;
        if calls_fragments {
            FragmentPass { shared: self, entity, expansion: &mut expansion }.run(document);
        }
        ValuePass { shared: self, entity, expansion: &mut expansion }.run(document);
        if calls_fragments {
            FragmentPass { shared: self, entity, expansion: &mut expansion }.refuse_remaining_calls(document);
        }
        if expansion.added > MAX_ADDED_BYTES {
            let message = format!("expands to more than {} MiB", MAX_ADDED_BYTES >> 20);
            expansion.refuse_whole(kind, entity, message);
        } else if expansion.added > 0 && is_deeper(document, MAX_EXPANDED_DEPTH) {
            let message =
                format!("expands to a document that is nested deeper than {MAX_EXPANDED_DEPTH} levels");
            expansion.broken.insert(String::new());
            expansion.refuse_whole(kind, entity, message);
        }
        expansion
    }
}

/// Returns `true` if a value has more than so many levels of objects and lists.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let is_member_deeper = |member: &Value| is_deeper(member, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_member_deeper),
        Value::Object(members) => levels == 0 || members.values().any(is_member_deeper),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
