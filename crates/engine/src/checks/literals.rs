//! Texts and objects that an author likely meant to be computed, and that are kept as they are written: a path without
//! `var`, the braces of another template language, a read in an input that is literal, a default next to `var`.

use serde_json::{Map, Value};
use svc_model::Issue;

use crate::catalogue::operators;

/// Roots of a message.
pub(super) const MESSAGE: [&str; 4] = ["data", "metadata", "payload", "temp_data"];

/// Operators whose operands are names of paths, or data.
const NAMING: [&str; 7] = ["var", "val", "exists", "missing", "missing_some", "secret", "throw"];

/// Operators that compare a text, or join it: one that reads like a path may be meant next to a computed operand.
const COMPARING: [&str; 14] = [
    "==",
    "===",
    "!=",
    "!==",
    "in",
    "switch",
    "match",
    "starts_with",
    "ends_with",
    "matches",
    "capture",
    "replace",
    "cat",
    "join",
];

/// Operators that take texts of numbers for numbers.
const NUMERIC: [&str; 11] = ["+", "-", "*", "/", "%", ">", ">=", "<", "<=", "min", "max"];

/// Ends of names of files, which read like members.
const FILES: [&str; 11] = ["csv", "gz", "html", "json", "log", "pdf", "txt", "xml", "yaml", "yml", "zip"];

/// Beginnings of a read in other template languages, before the root of the path.
const BRACES: [&str; 2] = ["{{", "${"];

/// Adds a warning for every text of an expression that reads like a path below one of `roots`, and for every object
/// that has `var` and other members.
pub(crate) fn warn_of_paths(at: &str, source: &Value, roots: &[&str], warnings: &mut Vec<Issue>) {
    warn_of_text(at, source, roots, warnings);
    warn_in_calls(at, source, roots, warnings);
}

fn warn_in_calls(at: &str, source: &Value, roots: &[&str], warnings: &mut Vec<Issue>) {
    match source {
        Value::Object(members) => {
            if let Some(issue) = describe_default(at, members, roots) {
                return warnings.push(issue);
            }
            for (name, member) in members {
                let is_call = members.len() == 1 && operators::find(name).is_some();
                if is_call && NAMING.contains(&name.as_str()) {
                    continue;
                }
                let at = format!("{at}.{name}");
                if is_call {
                    warn_of_operands(&at, name, member, roots, warnings);
                    warnings.extend(misplaced_operand(&at, name, member));
                    warnings.extend(unreadable_number(&at, name, member));
                } else if !name.ends_with("path") {
                    warn_of_text(&at, member, roots, warnings);
                }
                warn_in_calls(&at, member, roots, warnings);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                warn_in_calls(&format!("{at}[{n}]"), item, roots, warnings);
            }
        }
        _ => {}
    }
}

fn warn_of_text(at: &str, value: &Value, roots: &[&str], warnings: &mut Vec<Issue>) {
    let path = value.as_str().filter(|path| is_path(path, roots));
    warnings.extend(path.map(|path| describe_path(at, path)));
}

/// Looks at the operands of a call. A text next to one that is computed may be what that is compared with.
fn warn_of_operands(at: &str, operator: &str, operands: &Value, roots: &[&str], warnings: &mut Vec<Issue>) {
    let Some(items) = operands.as_array() else { return warn_of_text(at, operands, roots, warnings) };
    let is_compared = COMPARING.contains(&operator) && items.iter().any(Value::is_object);
    for (n, item) in items.iter().enumerate() {
        // What is searched is no text that an author writes out.
        if !is_compared || (operator == "in" && n == 1) {
            warn_of_text(&format!("{at}[{n}]"), item, roots, warnings);
        }
    }
}

/// Returns true for a root and names below it, which is no name of a file.
fn is_path(text: &str, roots: &[&str]) -> bool {
    let mut segments = text.split('.');
    let is_rooted = segments.next().is_some_and(|root| roots.contains(&root));
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '#'))
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    let names: Vec<_> = segments.collect();
    is_rooted && !names.is_empty() && names.into_iter().all(is_name) && !FILES.contains(&last)
}

fn describe_path(at: &str, path: &str) -> Issue {
    let message = format!("this is the text '{path}', not what is there: read it by {{\"var\": \"{path}\"}}");
    Issue::new(at, message)
}

