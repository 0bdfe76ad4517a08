//! `sum` and `avg`: of the elements of a list, or of the operands, without those that are null.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::datavalue::NumberValue;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::operand::no_number;
use crate::operators::arguments::{elements, refuse};
use crate::operators::guard::{spend, text_units};

/// The sum; 0 of nothing.
pub(crate) struct Sum;

/// The arithmetic mean; null of nothing.
pub(crate) struct Average;

impl CustomOperator for Sum {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let total = NumberTotal::add_up("sum", args)?;
        finite("sum", total.value()).map(|number| &*arena.alloc(DataValue::Number(number)))
    }
}

impl CustomOperator for Average {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let total = NumberTotal::add_up("avg", args)?;
        match total.value().div(&NumberValue::from_i64(total.count)) {
            None => Ok(arena.null()),
            Some(mean) => finite("avg", mean).map(|number| &*arena.alloc(DataValue::Number(number))),
        }
    }
}

fn finite(operator: &str, number: NumberValue) -> datalogic_rs::Result<NumberValue> {
    if number.as_f64().is_finite() {
        Ok(number)
    } else {
        Err(refuse(format!("{operator}: the sum is no number; the decimal operators have no such limit")))
    }
}

/// A sum under way: integers exactly, doubles with the part that each addition loses (Neumaier).
#[derive(Default)]
struct NumberTotal {
    count: i64,
    integers: i128,
    doubles: f64,
    lost: f64,
    has_doubles: bool,
}

impl NumberTotal {
    fn add_up(operator: &str, args: &[&DataValue<'_>]) -> datalogic_rs::Result<Self> {
        let mut total = Self::default();
        for value in elements(args) {
            spend(1)?;
            match value {
                DataValue::Null => continue,
                DataValue::Number(number) => total.add(*number),
                DataValue::String(text) => {
                    spend(text_units(text))?;
                    total.add(parse(text).ok_or_else(|| refuse(format!("{operator}: a text is no number")))?);
                }
                other => return Err(no_number(operator, other)),
            }
            total.count += 1;
        }
        Ok(total)
    }

    fn add(&mut self, number: NumberValue) {
        match number {
            NumberValue::Integer(integer) => self.integers += i128::from(integer),
            NumberValue::Float(double) => {
                self.has_doubles = true;
                self.add_double(double);
            }
        }
    }

    fn add_double(&mut self, double: f64) {
        let sum = self.doubles + double;
        let (large, small) =
            if self.doubles.abs() >= double.abs() { (self.doubles, double) } else { (double, self.doubles) };
        self.lost += (large - sum) + small;
        self.doubles = sum;
    }

    fn value(&self) -> NumberValue {
        if !self.has_doubles {
            return match i64::try_from(self.integers) {
                Ok(integer) => NumberValue::from_i64(integer),
                Err(_) => NumberValue::from_f64(self.integers as f64),
            };
        }
        let mut total = Self { doubles: self.doubles, lost: self.lost, ..Self::default() };
        total.add_double(self.integers as f64);
        NumberValue::from_f64(total.doubles + total.lost)
    }
}

/// Returns the number that a text denotes.
pub(in crate::operators) fn parse(text: &str) -> Option<NumberValue> {
    if let Ok(integer) = text.parse() {
        return Some(NumberValue::from_i64(integer));
    }
    let double = text.parse::<f64>().ok()?;
    double.is_finite().then(|| NumberValue::from_f64(double))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[NumberValue]) -> NumberValue {
        let mut total = NumberTotal::default();
        numbers.iter().for_each(|number| total.add(*number));
        total.value()
    }

    #[test]
    fn integers_and_doubles_lose_nothing_to_order() {
        let max = NumberValue::from_i64(i64::MAX);
        assert_eq!(sum(&[max, max, NumberValue::from_i64(-i64::MAX)]).as_i64(), Some(i64::MAX));
        let tenths = [NumberValue::from_f64(0.1); 10];
        assert_eq!(sum(&tenths).as_f64().to_bits(), 1.0_f64.to_bits());
        let spread = [1e100, 1.0, -1e100].map(NumberValue::from_f64);
        assert_eq!(sum(&spread).as_f64().to_bits(), 1.0_f64.to_bits());
        assert_eq!(sum(&[]).as_i64(), Some(0));
    }
}
