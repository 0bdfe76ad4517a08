//! What becomes of an authored expression before it is compiled.
//!
//! A `var` whose path forces an object key with `#` is read by our own rules. The body of a `reduce` is guarded: it is
//! the only place where a value can grow deeper with every element.

use serde_json::{Map, Value, json};

use crate::operators::{FORCED, SHALLOW};
use crate::path::{Path, forced_key};

/// Operators whose result has no depth, whatever they are given.
const FLAT: [&str; 20] = [
    "+", "-", "*", "/", "%", "min", "max", "cat", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!",
    "length", "substr",
];

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
    if operator == "reduce"
        && let Some(body) = argument.get_mut(1).filter(|body| !is_flat(body))
    {
        let guarded = json!({ SHALLOW: [body.take()] });
        *body = guarded;
    }
    Value::Object(Map::from_iter([(operator.to_owned(), argument)]))
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
