//! Collection of shared definitions from their documents.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::documents::STEP_LISTS;
use svc_model::is_annotation;

use super::{Fragment, FragmentTask, Origin, SharedDefinitions, SharedValue};
use crate::checks::Check;
use crate::finding::Finding;
use crate::recognize::DocumentShape;
use crate::source::SourceFile;

/// The namespace of fragments.
const FRAGMENTS: &str = "fragments";

impl SharedDefinitions {
    /// Collects the definitions of all shared documents among `sources`, which are in the order of their
    /// paths.
    pub fn collect<'s>(sources: impl IntoIterator<Item = &'s Arc<SourceFile>>) -> (Self, Vec<Finding>) {
        let mut collector = Collector::default();
        for source in sources {
            if DocumentShape::recognize(&source.value) == DocumentShape::Shared {
                collector.document(source);
            }
        }
        (collector.shared, collector.findings)
    }
}

#[derive(Default)]
struct Collector {
    shared: SharedDefinitions,
    findings: Vec<Finding>,
}

impl Collector {
    fn document(&mut self, source: &Arc<SourceFile>) {
        let root = Origin::root(Arc::clone(source));
        for (name, members) in source.value.as_object().into_iter().flatten() {
            if is_annotation(name) {
                continue;
            }
            let origin = root.join(name);
            match members.as_object() {
                Some(members) if name == FRAGMENTS => self.fragments(members, &origin),
                Some(members) => self.namespace(name, members, &origin),
                None => {
                    let message = format!("{name}: a namespace is an object of names and their values");
                    self.report(Check::SharedNamespace, &origin, message);
                }
            }
        }
    }

    fn namespace(&mut self, namespace: &str, members: &Map<String, Value>, origin: &Origin) {
        for (key, value) in members {
            let (name, origin) = (format!("{namespace}.{key}"), origin.join(key));
            let mut refused = Vec::new();
            each_node(&name, value, &mut |path, node| {
                if node.contains_key("$from") {
                    refused.push((
                        Check::ClosureSharedValue,
                        path.to_owned(),
                        "a shared value refers to no other",
                    ));
                } else if node.contains_key("$param") {
                    let message = "a parameter stands in the tasks of a fragment only";
                    refused.push((Check::SharedFragmentParam, path.to_owned(), message));
                }
            });
            let is_broken = !refused.is_empty();
            let values = self.shared.namespaces.entry(namespace.to_owned()).or_default();
            match values.entry(key.clone()) {
                Entry::Vacant(slot) => {
                    slot.insert(SharedValue { value: value.clone(), origin: origin.clone(), is_broken });
                    self.shared.names.insert(name);
                    for (check, path, message) in refused {
                        let message = format!("{path}: {message}");
                        self.report(check, &Origin { path, ..origin.clone() }, message);
                    }
                }
                Entry::Occupied(first) => {
                    let first = first.get().origin.clone();
                    self.duplicate(&name, &origin, &first);
                }
            }
        }
    }

    fn fragments(&mut self, members: &Map<String, Value>, origin: &Origin) {
        for (name, fragment) in members {
            let origin = origin.join(name);
            if let Some(first) = self.shared.fragments.get(name).map(|first| first.origin.clone()) {
                self.duplicate(&format!("{FRAGMENTS}.{name}"), &origin, &first);
                continue;
            }
            if let Some(fragment) = self.fragment(fragment, &origin) {
                self.shared.fragments.insert(name.clone(), fragment);
            }
        }
    }

    fn fragment(&mut self, fragment: &Value, origin: &Origin) -> Option<Fragment> {
        let at = &origin.path;
        let Some(tasks) = fragment.get("tasks").and_then(Value::as_array) else {
            let message = format!("{at}: a fragment has a `tasks` array");
            self.report(Check::SharedFragment, origin, message);
            return None;
        };
        let params = self.params(fragment.get("params"), &origin.join("params"))?;
        self.check_undeclared(tasks, &params, &origin.join("tasks"));
        let mut fragment_tasks = Vec::new();
        for (index, step) in tasks.iter().enumerate() {
            let mut step = step.clone();
            if self.drop_nested(&mut step, &origin.join(&format!("tasks[{index}]"))) {
                fragment_tasks.push(FragmentTask { index, step });
            }
        }
        Some(Fragment { tasks: fragment_tasks, params, origin: origin.clone() })
    }

