//! The message a workflow works on.

mod undo;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::bounds::extent;
use crate::path::{self, Path, Root, WriteError};

pub(crate) use self::undo::Displaced;

/// Metadata keys that only the service may set; whatever a caller supplies under them is dropped.
const STAMPED: [&str; 17] = [
    "channel",
    "cookies",
    "vars",
    "auth",
    "identity",
    "oauth",
    "trigger",
    "progress",
    "run",
    "body_encoding",
    "cloudevent",
    "kafka",
    "kafka_encoding",
    "kafka_key",
    "kafka_offset",
    "kafka_partition",
    "kafka_topic",
];

/// One message: what came in, what the tasks make of it, and facts about it.
///
/// ```
/// use serde_json::{Map, json};
/// use svc_engine::{Message, Path};
///
/// let mut message = Message::new(json!({"net": 100}), Map::new());
/// message.data = json!({"items": [{"price": 3}]});
/// let price = Path::parse("data.items.0.price")?;
/// assert_eq!(message.read(&price), Some(&json!(3)));
/// # Ok::<(), svc_engine::path::PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Time-ordered id, shown to the caller.
    pub id: Uuid,
    /// The received payload. Read-only for workflows.
    pub payload: Value,
    /// The result: tasks write it and the caller receives it. Starts as an empty object.
    pub data: Value,
    /// Request facts and stamps.
    pub metadata: Map<String, Value>,
    /// Scratch space, never returned.
    pub temp_data: Value,
    /// Sibling roots written by tasks: readable by later expressions, never returned.
    pub others: Map<String, Value>,
}

impl Message {
    /// Creates a fresh message with a new id.
    pub fn new(payload: Value, metadata: Map<String, Value>) -> Self {
        Self::with_id(Uuid::now_v7(), payload, metadata)
    }

    /// Creates a fresh message of a run that has an id already.
    pub fn with_id(id: Uuid, payload: Value, metadata: Map<String, Value>) -> Self {
        Self {
            id,
            payload,
            data: Value::Object(Map::new()),
            metadata,
            temp_data: Value::Object(Map::new()),
            others: Map::new(),
        }
    }

    /// Removes from caller-supplied metadata every key that only the service may set.
    pub fn strip_stamps(metadata: &mut Map<String, Value>) {
        metadata.retain(|key, _| !STAMPED.contains(&key.as_str()) && !key.starts_with("_svc"));
    }

    /// Reads at a path; `None` if it leads nowhere, or at the bare metadata root, which is a map.
    pub fn read(&self, path: &Path) -> Option<&Value> {
        let segments = path.segments();
        match path.root() {
            Root::Data => path::read(&self.data, segments),
            Root::TempData => path::read(&self.temp_data, segments),
            Root::Payload => path::read(&self.payload, segments),
            Root::Metadata => path::read_map(&self.metadata, segments),
            Root::Other(name) => path::read(self.others.get(name)?, segments),
        }
    }

    /// Returns a copy of the value at a path; null if it leads nowhere.
    pub fn get(&self, path: &Path) -> Value {
        if *path.root() == Root::Metadata && path.segments().is_empty() {
            return Value::Object(self.metadata.clone());
        }
        self.read(path).cloned().unwrap_or_default()
    }

    /// Returns a copy of the value at a path, the bare metadata included; `None` if it leads nowhere.
    pub(crate) fn read_any(&self, path: &Path) -> Option<Value> {
        match (path.root(), path.segments()) {
            (Root::Metadata, []) => Some(Value::Object(self.metadata.clone())),
            _ => self.read(path).cloned(),
        }
    }

    /// Checks a write at a path and returns an upper bound of the bytes that it adds.
    ///
    /// # Errors
    /// The bound that the write would exceed; `limit` is in bytes.
    pub(crate) fn check(&self, path: &Path, new: &Value, limit: usize) -> Result<usize, WriteError> {
        let (slot, segments) = match (path.root(), path.segments()) {
            (Root::Data, segments) => (Some(&self.data), segments),
            (Root::TempData, segments) => (Some(&self.temp_data), segments),
            (Root::Payload, segments) => (Some(&self.payload), segments),
            (Root::Metadata, [key, below @ ..]) => (self.metadata.get(key.key()), below),
            (Root::Metadata, []) => (None, [].as_slice()),
            (Root::Other(name), segments) => (self.others.get(name), segments),
        };
        path::check(slot, segments, new, limit)
    }

