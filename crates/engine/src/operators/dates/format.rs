//! The formats that `format_date` writes. Not an operator for authors.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};

use crate::operators::arguments::refuse;

/// `[format]`: the format itself, if `format_date` can write it.
pub(crate) const DATE_FORMAT: &str = "#date_format";

/// The reason why a format is refused.
pub(crate) const UNKNOWN_CODE: &str =
    "format_date: a % in the format begins no code of strftime; %% writes a percent sign";

/// The words of a format that mean codes, longer ones before those that they begin with.
const SHORTHANDS: [(&str, &str); 10] = [
    ("yyyy", "%Y"),
    ("MMMM", "%B"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
    ("EEEE", "%A"),
    ("EEE", "%a"),
];

/// Refuses a format with a code that does not exist, or that only readers of dates know, such as `%#z`: the library
/// underneath panics over both.
pub(in crate::operators) struct DateFormat;

impl CustomOperator for DateFormat {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        _: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        match args {
            [DataValue::String(text)] if !is_date_format(text) => Err(refuse(UNKNOWN_CODE)),
            [format] => Ok(*format),
            _ => Err(refuse("format_date takes one format")),
        }
    }
}

/// Returns `true` if every percent sign of a format begins a code that can be written. Formatting an instant decides it:
/// a code fails for each of them, or for none.
pub(crate) fn is_date_format(text: &str) -> bool {
    let codes = expand_shorthands(text);
    let mut written = String::new();
    write!(written, "{}", DateTime::<Utc>::UNIX_EPOCH.format(&codes)).is_ok()
}

/// Puts a code in the place of each shorthand, as the library does.
pub(super) fn expand_shorthands(text: &str) -> String {
    let mut codes = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let shorthand = SHORTHANDS.iter().find(|(word, _)| rest.starts_with(word));
        let taken = match (next, shorthand) {
            ('%', _) => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (_, Some((word, _))) => word.len(),
            (_, None) => next.len_utf8(),
        };
        let (part, behind) = rest.split_at(taken);
        codes.push_str(shorthand.map_or(part, |&(_, code)| code));
        rest = behind;
    }
    codes
}
