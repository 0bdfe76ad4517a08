//! Writes that are taken back: the elements of a fan-out begin with the same message without a copy for each.

use serde_json::{Map, Value};

use super::Message;
use crate::path::{Path, Root, Segment};

/// The state of a path before a write, by which the write is undone.
#[derive(Debug)]
pub(crate) struct Displaced {
    path: Path,
    /// Segments of the path that led to something.
    depth: usize,
    /// The value at that place.
    former: Former,
}

/// The value at the deepest existing place of a path.
#[derive(Debug)]
enum Former {
    /// The whole path existed.
    Value(Value),
    /// The place was an object without the next key.
    NoKey,
    /// The place was an array of this length, too short for the next index.
    Length(usize),
    /// The place was null.
    Null,
    /// Nothing can be written below the place.
    Closed,
}

impl Displaced {
    /// Returns the path that was written.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Message {
    /// Takes the value at a path that is about to be written, and returns what undoes the write.
    pub(crate) fn displace(&mut self, path: &Path) -> Displaced {
        let segments = path.segments();
        let (depth, former) = match path.root() {
            Root::Data => displace(&mut self.data, segments),
            Root::TempData => displace(&mut self.temp_data, segments),
            Root::Payload => (0, Former::Closed),
            // Anything but an object leaves the metadata alone, so that nothing is taken yet.
            Root::Metadata if segments.is_empty() => (0, Former::Value(Value::Object(self.metadata.clone()))),
            Root::Metadata => displace_member(&mut self.metadata, segments),
            Root::Other(name) => match self.others.get_mut(name) {
                Some(slot) => {
                    let (depth, former) = displace(slot, segments);
                    (depth + 1, former)
                }
                None => (0, Former::NoKey),
            },
        };
        Displaced { path: path.clone(), depth, former }
    }

    /// Undoes a write. Writes are undone in the reverse of their order.
    pub(crate) fn restore(&mut self, displaced: Displaced) {
        let Displaced { path, depth, former } = displaced;
        let segments = path.segments();
        match path.root() {
            Root::Data => restore(&mut self.data, segments, depth, former),
            Root::TempData => restore(&mut self.temp_data, segments, depth, former),
            Root::Payload => {}
            Root::Metadata if segments.is_empty() => {
                if let Former::Value(Value::Object(map)) = former {
                    self.metadata = map;
                }
            }
            Root::Metadata => restore_member(&mut self.metadata, segments, depth, former),
            Root::Other(name) if depth == 0 => drop(self.others.remove(name)),
            Root::Other(name) => {
                // A removed root comes back behind the others.
                let slot = self.others.entry(name.clone()).or_insert(Value::Null);
                restore(slot, segments, depth - 1, former);
            }
        }
    }
}

fn displace(slot: &mut Value, segments: &[Segment]) -> (usize, Former) {
    let Some((first, rest)) = segments.split_first() else { return (0, Former::Value(slot.take())) };
    match slot {
        Value::Null => (0, Former::Null),
        Value::Object(map) => displace_member(map, segments),
        Value::Array(items) => {
            let length = items.len();
            match first.index() {
                None => (0, Former::Closed),
                Some(index) => match items.get_mut(index) {
                    None => (0, Former::Length(length)),
                    Some(item) => {
                        let (depth, former) = displace(item, rest);
                        (depth + 1, former)
                    }
                },
            }
        }
        _ => (0, Former::Closed),
    }
}

fn displace_member(map: &mut Map<String, Value>, segments: &[Segment]) -> (usize, Former) {
    let Some((first, rest)) = segments.split_first() else { return (0, Former::Closed) };
    match map.get_mut(first.key()) {
        None => (0, Former::NoKey),
        Some(member) => {
            let (depth, former) = displace(member, rest);
            (depth + 1, former)
        }
    }
}

fn restore(slot: &mut Value, segments: &[Segment], depth: usize, former: Former) {
    if let (Some(depth), Some((first, rest))) = (depth.checked_sub(1), segments.split_first()) {
        let next = match slot {
            Value::Object(map) => map.get_mut(first.key()),
            Value::Array(items) => first.index().and_then(|index| items.get_mut(index)),
            _ => None,
        };
        if let Some(next) = next {
            restore(next, rest, depth, former);
        }
        return;
    }
    match (former, slot) {
        (Former::Value(value), slot) => *slot = value,
        (Former::Null, slot) => *slot = Value::Null,
        (Former::Length(length), Value::Array(items)) => items.truncate(length),
        (Former::NoKey, Value::Object(map)) => {
            if let Some(first) = segments.first() {
                map.remove(first.key());
            }
        }
        _ => {}
    }
}

fn restore_member(map: &mut Map<String, Value>, segments: &[Segment], depth: usize, former: Former) {
    let Some((first, rest)) = segments.split_first() else { return };
    match depth.checked_sub(1) {
        None => drop(map.remove(first.key())),
        Some(depth) => {
            if let Some(member) = map.get_mut(first.key()) {
                restore(member, rest, depth, former);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Message {
        let metadata = json!({"progress": {"task_id": "a"}, "n": null});
        let mut message = Message::new(json!({"p": 1}), metadata.as_object().unwrap().clone());
        message.data = json!({"list": [1, {"a": 2}], "text": "x", "none": null});
        message.others.insert("notes".into(), json!([1]));
        message
    }

    #[test]
    fn undone_removal_keeps_the_order_of_members() {
        let mut written = message();
        written.data = json!({"a": 1, "b": [1, 2, 3], "c": 3});
        let before = written.data.to_string();
        for path in ["data.a", "data.b.1", "data.none.x"] {
            let path = Path::parse(path).unwrap();
            let container = path.container();
            let copy = written.read_any(&container);
            let displaced = written.displace(&container);
            copy.map(|copy| written.put(&container, copy));
            let removed = written.remove(&path);
            assert_eq!(written.data.to_string() != before, removed);
            written.restore(displaced);
            assert_eq!(written.data.to_string(), before, "{}", path.as_str());
        }
    }

    #[test]
    fn undone_writes_leave_the_message_unchanged() {
        let paths = [
            "data",
            "data.list",
            "data.list.0",
            "data.list.5",
            "data.list.1.a",
            "data.list.1.b.c",
            "data.text",
            "data.text.x",
            "data.none",
            "data.none.a",
            "data.none.0",
            "data.new",
            "data.new.a.0",
            "data.list.x",
            "temp_data.item",
            "temp_data",
            "metadata.progress.task_id",
            "metadata.new.x",
            "metadata",
            "metadata.n.x",
            "notes",
            "notes.3",
            "others",
            "others.a.b",
            "payload.p",
        ];
        for first in paths {
            for second in paths {
                let mut written = message();
                let before = written.clone();
                let mut log = Vec::new();
                for (path, value) in [(first, json!({"k": [1]})), (second, json!(7)), (first, json!([]))] {
                    let path = Path::parse(path).unwrap();
                    log.push(written.displace(&path));
                    written.put(&path, value);
                }
                while let Some(displaced) = log.pop() {
                    written.restore(displaced);
                }
                assert_eq!(written, before, "{first}, {second}");
            }
        }
    }
}
