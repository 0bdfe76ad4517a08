//! Paths of authored coordinates, as field errors spell them: `tasks[1].function.input["odd key"].query`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::element::Element;

/// Names of the resource that field errors begin with, though no document has them.
const RESOURCES: [&str; 5] = ["body", "channel", "workflow", "connector", "(root)"];

/// Number of members up to which the keys of an object are compared one by one.
const FEW_MEMBERS: usize = 32;

/// The positions of the keys of all objects with many members, by the offset at which the object begins: a report about
/// each member of a large object must not compare each with each.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyIndex(HashMap<usize, LargeObject>);

#[derive(Clone, Debug)]
struct LargeObject {
    positions: HashMap<String, usize>,
    /// The lengths that keys have.
    lengths: HashSet<usize>,
}

impl KeyIndex {
    pub(super) fn new(value: &Value, root: &Element) -> Self {
        let mut index = Self::default();
        index.add(value, root);
        index
    }

    fn add(&mut self, value: &Value, element: &Element) {
        match value {
            Value::Array(items) => {
                items.iter().zip(&element.members).for_each(|(item, element)| self.add(item, element));
            }
            Value::Object(members) => {
                if members.len() > FEW_MEMBERS {
                    count_steps(members.len());
                    let positions = members.keys().enumerate().map(|(position, key)| (key.clone(), position));
                    let lengths = members.keys().map(String::len).collect();
                    let object = LargeObject { positions: positions.collect(), lengths };
                    self.0.insert(element.span().start, object);
                }
                members
                    .values()
                    .zip(&element.members)
                    .for_each(|(member, element)| self.add(member, element));
            }
            _ => {}
        }
    }
}

/// Counts comparisons of keys, for tests.
fn count_steps(steps: usize) {
    #[cfg(test)]
    tests::STEPS.set(tests::STEPS.get() + steps);
    let _ = steps;
}

/// Returns the element at a path, or its nearest ancestor that is there.
pub(super) fn locate<'d>(
    value: &'d Value,
    root: &'d Element,
    path: &str,
    index: &KeyIndex,
) -> (&'d Value, &'d Element) {
    let (mut value, mut element, mut rest) = (value, root, path);
    if step(value, element, rest, index).is_none() {
        rest = without_resource(rest);
    }
    while let Some((child, position, remaining)) = step(value, element, rest, index) {
        let Some(member) = element.members.get(position) else { break };
        (value, element, rest) = (child, member, remaining);
    }
    (value, element)
}

fn without_resource(path: &str) -> &str {
    let rest = RESOURCES.iter().find_map(|name| path.strip_prefix(name).filter(|rest| is_segment_end(rest)));
    rest.unwrap_or(path)
}

/// Takes the first segment of a path: the value it names, its position among the members, and the rest of the
/// path.
fn step<'d, 'p>(
    value: &'d Value,
    element: &Element,
    path: &'p str,
    index: &KeyIndex,
) -> Option<(&'d Value, usize, &'p str)> {
    match value {
        Value::Array(items) => {
            let (position, rest) = array_index(path)?;
            Some((items.get(position)?, position, rest))
        }
        Value::Object(members) => member(members, index.0.get(&element.span().start), path),
        _ => None,
    }
}

/// Reads `[3]` or `.3`.
fn array_index(path: &str) -> Option<(usize, &str)> {
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
fn member<'d, 'p>(
    members: &'d Map<String, Value>,
    large: Option<&LargeObject>,
    path: &'p str,
) -> Option<(&'d Value, usize, &'p str)> {
    if let Some(quoted) = path.strip_prefix('[').filter(|rest| rest.starts_with('"')) {
        let mut keys = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let key = keys.next()?.ok()?;
        let rest = quoted[keys.byte_offset()..].strip_prefix(']')?;
        return Some((members.get(&key)?, position(members, large, &key)?, rest));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let key = match large {
        Some(object) => object.longest_key(path)?,
        None => {
            count_steps(members.len());
            let named = members
                .keys()
                .filter(|key| !key.is_empty() && path.strip_prefix(key.as_str()).is_some_and(is_segment_end));
            &path[..named.map(String::len).max()?]
        }
    };
    Some((members.get(key)?, position(members, large, key)?, &path[key.len()..]))
}

impl LargeObject {
    /// Returns the longest key that a path begins with.
    fn longest_key<'p>(&self, path: &'p str) -> Option<&'p str> {
        let ends =
            path.char_indices().filter(|(_, character)| matches!(character, '.' | '[')).map(|(at, _)| at);
        let ends: Vec<_> = ends.chain([path.len()]).collect();
        let keys = ends.into_iter().rev().filter(|end| *end > 0 && self.lengths.contains(end));
        keys.map(|end| &path[..end]).find(|key| {
            count_steps(1);
            self.positions.contains_key(*key)
        })
    }
}

fn position(members: &Map<String, Value>, large: Option<&LargeObject>, key: &str) -> Option<usize> {
    match large {
        Some(object) => object.positions.get(key).copied(),
        None => members.keys().position(|known| known == key),
    }
}

fn is_segment_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::{SourceFile, SourceFormat};

    thread_local! {
        /// Comparisons of keys that this thread has made.
        pub(super) static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Returns an object with so many members, each an object, and nearly equal keys with dots.
    fn source(members: usize) -> SourceFile {
        let members: Vec<_> =
            (0..members).map(|n| format!("\"key{n}\": {{\"a\": {n}}},\n\"key{n}.a\": {n}")).collect();
        let text = format!("{{\"fragments\": {{{}}}}}", members.join(",\n"));
        SourceFile::parse("s.json", SourceFormat::Json, text).unwrap()
    }

    #[test]
    fn members_of_large_and_small_objects_are_found() {
        for members in [3, 10, 40, 400] {
            let source = source(members);
            let text_at = |path: &str| source.text[source.place(path).unwrap().span].to_owned();
            for n in [0, members / 2, members - 1] {
                assert_eq!(text_at(&format!("fragments.key{n}")), format!("\"key{n}\""), "{members}");
                // The longest key wins over the member of a shorter one.
                assert_eq!(text_at(&format!("fragments.key{n}.a")), n.to_string(), "{members}");
                assert_eq!(text_at(&format!("fragments[\"key{n}.a\"]")), n.to_string(), "{members}");
                assert_eq!(text_at(&format!("fragments[\"key{n}\"].a")), n.to_string(), "{members}");
                assert_eq!(text_at(&format!("fragments.key{n}[7].b")), format!("\"key{n}\""), "{members}");
            }
            assert_eq!(text_at("fragments.absent.a"), "\"fragments\"", "{members}");
        }
    }

    #[test]
    fn key_comparisons_grow_linearly_with_members() {
        let steps = |members: usize| {
            let source = source(members);
            STEPS.set(0);
            for n in 0..members {
                source.place(&format!("fragments.key{n}.tasks[0]")).unwrap();
            }
            STEPS.get()
        };
        let (small, large) = (steps(500), steps(4000));
        assert!(small >= 500, "keys are compared at all: {small}");
        assert!(large <= small * 9, "{small} steps for 500 members, {large} for 4,000");
    }
}
