//! Strict reader of a config block: every key must be known and every value must have its type.

use serde_json::{Map, Value};

use crate::field::FieldError;
use crate::suggest::nearest;
use crate::validate::{is_annotation, unknown_key};

/// Path of the config in a channel document.
const ROOT: &str = "channel.config";

/// A JSON object that is being read. Keys that were not read by the time of [`finish`](Self::finish) are
/// unknown.
pub(in crate::config) struct ConfigBlock<'a> {
    /// Kind of entity whose schema the messages name; none for other objects than a config.
    schema: Option<&'static str>,
    /// Path of the block in the document.
    path: String,
    object: &'a Map<String, Value>,
    /// The keys that were read so far; few, so that a list is faster than a set.
    asked: Vec<&'static str>,
    /// Problems that did not end the reading.
    problems: Vec<FieldError>,
}

type Read<T> = Result<Option<T>, FieldError>;

impl<'a> ConfigBlock<'a> {
    pub(in crate::config) fn root(config: &'a Value) -> Result<Self, FieldError> {
        Self::open(Some("channel"), ROOT.to_owned(), config)
    }

    pub(in crate::config) fn open(
        schema: Option<&'static str>,
        path: String,
        value: &'a Value,
    ) -> Result<Self, FieldError> {
        match value {
            Value::Object(object) => {
                Ok(Self { schema, path, object, asked: Vec::new(), problems: Vec::new() })
            }
            other => Err(mismatch(schema, path, "object", other)),
        }
    }

    /// Reads a block that is no part of a config, such as the body of a request.
    pub(in crate::config) fn read_separate<T>(
        path: &str,
        value: &'a Value,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        let mut block = Self::open(None, path.to_owned(), value)?;
        let parsed = read(&mut block).map_err(|error| block.explain(error))?;
        block.finish()?;
        Ok(parsed)
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
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Reads a nested block.
    pub(in crate::config) fn block<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Read<T> {
        let Some(value) = self.get(name) else { return Ok(None) };
        self.nested(self.field(name), value, read).map(Some)
    }

    /// Reads a nested block whose problems, those of unknown keys too, are all reported.
    pub(in crate::config) fn whole_block<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> T,
    ) -> Read<T> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let mut block = Self::open(self.schema, self.field(name), value)?;
        let parsed = read(&mut block);
        self.problems.extend(block.take_all());
        Ok(Some(parsed))
    }

    /// Takes an error for each unknown key, and the problems that did not end the reading.
    pub(in crate::config) fn take_all(&mut self) -> Vec<FieldError> {
        let mut problems: Vec<_> = self.unknown().collect();
        problems.append(&mut self.problems);
        problems
    }

    /// Reads the block at a path below this one.
    fn nested<T>(
        &mut self,
        path: String,
        value: &'a Value,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        let mut block = Self::open(self.schema, path, value)?;
        let parsed = read(&mut block).map_err(|error| block.explain(error));
        self.problems.append(&mut block.problems);
        let parsed = parsed?;
        block.finish()?;
        Ok(parsed)
    }

    /// Adds a problem that does not end the reading.
    pub(in crate::config) fn report(&mut self, problem: FieldError) {
        self.problems.push(problem);
    }

    /// Returns what was read, or adds its problem to those of the block.
    pub(in crate::config) fn keep<T>(&mut self, read: Result<T, FieldError>) -> Option<T> {
        read.map_err(|problem| self.report(problem)).ok()
    }

    /// Takes the problems that did not end the reading.
    pub(in crate::config) fn take_problems(&mut self) -> Vec<FieldError> {
        std::mem::take(&mut self.problems)
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
            parsed.push(self.nested(format!("{}[{index}]", self.field(name)), item, &mut read)?);
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
        &mut self,
        name: &str,
        key: &str,
        value: &'a Value,
        read: impl FnOnce(&mut ConfigBlock<'a>) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        self.nested(format!("{}.{key}", self.field(name)), value, read)
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

    /// Reads an integer from 1 to `max`.
    pub(in crate::config) fn integer_up_to(&mut self, name: &'static str, max: u32) -> Read<u32> {
        let Some(value) = self.get(name) else { return Ok(None) };
        if !value.is_i64() && !value.is_u64() {
            return Err(self.mismatch(self.field(name), "integer", value));
        }
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (1..=max).contains(number)) {
            None => {
                let why = format!("must be between 1 and {max}");
                Err(self.invalid(name, why).with_got(value.clone()))
            }
            number => Ok(number),
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
                let words = known.join(", ");
                Err(match self.schema {
                    Some(_) => self.invalid(name, self.unlike_schema(format!("use one of {words}"))),
                    None => self.invalid(name, format!("use {words}")).with_got(text),
                }
                .with_expected(known))
            }
        }
    }

    /// Reads some of a set of names: a list of them, `true` for all, `false` for none.
    pub(in crate::config) fn some_or_all<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Read<Vec<T>> {
        let items = match self.get(name) {
            None => return Ok(None),
            Some(Value::Bool(all)) => {
                return Ok(Some(choices.iter().filter(|_| *all).map(|(_, value)| *value).collect()));
            }
            Some(Value::Array(items)) => items,
            Some(other) => {
                return Err(self.mismatch(self.field(name), "boolean or an array of strings", other));
            }
        };
        let mut chosen = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let place = format!("{name}[{index}]");
            let Value::String(text) = item else {
                return Err(self.mismatch(self.field(&place), "string", item));
            };
            let Some((_, value)) = choices.iter().find(|(known, _)| known == text) else {
                let known: Vec<_> = choices.iter().map(|(known, _)| *known).collect();
                let why = self.unlike_schema(format!("use one of {}", known.join(", ")));
                return Err(self.invalid(&place, why).with_expected(known));
            };
            if chosen.contains(value) {
                return Err(self.invalid(&place, format!("{text} is listed twice")));
            }
            chosen.push(*value);
        }
        if chosen.is_empty() {
            return Err(self.invalid(name, "an empty list decides nothing, omit the field or write false"));
        }
        Ok(Some(chosen))
    }

    fn has_asked(&self, key: &str) -> bool {
        self.asked.contains(&key)
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
        let unknown = self.object.keys().filter(|key| !self.has_asked(key) && !is_annotation(key));
        let mut misspelt = unknown.filter(|key| nearest(key, missing.iter().copied()).is_some());
        misspelt.next().map_or(problem, |key| self.refusal(key, &missing))
    }

    /// Returns an error for the first unknown key.
    pub(in crate::config) fn finish(&self) -> Result<(), FieldError> {
        self.unknown().next().map_or(Ok(()), Err)
    }

    /// Returns an error for each unknown key.
    pub(in crate::config) fn unknown(&self) -> impl Iterator<Item = FieldError> {
        let mut known = self.asked.clone();
        known.sort_unstable();
        let unknown = self.object.keys();
        let unknown = unknown.filter(|key| !self.has_asked(key) && !is_annotation(key));
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
fn mismatch(schema: Option<&str>, path: impl Into<String>, expected: &str, got: &Value) -> FieldError {
    let error = FieldError::type_mismatch(path, expected, got);
    FieldError { message: unlike_schema(schema, error.message), ..error }
}

/// Prefixes a message that applies to a document without the shape of a config.
fn unlike_schema(schema: Option<&str>, why: String) -> String {
    match schema {
        Some(schema) => format!("config does not match the {schema} schema: {why}"),
        None => why,
    }
}
