//! Operators of the library that are replaced by ones of our own.
//!
//! Those of the library compare objects, look paths up and sort without looking at the clock, some of them in
//! the square of what they are given. Ours do the same in proportion to it. Where the operands show that
//! there is little to do, the library's stay: they are quicker.

use serde_json::{Map, Value, json};

use crate::operators::{
    CHARACTERS, CONTAINED, DIFFERENT, DISTINCT, DISTINCT_BY, EQUAL, GROUP_BY, LISTED, MISSING, MISSING_SOME,
    PACED, SAME, SORT, SORT_BY, UNEQUAL,
};

/// Operators whose result is neither an array nor an object.
const SCALAR: [&str; 40] = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "min",
    "max",
    "abs",
    "ceil",
    "floor",
    "cat",
    "substr",
    "upper",
    "lower",
    "trim",
    "join",
    "length",
    "type",
    "==",
    "===",
    "!=",
    "!==",
    "<",
    "<=",
    ">",
    ">=",
    "!",
    "!!",
    "in",
    "all",
    "some",
    "none",
    "exists",
    "starts_with",
    "ends_with",
    "random",
    "base64_encode",
    "base64_decode",
    "hex_encode",
    "hex_decode",
];

/// Operators whose results are short, besides.
const SHORT: [&str; 24] = [
    "+", "-", "*", "/", "%", "abs", "ceil", "floor", "length", "type", "==", "===", "!=", "!==", "<", "<=",
    ">", ">=", "!", "!!", "in", "all", "some", "exists",
];

/// Operators that take the same time whatever they are given.
const CONSTANT: [&str; 21] = [
    "+", "-", "*", "/", "%", "abs", "ceil", "floor", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!",
    "!!", "and", "or", "if",
];

/// Paths that are looked up one by one.
const FEW: usize = 32;

/// Weight of a piece of an expression that needs no guard.
const LIGHT: usize = 256;
/// Weight of a call that may go through the whole of its operands.
const CALL: usize = 8;

/// Returns a call as the engine compiles it. `source` are its operands as authored, `argument` what has
/// become of them.
pub(super) fn replace_call(operator: &str, source: &Value, argument: Value) -> Value {
    let same = |argument| Value::Object(Map::from_iter([(operator.to_owned(), argument)]));
    let argument = match (operator, argument) {
        ("distinct" | "group_by", Value::Array(operands)) if operands.len() > 1 => {
            let name = if operator == "distinct" { DISTINCT_BY } else { GROUP_BY };
            return json!({ name: [{"map": [{ LISTED: [operands[0]] }, [{"var": ""}, operands[1]]]}] });
        }
        ("distinct", operand) => return json!({ DISTINCT: operand }),
        (_, argument) => argument,
    };
    let Value::Array(operands) = argument else {
        return match operator {
            "missing" if !argument.is_string() => json!({ MISSING: [{"var": ""}, argument] }),
            _ => same(argument),
        };
    };
    let sources = source.as_array().map(Vec::as_slice).unwrap_or_default();
    match (operator, operands.as_slice()) {
        ("==" | "===", [_, _, ..]) => equality(operator, sources, operands),
        ("!=" | "!==", [one, other, ..]) if !sources[..2].iter().any(is_simple) => {
            let name = if operator == "!=" { DIFFERENT } else { UNEQUAL };
            json!({ name: [one, other] })
        }
        ("in", [needle, haystack, ..]) if !is_short(&sources[0]) && !is_literal(&sources[1]) => {
            json!({ CONTAINED: [needle, haystack] })
        }
        ("switch" | "match", [value, Value::Array(cases), default @ ..]) if !is_simple(&sources[0]) => {
            switch(operator, value, cases, &sources[1], default)
        }
        ("missing", paths) if paths.len() > FEW || !paths.iter().all(Value::is_string) => {
            let mut operands = vec![json!({"var": ""})];
            operands.extend_from_slice(paths);
            json!({ MISSING: operands })
        }
        ("missing_some", [count, paths, ..]) if !is_short_list(paths) => {
            json!({ MISSING_SOME: [{"var": ""}, count, paths] })
        }
        ("sort", [items, rest @ ..]) if !items.is_null() => match rest {
            [] => json!({ SORT: [items] }),
            [ascending] => json!({ SORT: [items, ascending] }),
            [ascending, key, ..] => {
                sort_by(&sources[0], items, ascending, key).unwrap_or_else(|| same(operands.into()))
            }
        },
        ("split", [text, Value::String(separator), ..]) if separator.is_empty() => {
            json!({ CHARACTERS: [{"substr": [text, 0]}] })
        }
        _ => same(operands.into()),
    }
}

