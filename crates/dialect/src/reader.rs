//! The reader of documents: collects every problem with its path.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError, is_annotation, unknown_key};

use crate::extent::DocumentExtent;
use crate::name;

/// The state of reading one document.
#[derive(Default)]
pub(crate) struct DocumentReader {
    /// The problems found so far.
    pub(crate) errors: Vec<FieldError>,
    /// The authored values whose `{"var": path}` nodes are still to be evaluated.
    pub(crate) folded: Vec<Value>,
    /// Physical names of all entities that the document accesses, each once.
    pub(crate) entities: Vec<Arc<str>>,
    /// The parameters that the document names, each with its path.
    pub(crate) params: Vec<(String, String)>,
}

impl DocumentReader {
    pub(crate) fn problem(&mut self, at: &str, code: FieldCode, message: impl Into<String>) {
        self.errors.push(FieldError::new(at, code, message));
    }

    pub(crate) fn invalid(&mut self, at: &str, message: impl Into<String>) {
        self.problem(at, FieldCode::Invalid, message);
    }

    pub(crate) fn mismatch(&mut self, at: &str, expected: &str, got: &Value) {
        self.errors.push(FieldError::type_mismatch(at, expected, got));
    }

    /// Returns the value, or reports the error at a path.
    pub(crate) fn accept<T>(&mut self, at: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|why| self.invalid(at, why)).ok()
    }

    /// Returns the value, or reports the error of the key at a path.
    pub(crate) fn accept_key<T>(&mut self, at: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|why| self.errors.push(FieldError::invalid(at, why).with_wrong_key())).ok()
    }

    /// Returns the members of an object, and reports those that are neither in `known` nor annotations.
    pub(crate) fn object<'v>(
        &mut self,
        value: &'v Value,
        at: &str,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let members = self.members(value, at)?;
        let unknown = members.keys().filter(|name| !known.contains(&name.as_str()) && !is_annotation(name));
        for name in unknown {
            let message = unknown_key(String::new(), name, known, &[]).message;
            self.problem(&format!("{at}.{name}"), FieldCode::UnknownField, message);
        }
        Some(members)
    }

    /// Returns the members of an object with arbitrary names.
    pub(crate) fn members<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v Map<String, Value>> {
        if value.is_null() || !value.is_object() {
            self.mismatch(at, "object", value);
        }
        value.as_object()
    }

    pub(crate) fn items<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v [Value]> {
        if !value.is_array() {
            self.mismatch(at, "array", value);
        }
        value.as_array().map(Vec::as_slice)
    }

    pub(crate) fn text<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v str> {
        if !value.is_string() {
            self.mismatch(at, "string", value);
        }
        value.as_str()
    }

    /// Reads a literal name and validates it.
    pub(crate) fn name<'v>(&mut self, value: &'v Value, at: &str) -> Option<&'v str> {
        let text = self.text(value, at)?;
        self.accept(at, name::check(text)).map(|()| text)
    }

    pub(crate) fn flag(&mut self, value: Option<&Value>, at: &str, default: bool) -> bool {
        match value {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.mismatch(at, "bool", other);
                default
            }
        }
    }

    /// Keeps an authored value for evaluation and returns its index.
    pub(crate) fn fold(&mut self, value: &Value) -> usize {
        self.folded.push(value.clone());
        self.folded.len() - 1
    }

    pub(crate) fn reach(&mut self, physical: &Arc<str>) {
        if !self.entities.contains(physical) {
            self.entities.push(Arc::clone(physical));
        }
    }

    /// Returns the document and its findings, or all problems.
    pub(crate) fn finish<T>(
        self,
        read: Option<T>,
        mapped: bool,
    ) -> Result<(T, DocumentFindings), Vec<FieldError>> {
        match read {
            Some(read) if self.errors.is_empty() => {
                let extent = DocumentExtent { mapped, entities: self.entities };
                Ok((read, DocumentFindings { folded: self.folded, params: self.params, extent }))
            }
            _ => Err(self.errors),
        }
    }
}

/// Findings about a valid document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DocumentFindings {
    pub(crate) folded: Vec<Value>,
    pub(crate) extent: DocumentExtent,
    params: Vec<(String, String)>,
}

impl DocumentFindings {
    /// Returns an error for each place that names a parameter missing from `params`.
    pub(crate) fn missing(&self, params: &Map<String, Value>) -> Vec<FieldError> {
        let missing = self.params.iter().filter(|(_, name)| !params.contains_key(name));
        missing.map(|(at, name)| FieldError::invalid(at, format!("params has no \"{name}\""))).collect()
    }
}

/// Joins the path of an object and the name of a member.
pub(crate) fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

/// Returns the only member of an object that has exactly one.
pub(crate) fn single(value: &Value) -> Option<(&str, &Value)> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().map(|(name, value)| (name.as_str(), value))
}
