//! Sums, products, quotients and roundings of decimal numbers, compared with those of Python.

use std::process::Command;

use serde_json::{Value, json};
use svc_engine::{Engine, Expression};
use svc_testkit::peer;

/// Number of random cases.
const CASES: usize = 10_000;

const MODES: [&str; 7] = ["half_even", "half_up", "half_down", "up", "down", "ceil", "floor"];

const OPERATORS: [&str; 8] = [
    "decimal_add",
    "decimal_sub",
    "decimal_mul",
    "decimal_div",
    "decimal_round",
    "decimal_compare",
    "decimal_sum",
    "round",
];

/// Reads cases, one JSON object a line, and writes the result of each.
const PYTHON: &str = r"
import decimal, json, sys
from decimal import Decimal
decimal.getcontext().prec = 5000
MODES = {
    'half_even': decimal.ROUND_HALF_EVEN, 'half_up': decimal.ROUND_HALF_UP, 'half_down': decimal.ROUND_HALF_DOWN,
    'up': decimal.ROUND_UP, 'down': decimal.ROUND_DOWN, 'ceil': decimal.ROUND_CEILING, 'floor': decimal.ROUND_FLOOR,
}
def text(number):
    return format(number if number else abs(number), 'f')
for line in open(sys.argv[1]):
    case = json.loads(line)
    a, b, places = Decimal(case['a']), Decimal(case['b']), case['places']
    def rounded(number):
        return number.quantize(Decimal(1).scaleb(-places), rounding=MODES[case['mode']])
    print({
        'decimal_add': lambda: text(a + b),
        'decimal_sub': lambda: text(a - b),
        'decimal_mul': lambda: text(a * b),
        'decimal_div': lambda: text(rounded(a / b)) if b else 'error',
        'decimal_round': lambda: text(rounded(a)),
        'decimal_compare': lambda: str(int(a.compare(b))),
        'decimal_sum': lambda: text(a + b + a + b + a),
        'round': lambda: repr(float(rounded(a))),
    }[case['operator']]())
";

/// A sequence of numbers that is the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn digits(&mut self, most: u64) -> String {
        let count = self.below(most + 1);
        // Many fives and zeros, so that there are ties.
        (0..count).map(|_| ["0", "5", "1", "9", "4", "7"][self.below(6) as usize]).collect()
    }

    fn decimal(&mut self) -> String {
        let sign = ["", "-"][self.below(2) as usize];
        let (whole, fraction) = (self.digits(25), self.digits(12));
        let whole = if whole.is_empty() { "0" } else { &whole };
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    fn case(&mut self) -> Value {
        let operator = OPERATORS[self.below(OPERATORS.len() as u64) as usize];
        // Roundings to tens and hundreds, too; a quotient has decimals.
        let least = if operator == "decimal_div" { 0 } else { 3 };
        let places = self.below(12) as i64 - least;
        let mode = MODES[self.below(MODES.len() as u64) as usize];
        json!({"operator": operator, "a": self.decimal(), "b": self.decimal(), "places": places, "mode": mode})
    }
}

/// Compiles the call of each operator over the members of a case.
fn compile_calls(engine: &Engine) -> Vec<(&'static str, Expression)> {
    let [a, b, places, mode] =
        ["a", "b", "places", "mode"].map(|name| json!({"var": format!("data.{name}")}));
    let call = |operator: &'static str| {
        let operands = match operator {
            "decimal_div" => json!([a, b, places, mode]),
            "decimal_round" | "round" => json!([a, places, mode]),
            "decimal_sum" => json!([[a, b, a, b, a]]),
            _ => json!([a, b]),
        };
        (operator, engine.compile_expression(&json!({ operator: operands })).unwrap())
    };
    OPERATORS.map(call).into()
}

fn evaluate(engine: &Engine, calls: &[(&str, Expression)], case: &Value) -> String {
    let (_, call) = calls.iter().find(|(operator, _)| case["operator"] == *operator).unwrap();
    match engine.evaluate(call, &[("data", case)]) {
        Ok(Value::String(text)) => text,
        Ok(number) => number.to_string(),
        Err(_) => "error".to_owned(),
    }
}

#[test]
fn random_decimal_operations_equal_those_of_python() {
    if !peer::is_installed("python3", "python3") {
        return;
    }
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let cases: Vec<_> = (0..CASES).map(|_| numbers.case()).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cases");
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let output = Command::new("python3").args(["-c", PYTHON]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<_> = expected.lines().collect();
    assert_eq!(expected.len(), CASES);
    let engine = Engine::builder().build();
    let calls = compile_calls(&engine);
    for (case, expected) in cases.iter().zip(expected) {
        let result = evaluate(&engine, &calls, case);
        let is_equal = match case["operator"].as_str() {
            // Doubles have several texts.
            Some("round") => result.parse::<f64>().ok() == expected.parse::<f64>().ok(),
            _ => result == expected,
        };
        assert!(is_equal, "{case} gave {result}, not {expected}");
    }
}
