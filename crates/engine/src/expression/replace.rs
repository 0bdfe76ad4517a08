//! Operators of the library that are replaced by ones of our own.
//!
//! Those of the library take two texts for equal that are different spellings of one instant or duration, and two large
//! integers that are one double. Ours compare texts as texts, unless an operand was made by an operator of dates, and
//! integers by all their digits.
//!
//! Those of the library compare objects, look paths up and sort without looking at the clock, some of them in
//! the square of what they are given. Ours do the same in proportion to it. If the operands show that
//! there is little to do, the library's stay: they are quicker.

use serde_json::{Map, Value, json};

use crate::operators::{
    AT_LEAST, AT_MOST, CHARACTERS, CONTAINED, DATE_FORMAT, DIFFERENT, DISTINCT, DISTINCT_BY, EQUAL, GREATER,
    GROUP_BY, GROUPS, LESS, LISTED, LOCAL_TIME, MISSING, MISSING_SOME, PACED, READ_DATE, SAME, SORT, SORT_BY,
    UNEQUAL, has_named_groups, is_date_format, may_read_as_time,
};

/// Operators whose result is a boolean, null or a number that is the same as a double, which costs nothing to compare
/// and is never taken for a time.
const NO_TEXT: [&str; 20] = [
    "length",
    "date_diff",
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
    "decimal_compare",
    "matches",
];

/// Operators that take the same time whatever they are given.
const CONSTANT: [&str; 21] = [
    "+", "-", "*", "/", "%", "abs", "ceil", "floor", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!",
    "!!", "and", "or", "if",
];

/// The first number that is the double of several integers; the library compares numbers as doubles.
const INEXACT: f64 = 9_007_199_254_740_992.0;

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
            let pairs = json!({"map": [{ LISTED: [operands[0]] }, [{"var": ""}, operands[1]]]});
            return comparison(name, vec![pairs], makes_time(&source[1]));
        }
        ("distinct", Value::Array(operands)) => {
            let as_times = source.get(0).is_some_and(lists_times);
            return comparison(DISTINCT, operands, as_times);
        }
        ("distinct", operand) => return comparison(DISTINCT, vec![operand], lists_times(source)),
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
        ("!=" | "!==", [one, other, ..]) if !sources[..2].iter().any(is_plain) => {
            let name = if operator == "!=" { DIFFERENT } else { UNEQUAL };
            comparison(name, vec![one.clone(), other.clone()], sources[..2].iter().any(makes_time))
        }
        ("<" | "<=" | ">" | ">=", [_, _]) if !sources.iter().any(is_ordered_as_double) => {
            let name = exact_comparison(operator);
            json!({ name: operands })
        }
        ("in", [needle, haystack, ..]) if !is_plain(&sources[0]) && !is_plain_list(&sources[1]) => {
            let as_times = makes_time(&sources[0]) || lists_times(&sources[1]);
            comparison(CONTAINED, vec![needle.clone(), haystack.clone()], as_times)
        }
        ("switch" | "match", [value, Value::Array(cases), default @ ..]) if !is_plain(&sources[0]) => {
            switch(operator, (&sources[0], value), cases, &sources[1], default)
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
        ("split", [text, Value::String(pattern), ..]) if has_named_groups(pattern) => {
            json!({ GROUPS: [{"substr": [text, 0]}, pattern] })
        }
        ("split", [text, Value::String(separator), ..]) if separator.is_empty() => {
            json!({ CHARACTERS: [{"substr": [text, 0]}] })
        }
        ("parse_date" | "format_date", [_, _, ..]) => dates(operator, &operands),
        _ => same(operands.into()),
    }
}

/// Returns the comparison of our own that stands for one of the library.
fn exact_comparison(operator: &str) -> &'static str {
    match operator {
        "<" => LESS,
        "<=" => AT_MOST,
        ">" => GREATER,
        _ => AT_LEAST,
    }
}

/// The call of an operator that reads or writes an instant in a format.
fn dates(operator: &str, operands: &[Value]) -> Value {
    match (operator, operands) {
        ("parse_date", [_, _]) => json!({ READ_DATE: operands }),
        ("parse_date", [text, format, zone, ..]) => json!({ "??": [
            { READ_DATE: [text, format, true] },
            { "parse_date": [{ READ_DATE: [text, format, false] }, LOCAL_TIME, zone] },
        ] }),
        (_, [instant, format, zone @ ..]) if !format.as_str().is_some_and(is_date_format) => {
            let mut checked = vec![instant.clone(), json!({ DATE_FORMAT: [format] })];
            checked.extend_from_slice(zone);
            json!({ operator: checked })
        }
        _ => json!({ operator: operands }),
    }
}

