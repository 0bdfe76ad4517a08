//! Parts of an expression that read nothing, and fail.

use serde_json::Value;

use super::arity::is_always_evaluated;
use crate::expression::{Evaluator, SecretPolicy};

/// Operators whose result, or whose success, is not the same every time, or meant to be a failure.
const INCONSTANT: [&str; 11] =
    ["var", "val", "missing", "missing_some", "exists", "secret", "random", "uuid", "now", "throw", "try"];

/// Operators whose result is drawn, while their success depends on their operands alone.
const DRAWING: [&str; 2] = ["random", "uuid"];

/// Parts in branches that are reported for one expression.
const MAX_BRANCHES: usize = 20;

/// Returns the first part that is evaluated whenever the expression is, reads nothing and fails: its place,
/// and why.
pub(crate) fn failing_constant(evaluator: &Evaluator, source: &Value) -> Option<(String, String)> {
    find(evaluator, source, String::new())
}

/// Returns parts in branches, which may not run, that read nothing and fail whenever they run. Nothing that is always
/// evaluated fails.
pub(crate) fn failing_branches(evaluator: &Evaluator, source: &Value) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    search_branches(evaluator, source, String::new(), &mut parts);
    parts
}

fn search_branches(evaluator: &Evaluator, source: &Value, at: String, parts: &mut Vec<(String, String)>) {
    if parts.len() >= MAX_BRANCHES {
        return;
    }
    match source {
        Value::Object(members) if members.len() == 1 => {
            let Some((operator, operands)) = members.iter().next() else { return };
            // A branch of a constant that succeeds is never taken.
            if operator == "try" || (evaluator.knows(operator) && is_constant(source)) {
                return;
            }
            let at = format!("{at}.{operator}");
            let Value::Array(operands) = operands else {
                return search_branches(evaluator, operands, at, parts);
            };
            for (n, operand) in operands.iter().enumerate() {
                let at = format!("{at}[{n}]");
                let failing = if is_always_evaluated(operator, n) {
                    None
                } else {
                    find(evaluator, operand, at.clone())
                };
                match failing {
                    Some(part) => parts.push(part),
                    None => search_branches(evaluator, operand, at, parts),
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                search_branches(evaluator, member, format!("{at}.{name}"), parts);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                search_branches(evaluator, item, format!("{at}[{n}]"), parts);
            }
        }
        _ => {}
    }
}

fn find(evaluator: &Evaluator, source: &Value, at: String) -> Option<(String, String)> {
    match source {
        Value::Object(members) if members.len() == 1 => {
            let (operator, operands) = members.iter().next()?;
            let at = format!("{at}.{operator}");
            if operator == "try" {
                return None;
            }
            let is_draw = DRAWING.contains(&operator.as_str());
            let constant = evaluator.knows(operator) && is_constant(if is_draw { operands } else { source });
            // The smallest part that fails is the place to look at; a constant that succeeds has none.
            let reason = if constant { Some(failure(evaluator, source)?) } else { None };
            in_operands(evaluator, operator, operands, &at)
                .or_else(|| reason.map(|reason| (at, format!("it always fails: {reason}"))))
        }
        Value::Object(members) => {
            members.iter().find_map(|(name, member)| find(evaluator, member, format!("{at}.{name}")))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(n, item)| find(evaluator, item, format!("{at}[{n}]")))
        }
        _ => None,
    }
}

/// Looks into the operands that are evaluated whenever their operator is.
fn in_operands(
    evaluator: &Evaluator,
    operator: &str,
    operands: &Value,
    at: &str,
) -> Option<(String, String)> {
    let Value::Array(operands) = operands else { return find(evaluator, operands, at.to_owned()) };
    let always = operands.iter().enumerate().filter(|(n, _)| is_always_evaluated(operator, *n));
    always.into_iter().find_map(|(n, operand)| find(evaluator, operand, format!("{at}[{n}]")))
}

fn failure(evaluator: &Evaluator, source: &Value) -> Option<String> {
    let expression = evaluator.compile(source, SecretPolicy::Refused("a constant")).ok()?;
    evaluator.evaluate_roots(&expression, &[]).err()
}

fn is_constant(source: &Value) -> bool {
    match source {
        Value::Object(members) => {
            let inconstant =
                members.len() == 1 && members.keys().any(|name| INCONSTANT.contains(&name.as_str()));
            !inconstant && members.values().all(is_constant)
        }
        Value::Array(items) => items.iter().all(is_constant),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bounds::limits::EngineLimits;
    use crate::operators::DeclaredSecrets;

    #[test]
    fn failing_constant_is_found_if_always_evaluated() {
        let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
        let found = |source: &Value| failing_constant(&evaluator, source).map(|(place, _)| place);
        for (source, place) in [
            (json!({"length": 5}), ".length"),
            (json!({"cat": [{"random": ["int", 6, 1]}]}), ".cat[0].random"),
            (json!({"random": ["uuid", "v9"]}), ".random"),
            (json!({"cat": [{"var": "data.x"}, {"base64_decode": "?"}]}), ".cat[1].base64_decode"),
            (json!({"a": 1, "b": {"if": [{"+": ["a", 1]}, 1, 2]}}), ".b.if[0].+"),
        ] {
            assert_eq!(found(&source).as_deref(), Some(place), "{source}");
        }
        for source in [
            json!({"if": [{"var": "data.x"}, {"length": 5}, 1]}),
            json!({"try": [{"length": 5}, 0]}),
            json!({"throw": "no"}),
            json!({"random": ["int", 1, 6]}),
            json!({"random": ["string", {"var": "data.n"}, "hex"]}),
            json!({"uuid": "v7"}),
            json!({"length": "text"}),
            json!({"length": {"var": "data.x"}}),
            json!({"unknown": 5}),
        ] {
            assert_eq!(found(&source), None, "{source}");
        }
    }

    #[test]
    fn failing_constant_in_a_branch_is_distinguished() {
        let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
        let found = |source: &Value| {
            let calls = crate::failing_calls::failing_calls(&evaluator, source);
            calls.into_iter().map(|call| (call.place, call.always)).collect::<Vec<_>>()
        };
        for (source, place) in [
            (json!({"if": [{"var": "data.x"}, {"length": 5}, 1]}), ".if[1].length"),
            (json!({"cat": ["a", {"??": [{"var": "data.x"}, {"/": [1, 0]}]}]}), ".cat[1].??[1]./"),
            (
                json!({"a": {"and": [{"var": "data.x"}, {"or": [{"+": ["a", 1]}]}]}, "b": 2}),
                ".a.and[1].or[0].+",
            ),
            (
                json!({"map": [{"var": "data.x"}, {"if": [{"var": ""}, {"length": 5}]}]}),
                ".map[1].if[1].length",
            ),
            (json!({"if": [{"var": "data.x"}, {"length": []}, 1]}), ".if[1].length"),
        ] {
            assert_eq!(found(&source), [(place.to_owned(), false)], "{source}");
        }
        assert_eq!(found(&json!({"if": [true, {"length": 5}, 1]})), [(".if".to_owned(), true)]);
        for source in [
            json!({"or": [1, {"length": 5}]}),
            json!({"if": [{"var": "data.x"}, {"try": [{"length": 5}, 0]}, 1]}),
            json!({"if": [{"var": "data.x"}, {"throw": "no"}, 1]}),
        ] {
            assert_eq!(found(&source), [], "{source}");
        }
    }
}
