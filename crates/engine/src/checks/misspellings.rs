//! Names without a meaning: keys that no task, group, loop or input has, operators that do not exist,
//! paths that lead nowhere. An author's document is refused for them; a stored one goes on, with a warning
//! when it is loaded.

use serde_json::{Map, Value};
use svc_model::documents::STEP_LISTS;
use svc_model::{FieldCode, FieldError, Issue, KeyPlace, MAX_LABEL, WorkflowContent, distance, unknown_keys};

use super::added_calls::find_added_calls;
use super::literals::{self, MESSAGE};
use super::roots::{check_source, check_target};
use super::unknown_calls::unknown_calls;
use crate::catalogue::{Catalogue, FunctionEntry, InputField, PathUse};
use crate::expression::Evaluator;
use crate::inputs::is_evaluated;
use crate::truth::{ConstantTruth, ResultUse};

const TASK: [&str; 12] = [
    "id",
    "name",
    "description",
    "condition",
    "for_each",
    "retry",
    "retry_safety",
    "timeout_ms",
    "function",
    "continue_on_error",
    "halt_on",
    "terminal",
];
const GROUP: [&str; 11] = [
    "id",
    "name",
    "description",
    "condition",
    "for_each",
    "timeout_ms",
    "parallel",
    "tasks",
    "on_error",
    "finally",
    "terminal",
];
const FOR_EACH: [&str; 7] =
    ["over", "as", "index_as", "max_concurrency", "collect", "into", "continue_on_error"];
const RETRY: [&str; 5] = ["attempts", "delay", "factor", "on", "unsafe"];
const FUNCTION: [&str; 2] = ["name", "input"];
const LOOP: [&str; 8] = ["over", "as", "setup", "scratch", "counter", "init", "increment", "max"];
/// Keys of source that has not been compiled, which the shape of a step is reported for.
const SOURCE: [&str; 3] = ["use", "$from", "$param"];

/// Operators that never give a boolean.
const WITHOUT_TRUTH: [&str; 30] = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "abs",
    "avg",
    "cat",
    "ceil",
    "distinct",
    "filter",
    "floor",
    "group_by",
    "join",
    "keys",
    "length",
    "lower",
    "map",
    "merge",
    "missing",
    "missing_some",
    "replace",
    "round",
    "sort",
    "split",
    "substr",
    "sum",
    "trim",
    "type",
    "upper",
];

/// Edits within which a member of a folded field was likely meant to be `var`.
const NEAR_VAR: usize = 2;

/// The findings of a walk over one workflow.
pub(crate) struct Misspellings<'e> {
    evaluator: &'e Evaluator,
    catalogue: &'e Catalogue,
    /// Problems that an author is refused for.
    pub(crate) errors: Vec<FieldError>,
    /// Likely mistakes that may be meant.
    pub(crate) warnings: Vec<Issue>,
    /// Calls of operators that 0.1.0 does not have.
    pub(crate) added_calls: Vec<Issue>,
}

impl<'e> Misspellings<'e> {
    /// Looks at every name of a workflow.
    pub(crate) fn find(
        evaluator: &'e Evaluator,
        catalogue: &'e Catalogue,
        content: &WorkflowContent,
    ) -> Self {
        let mut misspellings =
            Self { evaluator, catalogue, errors: Vec::new(), warnings: Vec::new(), added_calls: Vec::new() };
        misspellings.condition("condition", &content.condition);
        if let Some(Value::Object(block)) = &content.loop_ {
            misspellings.errors.extend(unknown_keys(block, "loop", &LOOP, &[]));
            if let Some(over) = block.get("over") {
                misspellings.value("loop.over", over);
            }
        }
        for (at, steps) in content.step_lists() {
            misspellings.steps(at, steps);
        }
        misspellings
    }

