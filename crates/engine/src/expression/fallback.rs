//! The last operand of `try`: the library has it read the error in the place of the message.
//!
//! A `var` of the message looks there if the error has no such member. So a fallback may be any value of the message, and
//! what reads the error, such as `{"val": "type"}`, reads it still.

use serde_json::{Value, json};

use super::prepare::{LOOPS, ROOTS};

/// Returns the operands of a `try` with a last one that reads the message too; `None` if there is no fallback.
pub(super) fn read_behind_error(operands: &Value) -> Option<Value> {
    let mut operands = operands.as_array().filter(|operands| operands.len() > 1)?.clone();
    read_around(operands.last_mut()?, 1);
    Some(operands.into())
}

/// Has every `var` of the message look so many contexts further out too. Bodies of loops read their elements.
fn read_around(source: &mut Value, levels: usize) {
    match source {
        Value::Array(items) => items.iter_mut().for_each(|item| read_around(item, levels)),
        Value::Object(members) => {
            let call = if members.len() == 1 { members.iter_mut().next() } else { None };
            match call {
                Some((operator, operands)) => read_around_call(operator, operands, levels),
                None => members.values_mut().for_each(|member| read_around(member, levels)),
            }
        }
        _ => {}
    }
}

fn read_around_call(operator: &str, operands: &mut Value, levels: usize) {
    match (operator, operands) {
        ("var", operands) => read_path_around(operands, levels),
        ("try", Value::Array(operands)) => {
            let count = operands.len();
            for (n, operand) in operands.iter_mut().enumerate() {
                let is_fallback = n > 0 && n + 1 == count;
                read_around(operand, levels + usize::from(is_fallback));
            }
        }
        (operator, Value::Array(operands)) if LOOPS.contains(&operator) => {
            operands.iter_mut().take(1).for_each(|list| read_around(list, levels));
        }
        (_, operands) => read_around(operands, levels),
    }
}

/// Makes the read further out the default of a read, before its own default.
fn read_path_around(operands: &mut Value, levels: usize) {
    let read: &Value = operands;
    let path = read.get(0).unwrap_or(read).as_str();
    let further_out = path.and_then(|path| read_further_out(path, levels));
    let path = path.map(str::to_owned);
    let default = operands.get_mut(1).map(|default| {
        read_around(default, levels);
        default.take()
    });
    match (path, further_out, default) {
        (Some(path), Some(outer), None) => *operands = json!([path, outer]),
        (Some(path), Some(outer), Some(default)) => *operands = json!([path, {"??": [outer, default]}]),
        (_, _, Some(default)) => {
            if let Some(place) = operands.get_mut(1) {
                *place = default;
            }
        }
        (_, _, None) => {}
    }
}

/// Returns the read of a path of the message from so many contexts further in.
fn read_further_out(path: &str, levels: usize) -> Option<Value> {
    let mut segments = path.split('.');
    let root = segments.next().filter(|root| ROOTS.contains(root) && !path.contains('#'))?;
    let mut operands = vec![json!([levels]), root.into()];
    operands.extend(segments.map(Value::from));
    Some(json!({ "val": operands }))
}
