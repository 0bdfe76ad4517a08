//! The pass `shared.fragments`: replaces the calls of fragments in the tasks of a workflow by their tasks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};
use svc_model::documents::STEP_LISTS;

use super::{Expansion, ExpansionPass, Fragment, Origin, SharedDefinitions};
use crate::checks::Check;
use crate::finding::Finding;

/// The expansion of the fragment calls of one workflow.
pub(super) struct FragmentPass<'s> {
    pub(super) shared: &'s SharedDefinitions,
    pub(super) entity: &'s str,
    pub(super) expansion: &'s mut Expansion,
}

/// The arguments of a call, each with the place it was written at.
type Arguments = BTreeMap<String, (Value, Origin)>;

impl<'s> FragmentPass<'s> {
    /// Replaces the calls in the tasks of the workflow; calls inside of groups are refused.
    pub(super) fn run(mut self, document: &mut Value) {
        let Some(steps) = document.get_mut("tasks").and_then(Value::as_array_mut) else { return };
        if !steps.iter().any(|step| step.get("use").is_some()) {
            return;
        }
        let mut expanded = Vec::with_capacity(steps.len());
        let mut is_rewritten = false;
        for (index, step) in std::mem::take(steps).into_iter().enumerate() {
            let origin = self.expansion.origins.root().join(&format!("tasks[{index}]"));
            let at = format!("tasks[{}]", expanded.len());
            if let Some(call) = step.as_object().filter(|step| step.contains_key("use")) {
                if self.call(call, &origin, &mut expanded) {
                    is_rewritten = true;
                    continue;
                }
                self.expansion.broken.insert(at.clone());
            }
            self.expansion.origins.insert(at, origin, None);
            expanded.push(step);
        }
        *steps = expanded;
        if is_rewritten {
            self.expansion.passes.push(ExpansionPass::Fragments);
        }
    }

    /// Replaces one call by the tasks of its fragment. Returns `false` if the call cannot be expanded.
    fn call(&mut self, call: &Map<String, Value>, origin: &Origin, expanded: &mut Vec<Value>) -> bool {
        let Some((name, fragment)) = self.fragment(call, origin) else { return false };
        let Some(arguments) = self.arguments(name, fragment, call, origin) else { return false };
        let id = call.get("id").and_then(Value::as_str).unwrap_or(name);
        for task in &fragment.tasks {
            let at = format!("tasks[{}]", expanded.len());
            let authored = fragment.origin.join(&format!("tasks[{}]", task.index));
            self.expansion.origins.insert(at.clone(), authored, Some(origin.clone()));
            if !self.expansion.has_room_for(&task.step) {
                return true;
            }
            let mut step = task.step.clone();
            self.substitute(&mut step, &mut at.clone(), &arguments);
            prefix_ids(&mut step, id);
            expanded.push(step);
        }
        true
    }

