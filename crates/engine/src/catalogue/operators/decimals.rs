//! Operators over decimal numbers: no digit is lost, and the results are texts.

use super::{MANY, Operator};

pub(super) static DECIMALS: [Operator; 8] = [
    Operator::new("decimal", (1, 1), "The decimal digits of a number, or of the text of one")
        .strict()
        .shows(r#"{"decimal": "1e3"}"#, r#""1000""#),
    Operator::new("decimal_add", (2, MANY), "Sum, with the decimals of the operand that has most")
        .strict()
        .shows(r#"{"decimal_add": ["0.10", 0.2]}"#, r#""0.30""#),
    Operator::new("decimal_sub", (2, 2), "Difference, with the decimals of the operand that has most")
        .strict()
        .shows(r#"{"decimal_sub": ["1.00", "0.1"]}"#, r#""0.90""#),
    Operator::new("decimal_mul", (2, MANY), "Product, with the decimals of all operands together")
        .strict()
        .shows(r#"{"decimal_mul": ["19.99", 3, "1.19"]}"#, r#""71.3643""#),
    Operator::new("decimal_div", (3, 4), "Quotient with so many decimals, in a mode of round")
        .strict()
        .shows(r#"{"decimal_div": ["10", "3", 2, "half_up"]}"#, r#""3.33""#),
    Operator::new(
        "decimal_round",
        (1, 3),
        "The number with so many decimals, 0 by default, in a mode of round",
    )
    .strict()
    .shows(r#"{"decimal_round": ["71.3643", 2]}"#, r#""71.36""#),
    Operator::new(
        "decimal_compare",
        (2, 2),
        "-1 if the first number is less, 0 if both are equal, 1 if it is greater",
    )
    .strict()
    .shows(r#"{"decimal_compare": ["0.30", "0.3"]}"#, "0"),
    Operator::new(
        "decimal_sum",
        (0, MANY),
        "Sum of the elements of a list, null left out; 0 of an empty one",
    )
    .shows(r#"{"decimal_sum": {"map": [{"var": "data.lines"}, {"var": "amount"}]}}"#, r#""30.00""#)
    .over(r#"{"lines": [{"amount": "10.10"}, {"amount": "19.90"}]}"#),
];
