//! Scans of whole documents for uncompiled source, and for secret references that nothing resolves.
//!
//! Uncompiled source is what the compiler of sources replaces: `$sql` names a file, `$from` a shared value, `$param` a
//! parameter of a fragment, `use` calls a fragment.

use serde_json::{Map, Value};

use super::WorkflowChecks;
use super::steps::is_fragment_call;
use crate::documents::STEP_LISTS;
use crate::entity::{EntityKind, WorkflowContent};
use crate::field::{FieldCode, FieldError, Issue};
use crate::mask::{embedded_reference, is_resolvable_reference, is_secret_reference};

/// Adds an error for each piece of uncompiled source in a workflow, and for each secret reference that is not
/// resolved. Only the input of a function resolves references, in the fields that `checks` admits.
pub(super) fn workflow(content: &WorkflowContent, checks: &dyn WorkflowChecks, errors: &mut Vec<FieldError>) {
    let resolves = |function: &str, place: &str| checks.resolves_reference(function, place);
    let mut scan = Scan { errors, resolves: &resolves, resolving: None, marks_use: false };
    scan.text("workflow.name", &content.name);
    if let Some(description) = &content.description {
        scan.text("workflow.description", description);
    }
    for (index, tag) in content.tags.iter().enumerate() {
        scan.text(&format!("workflow.tags[{index}]"), tag);
    }
    scan.value("condition", &content.condition);
    for (key, value) in content.loop_.as_ref().and_then(Value::as_object).into_iter().flatten() {
        if key != "setup" || !value.is_array() {
            scan.value(&format!("loop.{key}"), value);
        }
    }
    for (path, steps) in content.step_lists() {
        scan.steps(path, steps);
    }
}

/// Scans a block of a channel or connector for uncompiled source only; secret references are allowed there.
pub(super) fn report_uncompiled(path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    Scan { errors, resolves: &|_, _| true, resolving: Some(&|_| true), marks_use: true }.value(path, value);
}

/// Calls `visit` with each string of a document and its path.
pub(super) fn each_string(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_string(&format!("{path}[{index}]"), item, visit);
            }
        }
        Value::Object(object) => {
            for (key, member) in object {
                each_string(&format!("{path}.{key}"), member, visit);
            }
        }
        _ => {}
    }
}

/// Warns of secret references that nothing resolves because they are not the whole text.
pub(super) fn embedded_references(path: &str, value: &Value, warnings: &mut Vec<Issue>) {
    each_string(path, value, &mut |path, text| {
        let message = match embedded_reference(text) {
            Some(scheme) => format!(
                "{scheme} is resolved where it begins the text in small letters; here it is sent as it is written"
            ),
            None if text.starts_with("env://") && !is_resolvable_reference(text) => {
                "the whole text behind env:// is the name of a variable: letters, digits and '_'".to_owned()
            }
            None if text.starts_with("file://") && !is_resolvable_reference(text) => {
                "the whole text behind file:// is an absolute path, or $CREDENTIALS_DIRECTORY/ and a name"
                    .to_owned()
            }
            None => return,
        };
        warnings.push(Issue::new(path, message).with_code(FieldCode::EmbeddedReference));
    });
}

/// Warns of credentials that read like a variable of the environment and are taken as they are written. `${NAME}` is read
/// by connectors alone (`reads_braces`).
pub(super) fn unread_variables(path: &str, value: &Value, reads_braces: bool, warnings: &mut Vec<Issue>) {
    each_string(path, value, &mut |path, text| {
        if names_variable(text) && !(reads_braces && text.starts_with("${")) {
            let message = "this text is the credential itself: a variable is written env://NAME";
            warnings.push(Issue::new(path, message));
        }
    });
}

/// Returns true for `${NAME}`, `$NAME`, `env:NAME`, `env//NAME`, `{{NAME}}` and `secret://name`.
fn names_variable(text: &str) -> bool {
    if text.starts_with("secret://") {
        return true;
    }
    let braced = |open: &str, close: &str| text.strip_prefix(open)?.strip_suffix(close);
    let name = braced("${", "}")
        .or_else(|| braced("{{", "}}"))
        .or_else(|| text.strip_prefix("env:").filter(|name| !name.starts_with('/')))
        .or_else(|| text.strip_prefix("env:/"))
        .or_else(|| text.strip_prefix("env//"))
        .or_else(|| text.strip_prefix('$'));
    name.map(str::trim).is_some_and(|name| {
        name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

/// Warns of such references in the inputs of the tasks of a workflow.
pub(super) fn embedded_in_workflow(content: &WorkflowContent, warnings: &mut Vec<Issue>) {
    for (path, steps) in content.step_lists() {
        embedded_in_inputs(steps, path, warnings);
    }
}

fn embedded_in_inputs(steps: &[Value], path: &str, warnings: &mut Vec<Issue>) {
    for (index, step) in steps.iter().enumerate() {
        let path = format!("{path}[{index}]");
        for key in STEP_LISTS {
            if let Some(Value::Array(members)) = step.get(key) {
                embedded_in_inputs(members, &format!("{path}.{key}"), warnings);
            }
        }
        if let Some(input) = step.get("function").and_then(|function| function.get("input")) {
            embedded_references(&format!("{path}.function.input"), input, warnings);
        }
    }
}

/// Refuses U+0000 in a document to be stored. Some databases cannot store it as text, and a stored definition
/// must load on every database.
pub(super) fn nul(kind: EntityKind, document: &Value, errors: &mut Vec<FieldError>) {
    let Value::Object(fields) = document else { return };
    for (field, value) in fields {
        each_nul(&place(kind, field), value, &mut |path| {
            errors.push(FieldError::invalid(path, "text cannot hold the character U+0000"));
        });
    }
}

/// Returns the path of a top-level field: `tasks`, `condition` and `loop` of a workflow have no prefix, every
/// other field follows the kind of the entity.
pub(super) fn place(kind: EntityKind, field: &str) -> String {
    let own = kind == EntityKind::Workflow && matches!(field, "tasks" | "condition" | "loop");
    if own { field.to_owned() } else { format!("{kind}.{field}") }
}

/// Visits the strings that contain U+0000. A key that contains it is reported with the path of its object.
fn each_nul(path: &str, value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) if text.contains('\0') => visit(path),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_nul(&format!("{path}[{index}]"), item, visit);
            }
        }
        Value::Object(object) => {
            for (key, member) in object {
                if key.contains('\0') {
                    visit(path);
                } else {
                    each_nul(&format!("{path}.{key}"), member, visit);
                }
            }
        }
        _ => {}
    }
}

