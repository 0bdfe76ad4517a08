//! Members an author named as the service names operators of its own. Not an operator for authors.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};

pub(crate) const ECHO: &str = "#echo";

/// `[name, value]`: an object of this one member, as any name that is no operator gives.
pub(super) struct Echo;

impl CustomOperator for Echo {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::String(name), value] = args else {
            return Err(super::arguments::refuse("an echo takes a name and a value"));
        };
        Ok(arena.alloc(DataValue::Object(arena.alloc_slice_copy(&[(*name, **value)]))))
    }
}
