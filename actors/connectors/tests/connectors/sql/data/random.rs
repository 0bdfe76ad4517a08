//! Rows that differ in every way databases disagree about, and filters over them.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::oracle::Row;

const TEXTS: [&str; 26] = [
    "", " ", "a", "A", "b", "ab", "aB", "ab ", " ab", "abc", "a%b", "a_b", "%", "_", "*", "a*b", "[a]", "\\",
    "a\\%", "'", "\"", "!", "é", "É", "日本", "ß",
];

fn numbers() -> Vec<Value> {
    let mut numbers: Vec<_> =
        [-2_147_483_648_i64, -7, -1, 0, 1, 2, 3, 41, 1_000_000].map(Value::from).to_vec();
    numbers.extend([-0.5, 0.0, 0.1, 1.0, 1.5, 2.25, -3.75, 1e10, 1e-7].map(Value::from));
    numbers
}

/// The columns of both tables: whole and other numbers, texts, truths; all may be null.
fn values(column: &str) -> Vec<Value> {
    match column {
        "n" => numbers().into_iter().filter(Value::is_i64).collect(),
        "x" => numbers(),
        "b" => vec![true.into(), false.into()],
        _ => TEXTS.map(Value::from).to_vec(),
    }
}

/// Always the same rows: `n`, `x`, `s` and `b` by turns, with nulls between, and up to three related rows
/// each.
pub(super) fn rows() -> Vec<Row> {
    let pick = |column: &str, at: usize| {
        let values = values(column);
        if at % 6 == 5 { Value::Null } else { values[(at * 7 + at / 5) % values.len()].clone() }
    };
    let columns = |at: usize| json!({"n": pick("n", at), "x": pick("x", at + 1), "s": pick("s", at * 3 + 2), "b": pick("b", at * 5 + 3)});
    (0..40)
        .map(|id| {
            let mut row = columns(id);
            row["id"] = id.into();
            Row { columns: row, related: (0..id % 4).map(|nth| columns(id * 3 + nth + 1)).collect() }
        })
        .collect()
}

/// A constant that fits a column, and now and then null, or a text, if texts and numbers may mix.
fn constant(column: &'static str, texts: bool) -> BoxedStrategy<Value> {
    let fitting = select(if column == "n" { numbers() } else { values(column) });
    let text = select(TEXTS.map(Value::from).to_vec());
    prop_oneof![9 => fitting, 1 => Just(Value::Null), u32::from(texts) => text].boxed()
}

fn leaf(texts: bool) -> BoxedStrategy<Value> {
    let constant = move |column| constant(column, texts);
    let column = select(vec!["n", "x", "s", "b"]);
    let equal = (column.clone(), select(vec!["==", "===", "!=", "!=="]))
        .prop_flat_map(move |(column, operator)| {
            (Just(column), Just(operator), constant(column), any::<bool>())
        })
        .prop_map(|(column, operator, value, swapped)| comparison(column, operator, value, swapped));
    let ordered = (select(vec!["n", "x", "s"]), select(vec!["<", "<=", ">", ">="]))
        .prop_flat_map(move |(column, operator)| {
            (Just(column), Just(operator), constant(column), any::<bool>())
        })
        .prop_map(|(column, operator, value, swapped)| comparison(column, operator, value, swapped));
    let between = (select(vec!["n", "x", "s"]), select(vec!["<", "<="]))
        .prop_flat_map(move |(column, operator)| {
            (Just(column), Just(operator), constant(column), constant(column))
        })
        .prop_map(|(column, operator, low, high)| json!({ operator: [low, {"field": column}, high] }));
    let listed = column
        .prop_flat_map(move |column| (Just(column), prop::collection::vec(constant(column), 0..4)))
        .prop_map(|(column, list)| json!({"in": [{"field": column}, list]}));
    let text = (select(TEXTS.to_vec()), 0..3).prop_map(|(text, operator)| match operator {
        0 => json!({"in": [text, {"field": "s"}]}),
        1 => json!({"starts_with": [{"field": "s"}, text]}),
        _ => json!({"ends_with": [{"field": "s"}, text]}),
    });
    let missing = prop::collection::vec(select(vec!["n", "x", "s", "b"]), 0..3)
        .prop_map(|columns| json!({"missing": columns}));
    prop_oneof![3 => equal, 3 => ordered, 1 => between, 2 => listed, 3 => text, 1 => missing].boxed()
}

fn comparison(column: &str, operator: &str, value: Value, swapped: bool) -> Value {
    let field = json!({"field": column});
    if swapped { json!({ operator: [value, field] }) } else { json!({ operator: [field, value] }) }
}

fn connective(leaf: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|nodes| json!({"and": nodes})),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|nodes| json!({"or": nodes})),
            inner.clone().prop_map(|node| json!({"!": node})),
            inner.prop_map(|node| json!({"!": [node]})),
        ]
    })
    .boxed()
}

/// Any filter over the rows; with texts and numbers mixed, if they may mix.
pub(super) fn filter(texts: bool) -> BoxedStrategy<Value> {
    let related = (select(vec!["some", "all", "none"]), connective(leaf(texts)))
        .prop_map(|(quantifier, filter)| json!({ quantifier: [{"field": "parts"}, filter] }));
    connective(prop_oneof![8 => leaf(texts), 1 => related].boxed())
}
