//! Strict reader of a config block: every key must be known and every value must have its type.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::field::FieldError;
use crate::suggest::nearest;
use crate::validate::{is_annotation, unknown_key};

/// Path of the config in a channel document.
const ROOT: &str = "channel.config";

/// A JSON object that is being read. Keys that were not read by the time of [`finish`](Self::finish) are
/// unknown.
pub(in crate::config) struct ConfigBlock<'a> {
    /// Kind of entity that the config belongs to, for messages.
    schema: &'static str,
    /// Path of the block in the document.
    path: String,
    object: &'a Map<String, Value>,
    asked: HashSet<&'static str>,
}

type Read<T> = Result<Option<T>, FieldError>;

impl<'a> ConfigBlock<'a> {
    pub(in crate::config) fn root(config: &'a Value) -> Result<Self, FieldError> {
        Self::open("channel", ROOT.to_owned(), config)
    }

    pub(in crate::config) fn open(
        schema: &'static str,
        path: String,
        value: &'a Value,
    ) -> Result<Self, FieldError> {
        match value {
            Value::Object(object) => Ok(Self { schema, path, object, asked: HashSet::new() }),
            other => Err(mismatch(schema, path, "object", other)),
        }
    }

    /// Returns the path of a field.
    pub(in crate::config) fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Returns the whole block as JSON.
    pub(in crate::config) fn value(&self) -> Value {
        Value::Object(self.object.clone())
    }

    /// Returns the value of a key and marks the key as known. `null` counts as absent.
    fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.insert(name);
        #[cfg(test)]
        super::tests::reference::note(&self.path, name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Reads a nested block.
    pub(in crate::config) fn block<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Read<T> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let mut block = Self::open(self.schema, self.field(name), value)?;
        let parsed = read(&mut block).map_err(|error| block.explain(error))?;
        block.finish()?;
        Ok(Some(parsed))
    }

