//! The guard of values that grow while an expression is evaluated. Not an operator for authors.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue, Error};

use crate::depth::{self, MAX_DEPTH};

/// The name no author writes.
pub(crate) const SHALLOW: &str = "#shallow";

/// Its one argument, unless that nests too deep.
pub(super) struct Shallow;

impl CustomOperator for Shallow {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        _: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        match args {
            [value] if !depth::arena_exceeds(value, MAX_DEPTH) => Ok(value),
            _ => Err(Error::custom_message("the value nests too deep")),
        }
    }
}