/// Describes an object of `var` and other members: it is data, whatever the other members were meant to be.
fn describe_default(at: &str, members: &Map<String, Value>, roots: &[&str]) -> Option<Issue> {
    let path = members.get("var").filter(|_| members.len() > 1)?.as_str()?;
    let is_read = roots.contains(&path) || is_path(path, roots);
    is_read.then(|| {
        let message = format!(
            "an object of several members is data, also where one is 'var': a default is the second operand, as in \
             {{\"var\": [\"{path}\", 0]}}"
        );
        Issue::new(at, message)
    })
}

/// Describes a literal operand that its operator takes for something else than it reads.
fn misplaced_operand(at: &str, operator: &str, operands: &Value) -> Option<Issue> {
    let second = operands.get(1)?;
    let message = match (operator, second) {
        ("switch" | "match", Value::Object(cases)) if !is_call(cases) => {
            "cases are a list of pairs, as in [[\"a\", 1], [\"b\", 2]]; an object has none".to_owned()
        }
        ("sort", Value::String(order)) if !is_ascending(order) => {
            "the order is true or false, and a text is true: false sorts downwards".to_owned()
        }
        ("group_by" | "distinct", Value::String(name)) => {
            format!("this text is the same for every element: read a member by {{\"var\": \"{name}\"}}")
        }
        ("in", Value::Object(call)) if is_call(call) && is_list_of_values(operands.get(0)) => {
            "a list is looked for in this: the list is the second operand, as in {\"in\": [value, list]}"
                .to_owned()
        }
        ("in", Value::String(text))
            if operands.get(0).is_some_and(Value::is_object) && !is_path(text, &MESSAGE) =>
        {
            format!(
                "it is true for every part of '{text}', also for an empty text: a list of values is [\"{text}\"], and \
                 what is looked into is the second operand"
            )
        }
        ("format_date" | "parse_date", Value::String(format)) => foreign_date_format(format)?,
        _ => return None,
    };
    Some(Issue::new(format!("{at}[1]"), message))
}

/// Returns true for a list that is written out.
fn is_list_of_values(operand: Option<&Value>) -> bool {
    let items = operand.and_then(Value::as_array);
    items.is_some_and(|items| {
        !items.is_empty() && items.iter().all(|item| !item.is_object() && !item.is_array())
    })
}

/// Returns true for a text of the order that `sort` takes any text for.
fn is_ascending(order: &str) -> bool {
    order.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("asc"))
}

/// Describes a number that is written as readers write it, such as `12,50`: for an operator it is a text.
fn unreadable_number(at: &str, operator: &str, operands: &Value) -> Option<Issue> {
    if !NUMERIC.contains(&operator) {
        return None;
    }
    let is_like_number = |text: &str| {
        let (is_digit, is_separator) = (|c: char| c.is_ascii_digit(), [',', '\'', '_', ' ']);
        text.starts_with(is_digit)
            && text.ends_with(is_digit)
            && text.contains(is_separator)
            && text.chars().all(|c| is_digit(c) || c == '.' || is_separator.contains(&c))
    };
    let mut operands = operands.as_array()?.iter().enumerate();
    operands.find_map(|(n, operand)| {
        let text = operand.as_str().filter(|text| is_like_number(text))?;
        let message =
            format!("the text '{text}' is no number: write it without separators, and with a point");
        Some(Issue::new(format!("{at}[{n}]"), message))
    })
}

fn is_call(members: &Map<String, Value>) -> bool {
    members.len() == 1 && members.keys().any(|name| operators::find(name).is_some())
}

/// Describes a part of a format of dates that other notations have, and that is kept as it is written or has another
/// meaning.
fn foreign_date_format(format: &str) -> Option<String> {
    if format.contains('%') {
        return None;
    }
    // SSS are milliseconds, for which there is a code alone.
    let meant = [("YYYY", "yyyy"), ("DD", "dd"), ("hh", "HH"), ("SSS", "%3f"), ("SS", "ss")];
    if let Some((part, meant)) = meant.into_iter().find(|(part, _)| format.contains(part)) {
        return Some(format!(
            "'{part}' is no part of a format and is kept as it is written, did you mean '{meant}'?"
        ));
    }
    let has = |part: &str| format.contains(part);
    let (has_day, has_hour) = (has("yyyy") || has("dd"), has("HH"));
    if has("mm") && !has_hour && has_day {
        return Some("'mm' are minutes, did you mean 'MM', months?".to_owned());
    }
    (has("MM") && has_hour && !has_day).then(|| "'MM' are months, did you mean 'mm', minutes?".to_owned())
}

