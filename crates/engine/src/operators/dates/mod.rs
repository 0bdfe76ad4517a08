//! Operators of dates in formats.

mod format;
mod reading;

pub(super) use format::DateFormat;
pub(crate) use format::{DATE_FORMAT, UNKNOWN_CODE, is_date_format};
pub(crate) use reading::READ_DATE;
pub(super) use reading::ReadDate;
