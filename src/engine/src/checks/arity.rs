//! Calls that fail whatever the message holds: too few operands, or too many.

use serde_json::Value;

/// No bound.
const MANY: usize = usize::MAX;

/// Operators with the fewest and the most operands they evaluate with.
const OPERANDS: [(&str, usize, usize); 29] = [
    ("all", 2, 2),
    ("base64_decode", 1, 1),
    ("base64_encode", 1, 1),
    ("base64url_decode", 1, 1),
    ("base64url_encode", 1, 1),
    ("date_diff", 3, MANY),
    ("distinct", 1, MANY),
    ("ends_with", 2, MANY),
    ("filter", 2, 2),
    ("format_date", 2, MANY),
    ("group_by", 2, MANY),
    ("hex_decode", 1, 1),
    ("hex_encode", 1, 1),
    ("join", 2, 2),
    ("length", 1, 1),
    ("map", 2, 2),
    ("match", 2, MANY),
    ("none", 2, 2),
    ("parse_date", 2, MANY),
    ("random", 1, 3),
    ("reduce", 2, 3),
    ("secret", 1, 1),
    ("some", 2, 2),
    ("sort", 1, MANY),
    ("split", 2, MANY),
    ("starts_with", 2, MANY),
    ("switch", 2, MANY),
    ("url_decode", 1, 1),
    ("url_encode", 1, 1),
];

/// The kinds of `random`.
const KINDS: [&str; 5] = ["uuid", "digits", "int", "string", "bytes"];

/// The first call that cannot succeed, by its place in the expression, and why. What `try` tries may fail.
pub(crate) fn impossible(source: &Value) -> Option<(String, String)> {
    match source {
        Value::Object(members) => {
            let call = members.iter().next().filter(|_| members.len() == 1);
            if let Some((operator, operands)) = call {
                if operator == "try" {
                    return None;
                }
                if let Some(reason) = wrong(operator, operands) {
                    return Some((format!(".{operator}"), reason));
                }
            }
            members.iter().find_map(|(name, member)| {
                impossible(member).map(|(at, reason)| (format!(".{name}{at}"), reason))
            })
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(n, item)| impossible(item).map(|(at, reason)| (format!("[{n}]{at}"), reason))),
        _ => None,
    }
}

fn wrong(operator: &str, operands: &Value) -> Option<String> {
    let (_, least, most) = OPERANDS.iter().find(|(name, ..)| *name == operator)?;
    let given = operands.as_array().map_or(1, Vec::len);
    if given < *least || given > *most {
        let due = match (*least, *most) {
            (least, MANY) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        return Some(format!("{operator} takes {due} operands, not {given}: it would always fail"));
    }
    let kind = operands.get(0).unwrap_or(operands).as_str().filter(|_| operator == "random")?;
    (!KINDS.contains(&kind)).then(|| format!("random knows {}", KINDS.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_always_fails_is_found_at_its_place() {
        for (source, place) in [
            (json!({"cat": ["a", {"reduce": [1]}]}), ".cat[1].reduce"),
            (json!({"a": 1, "b": {"map": [1]}}), ".b.map"),
            (json!([{"random": ["zz"]}]), "[0].random"),
            (json!({"!": {"secret": []}}), ".!.secret"),
            (json!({"group_by": {"var": "data.x"}}), ".group_by"),
            (json!({"secret": ["a", "b"]}), ".secret"),
        ] {
            assert_eq!(impossible(&source).map(|(at, _)| at).as_deref(), Some(place), "{source}");
        }
        for source in [
            json!({"try": [{"map": [1]}, 1]}),
            json!({"map": 1, "b": 2}),
            json!({"secret": "token"}),
            json!({"random": [{"var": "data.kind"}]}),
            json!({"map": [[1], 1]}),
            json!("map"),
        ] {
            assert_eq!(impossible(&source), None, "{source}");
        }
    }
}
