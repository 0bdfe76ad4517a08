//! The rewriting of an authored expression before it is compiled.
//!
//! A `var` whose path forces an object key with `#` is read by our own rules. The body of a `reduce` is
//! guarded: it is the only place in which a value can grow with every element. The bodies of all loops are
//! guarded in time, unless what they do is short. Operators that may take long are replaced, and what calls
//! many of them is guarded in between. Names the service has for operators of its own are data if an
//! author writes them.

use serde_json::{Value, json};

use super::fallback::read_behind_error;
use super::replace::{pace, replace_call};
use crate::operators::{
    AT_LEAST, AT_MOST, BOUNDED, CONCAT, DIFFERENT, ECHO, EQUAL, FORCED, GREATER, INTERNAL, LESS, NOW, PACED,
    SAME, TIMELY, UNEQUAL,
};
use crate::path::{Path, forced_key};

/// Operators whose result has no depth, whatever they are given.
const FLAT: [&str; 20] = [
    "+", "-", "*", "/", "%", "min", "max", "cat", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!",
    "length", "substr",
];

/// Operators that evaluate what follows their first argument once for each of its elements.
pub(super) const LOOPS: [&str; 9] =
    ["map", "filter", "reduce", "all", "some", "none", "sort", "group_by", "distinct"];

/// Operators of numbers; they take no time to speak of, whatever they are given.
const ARITHMETIC: [&str; 10] = ["+", "-", "*", "/", "%", "min", "max", "abs", "ceil", "floor"];

/// Operators that take no more time than it took to read their operands.
const QUICK: [&str; 23] = [
    "var", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!", "and", "or", "if", "?:", EQUAL, SAME,
    DIFFERENT, UNEQUAL, LESS, AT_MOST, GREATER, AT_LEAST,
];

/// Operators that reach values outside a loop, or many places of it.
const FAR: [&str; 5] = ["val", "exists", "missing", "missing_some", "secret"];

/// The roots of a message.
pub(super) const ROOTS: [&str; 4] = ["data", "metadata", "temp_data", "payload"];

/// Calls, and templates, in a piece of work that needs no guard.
const SHORT: usize = 32;

/// Returns the expression the engine compiles.
pub(super) fn prepare_paced(source: &Value) -> Value {
    let mut prepared = prepare(source);
    pace(&mut prepared, &mut 0);
    prepared
}

/// Returns the expression the engine compiles for messages with large integers.
pub(super) fn prepare_exact(source: &Value) -> Value {
    let mut prepared = prepare_paced(source);
    replace_cat(&mut prepared);
    prepared
}

/// Returns `true` if a prepared expression concatenates texts.
pub(super) fn makes_texts(prepared: &Value) -> bool {
    match prepared {
        Value::Object(members) => {
            (members.len() == 1 && members.contains_key("cat")) || members.values().any(makes_texts)
        }
        Value::Array(items) => items.iter().any(makes_texts),
        _ => false,
    }
}

