//! Arena copies of values, of as much of them as is read.
//!
//! Parts that are not read are absent from a copied object, and null in a copied array.

use datalogic_rs::DataValue;
use datalogic_rs::bumpalo::collections::Vec as BumpVec;
use serde_json::{Map, Value};

use super::Arena;
use crate::path::Segment;
use crate::reads::ReadExtent;

/// Copies a value. Whole numbers of 2^63 and more become the nearest doubles, which the arena remembers.
pub(crate) fn copy<'r>(arena: &'r Arena, value: &Value) -> DataValue<'r> {
    let bump = arena.bump();
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(number) => DataValue::from_i64(number),
            None => match number.as_u64() {
                Some(large) => DataValue::from_f64(arena.large.remember(large)),
                None => DataValue::from_serde_value_in(value, bump),
            },
        },
        Value::Array(items) => {
            let mut copied = BumpVec::with_capacity_in(items.len(), bump);
            copied.extend(items.iter().map(|item| copy(arena, item)));
            DataValue::Array(copied.into_bump_slice())
        }
        Value::Object(members) => {
            let mut copied = BumpVec::with_capacity_in(members.len(), bump);
            copied.extend(members.iter().map(|(key, member)| (&*bump.alloc_str(key), copy(arena, member))));
            DataValue::Object(copied.into_bump_slice())
        }
        scalar => DataValue::from_serde_value_in(scalar, bump),
    }
}

/// Copies as much of a value as is read.
pub(crate) fn copy_part<'r>(arena: &'r Arena, part: &'r ReadExtent, value: &Value) -> DataValue<'r> {
    match (part, value) {
        (ReadExtent::Some(_), Value::Object(map)) => object(arena, part, map),
        (ReadExtent::Some(members), Value::Array(items)) => {
            let copy = arena.bump().alloc_slice_fill_copy(part.reach(items.len()), DataValue::Null);
            for member in members.iter() {
                let index = member.index.unwrap_or(usize::MAX);
                if let (Some(slot), Some(item)) = (copy.get_mut(index), items.get(index)) {
                    *slot = copy_part(arena, &member.part, item);
                }
            }
            DataValue::Array(copy)
        }
        (_, value) => copy(arena, value),
    }
}

/// Copies as much of an object as is read.
pub(super) fn object<'r>(arena: &'r Arena, part: &'r ReadExtent, map: &Map<String, Value>) -> DataValue<'r> {
    let mut pairs = BumpVec::new_in(arena.bump());
    match part {
        ReadExtent::Nothing => {}
        ReadExtent::Some(members) => {
            pairs.reserve_exact(members.iter().len());
            for member in members.iter() {
                if let Some(value) = map.get(&*member.key) {
                    pairs.push((&*member.key, copy_part(arena, &member.part, value)));
                }
            }
        }
        ReadExtent::Whole => {
            pairs.reserve_exact(map.len());
            for (key, value) in map {
                pairs.push((&*arena.bump().alloc_str(key), copy(arena, value)));
            }
        }
    }
    DataValue::Object(pairs.into_bump_slice())
}

/// `value` with `new` at `path`, by the rules of [`crate::path::write`]. Only containers along the path are
/// copied, and nothing if the path leads to what is not read.
pub(super) fn replace_part<'r>(
    arena: &'r Arena,
    part: &'r ReadExtent,
    value: DataValue<'r>,
    path: &[Segment],
    new: &Value,
) -> DataValue<'r> {
    let Some((first, rest)) = path.split_first() else { return copy_part(arena, part, new) };
    match (value, first.index()) {
        (DataValue::Array(items), Some(index)) => put(arena, part, items, index, rest, new),
        (DataValue::Null, Some(index)) => put(arena, part, &[], index, rest, new),
        (DataValue::Object(pairs), _) => insert(arena, part, pairs, first.key(), rest, new),
        (DataValue::Null, None) => insert(arena, part, &[], first.key(), rest, new),
        (unchanged, _) => unchanged,
    }
}

fn put<'r>(
    arena: &'r Arena,
    part: &'r ReadExtent,
    items: &'r [DataValue<'r>],
    index: usize,
    rest: &[Segment],
    new: &Value,
) -> DataValue<'r> {
    let element = part.element(index);
    let length = items.len().max(part.reach(index + 1));
    if element.is_nothing() && length == items.len() {
        return DataValue::Array(items);
    }
    let mut copy = BumpVec::with_capacity_in(length, arena.bump());
    copy.extend_from_slice(items);
    copy.resize(length, DataValue::Null);
    if !element.is_nothing() {
        copy[index] = replace_part(arena, element, copy[index], rest, new);
    }
    DataValue::Array(copy.into_bump_slice())
}

/// Keys stay in the order they came in, as in the JSON map, so that iterating gives the same answer after a
/// rebuild.
fn insert<'r>(
    arena: &'r Arena,
    part: &'r ReadExtent,
    pairs: &'r [(&'r str, DataValue<'r>)],
    key: &str,
    rest: &[Segment],
    new: &Value,
) -> DataValue<'r> {
    let member = part.member(key);
    if member.is_nothing() {
        return DataValue::Object(pairs);
    }
    let mut copy = BumpVec::with_capacity_in(pairs.len() + 1, arena.bump());
    copy.extend_from_slice(pairs);
    match pairs.iter().position(|(name, _)| *name == key) {
        Some(found) => copy[found].1 = replace_part(arena, member, copy[found].1, rest, new),
        None => copy
            .push((&*arena.bump().alloc_str(key), replace_part(arena, member, DataValue::Null, rest, new))),
    }
    DataValue::Object(copy.into_bump_slice())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn key_is_replaced_in_unsorted_objects() {
        let arena = Arena::lease();
        let pairs = [("c", DataValue::Null), ("b", DataValue::Null), ("a", DataValue::Null)];
        for (key, expected) in
            [("a", r#"{"c":null,"b":null,"a":true}"#), ("c", r#"{"c":true,"b":null,"a":null}"#)]
        {
            let pairs = arena.bump().alloc_slice_copy(&pairs);
            let written = insert(&arena, &ReadExtent::Whole, pairs, key, &[], &json!(true));
            assert_eq!(written.to_string(), expected);
        }
    }
}