/// Adds a warning for every text below `value` that has the braces of a template around a path of the message.
pub(super) fn warn_of_templates(at: &str, value: &Value, warnings: &mut Vec<Issue>) {
    match value {
        Value::String(text) if is_template(text) => {
            let message = "no text is a template: this is kept as it is written; an expression joins texts by \
                           {\"cat\": […]} and reads by {\"var\": path}";
            warnings.push(Issue::new(at, message));
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                warn_of_templates(&format!("{at}[{n}]"), item, warnings);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                warn_of_templates(&format!("{at}.{name}"), member, warnings);
            }
        }
        _ => {}
    }
}

fn is_template(text: &str) -> bool {
    let begins = |rest: &str| {
        let rest = rest.trim_start();
        MESSAGE
            .iter()
            .any(|root| rest.strip_prefix(root).is_some_and(|rest| rest.starts_with(['.', '[', '}'])))
    };
    BRACES.iter().any(|braces| text.split(braces).skip(1).any(begins))
}

/// Adds a warning for every read of the message in an input that is literal. `logic` is the name of its expression, if
/// it has one.
pub(super) fn warn_of_reads(at: &str, value: &Value, logic: Option<&str>, warnings: &mut Vec<Issue>) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                warn_of_reads(&format!("{at}[{n}]"), item, logic, warnings);
            }
        }
        Value::Object(members) => {
            if is_read(members) {
                let remedy = match logic {
                    Some(logic) => format!("give the whole value as '{logic}'"),
                    None => "no expression is evaluated in it".to_owned(),
                };
                let message =
                    format!("this input is literal, so that the read is kept as it is written: {remedy}");
                return warnings.push(Issue::new(at, message));
            }
            for (name, member) in members {
                warn_of_reads(&format!("{at}.{name}"), member, logic, warnings);
            }
        }
        _ => {}
    }
}

/// Adds a warning for the name of a parameter in the literal path of a call, as another notation has it.
pub(super) fn warn_of_parameter(at: &str, path: &Value, warnings: &mut Vec<Issue>) {
    let has_parameter = path.as_str().is_some_and(|path| {
        path.split('/').any(|segment| segment.starts_with('{') && segment.ends_with('}'))
    });
    if has_parameter {
        let message = "a path is sent as it is written, braces too: compute it by 'path_logic'";
        warnings.push(Issue::new(at, message));
    }
}

