//! Comparison of JSON values, and the paths at which they differ.

use serde_json::Value;

/// Differences that a report shows; of more it gives the number.
const MAX_SHOWN: usize = 12;

/// Characters of a value that a report shows.
const MAX_TEXT: usize = 160;

/// The rule by which a value matches an expectation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// Both are equal.
    Equal,
    /// Objects may have further members, at every depth.
    Subset,
}

/// A place at which two values differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    path: String,
    expected: String,
    got: String,
}

/// Returns `true` if a value matches. Numbers are equal by value, however they are written.
pub(super) fn matches(rule: Match, expected: &Value, got: &Value) -> bool {
    let mut differences = Vec::new();
    collect(rule, String::new(), expected, Some(got), &mut differences, 1);
    differences.is_empty()
}

/// Describes the differences of a value from the expected one, a line each, beginning with a path below `at`.
/// `got` is `None` for an absent value.
pub(crate) fn describe(rule: Match, at: &str, expected: &Value, got: Option<&Value>) -> Vec<String> {
    let mut differences = Vec::new();
    collect(rule, at.to_owned(), expected, got, &mut differences, usize::MAX);
    let more = differences.len().saturating_sub(MAX_SHOWN);
    let shown = differences.iter().take(MAX_SHOWN);
    let mut lines: Vec<_> =
        shown.map(|one| format!("{}: expected {}, got {}", one.path, one.expected, one.got)).collect();
    if more > 0 {
        lines.push(format!("{at}: and {more} more difference(s)"));
    }
    lines
}

/// Writes a value in at most so many characters.
pub(super) fn shorten(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

fn collect(
    rule: Match,
    at: String,
    expected: &Value,
    got: Option<&Value>,
    differences: &mut Vec<Difference>,
    limit: usize,
) {
    if differences.len() >= limit {
        return;
    }
    let mut differ = |expected: String, got: String| {
        differences.push(Difference { path: at.clone(), expected, got });
    };
    match (expected, got) {
        (expected, None) => differ(shorten(expected), "nothing".to_owned()),
        (Value::Object(members), Some(Value::Object(present))) => {
            for (key, expected) in members {
                collect(rule, member(&at, key), expected, present.get(key), differences, limit);
            }
            let surplus = present.iter().filter(|(key, _)| !members.contains_key(*key));
            for (key, value) in surplus.take_while(|_| rule == Match::Equal) {
                let (path, got) = (member(&at, key), shorten(value));
                differences.push(Difference { path, expected: "nothing".to_owned(), got });
            }
        }
        (Value::Array(items), Some(Value::Array(present))) => {
            if items.len() != present.len() {
                differ(format!("{} element(s)", items.len()), present.len().to_string());
            }
            for (n, (expected, got)) in items.iter().zip(present).enumerate() {
                collect(rule, format!("{at}[{n}]"), expected, Some(got), differences, limit);
            }
            let longer = if items.len() > present.len() { items } else { present };
            for (n, value) in longer.iter().enumerate().skip(items.len().min(present.len())) {
                let path = format!("{at}[{n}]");
                let (expected, got) = match items.len() > present.len() {
                    true => (shorten(value), "nothing".to_owned()),
                    false => ("nothing".to_owned(), shorten(value)),
                };
                differences.push(Difference { path, expected, got });
            }
        }
        (expected, Some(got)) if !is_same_scalar(expected, got) => differ(shorten(expected), shorten(got)),
        _ => {}
    }
}

fn member(at: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && !key.contains(['.', '[', ']']);
    if is_plain { format!("{at}.{key}") } else { format!("{at}[{}]", Value::from(key)) }
}

fn is_same_scalar(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => a.as_f64() == b.as_f64(),
        (Value::Number(a), Value::Number(b)) if a.is_f64() => a.as_f64() == b.as_f64(),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_by_value() {
        for (one, other, same) in [
            (json!(3), json!(3.0), true),
            (json!(-0.0), json!(0), true),
            (json!(u64::MAX), json!(u64::MAX), true),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), false),
            (json!(1), json!("1"), false),
            (json!(0), json!(false), false),
        ] {
            assert_eq!(matches(Match::Equal, &one, &other), same, "{one} {other}");
        }
    }

    #[test]
    fn subset_may_lack_members_but_no_elements() {
        let got = json!({"a": {"b": 1, "c": [{"d": 1, "e": 2}]}, "n": null});
        for (expected, fits) in [
            (json!({}), true),
            (json!({"a": {"c": [{"d": 1}]}}), true),
            (json!({"n": null}), true),
            (json!({"m": null}), false),
            (json!({"a": {"c": []}}), false),
            (json!({"a": {"c": [{"d": 2}]}}), false),
        ] {
            assert_eq!(matches(Match::Subset, &expected, &got), fits, "{expected}");
        }
        assert!(!matches(Match::Equal, &json!({}), &got));
    }

    #[test]
    fn only_what_differs_is_described() {
        let expected = json!({"id": 1, "items": [{"sku": "a", "n": 1}, {"sku": "b"}], "old": true, "a.b": 1});
        let got = json!({"id": 1, "items": [{"sku": "a", "n": 2}], "new": null, "a.b": 2});
        assert_eq!(
            describe(Match::Equal, "data", &expected, Some(&got)),
            [
                "data.items: expected 2 element(s), got 1",
                "data.items[0].n: expected 1, got 2",
                r#"data.items[1]: expected {"sku":"b"}, got nothing"#,
                "data.old: expected true, got nothing",
                r#"data["a.b"]: expected 1, got 2"#,
                "data.new: expected nothing, got null",
            ]
        );
        assert_eq!(describe(Match::Equal, "data.x", &json!(1), None), ["data.x: expected 1, got nothing"]);
    }

    #[test]
    fn large_values_and_many_differences_are_cut() {
        let wide: Value = (0..100).collect();
        let other: Value = (1..101).collect();
        let lines = describe(Match::Equal, "data", &wide, Some(&other));
        assert_eq!(lines.len(), MAX_SHOWN + 1);
        assert_eq!(lines[MAX_SHOWN], "data: and 88 more difference(s)");
        let text = shorten(&json!("ü".repeat(1000)));
        assert!(text.ends_with("… (2002 bytes)") && text.chars().count() < 200, "{text}");
    }
}
