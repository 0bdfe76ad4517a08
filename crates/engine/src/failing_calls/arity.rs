//! Calls that fail whatever the message holds: too few operands, or too many.

use serde_json::Value;

use crate::catalogue::operators::{self, MANY};
use crate::operators::{ALGORITHMS, DIGEST_FORMS, RoundingMode, UNKNOWN_CODE, UUID_VERSIONS, is_date_format};

/// The kinds of `random`.
const KINDS: [&str; 5] = ["uuid", "digits", "int", "string", "bytes"];

/// The units of `date_diff`.
const UNITS: [&str; 5] = ["days", "hours", "minutes", "seconds", "milliseconds"];

/// The operands that are one of a few words: the operator, the position, and the words.
const WORDS: [(&str, usize, &[&str]); 8] = [
    ("random", 0, &KINDS),
    ("uuid", 0, &UUID_VERSIONS),
    ("hash", 1, &ALGORITHMS),
    ("hash", 2, &DIGEST_FORMS),
    ("round", 2, &RoundingMode::NAMES),
    ("decimal_round", 2, &RoundingMode::NAMES),
    ("decimal_div", 3, &RoundingMode::NAMES),
    ("date_diff", 2, &UNITS),
];

/// A call that cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Impossible {
    /// Its place in the expression.
    pub(crate) place: String,
    /// The reason why it fails.
    pub(crate) reason: String,
    /// True if it is evaluated whenever the expression is.
    pub(crate) always: bool,
}

/// Returns the calls that cannot succeed: first one that is always evaluated, if there is any, else all that
/// are in branches, which may not run. What `try` tries may fail.
pub(crate) fn impossible(source: &Value) -> Vec<Impossible> {
    let mut calls = Vec::new();
    search(source, "", true, &mut calls);
    match calls.iter().position(|call| call.always) {
        Some(first) => vec![calls.swap_remove(first)],
        None => calls,
    }
}

fn search(source: &Value, at: &str, always: bool, calls: &mut Vec<Impossible>) {
    match source {
        Value::Object(members) => {
            let call = members.iter().next().filter(|_| members.len() == 1);
            let Some((operator, operands)) = call else {
                let each = |(name, member): (&String, &Value)| {
                    search(member, &format!("{at}.{name}"), always, calls)
                };
                return members.iter().for_each(each);
            };
            if operator == "try" {
                return;
            }
            let at = format!("{at}.{operator}");
            if let Some(reason) = wrong(operator, operands) {
                return calls.push(Impossible { place: at, reason, always });
            }
            let Value::Array(operands) = operands else { return search(operands, &at, always, calls) };
            for (n, operand) in operands.iter().enumerate() {
                search(operand, &format!("{at}[{n}]"), always && is_always_evaluated(operator, n), calls);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                search(item, &format!("{at}[{n}]"), always, calls);
            }
        }
        _ => {}
    }
}

/// Returns `true` if an operator evaluates its operand at position `n` whatever the other operands give.
pub(super) fn is_always_evaluated(operator: &str, n: usize) -> bool {
    match operator {
        "if" | "?:" | "and" | "or" | "??" | "switch" | "match" | "map" | "filter" | "all" | "some"
        | "none" | "group_by" | "distinct" | "var" => n == 0,
        "sort" => n < 2,
        "reduce" => n != 1,
        "==" | "===" | "<" | "<=" | ">" | ">=" | "!=" | "!==" => n < 2,
        _ => true,
    }
}