/// Returns true if the expression contains a read of a declared secret, `{"secret": ...}`.
pub(super) fn reads_secret(expression: &Value) -> bool {
    match expression {
        Value::Object(object) => {
            (object.len() == 1 && object.contains_key("secret")) || object.values().any(reads_secret)
        }
        Value::Array(items) => items.iter().any(reads_secret),
        _ => false,
    }
}

/// The parameters of a scan, and the errors it has found.
struct Scan<'e> {
    errors: &'e mut Vec<FieldError>,
    /// Returns true if the function (first argument) resolves a reference at this path of its input (second
    /// argument).
    resolves: &'e dyn Fn(&str, &str) -> bool,
    /// Returns true if a secret reference at this path of the document is resolved. `None` outside of the
    /// input of a function: no reference is resolved there.
    resolving: Option<&'e dyn Fn(&str) -> bool>,
    /// True if any object with a string `use` counts as a fragment call. In a workflow only a step can be
    /// one.
    marks_use: bool,
}

impl Scan<'_> {
    /// Scans a list of tasks and groups.
    fn steps(&mut self, path: &str, steps: &[Value]) {
        for (index, step) in steps.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Value::Object(step) = step else {
                self.value(&path, step);
                continue;
            };
            if is_fragment_call(step) {
                self.report_uncompiled(&path, "fragment call", step.get("use"));
                continue;
            }
            if self.report_marker(&path, step) {
                continue;
            }
            for (key, member) in step {
                let path = format!("{path}.{key}");
                match (key.as_str(), member) {
                    (key, Value::Array(members)) if STEP_LISTS.contains(&key) => self.steps(&path, members),
                    ("function", Value::Object(function)) => self.function(&path, function),
                    _ => self.value(&path, member),
                }
            }
        }
    }

    /// Scans a function block, with the references that the function resolves in its input.
    fn function(&mut self, path: &str, function: &Map<String, Value>) {
        if self.report_marker(path, function) {
            return;
        }
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        for (key, member) in function {
            let path = format!("{path}.{key}");
            if key == "input" {
                let resolving =
                    |field: &str| field.strip_prefix(&path).is_some_and(|place| (self.resolves)(name, place));
                Scan {
                    errors: &mut *self.errors,
                    resolves: self.resolves,
                    resolving: Some(&resolving),
                    marks_use: self.marks_use,
                }
                .value(&path, member);
            } else {
                self.value(&path, member);
            }
        }
    }

    /// Scans a value and its members.
    fn value(&mut self, path: &str, value: &Value) {
        match value {
            Value::String(text) => self.text(path, text),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&format!("{path}[{index}]"), item);
                }
            }
            Value::Object(object) if !self.report_marker(path, object) => {
                for (key, member) in object {
                    self.value(&format!("{path}.{key}"), member);
                }
            }
            _ => {}
        }
    }

    /// Adds an error for a secret reference that is not resolved here.
    fn text(&mut self, path: &str, text: &str) {
        if is_secret_reference(text) && !self.resolving.is_some_and(|resolving| resolving(path)) {
            let message = "a secret reference is not resolved in this field; declare it under [secrets] and read it with {\"secret\": name}";
            self.errors.push(FieldError::new(path, FieldCode::UnresolvedSecretRef, message));
        }
    }

    /// Adds an error for an object that is uncompiled source. Returns true if it is: its members need no
    /// scan.
    fn report_marker(&mut self, path: &str, object: &Map<String, Value>) -> bool {
        let marker =
            [("$from", "shared value"), ("$param", "fragment parameter"), ("$sql", "statement of the file")]
                .into_iter()
                .find_map(|(key, what)| object.get(key).map(|target| (what, target)))
                .or_else(|| {
                    let target = object.get("use").filter(|target| self.marks_use && target.is_string());
                    target.map(|target| ("fragment call", target))
                });
        if let Some((what, target)) = marker {
            self.report_uncompiled(path, what, Some(target));
        }
        marker.is_some()
    }

    /// Adds the error for uncompiled source. `what` names its kind, `target` the name that it refers to.
    fn report_uncompiled(&mut self, path: &str, what: &str, target: Option<&Value>) {
        let target = target.and_then(Value::as_str).unwrap_or("?");
        let message = format!("the {what} '{target}' is not expanded, compile the source first");
        self.errors.push(FieldError::new(path, FieldCode::UncompiledSource, message));
    }
}