    /// Returns the fragment that a call names.
    fn fragment<'c>(
        &mut self,
        call: &'c Map<String, Value>,
        origin: &Origin,
    ) -> Option<(&'c str, &'s Fragment)> {
        let at = &origin.path;
        let Some(name) = call.get("use").and_then(Value::as_str) else {
            let message = format!("{at}.use: names a fragment");
            self.report(Check::ClosureFragment, origin, message);
            return None;
        };
        let fragments = &self.shared.fragments;
        if let Some(fragment) = fragments.get(name) {
            return Some((name, fragment));
        }
        let hint = self.expansion.hint(name, fragments.keys().map(String::as_str));
        let message = format!("{at}.use: no shared document defines the fragment '{name}'{hint}");
        self.report(Check::ClosureFragment, &origin.join("use"), message);
        None
    }

    /// Returns the arguments of a call: those it passes, and the defaults of the others; `None` if one is missing.
    fn arguments(
        &mut self,
        name: &str,
        fragment: &Fragment,
        call: &Map<String, Value>,
        origin: &Origin,
    ) -> Option<Arguments> {
        let at = &origin.path;
        let empty = Map::new();
        let passed = match call.get("with") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(passed)) => passed,
            Some(_) => {
                let message = format!("{at}.with: the arguments are an object of names and values");
                self.report(Check::SharedFragmentParam, &origin.join("with"), message);
                return None;
            }
        };
        for unknown in passed.keys().filter(|key| !fragment.params.contains_key(*key)) {
            let hint = self.argument_hint(fragment, unknown);
            let message = format!("{at}.with.{unknown}: the fragment '{name}' takes no such argument{hint}");
            self.report(Check::SharedFragmentParam, &origin.join(&format!("with.{unknown}")), message);
        }
        let mut arguments = Arguments::new();
        let mut is_complete = true;
        for (param, default) in &fragment.params {
            let argument = match (passed.get(param), default) {
                (Some(value), _) => (value.clone(), origin.join(&format!("with.{param}"))),
                (None, Some(value)) => {
                    (value.clone(), fragment.origin.join(&format!("params.{param}.default")))
                }
                (None, None) => {
                    let message = format!("{at}: the fragment '{name}' needs the argument '{param}'");
                    self.report(Check::SharedFragmentParam, origin, message);
                    is_complete = false;
                    continue;
                }
            };
            arguments.insert(param.clone(), argument);
        }
        is_complete.then_some(arguments)
    }

    /// Returns what to pass instead of an argument that a fragment does not take.
    fn argument_hint(&mut self, fragment: &Fragment, unknown: &str) -> String {
        if fragment.params.is_empty() {
            return ", it takes none".to_owned();
        }
        let names = || fragment.params.keys().map(String::as_str);
        let hint = self.expansion.hint(unknown, names());
        if hint.is_empty() && self.expansion.may_search() {
            return format!(", it takes {}", names().collect::<Vec<_>>().join(", "));
        }
        hint
    }

    /// Replaces the parameters below a value, which is at `at`, by their arguments. One that the fragment does not declare
    /// stays, and has been reported.
    fn substitute(&mut self, value: &mut Value, at: &mut String, arguments: &Arguments) {
        let length = at.len();
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let _ = write!(at, "[{index}]");
                    self.substitute(item, at, arguments);
                    at.truncate(length);
                }
            }
            Value::Object(members) => {
                if let Some(name) = members.get("$param") {
                    let argument =
                        name.as_str().filter(|_| members.len() == 1).and_then(|name| arguments.get(name));
                    match argument {
                        Some((argument, _)) if !self.expansion.has_room_for(argument) => {}
                        Some((argument, origin)) => {
                            *value = argument.clone();
                            self.expansion.origins.replace(at.clone(), origin.clone());
                        }
                        None => {
                            self.expansion.broken.insert(at.clone());
                        }
                    }
                    return;
                }
                for (key, member) in members {
                    let _ = write!(at, ".{key}");
                    self.substitute(member, at, arguments);
                    at.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Reports the calls that remain after the expansion: those inside groups, and those that an argument or a shared
    /// value contains.
    pub(super) fn refuse_remaining_calls(mut self, document: &Value) {
        self.refuse_calls("tasks", document.get("tasks"));
    }

    fn refuse_calls(&mut self, at: &str, steps: Option<&Value>) {
        for (index, step) in steps.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let at = format!("{at}[{index}]");
            match step.get("use") {
                Some(_) if self.expansion.is_broken(&at) => {}
                Some(name) => {
                    let (name, origin) = (name.as_str().unwrap_or("?"), self.expansion.origins.trace(&at));
                    let message =
                        format!("{}: the fragment '{name}' is called inside of a group", origin.path);
                    self.report(Check::SharedFragmentNested, &origin, message);
                    self.expansion.broken.insert(at);
                }
                None => STEP_LISTS
                    .into_iter()
                    .for_each(|key| self.refuse_calls(&format!("{at}.{key}"), step.get(key))),
            }
        }
    }

    fn report(&mut self, check: Check, origin: &Origin, message: String) {
        let finding = Finding { place: origin.place(), ..check.finding(self.entity, message) };
        self.expansion.findings.push(finding);
    }
}

/// Prefixes the id of a step, and those of the members of a group, with the id of the call; flat at every depth.
fn prefix_ids(step: &mut Value, call: &str) {
    let Value::Object(members) = step else { return };
    if let Some(Value::String(id)) = members.get_mut("id") {
        *id = format!("{call}.{id}");
    }
    for key in STEP_LISTS {
        if let Some(Value::Array(tasks)) = members.get_mut(key) {
            tasks.iter_mut().for_each(|task| prefix_ids(task, call));
        }
    }
}
