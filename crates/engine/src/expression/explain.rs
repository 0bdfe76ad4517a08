//! The texts of failed evaluations: they name the operand at fault and its type, never its value.

use datalogic_rs::{DataValue, Error, Logic};
use serde_json::Value;

use super::prepare::ROOTS;
use crate::operators::kind_of;

/// Operators that fail over what is no number.
const NUMERIC: [&str; 17] = [
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "max", "min", "abs", "ceil", "floor", "round",
];

/// The end of the text of an error without a cause.
const CAUSELESS: &str = "Invalid Arguments";

/// Maximum number of operands that an error names.
const NAMED: usize = 3;

/// Returns the text of an error. If arithmetic met what is no number, it names the operator and the
/// operands that are none.
pub(super) fn explain(error: &Error, logic: &Logic, source: &Value, context: &DataValue<'_>) -> String {
    let steps = error.resolve_path(logic);
    if !is_not_a_number(error) {
        let operators = steps.iter().rev().filter_map(|step| step.operator.as_deref());
        return match operators.into_iter().find_map(written_name) {
            Some(operator) => explain_operator(error, operator, source, context),
            None => error.to_string(),
        };
    }
    let failed = steps.iter().rev().filter_map(|step| written_name(step.operator.as_deref()?));
    let failed = failed.into_iter().find(|name| NUMERIC.contains(name));
    let mut operands = Vec::new();
    find_operands(source, failed, context, describe, &mut operands);
    operands.dedup();
    operands.truncate(NAMED);
    match (failed, operands.as_slice()) {
        (Some(operator @ ("/" | "%")), []) => explain_division(operator, source, context),
        (Some(operator), []) => format!("\"{operator}\" needs numbers, and an operand is none"),
        (None, []) => "an operator needs numbers, and an operand is none".to_owned(),
        (Some(operator), named) => format!("\"{operator}\" needs numbers, and {}", named.join(", ")),
        (None, named) => format!("an operator needs numbers, and {}", named.join(", ")),
    }
}

/// Returns the name by which an author calls an operator of the compiled expression; guards have none.
fn written_name(operator: &str) -> Option<&str> {
    let Some(own) = operator.strip_prefix('#') else { return Some(operator) };
    match own {
        "bounded" | "timely" | "paced" | "listed" | "forced" | "echo" | "date_format" => None,
        "characters" | "groups" => Some("split"),
        "sort_by" => Some("sort"),
        "distinct_by" => Some("distinct"),
        own => Some(own),
    }
}

/// Returns the text of an error with the innermost operator that failed; the library names the outermost one. If the
/// text has no cause, it names the operands.
fn explain_operator(error: &Error, operator: &str, source: &Value, context: &DataValue<'_>) -> String {
    let whole = error.to_string();
    let text = match whole.rsplit_once(" (in operator: ") {
        Some((cause, _)) if error.operator().is_some() => cause,
        _ => return error.to_string(),
    };
    if !text.ends_with(CAUSELESS) {
        return format!("{text} (in operator: {operator})");
    }
    let mut operands = Vec::new();
    find_operands(source, Some(operator), context, describe_kind, &mut operands);
    operands.dedup();
    operands.truncate(NAMED);
    match operands.as_slice() {
        [] => format!("\"{operator}\" cannot take what it is given"),
        named => format!("\"{operator}\" cannot take what it is given: {}", named.join(", ")),
    }
}

/// Returns the text of a division whose operands are numbers, or whose failing operand is computed.
fn explain_division(operator: &str, source: &Value, context: &DataValue<'_>) -> String {
    let mut zeros = Vec::new();
    find_zero_divisors(source, operator, context, &mut zeros);
    match zeros.first() {
        Some(divisor) => format!("\"{operator}\" cannot divide by zero, and {divisor}"),
        None => {
            format!("\"{operator}\" needs numbers and a divisor other than zero, and an operand is neither")
        }
    }
}

/// Adds the divisors of an operator that are zero now.
fn find_zero_divisors(source: &Value, operator: &str, context: &DataValue<'_>, found: &mut Vec<String>) {
    match source {
        Value::Array(items) => {
            items.iter().for_each(|item| find_zero_divisors(item, operator, context, found));
        }
        Value::Object(members) => {
            for (name, argument) in members {
                find_zero_divisors(argument, operator, context, found);
                if let (1, true, Some(operands)) = (members.len(), name == operator, argument.as_array()) {
                    found.extend(
                        operands.iter().skip(1).filter_map(|operand| describe_zero(operand, context)),
                    );
                }
            }
        }
        _ => {}
    }
}

