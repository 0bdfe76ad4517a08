//! The work of every operator grows with its operands, not with their square.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::bounds::budget::processor_time;
use crate::operators::gaps;

/// Members of an object that a request may have by default.
const WIDEST: usize = 10_000;

/// Processor time between two looks at the clock: 20 ms of an optimised build, and five times that of one that is not.
const LONGEST_GAP: Duration = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 20 });

/// Members, elements or words of the smaller operands; the larger ones have four times as many.
const SIZE: usize = 1500;

/// Evaluations below this duration pass, whatever their growth.
const QUICK: Duration = Duration::from_millis(6);

/// Four times the operands take four times as long, and a little more if something is sorted; sixteen
/// times is the square.
const GROWTH: u32 = 9;

/// Rounds in which a measurement may be disturbed.
const ROUNDS: usize = 6;

/// Operands that are dear to whoever compares, looks up, sorts or splits.
const OPERANDS: [&str; 9] =
    ["object", "reversed", "objects", "texts", "paths", "numbers", "times", "long", "nested"];

fn data(size: usize) -> Value {
    let key = |n: usize| format!("key-{n:07}");
    let object = |range: Vec<usize>| -> Value {
        range.into_iter().map(|n| (key(n), n.into())).collect::<Map<_, _>>().into()
    };
    // Objects that differ in one member.
    let variant = |n: usize| {
        let mut one = object((0..size / 16).rev().collect());
        one[key(0)] = n.into();
        one
    };
    json!({
        "object": object((0..size).collect()),
        "reversed": object((0..size).rev().collect()),
        "objects": (0..16).map(variant).collect::<Vec<_>>(),
        "texts": (0..size).rev().map(key).collect::<Vec<_>>(),
        "paths": (0..size).rev().map(|n| format!("reversed.{}x", key(n))).collect::<Vec<_>>(),
        "numbers": (0..size).rev().collect::<Vec<_>>(),
        "times": (0..size).map(|n| format!("{n}d:1h")).collect::<Vec<_>>(),
        "long": "1d:".repeat(size * 4),
        "nested": vec![vec![object((0..4).collect()); 8]; size / 32],
    })
}

/// Returns the processor time of one evaluation, whatever it gives.
fn cost(evaluator: &Evaluator, expression: &Expression, context: &DataValue<'_>) -> Duration {
    let arena = Arena::lease();
    let before = processor_time();
    let _ = evaluator.evaluate(expression, context, &arena);
    processor_time().saturating_sub(before)
}

fn grows_with_its_operands(
    evaluator: &Evaluator,
    rule: &Value,
    small: &DataValue<'_>,
    large: &DataValue<'_>,
) -> bool {
    let Ok(expression) = evaluator.compile(rule, SecretPolicy::Allowed) else { return true };
    (0..ROUNDS).any(|_| {
        let much = cost(evaluator, &expression, large);
        much < QUICK || much < cost(evaluator, &expression, small) * GROWTH
    })
}

fn operators(evaluator: &Evaluator) -> Vec<&str> {
    let own = [
        "base64_encode",
        "base64url_encode",
        "hex_encode",
        "base64_decode",
        "base64url_decode",
        "hex_decode",
        "url_encode",
        "url_decode",
        "join",
        "random",
        "secret",
        "uuid",
        "round",
        "sum",
        "avg",
        "decimal",
        "decimal_add",
        "decimal_sub",
        "decimal_mul",
        "decimal_div",
        "decimal_round",
        "decimal_compare",
        "decimal_sum",
        "format_number",
        "replace",
        "matches",
        "capture",
        "index",
        "hash",
    ];
    assert!(own.iter().all(|name| evaluator.engine.has_custom_operator(name)));
    evaluator.engine.builtin_operator_names().chain(own).collect()
}

/// Calls of an operator with every adversarial operand, alone and in pairs.
fn calls_of(operator: &str) -> Vec<Value> {
    let rules = OPERANDS.iter().flat_map(|one| {
        let first = json!({ "var": one });
        let pairs = OPERANDS.map(|other| json!({ operator: [first, {"var": other}] }));
        let others = [
            json!({ operator: [first] }),
            json!({ operator: [first, true, {"var": "key-0000000"}] }),
            json!({ operator: [2, first] }),
            json!({ operator: [first, ""] }),
            json!({ operator: [first, [[{"var": "reversed"}, 1], [{"var": "object"}, 2]], 3] }),
            json!({ operator: [first, first, first] }),
        ];
        pairs.into_iter().chain(others)
    });
    rules.collect()
}

#[test]
fn no_operator_takes_the_square_of_its_operands() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let bump = Bump::new();
    let [small, large] =
        [SIZE, 4 * SIZE].map(|size| &*bump.alloc(DataValue::from_serde_value_in(&data(size), &bump)));
    let rules = operators(&evaluator).into_iter().flat_map(calls_of);
    let slow: Vec<_> = rules
        .filter(|rule| !grows_with_its_operands(&evaluator, rule, small, large))
        .map(|rule| rule.to_string())
        .collect();
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[test]
fn every_operator_checks_the_clock_often() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let bump = Bump::new();
    let context = DataValue::from_serde_value_in(&data(WIDEST), &bump);
    let mut long = Vec::new();
    for rule in operators(&evaluator).into_iter().flat_map(calls_of) {
        let Ok(expression) = evaluator.compile(&rule, SecretPolicy::Allowed) else { continue };
        let gap = || {
            let arena = Arena::lease();
            gaps::longest_during(|| drop(evaluator.evaluate(&expression, &context, &arena).map(drop)))
        };
        if !(0..ROUNDS).any(|_| gap() < LONGEST_GAP) {
            long.push(rule.to_string());
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}
