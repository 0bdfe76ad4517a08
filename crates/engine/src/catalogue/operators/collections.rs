//! Operators over arrays and objects. Below the first operand of a loop, `{"var": ""}` is the element at hand
//! and `{"var": "x"}` a member of it.

use super::{MANY, Operator};

pub(super) static ARRAY: [Operator; 12] = [
    Operator::new("map", (2, 2), "The results of an expression for every element")
        .strict()
        .shows(r#"{"map": [{"var": "data.items"}, {"*": [{"var": "price"}, {"var": "count"}]}]}"#, "[6, 5]")
        .over(r#"{"items": [{"price": 2, "count": 3}, {"price": 5, "count": 1}]}"#),
    Operator::new("filter", (2, 2), "The elements for which an expression is true")
        .strict()
        .shows(r#"{"filter": [[1, 2, 3], {">": [{"var": ""}, 1]}]}"#, "[2, 3]"),
    Operator::new("reduce", (2, 3), "Folds an array: the expression reads current and accumulator, which begins as the third operand")
        .strict()
        .shows(r#"{"reduce": [[1, 2, 3], {"+": [{"var": "accumulator"}, {"var": "current"}]}, 0]}"#, "6"),
    Operator::new("all", (2, 2), "Tells whether an expression is true for every element of an array that has some")
        .strict()
        .shows(r#"{"all": [[1, 2], {">": [{"var": ""}, 0]}]}"#, "true"),
    Operator::new("some", (2, 2), "Tells whether an expression is true for any element")
        .strict()
        .shows(r#"{"some": [[1, 2], {"==": [{"var": ""}, 2]}]}"#, "true"),
    Operator::new("none", (2, 2), "Tells whether an expression is true for no element")
        .strict()
        .shows(r#"{"none": [[1, 2], {"==": [{"var": ""}, 3]}]}"#, "true"),
    Operator::new("merge", (0, MANY), "One array of its operands; an array among them gives its elements, and null is left out")
        .shows(r#"{"merge": [[1, 2], 3, [4]]}"#, "[1, 2, 3, 4]"),
    Operator::new("sort", (1, MANY), "The elements in order; false as the second operand reverses it, a third is the expression to sort by")
        .strict()
        .shows(r#"{"sort": [[{"n": 2}, {"n": 1}], true, {"var": "n"}]}"#, r#"[{"n": 1}, {"n": 2}]"#),
    Operator::new("slice", (1, 4), "A part of an array or a text: start, end, step; negative ones count from the end")
        .shows(r#"{"slice": [[1, 2, 3, 4], 1, 3]}"#, "[2, 3]"),
    Operator::new("index", (2, 2), "The element at a position of a list, from 0, or from the end for a negative one; null outside")
        .strict()
        .shows(r#"{"index": [{"split": ["a/b/c", "/"]}, -1]}"#, r#""c""#),
    Operator::new("group_by", (2, MANY), "The elements in groups by the result of an expression, in the order of their first")
        .strict()
        .shows(
            r#"{"group_by": [{"var": "data.items"}, {"var": "kind"}]}"#,
            r#"[{"key": "a", "items": [{"kind": "a"}]}, {"key": "b", "items": [{"kind": "b"}]}]"#,
        )
        .over(r#"{"items": [{"kind": "a"}, {"kind": "b"}]}"#),
    Operator::new("distinct", (1, MANY), "The elements without repetition; a second operand is the expression that tells them apart")
        .strict()
        .shows(r#"{"distinct": [[1, 2, 1]]}"#, "[1, 2]"),
];

pub(super) static OBJECT: [Operator; 3] = [
    Operator::new("keys", (1, 1), "The names of the members of an object")
        .shows(r#"{"keys": [{"var": "data.order"}]}"#, r#"["id", "total"]"#)
        .over(r#"{"order": {"id": 1, "total": 2}}"#),
    Operator::new("values", (1, 1), "The values of the members of an object")
        .shows(r#"{"values": [{"var": "data.order"}]}"#, "[1, 2]")
        .over(r#"{"order": {"id": 1, "total": 2}}"#),
    Operator::new("entries", (1, 1), "The members of an object as objects of key and value")
        .shows(r#"{"entries": [{"var": "data.order"}]}"#, r#"[{"key": "id", "value": 1}]"#)
        .over(r#"{"order": {"id": 1}}"#),
];
