//! Checks of a workflow before it is stored: expressions, function names and inputs.
//!
//! The shape of the document has been checked before; these checks pass over what they cannot read.

mod added_calls;
mod answers;
mod conflicts;
mod input;
mod literals;
mod misspellings;
mod patterns;
mod reads;
mod roots;
mod secrets;
mod unknown_calls;
mod written;

use std::cell::RefCell;

use serde_json::{Map, Value};
use svc_model::documents::STEP_LISTS;
use svc_model::{
    ChannelChecks, FieldCode, FieldError, Issue, MAX_LABEL, WorkflowChecks, WorkflowContent, nearest,
};

use crate::builtin::{self, Builtin, InputCompiler};
use crate::engine::Engine;
use crate::expression::Survey;
use crate::failing_calls::{Impossible, failing_calls, impossible};
use crate::workflow::authored::authored_input;
use crate::workflow::fan_out_spec::FanOutSpec;
use crate::workflow::loop_spec::parse_loop;
use crate::workflow::retry_spec::StepBounds;

pub(crate) use literals::warn_of_paths;
pub(crate) use misspellings::Misspellings;
pub(crate) use reads::literal_reads;
pub use secrets::recorded_secrets;
pub use unknown_calls::UnknownCall;
pub(crate) use unknown_calls::unknown_calls;

impl WorkflowChecks for Engine {
    fn resolves_reference(&self, function: &str, place: &str) -> bool {
        let entry = self.catalogue.find(function);
        entry.is_some_and(|entry| entry.fields.iter().any(|field| field.resolves_reference(place)))
    }

    fn check(&self, content: &WorkflowContent, errors: &mut Vec<FieldError>, warnings: &mut Vec<Issue>) {
        let mut check = Check { engine: self, author: true, errors, warnings };
        check.expression("condition", &content.condition);
        if let Some(block) = content.loop_.as_ref().filter(|block| block.is_object()) {
            parse_loop(block, self.limits.max_loop_iterations, check.errors);
            if let Some(over) = block.get("over").filter(|over| !over.is_null()) {
                check.list("loop.over", over);
            }
        }
        for (at, steps) in content.step_lists() {
            check.steps(at, steps);
        }
        let misspelt = Misspellings::find(&self.evaluator, &self.catalogue, content);
        check.errors.extend(misspelt.errors);
        check.warnings.extend(misspelt.warnings);
        reads::warn(&self.catalogue, content, check.warnings);
        patterns::warn(content, check.warnings);
    }
}

/// Checks the input of a registered function against its table, then by the function itself.
pub(crate) fn input_errors(
    engine: &Engine,
    name: &str,
    input: &Map<String, Value>,
    at: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut check = Check { engine, author: false, errors: &mut errors, warnings: &mut Vec::new() };
    if let Some(entry) = engine.catalogue.find(name) {
        check.input(entry, input, at);
    }
    check.handler(name, input, at);
    errors
}

impl ChannelChecks for Engine {
    fn compiles(&self, expression: &Value) -> Result<(), String> {
        self.compile_authored(expression)?;
        match failing_calls(&self.evaluator, expression).into_iter().find(|call| call.always) {
            Some(Impossible { place, reason, .. }) => Err(format!("{place}: {reason}")),
            None => Ok(()),
        }
    }
}

/// A walk over the tasks of one workflow.
struct Check<'e, 'r> {
    engine: &'e Engine,
    /// True for the document of an author; a stored one is checked less strictly.
    author: bool,
    errors: &'r mut Vec<FieldError>,
    warnings: &'r mut Vec<Issue>,
}

impl Check<'_, '_> {
    fn expression(&mut self, at: &str, source: &Value) {
        if let Err(message) = self.engine.evaluator.compile_syntax(source) {
            self.errors.push(FieldError::invalid(at, message));
        } else {
            let failing =
                if self.author { failing_calls(&self.engine.evaluator, source) } else { impossible(source) };
            for Impossible { place, reason, always } in failing {
                if always {
                    self.errors.push(FieldError::invalid(format!("{at}{place}"), reason));
                } else {
                    self.warnings.push(Issue::new(format!("{at}{place}"), reason));
                }
            }
        }
        self.warn_of_undeclared_secrets(at, source);
    }

