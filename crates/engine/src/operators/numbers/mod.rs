//! `round`, `sum`, `avg`, `format_number` and the exact decimal numbers.

mod decimal;
mod exact;
mod format;
mod operand;
mod ordering;
mod total;

pub(crate) use decimal::RoundingMode;
pub(super) use exact::{Exact, ExactSum, RoundOperator};
pub(super) use format::FormatNumber;
pub(super) use ordering::order;
pub(super) use total::{Average, Sum, parse};
