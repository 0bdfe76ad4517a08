//! Values in the place of a condition that are no expressions: objects that call no operator, and lists of expressions.
//! Their truth is the same for every message.

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError};

/// The use that is made of the result of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultUse {
    /// Only its truth counts.
    Truth,
    /// The value itself.
    Value,
}

/// A value whose truth is asked for, and is the same for every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstantTruth {
    /// Its place.
    pub path: String,
    reason: &'static str,
}

impl ConstantTruth {
    /// Returns the refusal.
    pub fn refusal(&self) -> FieldError {
        FieldError::new(&self.path, FieldCode::NotAnExpression, self.reason)
    }
}

const SEVERAL_MEMBERS: &str = "an object of several members calls no operator, so its truth never depends on the message; \
     combine its members with 'and' or 'or'";
const NO_MEMBER: &str = "an empty object calls no operator, so its truth never depends on the message";
const LIST: &str = "a list of expressions is no expression, so its truth never depends on the message; \
     combine its elements with 'and' or 'or'";

/// Returns the values of an expression whose truth counts and never differs, at whatever depth; paths begin at `at`.
/// `is_operator` recognises the names that can be called. An object of one member that calls none is left to the check
/// of unknown operators.
pub(crate) fn constant_truths(
    is_operator: &dyn Fn(&str) -> bool,
    at: &str,
    source: &Value,
    used_as: ResultUse,
) -> Vec<ConstantTruth> {
    let mut walk = Walk { is_operator, used_as, found: Vec::new() };
    walk.expression(at, source, used_as);
    walk.found
}

struct Walk<'o> {
    is_operator: &'o dyn Fn(&str) -> bool,
    /// The use that is made of the whole expression.
    used_as: ResultUse,
    found: Vec<ConstantTruth>,
}

impl Walk<'_> {
    fn expression(&mut self, at: &str, source: &Value, used_as: ResultUse) {
        match source {
            Value::Array(items) => {
                if used_as == ResultUse::Truth && items.iter().any(Value::is_object) {
                    self.found.push(ConstantTruth { path: at.to_owned(), reason: LIST });
                }
                self.elements(at, items);
            }
            Value::Object(members) => self.object(at, members, used_as),
            _ => {}
        }
    }

    fn object(&mut self, at: &str, members: &Map<String, Value>, used_as: ResultUse) {
        let mut names = members.iter();
        match (names.next(), names.next()) {
            (Some((name, operands)), None) if (self.is_operator)(name) => {
                // Its operand is data.
                if name != "throw" {
                    self.call(&format!("{at}.{name}"), name, operands, used_as);
                }
                return;
            }
            (Some(_), None) => {}
            (Some(_), Some(_)) if used_as == ResultUse::Truth => {
                self.found.push(ConstantTruth { path: at.to_owned(), reason: SEVERAL_MEMBERS });
            }
            // In an expression that builds a value it stands for what is not true, as in the suites of JSONLogic.
            (None, _) if used_as == ResultUse::Truth && self.used_as == ResultUse::Truth => {
                self.found.push(ConstantTruth { path: at.to_owned(), reason: NO_MEMBER });
            }
            _ => {}
        }
        for (name, member) in members {
            self.expression(&format!("{at}.{name}"), member, ResultUse::Value);
        }
    }

    fn elements(&mut self, at: &str, items: &[Value]) {
        for (n, item) in items.iter().enumerate() {
            self.expression(&format!("{at}[{n}]"), item, ResultUse::Value);
        }
    }

    fn call(&mut self, at: &str, operator: &str, operands: &Value, result: ResultUse) {
        let Value::Array(operands) = operands else {
            return self.expression(at, operands, operand_use(operator, 0, 1, result));
        };
        for (n, operand) in operands.iter().enumerate() {
            let at = format!("{at}[{n}]");
            match (operator, n, operand) {
                ("switch" | "match", 1, Value::Array(cases)) => self.cases(&at, cases, result),
                // Nothing as the default of a path: the truth follows from what is there.
                ("var", 1, Value::Object(members)) if members.is_empty() => {}
                _ => self.expression(&at, operand, operand_use(operator, n, operands.len(), result)),
            }
        }
    }

    /// The pairs of a `switch`: a value to compare with, and a result.
    fn cases(&mut self, at: &str, cases: &[Value], result: ResultUse) {
        for (n, case) in cases.iter().enumerate() {
            let at = format!("{at}[{n}]");
            match case.as_array().map(Vec::as_slice) {
                Some([value, outcome]) => {
                    self.expression(&format!("{at}[0]"), value, ResultUse::Value);
                    self.expression(&format!("{at}[1]"), outcome, result);
                }
                _ => self.expression(&at, case, ResultUse::Value),
            }
        }
    }
}