    fn steps(&mut self, at: &str, steps: &[Value]) {
        for (n, step) in steps.iter().enumerate() {
            let at = format!("{at}[{n}]");
            let Some(fields) = step.as_object() else { continue };
            if let Some(condition) = fields.get("condition") {
                self.expression(&format!("{at}.condition"), condition);
            }
            self.controls(&at, fields);
            match fields.get("tasks") {
                Some(members) => {
                    if fields.get("parallel") == Some(&Value::Bool(true)) {
                        let members = members.as_array().map_or(&[][..], Vec::as_slice);
                        conflicts::find(&self.engine.catalogue, &at, members, self.errors);
                    }
                    for key in STEP_LISTS {
                        let members = fields.get(key).and_then(Value::as_array);
                        self.steps(&format!("{at}.{key}"), members.map_or(&[], Vec::as_slice));
                    }
                }
                None => self.function(&format!("{at}.function"), fields.get("function")),
            }
        }
    }

    /// Checks the keys that bound, repeat or multiply a task or group.
    fn controls(&mut self, at: &str, step: &Map<String, Value>) {
        let catalogue = &self.engine.catalogue;
        StepBounds::parse(catalogue, step, at, self.errors);
        FanOutSpec::parse(catalogue, step, at, self.errors);
        if let Some(over) = step.get("for_each").and_then(|block| block.get("over")) {
            self.list(&format!("{at}.for_each.over"), over);
        }
    }

    /// Checks the expression of a list, whose elements are in the records of the run.
    fn list(&mut self, at: &str, over: &Value) {
        self.expression(at, over);
        // An object that calls no operator is no list: every run would fail by it.
        let calls = unknown_calls(&self.engine.evaluator, at, over);
        let whole = calls.into_iter().find(|call| call.path == format!("{at}.{}", call.name));
        self.errors.extend(whole.filter(|_| over.is_object()).map(|call| call.refusal()));
        if !Survey::analyse(over).secrets.is_empty() {
            self.errors.push(FieldError::invalid(at, "a secret cannot be read here: elements are recorded"));
        }
    }

    fn function(&mut self, at: &str, function: Option<&Value>) {
        let Some(function) = function else { return };
        let name = function.get("name").and_then(Value::as_str);
        let Some(name) = name.filter(|name| name.len() <= MAX_LABEL) else { return };
        let input = authored_input(function);
        let Some(fields) = input.as_object() else { return };
        let input_at = format!("{at}.input");
        if builtin::is_builtin(name) {
            let compiler = InputCompiler {
                evaluator: &self.engine.evaluator,
                check_secrets: false,
                reads: RefCell::default(),
                warnings: RefCell::default(),
            };
            Builtin::compile(name, input, &input_at, &compiler, self.errors);
            self.warnings.extend(compiler.warnings.into_inner());
            self.check_recorded(name, fields, &input_at);
        } else if let Some(entry) = self.engine.catalogue.find(name) {
            self.input(entry, fields, &input_at);
            self.handler(name, fields, &input_at);
        } else {
            let message = match (
                self.engine.catalogue.absence(name),
                nearest(name, self.engine.catalogue.names()),
            ) {
                (Some(absence), _) => absence,
                (None, Some(meant)) => {
                    format!("there is no function \"{name}\"; did you mean \"{meant}\"?")
                }
                // The names of functions of plugins alone have a dot.
                (None, None) if name.contains('.') => {
                    format!(
                        "there is no function \"{name}\": no loaded plugin has it; push and activate the plugin, or \
                         name its folder with --plugin-dir"
                    )
                }
                (None, None) => {
                    format!(
                        "there is no function \"{name}\"; GET /api/v1/admin/functions lists those there are"
                    )
                }
            };
            let error = FieldError::new(format!("{at}.name"), FieldCode::UnknownFunction, message);
            self.errors.push(error.with_got(name));
        }
    }

    fn handler(&mut self, name: &str, input: &Map<String, Value>, at: &str) {
        if let Some(function) = self.engine.find_function(name) {
            function.check(input, at, self.errors);
        }
    }
}
