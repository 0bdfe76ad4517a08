//! The operators the service adds to JSONLogic.

mod echo;
mod encoding;
mod equality;
mod forced;
mod grouping;
mod guard;
mod missing;
mod random;
mod secret;
mod sorting;
mod text;

use std::sync::Arc;

use datalogic_rs::datavalue::NumberValue;
use datalogic_rs::{DataValue, Engine, Error};

pub(crate) use echo::ECHO;
pub(crate) use equality::{CONTAINED, DIFFERENT, EQUAL, SAME, UNEQUAL};
pub(crate) use forced::FORCED;
pub(crate) use grouping::{DISTINCT, DISTINCT_BY, GROUP_BY, LISTED};
pub(crate) use guard::{BOUNDED, PACED, TIMELY, start as start_time};
pub(crate) use missing::{MISSING, MISSING_SOME};
pub use secret::DeclaredSecrets;
pub(crate) use secret::SharedSecrets;
pub(crate) use sorting::{SORT, SORT_BY};
pub(crate) use text::CHARACTERS;

/// Operators of the service's own, which what an author writes never calls.
pub(crate) const INTERNAL: [&str; 19] = [
    BOUNDED,
    CHARACTERS,
    CONTAINED,
    DIFFERENT,
    DISTINCT,
    DISTINCT_BY,
    ECHO,
    EQUAL,
    FORCED,
    GROUP_BY,
    LISTED,
    MISSING,
    MISSING_SOME,
    PACED,
    SAME,
    SORT,
    SORT_BY,
    TIMELY,
    UNEQUAL,
];

/// The JSONLogic engine with templating and every operator of the service; no value it makes takes more than `max_bytes`.
pub(crate) fn engine(secrets: &SharedSecrets, max_bytes: usize) -> Engine {
    use encoding::{Decode, Encode, TextCodec};
    use equality::Equality;
    Engine::builder()
        .with_templating(true)
        .add_operator("secret", secret::SecretOperator(Arc::clone(secrets)))
        .add_operator("base64_encode", Encode(TextCodec::Base64))
        .add_operator("base64url_encode", Encode(TextCodec::Base64Url))
        .add_operator("hex_encode", Encode(TextCodec::Hex))
        .add_operator("base64_decode", Decode(TextCodec::Base64))
        .add_operator("base64url_decode", Decode(TextCodec::Base64Url))
        .add_operator("hex_decode", Decode(TextCodec::Hex))
        .add_operator("url_encode", text::UrlEncode)
        .add_operator("url_decode", text::UrlDecode)
        .add_operator("join", text::Join(max_bytes))
        .add_operator("random", random::RandomOperator)
        .add_operator(BOUNDED, guard::Bounded(max_bytes))
        .add_operator(TIMELY, guard::Timely::step())
        .add_operator(PACED, guard::Timely::paced())
        .add_operator(FORCED, forced::Forced)
        .add_operator(ECHO, echo::Echo)
        .add_operator(LISTED, grouping::Listed)
        .add_operator(DISTINCT, grouping::Distinct)
        .add_operator(DISTINCT_BY, grouping::DistinctBy)
        .add_operator(GROUP_BY, grouping::GroupBy)
        .add_operator(EQUAL, Equality::EQUAL)
        .add_operator(SAME, Equality::SAME)
        .add_operator(DIFFERENT, Equality::DIFFERENT)
        .add_operator(UNEQUAL, Equality::UNEQUAL)
        .add_operator(CONTAINED, equality::Contained)
        .add_operator(MISSING, missing::Missing)
        .add_operator(MISSING_SOME, missing::MissingSome)
        .add_operator(SORT, sorting::SortOperator)
        .add_operator(SORT_BY, sorting::SortByOperator)
        .add_operator(CHARACTERS, text::Characters)
        .build()
}

/// An argument error in the words of the operator's author.
fn refuse(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::invalid_arguments(message)
}

fn text_argument<'a>(operator: &str, args: &[&'a DataValue<'a>]) -> datalogic_rs::Result<&'a str> {
    match args {
        [DataValue::String(text)] => Ok(text),
        _ => Err(refuse(format!("{operator} takes one string"))),
    }
}

/// Appends a value as `cat` renders it: null is nothing, an array is its elements, an object is JSON.
fn render(value: &DataValue<'_>, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = match value {
        DataValue::Null => Ok(()),
        DataValue::String(text) => out.write_str(text),
        DataValue::Number(NumberValue::Integer(number)) => write!(out, "{number}"),
        DataValue::Array(items) => {
            items.iter().for_each(|item| render(item, out));
            Ok(())
        }
        other => write!(out, "{other}"),
    };
}
