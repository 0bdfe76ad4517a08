//! Reader of the top level of a request body; collects all problems.

use serde_json::{Map, Value};

use super::keys::{KeyPlace, unknown_keys};
use crate::documents::{MAX_DESCRIPTION, MAX_NAME};
use crate::entity::EntityKind;
use crate::field::FieldError;
use crate::id;

/// The JSON object that a caller sent. A field reader returns `None` if the field is absent, `null` or
/// invalid, and adds the problem to `errors`.
pub(super) struct BodyReader<'a> {
    kind: EntityKind,
    object: &'a Map<String, Value>,
    /// The keys that were read so far.
    asked: Vec<&'static str>,
    pub(super) errors: Vec<FieldError>,
}

impl<'a> BodyReader<'a> {
    pub(super) fn open(kind: EntityKind, body: &'a Value) -> Result<Self, Vec<FieldError>> {
        match body {
            Value::Object(object) => Ok(Self { kind, object, asked: Vec::new(), errors: Vec::new() }),
            other => Err(vec![FieldError::type_mismatch("body", "object", other)]),
        }
    }

    /// Returns the path of a field, rooted at the resource.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.kind)
    }

    pub(super) fn is_null(&mut self, name: &'static str) -> bool {
        self.take_value(name).is_some_and(Value::is_null)
    }

    pub(super) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.take_value(name).filter(|value| !value.is_null())
    }

    /// Returns the value of a key and marks the key as known.
    fn take_value(&mut self, name: &'static str) -> Option<&'a Value> {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.object.get(name)
    }

    fn take_typed<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(name)?;
        let parsed = read(value);
        if parsed.is_none() {
            self.errors.push(FieldError::type_mismatch(format!("body.{name}"), expected, value));
        }
        parsed
    }

    pub(super) fn string(&mut self, name: &'static str) -> Option<&'a str> {
        self.take_typed(name, "string", Value::as_str)
    }

    pub(super) fn integer(&mut self, name: &'static str) -> Option<i64> {
        self.take_typed(name, "integer", Value::as_i64)
    }

    pub(super) fn boolean(&mut self, name: &'static str) -> Option<bool> {
        self.take_typed(name, "boolean", Value::as_bool)
    }

    pub(super) fn array(&mut self, name: &'static str) -> Option<&'a Vec<Value>> {
        self.take_typed(name, "array", Value::as_array)
    }

    pub(super) fn object(&mut self, name: &'static str) -> Option<&'a Value> {
        self.take_typed(name, "object", |value| value.is_object().then_some(value))
    }

    pub(super) fn strings(&mut self, name: &'static str) -> Option<Vec<String>> {
        let mut strings = Vec::new();
        for (index, item) in self.array(name)?.iter().enumerate() {
            match item {
                Value::String(text) => strings.push(text.clone()),
                other => {
                    self.errors.push(FieldError::type_mismatch(
                        format!("body.{name}[{index}]"),
                        "string",
                        other,
                    ));
                }
            }
        }
        Some(strings)
    }

    /// Reads the id that the caller chose for a new entity, if any.
    pub(super) fn id(&mut self, name: &'static str) -> Option<String> {
        let id = self.string(name)?;
        let path = self.path(name);
        let checked = match self.kind {
            EntityKind::Channel => id::check_channel(id, &path),
            EntityKind::Workflow | EntityKind::Connector => id::check(id, &path),
        };
        if let Err(error) = checked {
            self.errors.push(error);
        }
        Some(id.to_owned())
    }

    /// Reads the name, which is required unless there is a current one.
    pub(super) fn name(&mut self, current: Option<&str>) -> String {
        let sent = self.string("name");
        if sent.is_none() && current.is_none() && self.value("name").is_none() {
            self.errors.push(FieldError::required(self.path("name")));
        }
        if let Some(name) = sent {
            if name.trim().is_empty() {
                self.errors.push(FieldError::invalid(self.path("name"), "a name is not blank"));
            } else if name.len() > MAX_NAME {
                self.errors.push(FieldError::too_long(self.path("name"), MAX_NAME, name.len(), "bytes"));
            }
        }
        sent.or(current).unwrap_or_default().to_owned()
    }

    /// Reads the description; `null` removes it.
    pub(super) fn description(&mut self, current: Option<&str>) -> Option<String> {
        let sent = self.string("description");
        if let Some(text) = sent.filter(|text| text.len() > MAX_DESCRIPTION) {
            let path = self.path("description");
            self.errors.push(FieldError::too_long(path, MAX_DESCRIPTION, text.len(), "bytes"));
        }
        if self.is_null("description") { None } else { sent.or(current).map(str::to_owned) }
    }

    /// Reports every key that was not read, except for those that are read-only.
    pub(super) fn refuse_unknown(&mut self, only_read: &[&str], elsewhere: &[KeyPlace<'_>]) {
        let place = self.kind.name();
        let unknown = unknown_keys(self.object, place, &self.asked, elsewhere).into_iter();
        let is_only_read = |error: &FieldError| {
            error.path.strip_prefix(place).is_some_and(|key| only_read.contains(&&key[1..]))
        };
        self.errors.extend(unknown.filter(|error| !is_only_read(error)));
    }
}