    /// Reads an array of nested blocks.
    pub(in crate::config) fn blocks<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Read<Vec<T>> {
        let Some(items) = self.array(name)? else { return Ok(None) };
        let mut parsed = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let mut block = ConfigBlock::open(self.schema, format!("{}[{index}]", self.field(name)), item)?;
            parsed.push(read(&mut block).map_err(|error| block.explain(error))?);
            block.finish()?;
        }
        Ok(Some(parsed))
    }

    /// Reads an object with arbitrary keys.
    pub(in crate::config) fn map(&mut self, name: &'static str) -> Read<&'a Map<String, Value>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.mismatch(self.field(name), "object", other)),
        }
    }

    /// Opens a member of [`map`](Self::map) as a block.
    pub(in crate::config) fn member<T>(
        &self,
        name: &str,
        key: &str,
        value: &'a Value,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        let mut block = Self::open(self.schema, format!("{}.{key}", self.field(name)), value)?;
        let parsed = read(&mut block).map_err(|error| block.explain(error))?;
        block.finish()?;
        Ok(parsed)
    }

    /// Reads a value of any type.
    pub(in crate::config) fn any(&mut self, name: &'static str) -> Option<Value> {
        self.get(name).cloned()
    }

    pub(in crate::config) fn string(&mut self, name: &'static str) -> Read<String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.mismatch(self.field(name), "string", other)),
        }
    }

    pub(in crate::config) fn required_string(&mut self, name: &'static str) -> Result<String, FieldError> {
        self.string(name)?.ok_or_else(|| self.missing(name))
    }

    pub(in crate::config) fn boolean(&mut self, name: &'static str) -> Read<bool> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.mismatch(self.field(name), "boolean", other)),
        }
    }

    pub(in crate::config) fn signed(&mut self, name: &'static str) -> Read<i64> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| self.mismatch(self.field(name), "integer", value))
    }

    pub(in crate::config) fn unsigned(&mut self, name: &'static str) -> Read<u64> {
        match self.signed(name)? {
            Some(value) => {
                u64::try_from(value).map(Some).map_err(|_| self.invalid(name, "must not be negative"))
            }
            None => Ok(None),
        }
    }

    /// Reads an integer that is at least 1.
    pub(in crate::config) fn positive(&mut self, name: &'static str) -> Read<u64> {
        match self.unsigned(name)? {
            Some(0) => Err(self.invalid(name, "must be at least 1")),
            other => Ok(other),
        }
    }

    pub(in crate::config) fn number(&mut self, name: &'static str) -> Read<f64> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| self.mismatch(self.field(name), "number", value))
    }

    fn array(&mut self, name: &'static str) -> Read<&'a Vec<Value>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.mismatch(self.field(name), "array", other)),
        }
    }

    pub(in crate::config) fn strings(&mut self, name: &'static str) -> Read<Vec<String>> {
        let Some(items) = self.array(name)? else { return Ok(None) };
        let text = |(index, item): (usize, &Value)| match item {
            Value::String(text) => Ok(text.clone()),
            other => Err(self.mismatch(format!("{}[{index}]", self.field(name)), "string", other)),
        };
        items.iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    pub(in crate::config) fn integers(&mut self, name: &'static str) -> Read<Vec<i64>> {
        let Some(items) = self.array(name)? else { return Ok(None) };
        let number = |(index, item): (usize, &Value)| {
            let path = || format!("{}[{index}]", self.field(name));
            item.as_i64().ok_or_else(|| self.mismatch(path(), "integer", item))
        };
        items.iter().enumerate().map(number).collect::<Result<_, _>>().map(Some)
    }

    /// Reads a string or an array of strings.
    pub(in crate::config) fn one_or_many(&mut self, name: &'static str) -> Read<Vec<String>> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(Some(vec![text.clone()])),
            Some(other) if !other.is_array() => {
                Err(self.mismatch(self.field(name), "string or an array of strings", other))
            }
            _ => self.strings(name),
        }
    }

    /// Reads one of a set of names.
    pub(in crate::config) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Read<T> {
        let Some(text) = self.string(name)? else { return Ok(None) };
        match choices.iter().find(|(known, _)| *known == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let known: Vec<_> = choices.iter().map(|(known, _)| *known).collect();
                let why = self.unlike_schema(format!("use one of {}", known.join(", ")));
                Err(self.invalid(name, why).with_expected(known))
            }
        }
    }

    /// Creates the error for a missing required key.
    pub(in crate::config) fn missing(&self, name: &str) -> FieldError {
        FieldError::required(self.field(name))
    }

    /// Creates the error for an invalid field.
    pub(in crate::config) fn invalid(&self, name: &str, message: impl Into<String>) -> FieldError {
        FieldError::invalid(self.field(name), message)
    }

    /// Prefers a likely cause over a problem: a missing key may be present under a misspelt name.
    fn explain(&self, problem: FieldError) -> FieldError {
        let missing: Vec<_> =
            self.asked.iter().copied().filter(|key| !self.object.contains_key(*key)).collect();
        let unknown =
            self.object.keys().filter(|key| !self.asked.contains(key.as_str()) && !is_annotation(key));
        let mut misspelt = unknown.filter(|key| nearest(key, missing.iter().copied()).is_some());
        misspelt.next().map_or(problem, |key| self.refusal(key, &missing))
    }

    /// Returns an error for the first unknown key.
    pub(in crate::config) fn finish(&self) -> Result<(), FieldError> {
        self.unknown().next().map_or(Ok(()), Err)
    }

    /// Returns an error for each unknown key.
    pub(in crate::config) fn unknown(&self) -> impl Iterator<Item = FieldError> {
        let mut known: Vec<_> = self.asked.iter().copied().collect();
        known.sort_unstable();
        let unknown = self.object.keys();
        let unknown = unknown.filter(|key| !self.asked.contains(key.as_str()) && !is_annotation(key));
        unknown.map(move |key| self.refusal(key, &known))
    }

    fn refusal(&self, key: &str, known: &[&str]) -> FieldError {
        let error = unknown_key(self.field(key), key, known, &[]);
        FieldError { message: self.unlike_schema(error.message), ..error }
    }

    fn mismatch(&self, path: impl Into<String>, expected: &str, got: &Value) -> FieldError {
        mismatch(self.schema, path, expected, got)
    }

    fn unlike_schema(&self, why: String) -> String {
        unlike_schema(self.schema, why)
    }
}

/// Creates the error for a value of the wrong type.
fn mismatch(schema: &str, path: impl Into<String>, expected: &str, got: &Value) -> FieldError {
    let error = FieldError::type_mismatch(path, expected, got);
    FieldError { message: unlike_schema(schema, error.message), ..error }
}

/// Prefixes a message that applies to a document without the shape of a config.
fn unlike_schema(schema: &str, why: String) -> String {
    format!("config does not match the {schema} schema: {why}")
}

/// Returns the value; adds the error to `errors` instead, if there is one.
pub(in crate::config) fn keep_or_report<T>(
    read: Result<Option<T>, FieldError>,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    read.unwrap_or_else(|error| {
        errors.push(error);
        None
    })
}