/// A chain compares its first operand with every other until one differs.
fn equality(operator: &str, sources: &[Value], operands: Vec<Value>) -> Value {
    let name = if operator == "==" { EQUAL } else { SAME };
    if is_simple(&sources[0]) || sources[1..].iter().all(is_simple) {
        return json!({ operator: operands });
    }
    let (first, others) = (&operands[0], &operands[1..]);
    match others {
        [other] => json!({ name: [first, other] }),
        others => {
            let pairs: Vec<_> = others.iter().map(|other| json!({ name: [first, other] })).collect();
            json!({ "and": pairs })
        }
    }
}

/// A `switch` over what may be large, unless it compares it only with what is small.
fn switch(operator: &str, value: &Value, cases: &[Value], sources: &Value, default: &[Value]) -> Value {
    let values = sources.as_array().map(Vec::as_slice).unwrap_or_default();
    if values.iter().all(|case| case.get(0).is_none_or(is_simple)) {
        let mut operands = vec![value.clone(), cases.into()];
        operands.extend_from_slice(default);
        return json!({ operator: operands });
    }
    let cases: Vec<_> = cases
        .iter()
        .filter_map(|case| match case.as_array().map(Vec::as_slice) {
            Some([wanted, result, ..]) => Some(json!([{ SAME: [value, wanted] }, result])),
            _ => None,
        })
        .collect();
    let mut operands = vec![json!(true), cases.into()];
    operands.extend_from_slice(default);
    json!({ "switch": operands })
}

/// A `sort` by keys of what stands in the context; what is computed is not computed twice.
fn sort_by(source: &Value, items: &Value, ascending: &Value, key: &Value) -> Option<Value> {
    source.get("var")?;
    let pair = match key.get("var").and_then(Value::as_str) {
        // An element without the member goes before one that has null there.
        Some(path) if !path.is_empty() => {
            json!({"if": [{"missing": [path]}, [{"var": ""}], [{"var": ""}, key]]})
        }
        _ => json!([{"var": ""}, key]),
    };
    let pairs = json!({"map": [{ LISTED: [items] }, pair]});
    Some(json!({"if": [{"===": [items, null]}, null, { SORT_BY: [pairs, ascending] }]}))
}

/// Returns `true` if comparing a value with it costs no more than reading both.
fn is_simple(source: &Value) -> bool {
    match source {
        Value::Object(members) => {
            members.len() == 1 && members.keys().all(|name| SCALAR.contains(&name.as_str()))
        }
        source => is_literal(source),
    }
}

/// Returns `true` if comparing any number of values with it costs no more than reading them.
fn is_short(source: &Value) -> bool {
    match source {
        Value::Object(members) => {
            members.len() == 1 && members.keys().all(|name| SHORT.contains(&name.as_str()))
        }
        source => is_literal(source),
    }
}

/// Returns `true` if it contains no call and no object.
fn is_literal(source: &Value) -> bool {
    match source {
        Value::Object(_) => false,
        Value::Array(items) => items.iter().all(is_literal),
        _ => true,
    }
}

fn is_short_list(paths: &Value) -> bool {
    paths.as_array().is_some_and(|paths| paths.len() <= FEW && paths.iter().all(Value::is_string))
}

/// Guards an expression wherever much of it has been evaluated since the last guard. `weight` is that of what
/// comes before.
pub(super) fn pace(node: &mut Value, weight: &mut usize) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(|item| pace(item, weight)),
        Value::Object(members) => {
            let call = (members.len() == 1).then(|| members.keys().next().map_or(0, |name| weight_of(name)));
            members.values_mut().for_each(|member| pace(member, weight));
            let Some(own) = call else { return };
            *weight += own;
            if *weight > LIGHT {
                *weight = 0;
                *node = json!({ PACED: [node.take()] });
            }
        }
        _ => {}
    }
}

fn weight_of(operator: &str) -> usize {
    match operator {
        "var" | "val" | "exists" => 1,
        operator if CONSTANT.contains(&operator) => 0,
        _ => CALL,
    }
}