/// Returns the call of a comparison of our own, of values or of the times that they represent.
fn comparison(name: &str, mut operands: Vec<Value>, as_times: bool) -> Value {
    if as_times {
        operands.push(Value::Bool(true));
    }
    json!({ name: operands })
}

/// A chain compares its first operand with every other until one differs.
fn equality(operator: &str, sources: &[Value], operands: Vec<Value>) -> Value {
    let name = if operator == "==" { EQUAL } else { SAME };
    if is_plain(&sources[0]) || sources[1..].iter().all(is_plain) {
        return json!({ operator: operands });
    }
    let is_time = makes_time(&sources[0]);
    let pair = |(source, other): (&Value, &Value)| {
        comparison(name, vec![operands[0].clone(), other.clone()], is_time || makes_time(source))
    };
    let mut pairs: Vec<_> = sources[1..].iter().zip(&operands[1..]).map(pair).collect();
    match pairs.len() {
        1 => pairs.remove(0),
        _ => json!({ "and": pairs }),
    }
}

/// A `switch` over what may be large or read as a time, unless it compares it only with what is neither. The value comes
/// as authored and as it is compiled.
fn switch(
    operator: &str,
    (source, value): (&Value, &Value),
    cases: &[Value],
    sources: &Value,
    default: &[Value],
) -> Value {
    let values = sources.as_array().map(Vec::as_slice).unwrap_or_default();
    if values.iter().all(|case| case.get(0).is_none_or(is_plain)) {
        let mut operands = vec![value.clone(), cases.into()];
        operands.extend_from_slice(default);
        return json!({ operator: operands });
    }
    let is_time = makes_time(source);
    let cases: Vec<_> = cases
        .iter()
        .zip(values)
        .filter_map(|(case, source)| match case.as_array().map(Vec::as_slice) {
            Some([wanted, result, ..]) => {
                let as_times = is_time || source.get(0).is_some_and(makes_time);
                Some(json!([comparison(SAME, vec![value.clone(), wanted.clone()], as_times), result]))
            }
            _ => None,
        })
        .collect();
    let mut operands = vec![json!(true), cases.into()];
    operands.extend_from_slice(default);
    json!({ "switch": operands })
}

/// A `sort` by keys of a value of the context; what is computed is not computed twice.
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

/// Returns `true` if the library may compare any value with it: that costs no more than reading both, it is no text
/// that the library takes for a time, and no number that the library takes for another one.
fn is_plain(source: &Value) -> bool {
    match source {
        Value::Object(members) => {
            members.len() == 1 && members.keys().all(|name| NO_TEXT.contains(&name.as_str()))
        }
        Value::String(text) => !may_read_as_time(text) && !text.starts_with(['+', '-']),
        Value::Number(number) => number.as_f64().is_some_and(|double| double.abs() < INEXACT),
        source => is_literal(source),
    }
}

/// Returns `true` if nothing is lost where the library compares a value with it, as texts, times or doubles.
fn is_ordered_as_double(source: &Value) -> bool {
    is_plain(source) || source.is_string() || makes_time(source)
}

/// Returns `true` if the library may look any value up in it.
fn is_plain_list(source: &Value) -> bool {
    match source {
        Value::Array(items) => items.iter().all(|item| !item.is_object() && is_plain(item)),
        source => is_literal(source),
    }
}

/// Returns `true` if the result of an expression was made by an operator of dates.
fn makes_time(source: &Value) -> bool {
    let Some((operator, operands)) = single_call(source) else { return false };
    let operands = operands.as_array().map_or(std::slice::from_ref(operands), Vec::as_slice);
    match operator {
        "now" | "datetime" | "timestamp" | "parse_date" => true,
        "+" | "-" | "*" | "/" | "%" | "??" | "or" | "and" | "try" => operands.iter().any(makes_time),
        // What may be the result: all but the conditions.
        "if" | "?:" => {
            let is_result = |n: usize| n % 2 == 1 || n + 1 == operands.len();
            operands.iter().enumerate().any(|(n, operand)| is_result(n) && makes_time(operand))
        }
        _ => false,
    }
}

/// Returns `true` if an expression is a list of what operators of dates made.
fn lists_times(source: &Value) -> bool {
    if let Value::Array(items) = source {
        return items.iter().any(makes_time);
    }
    let Some((operator, operands)) = single_call(source) else { return false };
    match operator {
        "map" => operands.get(1).is_some_and(makes_time),
        "filter" | "sort" | "slice" | "distinct" => operands.get(0).is_some_and(lists_times),
        "merge" => operands.as_array().is_some_and(|lists| lists.iter().any(lists_times)),
        _ => false,
    }
}

fn single_call(source: &Value) -> Option<(&str, &Value)> {
    let members = source.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().map(|(name, operands)| (name.as_str(), operands))
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
