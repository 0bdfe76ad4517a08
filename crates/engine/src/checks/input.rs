//! The input of a function of the service, against its table.

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError, Issue, unknown_keys};

use super::{Check, UnknownCall};
use crate::catalogue::{FunctionEntry, InputField, InputKind, PathUse};
use crate::expression::Survey;
use crate::inputs::is_evaluated;
use crate::path::Path;

/// The input by whose value a called system knows a repeat.
const IDEMPOTENCY_KEY: &str = "idempotency_key";

impl Check<'_, '_> {
    pub(super) fn input(&mut self, entry: &FunctionEntry, input: &Map<String, Value>, at: &str) {
        for field in entry.fields {
            let alias = field.alias.and_then(|alias| Some((alias, input.get(alias)?)));
            match (input.get(field.name), alias) {
                (Some(value), Some((alias, logic))) if field.alias_wins => {
                    self.value(field, value, &format!("{at}.{}", field.name));
                    self.expression(&format!("{at}.{alias}"), logic);
                }
                (Some(_), Some((alias, _))) => {
                    let message = format!("{} and {alias} are the same field; keep one", field.name);
                    self.problem(FieldCode::DuplicateField, format!("{at}.{alias}"), message);
                }
                (Some(value), None) => self.value(field, value, &format!("{at}.{}", field.name)),
                (None, Some((alias, value))) if field.alias_is_logic() => {
                    self.expression(&format!("{at}.{alias}"), value);
                }
                (None, Some((alias, value))) => self.value(field, value, &format!("{at}.{alias}")),
                (None, None) if field.required => {
                    self.errors.push(FieldError::required(format!("{at}.{}", field.name)));
                }
                (None, None) => {}
            }
        }
        self.case(entry, input, at);
        // An author has been told already.
        if entry.strict && !entry.accepts_any_input && !self.author {
            let names: Vec<_> = entry.input_names().collect();
            self.errors.extend(unknown_keys(input, at, &names, &[]));
        }
    }

    /// Inputs that depend on the value of `op`.
    fn case(&mut self, entry: &FunctionEntry, input: &Map<String, Value>, at: &str) {
        let op = input.get("op").and_then(Value::as_str);
        let Some(case) = op.and_then(|op| entry.case(op)) else { return };
        for field in entry.fields {
            let at = format!("{at}.{}", field.name);
            match input.get(field.name) {
                Some(_) if !entry.applies(case, field.name) => {
                    let message = format!("{} is no input of {} {}", field.name, entry.name, case.op);
                    self.errors.push(FieldError::invalid(at, message));
                }
                Some(Value::String(name))
                    if field.name == "algorithm"
                        && field.one_of.contains(&name.as_str())
                        && !case.algorithms.contains(&name.as_str()) =>
                {
                    let algorithms = case.algorithms.join(", ");
                    let message = format!("{} knows {algorithms}", case.op);
                    let error = FieldError::invalid(at, message);
                    self.errors.push(error.with_expected(case.algorithms).with_got(name.as_str()));
                }
                None if case.required.contains(&field.name) => self.errors.push(FieldError::required(at)),
                Some(Value::Null) if field.kind == InputKind::Any && case.required.contains(&field.name) => {
                    self.errors.push(FieldError::required(at));
                }
                _ => {}
            }
        }
    }

    fn problem(&mut self, code: FieldCode, at: String, message: String) {
        self.errors.push(FieldError::new(at, code, message));
    }

    fn value(&mut self, field: &InputField, value: &Value, at: &str) {
        if field.logic {
            if field.name == IDEMPOTENCY_KEY && matches!(value, Value::String(_) | Value::Number(_)) {
                let message = "this is the key of every message, so that all calls are taken for one: true sends the \
                               key of the run, an expression one of the message";
                self.warnings.push(Issue::new(at, message));
            }
            return self.expression(at, value);
        }
        if is_evaluated(field, value) {
            // The engine would refuse it when it compiles the workflow for serving.
            if !Survey::analyse(value).secrets.is_empty() {
                let why = "a secret cannot be read here: the value would be recorded";
                return self.errors.push(FieldError::invalid(at, why));
            }
            return self.expression(at, value);
        }
        // Only the whole field can be folded into a value of another type.
        if (field.resolvable || field.template) && (is_folded(value) || (!self.author && is_var(value))) {
            return;
        }
        if field.secret_at.contains(&"") {
            if is_secret(value) {
                return self.warn_of_undeclared_secrets(at, value);
            }
            for (n, item) in
                value.as_array().into_iter().flatten().enumerate().filter(|(_, item)| is_secret(item))
            {
                self.warn_of_undeclared_secrets(&format!("{at}[{n}]"), item);
            }
        }
        if !field.kind.holds(value) {
            if let Some(call) = self.unknown_call(field, value, at) {
                return self.errors.push(call.refusal());
            }
            let computed = field.resolvable && self.looks_computed(value);
            let refused = FieldError::type_mismatch(at, field.kind.name(), value);
            // The shape is right, the path is not: it is computed.
            let is_path = field.resolvable && is_var(value);
            self.errors.push(if is_path { FieldError::invalid(at, refused.message) } else { refused });
            if computed {
                self.warn_computed(at);
            }
            return;
        }
        self.check_contents(field, value, at);
    }

