//! The order of numbers by all their digits: as doubles two different integers may be the same number.

use std::cmp::Ordering;

use datalogic_rs::datavalue::NumberValue;

/// Compares two numbers. What is no number, which arithmetic may give, comes last.
pub(in crate::operators) fn order(one: NumberValue, other: NumberValue) -> Ordering {
    match (one, other) {
        (NumberValue::Integer(one), NumberValue::Integer(other)) => one.cmp(&other),
        (NumberValue::Float(one), NumberValue::Float(other)) => {
            one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        }
        (NumberValue::Integer(_), NumberValue::Float(_)) => order_to_double(one, other),
        (NumberValue::Float(_), NumberValue::Integer(_)) => order_to_double(other, one).reverse(),
    }
}

fn order_to_double(integer: NumberValue, double: NumberValue) -> Ordering {
    match integer.partial_cmp(&double) {
        // The double is the one that is nearest to the integer.
        Some(Ordering::Equal) => match (integer.as_i64(), double.as_i64()) {
            (Some(integer), Some(whole)) => integer.cmp(&whole),
            _ => Ordering::Less,
        },
        Some(order) => order,
        None => Ordering::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_compared_with_all_digits() {
        let (integer, double) = (NumberValue::Integer, NumberValue::Float);
        let ascending = [
            double(f64::NEG_INFINITY),
            integer(i64::MIN),
            integer(i64::MIN + 1),
            double(-0.5),
            integer(0),
            double(0.5),
            double(9_007_199_254_740_992.0),
            integer(9_007_199_254_740_993),
            integer(i64::MAX - 1),
            integer(i64::MAX),
            double(9_223_372_036_854_775_808.0),
            double(f64::NAN),
        ];
        for (n, one) in ascending.iter().enumerate() {
            for (m, other) in ascending.iter().enumerate() {
                assert_eq!(order(*one, *other), n.cmp(&m), "{one:?} {other:?}");
            }
        }
        assert_eq!(order(double(-0.0), integer(0)), Ordering::Equal);
        assert_eq!(order(integer(3), double(3.0)), Ordering::Equal);
    }
}
