//! The memory that JSON values take.

use serde_json::{Map, Value};

/// Bytes that the allocator adds to a block, and the least that it hands out.
const BLOCK: usize = 16;

/// Bytes of a member of an object besides its text: its entry, and its place in the index of names.
const MEMBER: usize = size_of::<Value>() + size_of::<String>() + 3 * size_of::<usize>();

/// Returns the bytes of the heap that a value takes, with the room that its lists and objects keep in reserve. A list
/// of one element has room for four, so that brackets within brackets take three hundred bytes a pair.
pub fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => block(text.len()),
        Value::Array(items) => {
            let room = block(items.capacity().saturating_mul(size_of::<Value>()));
            items.iter().fold(room, |sum, item| sum.saturating_add(heap_bytes(item)))
        }
        Value::Object(members) => heap_bytes_of_members(members),
    }
}

/// Returns the bytes of the heap that the members of an object take, as [`heap_bytes`] does.
pub fn heap_bytes_of_members(members: &Map<String, Value>) -> usize {
    let room = block(room_for(members.len()).saturating_mul(MEMBER));
    members.iter().fold(room, |sum, (name, member)| {
        sum.saturating_add(block(name.len())).saturating_add(heap_bytes(member))
    })
}

/// Returns the members for which an object of `members` has room: seven eighths of a power of two, at least three.
const fn room_for(members: usize) -> usize {
    match members {
        0 => 0,
        1..=3 => 3,
        4..=7 => 7,
        _ => (members.saturating_mul(8) / 7).next_power_of_two() / 8 * 7,
    }
}

/// Returns the bytes of a block of memory with so many bytes of content; no content needs none.
const fn block(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes.saturating_add(BLOCK) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_and_empty_containers_need_no_heap() {
        for value in [json!(null), json!(true), json!(1.5), json!(""), json!([]), json!({})] {
            assert_eq!(heap_bytes(&value), 0, "{value}");
        }
        assert_eq!(heap_bytes(&json!("four")), BLOCK + 4);
    }

    #[test]
    fn brackets_count_with_the_room_they_reserve() {
        let nested: Value = serde_json::from_str("[[[[]]]]").unwrap();
        assert_eq!(heap_bytes(&nested), 3 * (BLOCK + 4 * size_of::<Value>()));
    }

    #[test]
    fn members_count_with_names_and_reserve() {
        let object = json!({"a": {"b": 1}, "c": "text"});
        let expected = 2 * (BLOCK + 3 * MEMBER) + 3 * (BLOCK + 1) + BLOCK + 4;
        assert_eq!(heap_bytes(&object), expected);
        assert_eq!(heap_bytes_of_members(object.as_object().unwrap()), expected);
    }

    #[test]
    fn room_of_objects_grows_in_powers_of_two() {
        assert_eq!([0, 1, 3, 4, 7, 8, 14, 15, 28, 29].map(room_for), [0, 3, 3, 7, 7, 14, 14, 28, 28, 56]);
    }
}
