//! `round`, and the operators over decimal numbers: their results are texts with all their digits.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::datavalue::NumberValue;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::decimal::{Decimal, MAX_DIGITS};
use super::operand::{decimal_operand, mode_operand, places_operand};
use crate::operators::arguments::{elements, refuse};

/// Places before the point to which numbers are rounded, as a negative number of decimals.
const LEAST_PLACES: i32 = -(MAX_DIGITS as i32);

/// `[number, decimals, mode]`: the number that has no more decimals.
pub(crate) struct RoundOperator;

impl CustomOperator for RoundOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        // An integer has no decimals.
        if let [DataValue::Number(NumberValue::Integer(_))] = args {
            return Ok(args[0]);
        }
        let rounded = round("round", args)?.to_number();
        if !rounded.as_f64().is_finite() {
            return Err(refuse("round: the number is too large; decimal_round has no such limit"));
        }
        Ok(arena.alloc(DataValue::Number(rounded)))
    }
}

fn round(operator: &str, args: &[&DataValue<'_>]) -> datalogic_rs::Result<Decimal> {
    let ([number] | [number, _] | [number, _, _]) = args else {
        return Err(refuse(format!("{operator} takes a number, its decimals and a mode")));
    };
    let number = decimal_operand(operator, number)?;
    let places = places_operand(operator, args.get(1), LEAST_PLACES)?;
    let rounded = number.round(places, mode_operand(operator, args.get(2))?);
    rounded.map_err(|why| refuse(format!("{operator}: {why}")))
}

/// An operator over decimal numbers.
#[derive(Clone, Copy)]
pub(crate) enum Exact {
    /// `[number]`: its text.
    Decimal,
    /// Any number of summands, two at least.
    Add,
    /// `[number, subtrahend]`.
    Subtract,
    /// Any number of factors, two at least.
    Multiply,
    /// `[number, divisor, decimals, mode]`.
    Divide,
    /// `[number, decimals, mode]`.
    Round,
    /// `[one, other]`: -1, 0 or 1.
    Compare,
}

impl Exact {
    /// The operators.
    pub(crate) const ALL: [Self; 7] =
        [Self::Decimal, Self::Add, Self::Subtract, Self::Multiply, Self::Divide, Self::Round, Self::Compare];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Decimal => "decimal",
            Self::Add => "decimal_add",
            Self::Subtract => "decimal_sub",
            Self::Multiply => "decimal_mul",
            Self::Divide => "decimal_div",
            Self::Round => "decimal_round",
            Self::Compare => "decimal_compare",
        }
    }

    fn operands(self) -> &'static str {
        match self {
            Self::Decimal => "one number",
            Self::Add | Self::Multiply => "two numbers or more",
            Self::Subtract | Self::Compare => "two numbers",
            Self::Divide => "a number, a divisor, the decimals of the quotient and a mode",
            Self::Round => "a number, its decimals and a mode",
        }
    }

    fn fold(
        self,
        args: &[&DataValue<'_>],
        step: impl Fn(&Decimal, &Decimal) -> Result<Decimal, &'static str>,
    ) -> datalogic_rs::Result<Decimal> {
        let [first, others @ ..] = args else { return Err(self.miscounted()) };
        let mut result = decimal_operand(self.name(), first)?;
        for other in others {
            let other = decimal_operand(self.name(), other)?;
            result = step(&result, &other).map_err(|why| self.refused(why))?;
        }
        Ok(result)
    }

    fn miscounted(self) -> datalogic_rs::Error {
        refuse(format!("{} takes {}", self.name(), self.operands()))
    }

    fn refused(self, why: &str) -> datalogic_rs::Error {
        refuse(format!("{}: {why}", self.name()))
    }
}

impl CustomOperator for Exact {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let name = self.name();
        let result = match (self, args) {
            (Self::Decimal, [number]) => decimal_operand(name, number)?,
            (Self::Add, [_, _, ..]) => self.fold(args, Decimal::add)?,
            (Self::Multiply, [_, _, ..]) => self.fold(args, Decimal::multiply)?,
            (Self::Subtract, [_, _]) => self.fold(args, Decimal::subtract)?,
            (Self::Divide, [_, _, _] | [_, _, _, _]) => {
                let places = places_operand(name, args.get(2), 0)?;
                let mode = mode_operand(name, args.get(3))?;
                self.fold(&args[..2], |number, divisor| number.divide(divisor, places, mode))?
            }
            (Self::Round, [_] | [_, _] | [_, _, _]) => round(name, args)?,
            (Self::Compare, [one, other]) => {
                let order = decimal_operand(name, one)?.compare(&decimal_operand(name, other)?);
                return Ok(arena.i64(order as i64));
            }
            _ => return Err(self.miscounted()),
        };
        Ok(arena.string(&result.to_string()))
    }
}

/// `decimal_sum`: of the elements of a list, or of the operands, without those that are null.
pub(crate) struct ExactSum;

impl CustomOperator for ExactSum {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let mut sum = Decimal::from(0);
        for value in elements(args) {
            if !value.is_null() {
                let summand = decimal_operand("decimal_sum", value)?;
                sum = sum.add(&summand).map_err(|why| refuse(format!("decimal_sum: {why}")))?;
            }
        }
        Ok(arena.string(&sum.to_string()))
    }
}
