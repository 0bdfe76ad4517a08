//! Operators that read the message, compare, decide and compute.

use super::{MANY, Operator};

pub(super) static ACCESS: [Operator; 6] = [
    Operator::new(
        "var",
        (0, 2),
        "Reads a dotted path of the message; the second operand stands for what is missing",
    )
    .shows(r#"{"var": ["data.order.total", 0]}"#, "12")
    .over(r#"{"order": {"total": 12}}"#),
    Operator::new("val", (0, MANY), "Reads a path of the message whose segments are operands of their own")
        .shows(r#"{"val": ["data", "order", "total"]}"#, "12")
        .over(r#"{"order": {"total": 12}}"#),
    Operator::new("missing", (0, MANY), "Names the paths that are missing")
        .shows(r#"{"missing": ["data.id", "data.name"]}"#, r#"["data.name"]"#)
        .over(r#"{"id": 1}"#),
    Operator::new(
        "missing_some",
        (2, 2),
        "Names the paths that are missing, unless as many as the first operand says are there",
    )
    .shows(r#"{"missing_some": [1, ["data.phone", "data.mail"]]}"#, r#"["data.phone", "data.mail"]"#),
    Operator::new(
        "exists",
        (0, MANY),
        "Tells whether a path is there, even if it holds null; each operand is one segment",
    )
    .shows(r#"{"exists": ["data", "order", "note"]}"#, "true")
    .over(r#"{"order": {"note": null}}"#),
    Operator::new(
        "secret",
        (1, 1),
        "Reads a secret of the settings by its literal name; refused where the result would be recorded",
    )
    .strict()
    .shows(r#"{"secret": "token"}"#, ""),
];

pub(super) static COMPARISON: [Operator; 9] = [
    Operator::new(
        "==",
        (2, MANY),
        "Equal after conversion: a number and the text of a number are compared as numbers",
    )
    .shows(r#"{"==": ["1", 1]}"#, "true"),
    Operator::new("===", (2, MANY), "Equal in type and value").shows(r#"{"===": ["1", 1]}"#, "false"),
    Operator::new("!=", (2, MANY), "Not equal after conversion").shows(r#"{"!=": ["1", 1]}"#, "false"),
    Operator::new("!==", (2, MANY), "Not equal in type or value").shows(r#"{"!==": ["1", 1]}"#, "true"),
    Operator::new(">", (2, MANY), "Greater; of more operands each is compared with the next")
        .shows(r#"{">": [{"var": "data.total"}, 10]}"#, "true")
        .over(r#"{"total": 12}"#),
    Operator::new(">=", (2, MANY), "Greater or equal").shows(r#"{">=": [3, 2, 2]}"#, "true"),
    Operator::new("<", (2, MANY), "Less; of three operands the second lies between the others")
        .shows(r#"{"<": [1, {"var": "data.n"}, 10]}"#, "true")
        .over(r#"{"n": 5}"#),
    Operator::new("<=", (2, MANY), "Less or equal").shows(r#"{"<=": [1, 1, 2]}"#, "true"),
    Operator::new("in", (2, 2), "Tells whether a text is part of a text, or a value an element of an array")
        .shows(r#"{"in": ["b", ["a", "b"]]}"#, "true"),
];

pub(super) static CONTROL: [Operator; 12] = [
    Operator::new("!", (1, 1), "Not: true for null, false, 0, an empty text, array or object")
        .shows(r#"{"!": [{"var": "data.id"}]}"#, "true"),
    Operator::new("!!", (1, 1), "The truth of a value as true or false").shows(r#"{"!!": ["x"]}"#, "true"),
    Operator::new("and", (1, MANY), "The first operand that is not true, else the last")
        .shows(r#"{"and": [{">": [2, 1]}, {"==": ["a", "a"]}]}"#, "true"),
    Operator::new("or", (1, MANY), "The first operand that is true, else the last")
        .shows(r#"{"or": [false, "x"]}"#, r#""x""#),
    Operator::new("if", (1, MANY), "The operand after the first condition that is true, else the last")
        .shows(r#"{"if": [{"<": [{"var": "data.n"}, 10]}, "few", "many"]}"#, r#""few""#)
        .over(r#"{"n": 3}"#),
    Operator::new("?:", (1, MANY), "Another name of if").shows(r#"{"?:": [true, 1, 2]}"#, "1"),
    Operator::new("??", (1, MANY), "The first operand that is not null")
        .shows(r#"{"??": [{"var": "data.nickname"}, {"var": "data.name"}]}"#, r#""Ada""#)
        .over(r#"{"name": "Ada"}"#),
    Operator::new(
        "switch",
        (2, MANY),
        "The result beside the case that equals the first operand, else the third operand",
    )
    .strict()
    .shows(r#"{"switch": [{"var": "data.code"}, [[200, "ok"], [404, "gone"]], "other"]}"#, r#""gone""#)
    .over(r#"{"code": 404}"#),
    Operator::new("match", (2, MANY), "Another name of switch")
        .strict()
        .shows(r#"{"match": ["a", [["a", 1], ["b", 2]], 0]}"#, "1"),
    Operator::new("try", (1, MANY), "The first operand that does not fail")
        .shows(r#"{"try": [{"/": [1, 0]}, "infinite"]}"#, r#""infinite""#),
    Operator::new("throw", (1, 1), "Fails with the type it is given; within try, the next operand reads it")
        .shows(r#"{"try": [{"throw": "sold_out"}, {"val": "type"}]}"#, r#""sold_out""#),
    Operator::new(
        "type",
        (1, 1),
        "The type of a value: null, boolean, number, string, array, object, datetime or duration",
    )
    .shows(r#"{"type": [{"var": "data.list"}]}"#, r#""array""#)
    .over(r#"{"list": []}"#),
];

pub(super) static ARITHMETIC: [Operator; 15] = [
    Operator::new("+", (1, MANY), "Sum; of one operand its number").shows(r#"{"+": [1, "2", 3]}"#, "6"),
    Operator::new("-", (1, MANY), "Difference; of one operand its negative").shows(r#"{"-": [5, 2]}"#, "3"),
    Operator::new("*", (1, MANY), "Product")
        .shows(r#"{"*": [{"var": "data.price"}, 2]}"#, "8")
        .over(r#"{"price": 4}"#),
    Operator::new("/", (1, MANY), "Quotient; fails where an integer is divided by zero")
        .shows(r#"{"/": [7, 2]}"#, "3.5"),
    Operator::new("%", (2, MANY), "Remainder").shows(r#"{"%": [7, 4]}"#, "3"),
    Operator::new("min", (1, MANY), "The least number").shows(r#"{"min": [3, 1, 2]}"#, "1"),
    Operator::new("max", (1, MANY), "The greatest number").shows(r#"{"max": [3, 1, 2]}"#, "3"),
    Operator::new("abs", (1, MANY), "The number without its sign").shows(r#"{"abs": -2}"#, "2"),
    Operator::new("ceil", (1, MANY), "The next integer above, within 64 bits").shows(r#"{"ceil": 1.2}"#, "2"),
    Operator::new("floor", (1, MANY), "The next integer below, within 64 bits").shows(r#"{"floor": 1.8}"#, "1"),
    Operator::new(
        "round",
        (1, 3),
        "The number with so many decimals, 0 by default, in the mode half_even, half_up, half_down, up, down, ceil or floor",
    )
    .strict()
    .shows(r#"{"round": [{"var": "data.price"}, 2, "half_up"]}"#, "2.68")
    .over(r#"{"price": 2.675}"#),
    Operator::new("sum", (0, MANY), "Sum of the elements of a list, null left out; 0 of an empty one")
        .shows(r#"{"sum": {"var": "data.amounts"}}"#, "0.6")
        .over(r#"{"amounts": [0.1, 0.2, "0.3", null]}"#),
    Operator::new("avg", (0, MANY), "Mean of the elements of a list, null left out; null of an empty one")
        .shows(r#"{"avg": [[1, 2, null, 6]]}"#, "3"),
    Operator::new(
        "random",
        (1, 3),
        "A value of the system's random source: uuid, digits, int, string or bytes, each with its operands",
    )
    .strict()
    .shows(r#"{"random": ["int", 1, 6]}"#, ""),
    Operator::new("uuid", (1, 1), "A new identifier: v7 begins with the time, v4 is all random")
        .strict()
        .shows(r#"{"uuid": "v7"}"#, ""),
];