/// Returns true for the call of `var` with a path of the message.
fn is_read(members: &Map<String, Value>) -> bool {
    let operand = members.get("var").filter(|_| members.len() == 1);
    let path = operand.and_then(|operand| operand.as_str().or_else(|| operand.get(0)?.as_str()));
    path.is_some_and(|path| MESSAGE.contains(&path) || is_path(path, &MESSAGE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(find: impl Fn(&mut Vec<Issue>)) -> Vec<String> {
        let mut warnings = Vec::new();
        find(&mut warnings);
        warnings.into_iter().map(|issue| issue.field).collect()
    }

    #[test]
    fn path_without_var_is_warned_of() {
        for (source, place) in [
            (json!("payload.qty"), "at"),
            (json!({"if": ["payload.vip", "a", "b"]}), "at.if[0]"),
            (json!({"==": ["data.items.0.sku", true]}), "at.==[0]"),
            (json!({"length": "payload.items"}), "at.length"),
            (json!({"total": {"*": ["payload.qty", 2]}}), "at.total.*[0]"),
            (json!({"id": "payload.id", "n": 1}), "at.id"),
            (json!({"map": ["payload.items", {"var": "sku"}]}), "at.map[0]"),
            (json!({"if": [{"var": "payload.is_new"}, "payload.a", "b"]}), "at.if[1]"),
            (json!({"in": [{"var": "payload.sku"}, "payload.skus"]}), "at.in[1]"),
            (json!({"in": [["a", "b"], {"var": "payload.type"}]}), "at.in[1]"),
            (json!({"in": [{"var": "claims.scope"}, "orders:write"]}), "at.in[1]"),
            (json!({"switch": [{"var": "payload.q"}, {"a": 1, "b": 2}]}), "at.switch[1]"),
            (json!({"sort": [{"var": "payload.n"}, "desc"]}), "at.sort[1]"),
            (json!({"group_by": [{"var": "payload.n"}, "kind"]}), "at.group_by[1]"),
            (json!({"format_date": [{"now": []}, "YYYY-MM-DD"]}), "at.format_date[1]"),
            (json!({"format_date": [{"now": []}, "yyyy-mm-dd"]}), "at.format_date[1]"),
            (json!({"format_date": [{"now": []}, "HH:MM"]}), "at.format_date[1]"),
            (json!({"*": [{"var": "payload.qty"}, "12,50"]}), "at.*[1]"),
            (json!({">=": [{"var": "payload.total"}, "1 000"]}), "at.>=[1]"),
            (json!({"var": "payload.q", "default": 0}), "at"),
            (json!({"cat": [{"var": "payload", "x": 0}]}), "at.cat[0]"),
        ] {
            let found = places(|warnings| warn_of_paths("at", &source, &MESSAGE, warnings));
            assert_eq!(found, [place], "{source}");
        }
    }

    #[test]
    fn text_that_may_be_meant_is_not() {
        for source in [
            json!("data.csv"),
            json!("payload"),
            json!("data. and more"),
            json!("order.created"),
            json!({"==": [{"var": "payload.type"}, "data.updated"]}),
            json!({"missing": ["data.id", "payload.name"]}),
            json!({"exists": ["data", "payload.x"]}),
            json!({"var": ["payload.q", "none"]}),
            json!({"var": "x", "kind": "number"}),
            json!({"body_path": "data.order", "status": 201}),
            json!({"in": ["data.updated", {"var": "payload.types"}]}),
            json!({"in": [{"var": "payload.type"}, ["a", "b"]]}),
            json!({"in": ["a", ["a", "b"]]}),
            json!({"cat": ["data.orders", {"var": "payload.shop"}]}),
            json!({"switch": [{"var": "payload.q"}, [["a", 1]]]}),
            json!({"sort": [{"var": "payload.n"}, false]}),
            json!({"sort": [{"var": "payload.n"}, "asc"]}),
            json!({"sort": [{"var": "payload.n"}, "Ascending"]}),
            json!({"*": [{"var": "payload.qty"}, "12.50"]}),
            json!({"==": [{"var": "payload.phone"}, "0911 123"]}),
            json!({">": [{"var": "payload.version"}, "1.2.3"]}),
            json!({"<": [{"var": "payload.name"}, "m"]}),
            json!({"format_date": [{"now": []}, "yyyy-MM-dd HH:mm:ss"]}),
            json!({"format_date": [{"now": []}, "%Y-%m-%d"]}),
        ] {
            let found = places(|warnings| warn_of_paths("at", &source, &MESSAGE, warnings));
            assert_eq!(found, [""; 0], "{source}");
        }
    }

    #[test]
    fn foreign_part_of_format_has_the_one_meant() {
        for (format, meant) in [("HH:mm:ss.SSS", "%3f"), ("HH:mm:SS", "ss"), ("hh:mm", "HH")] {
            let hint = foreign_date_format(format).unwrap();
            assert!(hint.ends_with(&format!("did you mean '{meant}'?")), "{hint}");
        }
        assert_eq!(foreign_date_format("HH:mm:ss.%3f"), None);
    }

    #[test]
    fn braces_around_paths_are_warned_of() {
        let value =
            json!({"a": "id {{ payload.id }}", "b": ["${data.x}", "{{name}}", "${HOME}"], "c": "{{data}}"});
        let found = places(|warnings| warn_of_templates("at", &value, warnings));
        assert_eq!(found, ["at.a", "at.b[0]", "at.c"]);
    }

    #[test]
    fn reads_in_literal_values_are_warned_of() {
        let read = json!({"var": ["data.x", 1]});
        let value = json!({"a": {"var": "payload.id"}, "b": [read], "c": {"var": "name"}, "d": "var"});
        let found = places(|warnings| warn_of_reads("at", &value, Some("body_logic"), warnings));
        assert_eq!(found, ["at.a", "at.b[0]"]);
    }
}