/// Returns the use that an operator makes of its operand `n` of `count`, if its own result is used as `result`.
fn operand_use(operator: &str, n: usize, count: usize, result: ResultUse) -> ResultUse {
    let is_last = n + 1 == count;
    match operator {
        "!" | "!!" => ResultUse::Truth,
        "if" | "?:" if n.is_multiple_of(2) && !is_last => ResultUse::Truth,
        "if" | "?:" | "or" | "??" | "try" => result,
        // An object is never what ends the operands early.
        "and" if !is_last => ResultUse::Truth,
        "and" => result,
        "switch" | "match" if n == 2 => result,
        // The default of a path, and what is kept of the last element.
        "var" | "reduce" if n == 1 => result,
        "filter" | "all" | "some" | "none" if n == 1 => ResultUse::Truth,
        _ => ResultUse::Value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalogue::operators;

    fn paths(source: &Value, used_as: ResultUse) -> Vec<String> {
        let is_operator = |name: &str| operators::find(name).is_some();
        constant_truths(&is_operator, "c", source, used_as).into_iter().map(|found| found.path).collect()
    }

    #[test]
    fn multi_member_object_is_found_in_every_condition() {
        let two = json!({"==": [{"var": "data.a"}, 1], "in": [1, [2]]});
        for (source, expected) in [
            (json!(two), vec!["c"]),
            (json!({}), vec!["c"]),
            (json!([two]), vec!["c"]),
            (json!({"and": two}), vec!["c.and"]),
            (json!({"and": [{"!!": {"var": "a"}}, two]}), vec!["c.and[1]"]),
            (json!({"or": [false, {"and": [two, true]}]}), vec!["c.or[1].and[0]"]),
            (json!({"if": [two, true, two, two, two]}), vec!["c.if[0]", "c.if[2]", "c.if[3]", "c.if[4]"]),
            (json!({"!": [two]}), vec!["c.![0]"]),
            (json!({"!!": two}), vec!["c.!!"]),
            (json!({"and": [[two, {"var": "a"}]]}), vec!["c.and[0]"]),
            (json!({"some": [{"var": "data.items"}, two]}), vec!["c.some[1]"]),
            (json!({"??": [{"var": "a"}, two]}), vec!["c.??[1]"]),
            (json!({"switch": [{"var": "a"}, [[two, two]], two]}), vec!["c.switch[1][0][1]", "c.switch[2]"]),
            (json!({"var": ["a", two]}), vec!["c.var[1]"]),
            (json!({"reduce": [{"var": "a"}, two, two]}), vec!["c.reduce[1]"]),
            (json!({"unknown": {"!!": two}}), vec!["c.unknown.!!"]),
        ] {
            assert_eq!(paths(&source, ResultUse::Truth), expected, "{source}");
        }
    }

    #[test]
    fn object_used_as_value_is_left_alone() {
        let two = json!({"a": 1, "b": {"var": "data.b"}});
        for source in [
            json!({"==": [{"var": "data.a"}, two]}),
            json!({"in": [{"var": "data.a"}, [two]]}),
            json!({"!": {"missing": ["a", "b"]}}),
            json!({"!!": ["x"]}),
            json!({"if": [[], true, false]}),
            json!({"throw": two}),
            json!({"all": [[two], {"var": "a"}]}),
            json!({"==": [{"var": ["a", two]}, 1]}),
            json!({"!!": {"var": ["data.a", {}]}}),
            json!({"reduce": [{"var": "a"}, {"var": "current"}, two]}),
        ] {
            assert_eq!(paths(&source, ResultUse::Truth), [""; 0], "{source}");
        }
        for source in
            [json!(two), json!([two]), json!({"or": [{"var": "a"}, two]}), json!({"if": [true, two, two]})]
        {
            assert_eq!(paths(&source, ResultUse::Value), [""; 0], "{source}");
        }
    }

    #[test]
    fn condition_inside_built_value_is_checked() {
        let two = json!({"a": 1, "b": 2});
        for (source, expected) in [
            (json!({"if": [two, two, two]}), vec!["c.if[0]"]),
            (json!({"x": 1, "y": {"filter": [[two], two]}}), vec!["c.y.filter[1]"]),
            (json!([{"!": two}]), vec!["c[0].!"]),
            (json!({"if": [{}, 1, 2]}), vec![]),
            (json!({"and": [two, two]}), vec!["c.and[0]"]),
        ] {
            assert_eq!(paths(&source, ResultUse::Value), expected, "{source}");
        }
    }
}