/// Has a prepared expression concatenate texts by our own operator.
fn replace_cat(prepared: &mut Value) {
    match prepared {
        Value::Object(members) => {
            members.values_mut().for_each(replace_cat);
            if members.len() == 1
                && let Some(operands) = members.remove("cat")
            {
                let operands = if operands.is_array() { operands } else { json!([operands]) };
                members.insert(CONCAT.to_owned(), operands);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(replace_cat),
        _ => {}
    }
}

/// Returns literal operands of a text with large integers, which the library holds as doubles, as their digits.
fn write_digits(operands: Value) -> Value {
    match operands {
        Value::Number(number) if number.is_u64() && !number.is_i64() => number.to_string().into(),
        Value::Array(items) => items.into_iter().map(write_digits).collect(),
        other => other,
    }
}

fn prepare(source: &Value) -> Value {
    match source {
        Value::Array(items) => items.iter().map(prepare).collect(),
        Value::Object(map) => match (map.iter().next(), map.len()) {
            (Some((operator, argument)), 1) => call(operator, argument),
            _ => map.iter().map(|(key, value)| (key.clone(), prepare(value))).collect(),
        },
        scalar => scalar.clone(),
    }
}

fn call(operator: &str, argument: &Value) -> Value {
    if operator == "var"
        && let Some(read) = forced_read(argument).or_else(|| computed_read(argument))
    {
        return read;
    }
    if operator == "now" {
        return json!({ NOW: [] });
    }
    if INTERNAL.contains(&operator) {
        return json!({ ECHO: [operator, prepare(argument)] });
    }
    let fallback = if operator == "try" { read_behind_error(argument) } else { None };
    let source = fallback.as_ref().unwrap_or(argument);
    let mut argument = prepare(source);
    if matches!(operator, "cat" | "join" | "format_number") || operator.starts_with("decimal") {
        argument = write_digits(argument);
    }
    if LOOPS.contains(&operator)
        && let Some([source, bodies @ ..]) = argument.as_array_mut().map(Vec::as_mut_slice)
    {
        let distinct = operator != "reduce" && is_of_message(source);
        // What follows the body of a `reduce` is evaluated once.
        for body in bodies.iter_mut().take(if operator == "reduce" { 1 } else { usize::MAX }) {
            let guard = match operator {
                "reduce" if !is_flat(body) => BOUNDED,
                "reduce" if is_short(body, &["var"]) => continue,
                _ if distinct && is_short(body, &QUICK) => continue,
                _ if reaches_out(body) => PACED,
                _ => TIMELY,
            };
            *body = json!({ guard: [body.take()] });
        }
    }
    replace_call(operator, source, argument)
}

/// Returns `true` if a loop iterates over a value of the message, so that one read of each element takes no
/// longer than reading the message.
fn is_of_message(source: &Value) -> bool {
    let path = source.get("var").map(|path| path.get(0).unwrap_or(path));
    let root = path.and_then(Value::as_str).and_then(|path| path.split('.').next());
    root.is_some_and(|root| ROOTS.contains(&root))
}

/// Returns `true` if an expression is short and reads only the element of a loop, through `var`: no step
/// takes longer than the element is long.
fn is_short(body: &Value, quick: &[&str]) -> bool {
    fn calls(body: &Value, quick: &[&str]) -> Option<usize> {
        match body {
            Value::Object(members) => {
                let is_quick = |operator: &str| ARITHMETIC.contains(&operator) || quick.contains(&operator);
                let short = members.len() > 1 || members.keys().all(|operator| is_quick(operator));
                short.then_some(())?;
                members.values().try_fold(1, |sum, value| Some(sum + calls(value, quick)?))
            }
            Value::Array(items) => items.iter().try_fold(0, |sum, value| Some(sum + calls(value, quick)?)),
            _ => Some(0),
        }
    }
    calls(body, quick).is_some_and(|calls| calls <= SHORT)
}

/// Returns `true` if a step may walk over more than its element: the values around the loop, or another loop.
fn reaches_out(body: &Value) -> bool {
    match body {
        Value::Object(members) => members.iter().any(|(operator, argument)| {
            FAR.contains(&operator.as_str()) || LOOPS.contains(&operator.as_str()) || reaches_out(argument)
        }),
        Value::Array(items) => items.iter().any(reaches_out),
        _ => false,
    }
}

fn is_flat(body: &Value) -> bool {
    match body {
        Value::Object(map) => map.len() == 1 && map.keys().all(|operator| FLAT.contains(&operator.as_str())),
        Value::Array(_) => false,
        _ => true,
    }
}

/// Returns the read of a path that names more than the library underneath understands, if the argument of
/// `var` is one: what leads there is read as ever, and from there on by the rules of this crate.
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
        Some(default) => json!({ "??": [read, prepare(default)] }),
    })
}

/// Returns the read of a computed path with a default, if the argument of `var` is one: the library takes the default for
/// a further segment of the path.
fn computed_read(argument: &Value) -> Option<Value> {
    match argument.as_array()?.as_slice() {
        [path @ Value::Object(_), default] => {
            Some(json!({ "??": [{"var": [prepare(path)]}, prepare(default)] }))
        }
        _ => None,
    }
}

/// Returns the path an expression copies, if that is all it does.
pub(super) fn copied_path(source: &Value) -> Option<Path> {
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
