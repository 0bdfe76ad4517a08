//! Whole numbers of 2^63 and more in texts: `cat` and `join` write the digits that the message has, not those of the
//! nearest double.

use std::cell::RefCell;
use std::fmt::Write;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::bumpalo::collections::String as BumpString;
use datalogic_rs::datavalue::NumberValue;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};

use super::arguments::refuse;
use super::guard::{spend, text_units};
use crate::scope::LargeIntegers;

/// `cat`, with all digits of large integers. Not an operator for authors.
pub(crate) const CONCAT: &str = "#cat";

thread_local! {
    static KNOWN: RefCell<LargeIntegers> = RefCell::default();
}

/// The large integers of an evaluation, known to its operators until this is dropped.
pub(crate) struct KnownIntegers(());

impl KnownIntegers {
    /// Makes the large integers of an arena known.
    pub(crate) fn of(integers: &LargeIntegers) -> Self {
        KNOWN.set(integers.clone());
        Self(())
    }
}

impl Drop for KnownIntegers {
    fn drop(&mut self) {
        KNOWN.take();
    }
}

/// Appends a double, or the whole number that it denotes.
pub(super) fn write_double(double: f64, out: &mut impl Write) -> datalogic_rs::Result<()> {
    // Writing to a string cannot fail.
    let _ = match KNOWN.with_borrow(|known| known.find(double)) {
        None => write!(out, "{}", NumberValue::Float(double)),
        Some(Some(number)) => write!(out, "{number}"),
        Some(None) => {
            let message = format!("two integers above {} are alike as numbers; send them as texts", i64::MAX);
            return Err(refuse(message));
        }
    };
    Ok(())
}

pub(super) struct Concat;

impl CustomOperator for Concat {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let mut text = BumpString::new_in(arena);
        for argument in args {
            let before = text.len();
            match argument {
                DataValue::Array(items) => items.iter().try_for_each(|item| append(item, &mut text))?,
                other => append(other, &mut text)?,
            }
            spend(text_units(&text[before..]))?;
        }
        Ok(arena.alloc(DataValue::String(text.into_bump_str())))
    }
}

fn append(value: &DataValue<'_>, text: &mut BumpString<'_>) -> datalogic_rs::Result<()> {
    match value {
        DataValue::Null => {}
        DataValue::String(part) => text.push_str(part),
        DataValue::Number(NumberValue::Float(double)) => return write_double(*double, text),
        other => {
            // Writing to a string cannot fail.
            let _ = write!(text, "{other}");
        }
    }
    Ok(())
}