fn wrong(operator: &str, operands: &Value) -> Option<String> {
    let strict_operator = operators::find(operator).filter(|known| known.is_strict)?;
    let count = operands.as_array().map_or(1, Vec::len);
    if count < strict_operator.least || count > strict_operator.most {
        let due = match (strict_operator.least, strict_operator.most) {
            (least, MANY) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        return Some(format!("{operator} takes {due} operands, not {count}: it would always fail"));
    }
    let is_written = |format: &Value| format.as_str().is_none_or(is_date_format);
    if operator == "format_date" && !operands.get(1).is_none_or(is_written) {
        return Some(UNKNOWN_CODE.to_owned());
    }
    WORDS.iter().filter(|(name, ..)| *name == operator).find_map(|(_, position, words)| {
        let alone = (*position == 0).then_some(operands);
        let operand = operands.get(*position).or(alone).filter(|operand| !operand.is_object())?;
        let is_known = operand.as_str().is_some_and(|word| words.contains(&word));
        (!is_known).then(|| format!("{operator} knows {}", words.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(source: &Value) -> Vec<(String, bool)> {
        impossible(source).into_iter().map(|call| (call.place, call.always)).collect()
    }

    #[test]
    fn always_failing_call_is_found_at_its_place() {
        for (source, place) in [
            (json!({"cat": ["a", {"reduce": [1]}]}), ".cat[1].reduce"),
            (json!({"a": 1, "b": {"map": [1]}}), ".b.map"),
            (json!([{"random": ["zz"]}]), "[0].random"),
            (json!({"uuid": "v1"}), ".uuid"),
            (json!({"uuid": 7}), ".uuid"),
            (json!({"uuid": [null]}), ".uuid"),
            (json!({"cat": [{"hash": [{"var": "data.x"}, 256]}]}), ".cat[0].hash"),
            (json!({"cat": [{"hash": [{"var": "data.x"}, "sha3"]}]}), ".cat[0].hash"),
            (json!({"round": [{"var": "data.x"}, 2, "half"]}), ".round"),
            (json!({"date_diff": [{"var": "data.x"}, {"var": "data.y"}, "weeks"]}), ".date_diff"),
            (json!({"format_date": [{"var": "data.x"}, "yyyy, 100%"]}), ".format_date"),
            (json!({"format_date": [{"var": "data.x"}, "%Q", "UTC"]}), ".format_date"),
            (json!({"format_date": [{"var": "data.x"}, "%-ss"]}), ".format_date"),
            (json!({"format_date": [{"var": "data.x"}, "HH:mm %#z"]}), ".format_date"),
            (json!({"matches": {"var": "data.x"}}), ".matches"),
            (json!({"!": {"secret": []}}), ".!.secret"),
            (json!({"group_by": {"var": "data.x"}}), ".group_by"),
            (json!({"secret": ["a", "b"]}), ".secret"),
            (json!({"and": [{"map": [1]}, {"map": [2]}]}), ".and[0].map"),
        ] {
            assert_eq!(calls(&source), [(place.to_owned(), true)], "{source}");
        }
        for source in [
            json!({"try": [{"map": [1]}, 1]}),
            json!({"map": 1, "b": 2}),
            json!({"secret": "token"}),
            json!({"random": [{"var": "data.kind"}]}),
            json!({"format_date": [{"var": "data.x"}, {"var": "data.format"}]}),
            json!({"format_date": [{"var": "data.x"}, "100%% of yyyy, %-d %.3f"]}),
            json!({"date_diff": [{"var": "data.x"}, {"var": "data.y"}, {"var": "data.unit"}]}),
            json!({"map": [[1], 1]}),
            json!("map"),
        ] {
            assert_eq!(calls(&source), [], "{source}");
        }
    }

    #[test]
    fn call_that_may_be_skipped_is_distinguished() {
        for (source, place) in [
            (json!({"if": [{"var": "data.x"}, {"map": [1]}, 2]}), ".if[1].map"),
            (json!({"and": [true, {"length": []}]}), ".and[1].length"),
            (json!({"map": [{"var": "data.x"}, {"random": ["zz"]}]}), ".map[1].random"),
            (json!({"switch": [1, [[2, {"split": ["a"]}]]]}), ".switch[1][0][1].split"),
            (json!({"cat": ["a", {"??": [{"var": "x"}, {"filter": [1]}]}]}), ".cat[1].??[1].filter"),
        ] {
            assert_eq!(calls(&source), [(place.to_owned(), false)], "{source}");
        }
    }
}
