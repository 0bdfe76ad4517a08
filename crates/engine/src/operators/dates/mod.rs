//! Operators of dates in formats.

mod format;
mod reading;

pub(super) use format::DateFormat;
pub(crate) use format::{DATE_FORMAT, UNKNOWN_CODE, is_date_format};
pub(super) use reading::ReadDate;
pub(crate) use reading::{LOCAL_TIME, READ_DATE};