    /// Checks what is within a value of the right type.
    fn check_contents(&mut self, field: &InputField, value: &Value, at: &str) {
        if field.holds_logic {
            for (name, logic) in value.as_object().into_iter().flatten() {
                self.expression(&format!("{at}.{name}"), logic);
            }
        }
        if let Some(text) = value.as_str() {
            if !field.one_of.is_empty() && !field.one_of.contains(&text) {
                let message = format!("\"{text}\" is not one of {}", field.one_of.join(", "));
                self.errors.push(FieldError::invalid(at, message).with_expected(field.one_of).with_got(text));
            }
            if matches!(field.path, PathUse::Target { .. })
                && let Err(error) = Path::parse_target(text)
            {
                self.errors.push(FieldError::invalid(at, error.to_string()));
            }
        }
        if field.secret_at.contains(&"[].key") {
            for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                if let Some(key) = item.get("key").filter(|key| is_secret(key)) {
                    self.warn_of_undeclared_secrets(&format!("{at}[{n}].key"), key);
                }
            }
        }
        if let Some(stored) = field.dialect_data {
            for name in stored {
                value
                    .get(*name)
                    .into_iter()
                    .for_each(|stored| self.check_computed(&format!("{at}.{name}"), stored));
            }
        } else if field.resolvable && field.kind != InputKind::String {
            self.check_computed(at, value);
        }
    }

    /// Returns an object in the place of a scalar that reads like the call of an operator, and calls none.
    fn unknown_call(&self, field: &InputField, value: &Value, at: &str) -> Option<UnknownCall> {
        let members = value.as_object().filter(|members| field.template && members.len() == 1)?;
        let (name, operands) =
            members.iter().next().filter(|(name, _)| !self.engine.evaluator.knows(name))?;
        let path = format!("{at}.{name}");
        Some(UnknownCall { path, name: name.clone(), has_operands: operands.is_array() })
    }

    /// Warns if a field that only folds `var` holds what reads like a call of an operator.
    fn check_computed(&mut self, at: &str, value: &Value) {
        if self.looks_computed(value) {
            return self.warn_computed(at);
        }
        match value {
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.check_computed(&format!("{at}[{n}]"), item);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    self.check_computed(&format!("{at}.{key}"), item);
                }
            }
            _ => {}
        }
    }

    fn warn_computed(&mut self, at: &str) {
        let message = "only {\"var\": path} is folded here; the operator is kept as data";
        self.warnings.push(Issue::new(at, message).with_code(FieldCode::UnresolvableLogic));
    }

    fn looks_computed(&self, value: &Value) -> bool {
        let Some(map) = value.as_object().filter(|map| map.len() == 1) else { return false };
        map.iter().all(|(operator, argument)| {
            // One operand needs no list; what is no expression itself may well be data.
            let takes_operands = || {
                argument.is_array()
                    || is_var(argument)
                    || is_secret(argument)
                    || self.looks_computed(argument)
            };
            match operator.as_str() {
                "val" => true,
                "var" => !is_folded(value),
                operator => self.engine.evaluator.knows(operator) && takes_operands(),
            }
        })
    }
}

fn is_var(value: &Value) -> bool {
    is_call(value, "var")
}

/// Returns true for a read of the message that a field folds: a path that is not computed, and a default if there is
/// one.
fn is_folded(value: &Value) -> bool {
    let Some(argument) = value.get("var").filter(|_| is_var(value)) else { return false };
    match argument.as_array().map(Vec::as_slice) {
        Some(operands) => {
            matches!(operands, [] | [_] | [_, _]) && !operands.first().is_some_and(Value::is_object)
        }
        None => !argument.is_object(),
    }
}

fn is_secret(value: &Value) -> bool {
    is_call(value, "secret")
}

fn is_call(value: &Value, operator: &str) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(operator))
}
