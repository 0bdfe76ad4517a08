//! The meaning of a filter, computed over rows in memory: the table of the dialect in three-valued logic,
//! written apart from the code that it checks.

use serde_json::Value;

/// A row, and the rows related to it.
pub(super) struct Row {
    pub(super) columns: Value,
    pub(super) related: Vec<Value>,
}

/// True, false or unknown.
type Truth = Option<bool>;

/// The ids of the rows for which a filter is true.
pub(super) fn matching(filter: &Value, rows: &[Row]) -> Vec<i64> {
    let matches = rows.iter().filter(|row| truth(filter, &row.columns, &row.related) == Some(true));
    matches.map(|row| row.columns["id"].as_i64().unwrap()).collect()
}

fn truth(filter: &Value, row: &Value, related: &[Value]) -> Truth {
    let (operator, argument) = filter.as_object().unwrap().iter().next().unwrap();
    let inner = |filter: &Value| truth(filter, row, related);
    match operator.as_str() {
        "and" => argument.as_array().unwrap().iter().map(inner).fold(Some(true), and),
        "or" => not(argument.as_array().unwrap().iter().map(|one| not(inner(one))).fold(Some(true), and)),
        "!" => not(inner(argument.as_array().map_or(argument, |list| &list[0]))),
        "missing" => {
            Some(argument.as_array().unwrap().iter().any(|name| row[name.as_str().unwrap()].is_null()))
        }
        "some" => Some(related.iter().any(|one| truth(&argument[1], one, &[]) == Some(true))),
        "none" => Some(!related.iter().any(|one| truth(&argument[1], one, &[]) == Some(true))),
        "all" => {
            Some(!related.is_empty() && related.iter().all(|one| truth(&argument[1], one, &[]) == Some(true)))
        }
        "in" if argument[1].is_array() => {
            is_listed(column(&argument[0], row), argument[1].as_array().unwrap())
        }
        "in" => texts(column(&argument[1], row), &argument[0], |text, part| text.contains(part)),
        "starts_with" => texts(column(&argument[0], row), &argument[1], |text, part| text.starts_with(part)),
        "ends_with" => texts(column(&argument[0], row), &argument[1], |text, part| text.ends_with(part)),
        comparison => {
            let values: Vec<_> = argument
                .as_array()
                .unwrap()
                .iter()
                .map(|side| if side.is_object() { column(side, row) } else { side })
                .collect();
            let constant_null = argument.as_array().unwrap().contains(&Value::Null);
            values
                .windows(2)
                .map(|pair| compare(comparison, pair[0], pair[1], constant_null))
                .fold(Some(true), and)
        }
    }
}

fn column<'r>(field: &Value, row: &'r Value) -> &'r Value {
    &row[field["field"].as_str().unwrap()]
}

fn and(left: Truth, right: Truth) -> Truth {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(truth: Truth) -> Truth {
    truth.map(|is| !is)
}

fn compare(comparison: &str, left: &Value, right: &Value, constant_null: bool) -> Truth {
    match comparison {
        // Against a written null this asks whether there is a value.
        "==" | "===" if constant_null => return Some(left == right),
        "!=" | "!==" if constant_null => return Some(left != right),
        _ if left.is_null() || right.is_null() => return None,
        // A text is no number: another value than each of them, and without a place among them.
        "==" | "===" if left.is_string() != right.is_string() => return Some(false),
        "!=" | "!==" if left.is_string() != right.is_string() => return Some(true),
        _ if left.is_string() != right.is_string() => return None,
        _ => {}
    }
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => left.as_f64().unwrap().total_cmp(&right.as_f64().unwrap()),
    };
    Some(match comparison {
        "==" | "===" => order.is_eq(),
        "!=" | "!==" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// A null in a list means rows without a value.
fn is_listed(value: &Value, list: &[Value]) -> Truth {
    if list.is_empty() {
        return Some(false);
    }
    if value.is_null() {
        return list.contains(&Value::Null).then_some(true);
    }
    let equal = |item: &&Value| !item.is_null() && compare("==", value, item, false) == Some(true);
    Some(list.iter().any(|item| equal(&item)))
}

fn texts(value: &Value, part: &Value, holds: impl Fn(&str, &str) -> bool) -> Truth {
    Some(holds(value.as_str()?, part.as_str().unwrap()))
}