    fn steps(&mut self, at: &str, steps: &[Value]) {
        for (n, step) in steps.iter().enumerate() {
            let at = format!("{at}[{n}]");
            let Some(step) = step.as_object() else { continue };
            if SOURCE.iter().any(|key| step.contains_key(*key)) {
                continue;
            }
            if let Some(condition) = step.get("condition") {
                self.condition(&format!("{at}.condition"), condition);
            }
            self.blocks(step, &at);
            match step.get("tasks") {
                Some(_) => {
                    self.keys(step, &at, &GROUP, &[]);
                    for key in STEP_LISTS {
                        let members = step.get(key).and_then(Value::as_array);
                        self.steps(&format!("{at}.{key}"), members.map_or(&[], Vec::as_slice));
                    }
                }
                None => {
                    self.keys(step, &at, &TASK, &[("", &["tasks"]), ("function", &["input"])]);
                    self.function(&format!("{at}.function"), step.get("function"));
                }
            }
        }
    }

    /// The keys of the blocks of a task or group, and the paths and the expression in them.
    fn blocks(&mut self, step: &Map<String, Value>, at: &str) {
        if let Some(Value::Object(block)) = step.get("retry") {
            self.errors.extend(unknown_keys(block, &format!("{at}.retry"), &RETRY, &[]));
        }
        let Some(Value::Object(block)) = step.get("for_each") else { return };
        let at = format!("{at}.for_each");
        self.errors.extend(unknown_keys(block, &at, &FOR_EACH, &[]));
        if let Some(over) = block.get("over") {
            self.value(&format!("{at}.over"), over);
        }
        if let Some(into) = block.get("into").and_then(Value::as_str) {
            check_target(into, true, &format!("{at}.into"), &mut self.errors, &mut self.warnings);
        }
        if let Some(collect) = block.get("collect").and_then(Value::as_str) {
            self.errors.extend(check_source(collect, &format!("{at}.collect")));
        }
    }

    /// The keys of a task or group; only a workflow loops.
    fn keys(&mut self, step: &Map<String, Value>, at: &str, known: &[&str], elsewhere: &[KeyPlace<'_>]) {
        let unknown = unknown_keys(step, at, known, elsewhere).into_iter().map(|error| match error.path.ends_with(".loop") {
            true => FieldError {
                message: "only a workflow loops: put 'loop' beside its 'tasks', and what repeats into a workflow of its own"
                    .to_owned(),
                ..error
            },
            false => error,
        });
        self.errors.extend(unknown);
    }

    fn function(&mut self, at: &str, function: Option<&Value>) {
        let Some(Value::Object(function)) = function else { return };
        let name = function.get("name").and_then(Value::as_str).filter(|name| name.len() <= MAX_LABEL);
        let entry = name.and_then(|name| self.catalogue.find(name)).filter(|entry| !entry.accepts_any_input);
        let inputs: Vec<_> = entry.into_iter().flat_map(FunctionEntry::input_names).collect();
        self.errors.extend(unknown_keys(function, at, &FUNCTION, &[("input", &inputs)]));
        let input = function.get("input").filter(|input| !input.is_null()).and_then(Value::as_object);
        if let (Some(entry), Some(input)) = (entry, input) {
            let at = format!("{at}.input");
            self.errors.extend(unknown_keys(input, &at, &inputs, &[]));
            self.fields(entry.fields, input, &at);
        }
    }

    fn fields(&mut self, fields: &[InputField], input: &Map<String, Value>, at: &str) {
        for field in fields {
            if let Some(value) = input.get(field.name) {
                let at = format!("{at}.{}", field.name);
                self.field(field, value, &at);
                self.check_literal(field, input, value, &at);
            }
            if let Some((alias, value)) = field.alias.and_then(|alias| Some((alias, input.get(alias)?))) {
                let at = format!("{at}.{alias}");
                if field.alias_is_logic() { self.value(&at, value) } else { self.field(field, value, &at) }
            }
        }
    }

    fn field(&mut self, field: &InputField, value: &Value, at: &str) {
        match (field.path, value.as_str()) {
            (PathUse::Target { alone }, Some(path)) => {
                check_target(path, alone, at, &mut self.errors, &mut self.warnings)
            }
            (PathUse::Source, Some(path)) => self.errors.extend(check_source(path, at)),
            _ => {}
        }
        if field.is_condition {
            self.condition(at, value);
        } else if field.logic {
            self.value(at, value);
        } else if field.holds_logic {
            for (name, logic) in value.as_object().into_iter().flatten() {
                self.value(&format!("{at}.{name}"), logic);
            }
        } else if is_evaluated(field, value) {
            self.value(at, value);
        } else if field.resolvable || field.template {
            self.check_folded(at, value);
        }
        if !field.members.is_empty() {
            let names: Vec<_> = field.members.iter().map(|member| member.name).collect();
            for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                let (at, Some(item)) = (format!("{at}[{n}]"), item.as_object()) else { continue };
                self.errors.extend(unknown_keys(item, &at, &names, &[]));
                self.fields(field.members, item, &at);
            }
        }
    }

