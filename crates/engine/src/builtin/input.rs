//! Reading the authored input of a built-in, with every problem at its path.

use std::cell::RefCell;

use serde_json::{Map, Value};
use svc_model::{FieldError, Issue};

use crate::catalogue::InputField;
use crate::expression::{Evaluator, Expression, SecretPolicy};
use crate::failing_calls::{Impossible, failing_calls};
use crate::path::{Path, Root};
use crate::reads::Reads;
use crate::truth::ResultUse;

/// The input of the path below `data` that a built-in writes.
pub(super) const TARGET: InputField =
    InputField::string("target", "Path below data that is written").required();

/// The input of the character between two fields of CSV.
pub(super) const DELIMITER: InputField =
    InputField::string("delimiter", "Character between two fields, a comma by default");

/// Compiles expressions for the engine, or only checks them for an author.
pub(crate) struct InputCompiler<'e> {
    pub(crate) evaluator: &'e Evaluator,
    /// An author's check does not know which secrets the serving process declares.
    pub(crate) check_secrets: bool,
    /// The union of everything that the compiled expressions read.
    pub(crate) reads: RefCell<Reads>,
    /// Likely mistakes that do not prevent the workflow from running.
    pub(crate) warnings: RefCell<Vec<Issue>>,
}

impl InputCompiler<'_> {
    /// Compiles an expression; every problem is reported with its place in it. A call that always fails is
    /// refused to an author only: what is stored goes on.
    fn expression(
        &self,
        at: &str,
        source: &Value,
        used_as: ResultUse,
        secrets: SecretPolicy,
    ) -> Result<Expression, (String, String)> {
        let compiled = if self.check_secrets {
            self.evaluator.compile_for(used_as, source, secrets)
        } else {
            self.evaluator.compile_syntax(source)
        };
        let compiled = compiled.map_err(|message| (String::new(), message))?;
        if !self.check_secrets {
            for Impossible { place, reason, always } in failing_calls(self.evaluator, source) {
                if always {
                    return Err((place, reason));
                }
                self.warnings.borrow_mut().push(Issue::new(format!("{at}{place}"), reason));
            }
        }
        self.reads.borrow_mut().merge(compiled.reads().clone());
        Ok(compiled)
    }
}

/// The input object of one task, or an object inside it.
pub(crate) struct BuiltinInput<'i, 'e> {
    fields: Option<&'i Map<String, Value>>,
    at: String,
    compiler: &'e InputCompiler<'e>,
    errors: &'e mut Vec<FieldError>,
}

impl<'i, 'e> BuiltinInput<'i, 'e> {
    pub(crate) fn new(
        value: &'i Value,
        at: &str,
        compiler: &'e InputCompiler<'e>,
        errors: &'e mut Vec<FieldError>,
    ) -> Self {
        if !value.is_object() {
            errors.push(FieldError::type_mismatch(at, "object", value));
        }
        Self { fields: value.as_object(), at: at.to_owned(), compiler, errors }
    }

    fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.at)
    }

    pub(crate) fn get(&self, field: &str) -> Option<&'i Value> {
        self.fields?.get(field)
    }

    /// Reads a required field, and reports its absence.
    pub(crate) fn required(&mut self, field: &str) -> Option<&'i Value> {
        let value = self.get(field);
        if value.is_none() && self.fields.is_some() {
            self.errors.push(FieldError::required(self.path(field)));
        }
        value
    }

    pub(crate) fn mismatch(&mut self, field: &str, expected: &str, got: &Value) {
        let path = self.path(field);
        self.errors.push(FieldError::type_mismatch(path, expected, got));
    }

    pub(crate) fn invalid(&mut self, field: &str, message: impl Into<String>) {
        let path = self.path(field);
        self.errors.push(FieldError::invalid(path, message));
    }

    pub(crate) fn required_string(&mut self, field: &str) -> Option<&'i str> {
        let value = self.required(field)?;
        if value.as_str().is_none() {
            self.mismatch(field, "string", value);
        }
        value.as_str()
    }

    /// Reads an optional string; `None` inside means a problem was reported.
    pub(crate) fn string_or(&mut self, field: &str, default: &'i str) -> Option<&'i str> {
        match self.get(field) {
            None | Some(Value::Null) => Some(default),
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.mismatch(field, "string", other);
                None
            }
        }
    }

    /// Reads one of some texts, the first of which is the default; `None` means a problem was reported.
    pub(crate) fn one_of(&mut self, field: &str, known: &[&'static str]) -> Option<&'static str> {
        let text = self.string_or(field, known.first().copied().unwrap_or_default())?;
        let choice = known.iter().copied().find(|known| *known == text);
        if choice.is_none() {
            let message = format!("\"{text}\" is not one of {}", known.join(", "));
            let error = FieldError::invalid(self.path(field), message);
            self.errors.push(error.with_expected(known).with_got(text));
        }
        choice
    }

    /// Reads the character between two fields of CSV; `None` means a problem was reported.
    pub(crate) fn delimiter(&mut self) -> Option<u8> {
        match self.string_or("delimiter", ",")?.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Some(*byte),
            _ => {
                self.invalid("delimiter", "name one ASCII character, such as \";\", other than a quote");
                None
            }
        }
    }

    /// Reads a list of texts, empty by default; `None` means a problem was reported.
    pub(crate) fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let Some(value) = self.get(field) else { return Some(Vec::new()) };
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.mismatch(field, "list of texts", value);
        }
        texts
    }

    pub(crate) fn bool_or(&mut self, field: &str, default: bool) -> Option<bool> {
        match self.get(field) {
            None | Some(Value::Null) => Some(default),
            Some(Value::Bool(value)) => Some(*value),
            Some(other) => {
                self.mismatch(field, "boolean", other);
                None
            }
        }
    }

    pub(crate) fn required_array(&mut self, field: &str) -> Option<&'i [Value]> {
        let value = self.required(field)?;
        if !value.is_array() {
            self.mismatch(field, "array", value);
        }
        value.as_array().map(Vec::as_slice)
    }

    /// Reads a required expression.
    pub(crate) fn required_logic(&mut self, field: &str, secrets: SecretPolicy) -> Option<Expression> {
        self.expression(field, ResultUse::Value, secrets)
    }

    /// Reads a required expression of which only the truth counts.
    pub(crate) fn required_condition(&mut self, field: &str) -> Option<Expression> {
        self.expression(field, ResultUse::Truth, SecretPolicy::Allowed)
    }

    fn expression(&mut self, field: &str, used_as: ResultUse, secrets: SecretPolicy) -> Option<Expression> {
        let source = self.required(field)?;
        self.compile(field, source, used_as, secrets)
    }

    pub(crate) fn logic(&mut self, field: &str, source: &Value, secrets: SecretPolicy) -> Option<Expression> {
        self.compile(field, source, ResultUse::Value, secrets)
    }

    fn compile(
        &mut self,
        field: &str,
        source: &Value,
        used_as: ResultUse,
        secrets: SecretPolicy,
    ) -> Option<Expression> {
        let at = self.path(field);
        match self.compiler.expression(&at, source, used_as, secrets) {
            Ok(expression) => Some(expression),
            Err((place, message)) => {
                self.invalid(&format!("{field}{place}"), message);
                None
            }
        }
    }

    /// Reads the required path of a source.
    pub(crate) fn required_source(&mut self, field: &str) -> Option<Path> {
        let text = self.required_string(field)?;
        let path = self.check_path(field, Path::parse(text))?;
        if *path.root() == Root::Metadata {
            self.compiler.reads.borrow_mut().mark(path.as_str());
        }
        Some(path)
    }

    /// Reads the required path of a target.
    pub(crate) fn required_target(&mut self, field: &str) -> Option<Path> {
        let text = self.required_string(field)?;
        self.check_path(field, Path::parse_target(text))
    }

    /// Reads a required path inside `data`.
    pub(crate) fn required_below_data(&mut self, field: &str) -> Option<Path> {
        let text = self.required_string(field)?;
        self.check_path(field, Path::parse(&format!("data.{text}")))
    }

    fn check_path(&mut self, field: &str, path: Result<Path, crate::path::PathError>) -> Option<Path> {
        path.map_err(|error| self.invalid(field, error.to_string())).ok()
    }

    /// Reads the objects of an array field, each read by `read`; `None` when any of them has a problem.
    pub(crate) fn each<T>(
        &mut self,
        field: &str,
        items: &'i [Value],
        mut read: impl FnMut(&mut BuiltinInput<'i, '_>) -> Option<T>,
    ) -> Option<Box<[T]>> {
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(n, item)| {
                let at = format!("{}.{field}[{n}]", self.at);
                read(&mut BuiltinInput::new(item, &at, self.compiler, self.errors))
            })
            .collect();
        read.into_iter().collect()
    }
}