    /// Reads the parameters with their defaults; `None` if the block is no object.
    fn params(&mut self, params: Option<&Value>, origin: &Origin) -> Option<BTreeMap<String, Option<Value>>> {
        let declared = match params {
            None | Some(Value::Null) => return Some(BTreeMap::new()),
            Some(Value::Object(declared)) => declared,
            Some(_) => {
                let message =
                    format!("{}: the parameters are an object of names and declarations", origin.path);
                self.report(Check::SharedFragment, origin, message);
                return None;
            }
        };
        let mut params = BTreeMap::new();
        for (name, declaration) in declared {
            if !matches!(declaration, Value::Object(_) | Value::Null) {
                let at = origin.join(name);
                let message =
                    format!("{}: a parameter is declared by an object, {{}} or {{\"default\": …}}", at.path);
                self.report(Check::SharedFragmentParam, &at, message);
            }
            params.insert(name.clone(), declaration.get("default").cloned());
        }
        Some(params)
    }

    /// Reports uses of parameters that a fragment does not declare.
    fn check_undeclared(
        &mut self,
        tasks: &[Value],
        params: &BTreeMap<String, Option<Value>>,
        origin: &Origin,
    ) {
        for (index, step) in tasks.iter().enumerate() {
            let mut findings = Vec::new();
            each_node(&format!("{}[{index}]", origin.path), step, &mut |path, node| {
                if let Some(name) = node.get("$param") {
                    let is_declared =
                        node.len() == 1 && name.as_str().is_some_and(|name| params.contains_key(name));
                    if !is_declared {
                        findings.push((path.to_owned(), name.as_str().unwrap_or("?").to_owned()));
                    }
                }
            });
            for (path, name) in findings {
                let message =
                    format!("{path}: the fragment declares no parameter '{name}' that stands alone here");
                self.report(Check::SharedFragmentParam, &Origin { path, ..origin.clone() }, message);
            }
        }
    }

    /// Removes the calls of fragments from a step and reports them. Returns `false` if the step is one
    /// itself.
    fn drop_nested(&mut self, step: &mut Value, origin: &Origin) -> bool {
        let Value::Object(members) = step else { return true };
        if members.contains_key("use") {
            let message = format!("{}: a fragment calls no other fragment", origin.path);
            self.report(Check::SharedFragmentNested, origin, message);
            return false;
        }
        for key in STEP_LISTS {
            if let Some(Value::Array(tasks)) = members.get_mut(key) {
                let mut index = 0;
                tasks.retain_mut(|task| {
                    let at = origin.join(&format!("{key}[{index}]"));
                    index += 1;
                    self.drop_nested(task, &at)
                });
            }
        }
        true
    }

    fn duplicate(&mut self, name: &str, origin: &Origin, first: &Origin) {
        let file = first.source.as_ref().map_or("", |source| source.name.as_str());
        let message = format!("{name}: is defined in {file} already, which counts");
        self.report(Check::SharedDuplicate, origin, message);
    }

    fn report(&mut self, check: Check, origin: &Origin, message: String) {
        let entity = origin.source.as_ref().map_or("shared definitions", |source| source.name.as_str());
        self.findings.push(Finding { place: origin.place(), ..check.finding(entity, message) });
    }
}

/// Calls `visit` with each object below a value, itself included, and its path.
fn each_node(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_node(&format!("{path}[{index}]"), item, visit);
            }
        }
        Value::Object(members) => {
            visit(path, members);
            for (key, member) in members {
                each_node(&format!("{path}.{key}"), member, visit);
            }
        }
        _ => {}
    }
}