    /// An input that is neither an expression nor holds any. The members of a list are looked at one by one.
    fn check_literal(&mut self, field: &InputField, input: &Map<String, Value>, value: &Value, at: &str) {
        if field.members.is_empty() {
            literals::warn_of_templates(at, value, &mut self.warnings);
        }
        let is_computed = field.is_condition
            || field.logic
            || field.holds_logic
            || field.resolvable
            || field.template
            || !field.members.is_empty()
            || !field.secret_at.is_empty();
        let logic = field.alias.filter(|_| field.alias_is_logic());
        // The expression wins over the value.
        if !is_computed && logic.is_none_or(|logic| !input.contains_key(logic)) {
            literals::warn_of_reads(at, value, logic, &mut self.warnings);
            if logic == Some("path_logic") {
                literals::warn_of_parameter(at, value, &mut self.warnings);
            }
        }
    }

    /// An expression of which only the truth counts.
    fn condition(&mut self, at: &str, source: &Value) {
        if source.is_object() {
            literals::warn_of_paths(at, source, &MESSAGE, &mut self.warnings);
        }
        if let Some(operator) = never_true(source) {
            let message = format!(
                "this is never true: '{operator}' gives no boolean, and only true passes; compare its result, or \
                 put the call into '!!'"
            );
            self.warnings.push(Issue::new(at, message));
        }
        find_added_calls(at, source, &mut self.added_calls);
        self.errors.extend(unknown_calls(self.evaluator, at, source).iter().map(|call| call.refusal()));
        self.refuse_constant_truths(at, source, ResultUse::Truth);
        if source.is_string() || source.is_number() {
            self.warnings.push(Issue::new(at, "this is no expression, and never true: only true passes"));
        }
    }

    fn refuse_constant_truths(&mut self, at: &str, source: &Value, used_as: ResultUse) {
        let constant = self.evaluator.constant_truths(at, source, used_as);
        self.errors.extend(constant.iter().map(ConstantTruth::refusal));
    }

    /// An expression that builds a value.
    fn value(&mut self, at: &str, source: &Value) {
        literals::warn_of_paths(at, source, &MESSAGE, &mut self.warnings);
        find_added_calls(at, source, &mut self.added_calls);
        let calls = unknown_calls(self.evaluator, at, source);
        self.warnings.extend(calls.iter().filter_map(|call| call.suspicion()));
        self.refuse_constant_truths(at, source, ResultUse::Value);
    }

    /// A field in which `var` alone is folded.
    fn check_folded(&mut self, at: &str, value: &Value) {
        match value {
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.check_folded(&format!("{at}[{n}]"), item);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let is_alone = members.len() == 1 && !self.evaluator.knows(name);
                    if is_alone && is_near_var(name, member) {
                        let message = format!("'{name}' is kept as data, did you mean 'var'?");
                        let warning = Issue::new(format!("{at}.{name}"), message);
                        self.warnings.push(warning.with_code(FieldCode::SuspectOperator));
                    } else {
                        self.check_folded(&format!("{at}.{name}"), member);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the operator of a call whose result is a number, a text, a list or an object, whatever its operands are.
fn never_true(source: &Value) -> Option<&str> {
    let members = source.as_object().filter(|members| members.len() == 1)?;
    let (operator, _) = members.iter().next()?;
    WITHOUT_TRUTH.contains(&operator.as_str()).then_some(operator.as_str())
}

/// Returns true if a member reads like a read of the message with `var` misspelt.
fn is_near_var(name: &str, member: &Value) -> bool {
    let path = member.as_str().or_else(|| member.get(0)?.as_str());
    let root = path.and_then(|path| path.split('.').next());
    let of_message = root.is_some_and(|root| MESSAGE.contains(&root));
    of_message && name != "var" && distance(name, "var") <= NEAR_VAR
}
