//! What becomes of an authored expression before it is compiled.
//!
//! A `var` whose path forces an object key with `#` is read by our own rules. The body of a `reduce` is guarded: it is
//! the only place where a value can grow with every element. The bodies of all loops are guarded in time, unless what
//! they do is short.

use serde_json::{Map, Value, json};

use crate::operators::{BOUNDED, FORCED, TIMELY};
use crate::path::{Path, forced_key};

/// Operators whose result has no depth, whatever they are given.
const FLAT: [&str; 20] = [
    "+", "-", "*", "/", "%", "min", "max", "cat", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!",
    "length", "substr",
];

/// Operators that evaluate what follows their first argument once for each of its elements.
const LOOPS: [&str; 9] = ["map", "filter", "reduce", "all", "some", "none", "sort", "group_by", "distinct"];

/// Operators that take no time to speak of, or are stopped by the memory they take.
const QUICK: [&str; 35] = [
    "var", "val", "exists", "+", "-", "*", "/", "%", "min", "max", "abs", "ceil", "floor", "==", "===", "!=",
    "!==", "<", "<=", ">", ">=", "!", "!!", "and", "or", "if", "?:", "??", "type", "cat", "merge", "upper",
    "lower", "substr", "trim",
];

/// Calls, and containers, in a piece of work that needs no guard.
const SHORT: usize = 32;

/// The expression the engine compiles.
pub(super) fn prepared(source: &Value) -> Value {
    match source {
        Value::Array(items) => items.iter().map(prepared).collect(),
        Value::Object(map) => match (map.iter().next(), map.len()) {
            (Some((operator, argument)), 1) => call(operator, argument),
            _ => map.iter().map(|(key, value)| (key.clone(), prepared(value))).collect(),
        },
        scalar => scalar.clone(),
    }
}

fn call(operator: &str, argument: &Value) -> Value {
    if operator == "var"
        && let Some(read) = forced_read(argument)
    {
        return read;
    }
    let mut argument = prepared(argument);
    if LOOPS.contains(&operator) {
        for (n, body) in argument.as_array_mut().into_iter().flatten().enumerate().skip(1) {
            let guard = match (operator, n) {
                ("reduce", 1) if !is_flat(body) => BOUNDED,
                _ if length(body) > SHORT => TIMELY,
                _ => continue,
            };
            *body = json!({ guard: [body.take()] });
        }
    }
    Value::Object(Map::from_iter([(operator.to_owned(), argument)]))
}

/// How much an expression does; what may take long counts for more than is short.
fn length(body: &Value) -> usize {
    match body {
        Value::Object(members) => {
            let slow =
                members.len() == 1 && members.keys().any(|operator| !QUICK.contains(&operator.as_str()));
            1 + if slow { SHORT } else { 0 } + members.values().map(length).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(length).sum(),
        _ => 0,
    }
}

fn is_flat(body: &Value) -> bool {
    match body {
        Value::Object(map) => map.len() == 1 && map.keys().all(|operator| FLAT.contains(&operator.as_str())),
        Value::Array(_) => false,
        _ => true,
    }
}

/// The read of a path that names more than the library underneath understands, if the argument of `var` is one: what
/// leads there is read as ever, and from there on by the rules of this crate.
fn forced_read(argument: &Value) -> Option<Value> {
    let (path, default) = match argument {
        Value::String(path) => (path, None),
        Value::Array(items) => match items.as_slice() {
            [Value::String(path)] => (path, None),
            [Value::String(path), default] => (path, Some(default)),
            _ => return None,
        },
        _ => return None,
    };
    let segments: Vec<_> = path.split('.').collect();
    // The library takes `+1` for an index.
    let odd = |segment: &&str| forced_key(segment).is_some() || segment.starts_with('+');
    let (plain, forced) = segments.split_at(segments.iter().position(odd)?);
    let read = json!({ FORCED: [{"var": plain.join(".")}, forced.join(".")] });
    Some(match default {
        None => read,
        Some(default) => json!({ "??": [read, prepared(default)] }),
    })
}

/// The path an expression copies, if that is all it does.
pub(super) fn copied(source: &Value) -> Option<Path> {
    let map = source.as_object().filter(|map| map.len() == 1)?;
    let path = match map.get("var")? {
        Value::String(path) => path,
        Value::Array(items) => match items.as_slice() {
            [Value::String(path)] => path,
            _ => return None,
        },
        _ => return None,
    };
    Path::parse(path).ok()
}