/// Names an operand that is zero.
fn describe_zero(operand: &Value, context: &DataValue<'_>) -> Option<String> {
    let Some(path) = path_of(operand) else {
        return (operand.as_f64() == Some(0.0)).then(|| "a literal operand is 0".to_owned());
    };
    match look_up(context, &path)? {
        DataValue::Number(number) if number.as_f64() == 0.0 => Some(format!("{path} is 0")),
        _ => None,
    }
}

fn is_not_a_number(error: &Error) -> bool {
    let thrown = error.thrown_value().and_then(|value| serde_json::to_value(value).ok());
    match thrown {
        Some(value) => value.get("type").and_then(Value::as_str) == Some("NaN"),
        None => error.to_string().contains("NaN"),
    }
}

/// Adds what `describe` tells of the operands of the numeric operators, of one operator if its name is known.
fn find_operands(
    source: &Value,
    operator: Option<&str>,
    context: &DataValue<'_>,
    describe: fn(&Value, &DataValue<'_>) -> Option<String>,
    found: &mut Vec<String>,
) {
    match source {
        Value::Array(items) => {
            items.iter().for_each(|item| find_operands(item, operator, context, describe, found));
        }
        Value::Object(members) => {
            for (name, argument) in members {
                find_operands(argument, operator, context, describe, found);
                let is_call = members.len() == 1
                    && operator.map_or_else(|| NUMERIC.contains(&name.as_str()), |wanted| wanted == name);
                if is_call {
                    let operands = argument.as_array().map_or(std::slice::from_ref(argument), Vec::as_slice);
                    found.extend(operands.iter().filter_map(|operand| describe(operand, context)));
                }
            }
        }
        _ => {}
    }
}

/// Names an operand and its type.
fn describe_kind(operand: &Value, context: &DataValue<'_>) -> Option<String> {
    let path = path_of(operand)?;
    let has_default = operand["var"].as_array().is_some_and(|items| items.len() > 1);
    let kind = match look_up(context, &path) {
        Some(value) => kind_of(value),
        // Another root is a member of the element of a loop, and what `#` forces is no plain name.
        None if ROOTS.contains(&path.split('.').next()?) && !has_default && !path.contains('#') => "null",
        None => return None,
    };
    Some(format!("{path} is {kind}"))
}

/// Names an operand that is no number.
fn describe(operand: &Value, context: &DataValue<'_>) -> Option<String> {
    if let Some(path) = path_of(operand) {
        return not_numeric(look_up(context, &path)?).map(|kind| format!("{path} is {kind}"));
    }
    match operand {
        Value::String(text) if text.parse::<f64>().is_err() => {
            Some("a literal operand is a string".to_owned())
        }
        _ => None,
    }
}

/// Returns the literal path that an operand reads.
fn path_of(operand: &Value) -> Option<String> {
    let members = operand.as_object().filter(|members| members.len() == 1)?;
    if let Some(argument) = members.get("var") {
        let path = argument.as_str().or_else(|| argument.get(0)?.as_str())?;
        return Some(path.to_owned()).filter(|path| !path.is_empty());
    }
    let keys = members.get("val")?.as_array()?;
    let keys: Option<Vec<_>> = keys.iter().map(Value::as_str).collect();
    keys.map(|keys| keys.join("."))
}

fn look_up<'c, 'a>(context: &'c DataValue<'a>, path: &str) -> Option<&'c DataValue<'a>> {
    path.split('.').try_fold(context, |value, key| match value {
        DataValue::Object(members) => members.iter().find(|(name, _)| *name == key).map(|(_, member)| member),
        DataValue::Array(items) if !key.starts_with('+') => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns the type of a value that arithmetic does not take.
fn not_numeric(value: &DataValue<'_>) -> Option<&'static str> {
    match value {
        DataValue::String(text) if text.trim().parse::<f64>().is_err() => Some("a string"),
        DataValue::Array(_) => Some("an array"),
        DataValue::Object(_) => Some("an object"),
        _ => None,
    }
}
