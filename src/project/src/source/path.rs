//! Paths of authored coordinates, as field errors spell them: `tasks[1].function.input["odd key"].query`.

use serde_json::{Map, Value};

use super::element::Element;

/// Names of the resource that field errors begin with, though no document has them.
const RESOURCES: [&str; 5] = ["body", "channel", "workflow", "connector", "(root)"];

/// Returns the element at a path, or its nearest ancestor that is there.
pub(super) fn locate<'d>(value: &'d Value, root: &'d Element, path: &str) -> (&'d Value, &'d Element) {
    let (mut value, mut element, mut rest) = (value, root, path);
    if step(value, rest).is_none() {
        rest = without_resource(rest);
    }
    while let Some((child, index, remaining)) = step(value, rest) {
        let Some(member) = element.members.get(index) else { break };
        (value, element, rest) = (child, member, remaining);
    }
    (value, element)
}

fn without_resource(path: &str) -> &str {
    let rest = RESOURCES.iter().find_map(|name| path.strip_prefix(name).filter(|rest| is_segment_end(rest)));
    rest.unwrap_or(path)
}

/// Takes the first segment of a path: the value it names, its index among the members, and the rest of the
/// path.
fn step<'d, 'p>(value: &'d Value, path: &'p str) -> Option<(&'d Value, usize, &'p str)> {
    match value {
        Value::Array(items) => {
            let (index, rest) = index(path)?;
            Some((items.get(index)?, index, rest))
        }
        Value::Object(members) => member(members, path),
        _ => None,
    }
}

/// Reads `[3]` or `.3`.
fn index(path: &str) -> Option<(usize, &str)> {
    let (digits, rest) = match path.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => {
            let name = path.strip_prefix('.').unwrap_or(path);
            name.split_at(name.find(['.', '[']).unwrap_or(name.len()))
        }
    };
    Some((digits.parse().ok()?, rest))
}

/// Reads `["a key"]`, or the longest key that the path begins with: a plain key may hold dots and brackets.
fn member<'d, 'p>(members: &'d Map<String, Value>, path: &'p str) -> Option<(&'d Value, usize, &'p str)> {
    if let Some(quoted) = path.strip_prefix('[').filter(|rest| rest.starts_with('"')) {
        let mut keys = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let key = keys.next()?.ok()?;
        let rest = quoted[keys.byte_offset()..].strip_prefix(']')?;
        let (index, (_, value)) = members.iter().enumerate().find(|(_, (name, _))| **name == key)?;
        return Some((value, index, rest));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let named = members.iter().enumerate().filter_map(|(index, (key, value))| {
        let rest = path.strip_prefix(key.as_str()).filter(|rest| !key.is_empty() && is_segment_end(rest))?;
        Some((key.len(), value, index, rest))
    });
    named.max_by_key(|(length, ..)| *length).map(|(_, value, index, rest)| (value, index, rest))
}

fn is_segment_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}
