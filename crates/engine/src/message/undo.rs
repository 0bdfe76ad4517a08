//! Changes that are taken back: the elements of a fan-out begin with the same message without a copy for each.

use serde_json::{Map, Value};

use super::Message;
use crate::path::{Path, Root, Segment};

/// The state of a path before it was written or removed, by which that is undone.
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
    /// The place was an object, whose member was removed from this place among the others.
    Member(usize, Value),
    /// The place was an array, whose element was removed.
    Element(Value),
}

impl Displaced {
    /// Returns the value that is kept for the undoing.
    pub(crate) fn value(&self) -> Option<&Value> {
        match &self.former {
            Former::Value(value) | Former::Member(_, value) | Former::Element(value) => Some(value),
            Former::NoKey | Former::Length(_) | Former::Null | Former::Closed => None,
        }
    }

    /// Returns `true` if something was removed.
    pub(crate) fn is_removal(&self) -> bool {
        matches!(self.former, Former::Member(..) | Former::Element(_))
    }

    /// Returns `true` if undoing this takes back a later write to a path too.
    pub(crate) fn takes_back(&self, path: &Path) -> bool {
        !self.is_removal() && !matches!(self.former, Former::Closed) && self.path == *path
    }

    /// Returns the change with which another message catches up with this one: a path and its value by now; `None` for
    /// a path that is removed. An array that has lost an element is replaced as a whole, since its indexes have moved.
    pub(crate) fn into_change(self, message: &Message) -> Option<(Path, Option<Value>)> {
        let path = match self.former {
            Former::Member(..) => return Some((self.path, None)),
            Former::Element(_) => self.path.container(),
            _ => self.path,
        };
        let value = message.read_any(&path)?;
        Some((path, Some(value)))
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

    /// Removes what is at a path, as [`remove`](Self::remove) does, and returns what undoes that; `None` if there is
    /// nothing.
    pub(crate) fn displace_removal(&mut self, path: &Path) -> Option<Displaced> {
        let segments = path.segments();
        let former = match path.root() {
            Root::Data => take_out(&mut self.data, segments),
            Root::TempData => take_out(&mut self.temp_data, segments),
            Root::Metadata => take_out_member(&mut self.metadata, segments),
            Root::Payload => None,
            Root::Other(name) if segments.is_empty() => take_key(&mut self.others, name),
            Root::Other(name) => take_out(self.others.get_mut(name.as_str())?, segments),
        }?;
        let depth = match path.root() {
            Root::Other(_) => segments.len(),
            _ => segments.len().saturating_sub(1),
        };
        Some(Displaced { path: path.clone(), depth, former })
    }

    /// Undoes a change. Changes are undone in the reverse of their order.
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
            Root::Other(name) if depth == 0 => match former {
                Former::Member(place, value) => put_back(&mut self.others, name, place, value),
                _ => drop(self.others.remove(name)),
            },
            Root::Other(name) => {
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

/// Removes what is below `slot`.
fn take_out(slot: &mut Value, segments: &[Segment]) -> Option<Former> {
    let (first, rest) = segments.split_first()?;
    match slot {
        Value::Object(map) => take_out_member(map, segments),
        Value::Array(items) => {
            let index = first.index().filter(|index| *index < items.len())?;
            if rest.is_empty() {
                return Some(Former::Element(items.remove(index)));
            }
            take_out(items.get_mut(index)?, rest)
        }
        _ => None,
    }
}

fn take_out_member(map: &mut Map<String, Value>, segments: &[Segment]) -> Option<Former> {
    match segments {
        [] => None,
        [last] => take_key(map, last.key()),
        [first, rest @ ..] => take_out(map.get_mut(first.key())?, rest),
    }
}

fn take_key(map: &mut Map<String, Value>, key: &str) -> Option<Former> {
    let place = map.keys().position(|known| known == key)?;
    map.shift_remove(key).map(|value| Former::Member(place, value))
}

/// Puts a removed member back at its place among the others.
fn put_back(map: &mut Map<String, Value>, key: &str, place: usize, value: Value) {
    map.shift_remove(key);
    let place = place.min(map.len());
    map.shift_insert(place, key.to_owned(), value);
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
        (Former::Member(place, value), Value::Object(map)) => {
            if let Some(first) = segments.first() {
                put_back(map, first.key(), place, value);
            }
        }
        (Former::Element(value), Value::Array(items)) => {
            if let Some(index) = segments.first().and_then(Segment::index) {
                items.insert(index.min(items.len()), value);
            }
        }
        _ => {}
    }
}

fn restore_member(map: &mut Map<String, Value>, segments: &[Segment], depth: usize, former: Former) {
    let Some((first, rest)) = segments.split_first() else { return };
    match (depth.checked_sub(1), former) {
        (None, Former::Member(place, value)) => put_back(map, first.key(), place, value),
        (None, _) => drop(map.remove(first.key())),
        (Some(depth), former) => {
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

    fn text(message: &Message) -> String {
        json!([message.data, message.metadata, message.temp_data, message.others]).to_string()
    }

    #[test]
    fn undone_removal_keeps_the_order_of_members() {
        let mut written = message();
        written.data = json!({"a": 1, "b": [1, {"x": 1, "y": 2}, 3], "c": 3});
        written.others.insert("more".into(), json!({"k": 1, "l": 2}));
        let before = text(&written);
        for (path, is_there) in [
            ("data.a", true),
            ("data.b.1", true),
            ("data.b.1.x", true),
            ("data.b.7", false),
            ("data.none.x", false),
            ("data", false),
            ("metadata.progress", true),
            ("metadata.progress.task_id", true),
            ("metadata", false),
            ("notes", true),
            ("notes.0", true),
            ("more.k", true),
            ("absent.x", false),
            ("payload.p", false),
        ] {
            let mut plain = written.clone();
            let path = Path::parse(path).unwrap();
            let removed = written.displace_removal(&path);
            assert_eq!((removed.is_some(), plain.remove(&path)), (is_there, is_there), "{path}");
            assert_eq!(text(&written), text(&plain), "{path}");
            if let Some(removed) = removed {
                written.restore(removed);
            }
            assert_eq!(text(&written), before, "{path}");
        }
    }

    #[test]
    fn undone_removals_and_writes_mix() {
        let mut written = message();
        written.data = json!({"list": ["a", "b", "c"], "x": {"y": 1, "z": 2}});
        let before = text(&written);
        let mut log = Vec::new();
        for (path, value) in [
            ("data.list.2", Some(json!("z"))),
            ("data.list.0", None),
            ("data.list.2", Some(json!("d"))),
            ("data.x.y", None),
            ("data.x.y.deep", Some(json!(1))),
            ("data.x", None),
            ("data.list", None),
            ("data.list.0", Some(json!(7))),
        ] {
            let path = Path::parse(path).unwrap();
            match value {
                None => log.extend(written.displace_removal(&path)),
                Some(value) => {
                    log.push(written.displace(&path));
                    written.put(&path, value);
                }
            }
        }
        assert_eq!(log.len(), 8);
        while let Some(displaced) = log.pop() {
            written.restore(displaced);
        }
        assert_eq!(text(&written), before);
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