    /// Writes at a path. Returns whether anything was written: a path through a scalar and the read-only
    /// payload are silently left alone, and the metadata root takes only objects.
    ///
    /// # Errors
    /// A value that would nest too deep, or an index too far beyond the end of its array.
    pub fn write(&mut self, path: &Path, new: Value) -> Result<bool, WriteError> {
        self.check(path, &new, usize::MAX)?;
        Ok(self.put(path, new))
    }

    /// Writes a value that was checked.
    pub(crate) fn put(&mut self, path: &Path, new: Value) -> bool {
        let segments = path.segments();
        match (path.root(), new) {
            (Root::Data, new) => path::write(&mut self.data, segments, new),
            (Root::TempData, new) => path::write(&mut self.temp_data, segments, new),
            (Root::Payload, _) => false,
            (Root::Metadata, Value::Object(map)) if segments.is_empty() => {
                self.metadata = map;
                true
            }
            (Root::Metadata, new) => path::write_map(&mut self.metadata, segments, new),
            (Root::Other(name), new) => {
                path::write(self.others.entry(name.as_str()).or_insert(Value::Null), segments, new)
            }
        }
    }

    /// Removes what is at a path. Returns whether there was anything; `data`, `metadata`, `temp_data` and the payload
    /// themselves stay.
    pub(crate) fn remove(&mut self, path: &Path) -> bool {
        let segments = path.segments();
        match path.root() {
            Root::Data => path::remove(&mut self.data, segments),
            Root::TempData => path::remove(&mut self.temp_data, segments),
            Root::Metadata => path::remove_from_map(&mut self.metadata, segments),
            Root::Payload => false,
            Root::Other(name) if segments.is_empty() => self.others.shift_remove(name.as_str()).is_some(),
            Root::Other(name) => {
                self.others.get_mut(name.as_str()).is_some_and(|slot| path::remove(slot, segments))
            }
        }
    }

    /// Returns the bytes of what tasks may write; `None` when it is more than `limit`.
    pub(crate) fn measure(&self, limit: usize) -> Option<usize> {
        let members = self.metadata.values().chain(self.others.values());
        members.chain([&self.data, &self.temp_data]).try_fold(0, |total, part| {
            extent::measure(part, usize::MAX, limit - total).ok().map(|bytes| total + bytes)
        })
    }

    /// Returns the bytes of a copy, the payload included; `None` when it is more than `limit`.
    pub(crate) fn measure_copy(&self, limit: usize) -> Option<usize> {
        let written = self.measure(limit)?;
        extent::measure(&self.payload, usize::MAX, limit - written).ok().map(|payload| written + payload)
    }

    /// `{data, metadata, temp_data}`, as traces and offline runs show it.
    pub fn context(&self) -> Value {
        let mut context = Map::new();
        context.insert("data".into(), self.data.clone());
        context.insert("metadata".into(), Value::Object(self.metadata.clone()));
        context.insert("temp_data".into(), self.temp_data.clone());
        Value::Object(context)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Message {
        Message::new(json!({"x": 1}), Map::new())
    }

    #[test]
    fn the_payload_is_readable_and_never_written() {
        let mut message = message();
        let path = Path::parse("payload.x").unwrap();
        assert_eq!(message.get(&path), json!(1));
        assert_eq!(message.write(&path, json!(2)), Ok(false));
        assert_eq!(message.payload, json!({"x": 1}));
    }

    #[test]
    fn an_unknown_root_becomes_a_sibling() {
        let mut message = message();
        let path = Path::parse("notes.0").unwrap();
        assert_eq!(message.write(&path, json!("n")), Ok(true));
        assert_eq!(message.get(&path), json!("n"));
        assert_eq!(message.context(), json!({"data": {}, "metadata": {}, "temp_data": {}}));
    }

    #[test]
    fn metadata_stays_an_object() {
        let mut message = message();
        assert_eq!(message.write(&Path::parse("metadata").unwrap(), json!(5)), Ok(false));
        assert_eq!(message.write(&Path::parse("metadata").unwrap(), json!({"a": 1})), Ok(true));
        assert_eq!(message.get(&Path::parse("metadata").unwrap()), json!({"a": 1}));
    }

    #[test]
    fn stamps_a_caller_supplies_are_dropped() {
        let mut metadata = json!({"channel": "x", "tenant": "t", "_svc_errors": [], "auth": {}, "vars": {},
            "identity": {"subject": "root"}, "oauth": {"grant": {}},
            "kafka": {"tombstone": true}, "kafka_topic": "t"});
        let map = metadata.as_object_mut().unwrap();
        Message::strip_stamps(map);
        assert_eq!(*map, *json!({"tenant": "t"}).as_object().unwrap());
    }
}
