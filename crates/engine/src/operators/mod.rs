//! The operators the service adds to JSONLogic.

mod arguments;
mod comparison;
mod compiled_pattern;
mod dates;
mod echo;
mod encoding;
mod equality;
mod forced;
mod grouping;
mod groups;
mod guard;
mod hash;
mod index;
mod large_integers;
mod missing;
mod numbers;
mod patterns;
mod random;
mod secret;
mod sorting;
mod text;

use std::sync::Arc;

use datalogic_rs::Engine;

pub(crate) use arguments::kind_of;
pub(crate) use comparison::{AT_LEAST, AT_MOST, GREATER, LESS};
pub(crate) use compiled_pattern::CompiledPattern;
pub(crate) use dates::{DATE_FORMAT, LOCAL_TIME, READ_DATE, UNKNOWN_CODE, is_date_format};
pub(crate) use echo::ECHO;
pub(crate) use equality::{CONTAINED, DIFFERENT, EQUAL, SAME, UNEQUAL, may_read_as_time};
pub(crate) use forced::FORCED;
pub(crate) use grouping::{DISTINCT, DISTINCT_BY, GROUP_BY, LISTED};
pub(crate) use groups::{GROUPS, has_named_groups};
#[cfg(test)]
pub(crate) use guard::gaps;
pub(crate) use guard::{BOUNDED, PACED, TIMELY, start as start_time};
pub(crate) use hash::{ALGORITHMS, DIGEST_FORMS};
pub(crate) use large_integers::{CONCAT, KnownIntegers};
pub(crate) use missing::{MISSING, MISSING_SOME};
pub(crate) use numbers::RoundingMode;
pub(crate) use patterns::{PATTERN_OPERATORS, PatternPool};
pub(crate) use random::{NOW, UUID_VERSIONS};
pub use secret::DeclaredSecrets;
pub(crate) use secret::SharedSecrets;
pub(crate) use sorting::{SORT, SORT_BY};
pub(crate) use text::CHARACTERS;

/// Operators of the service's own, which what an author writes never calls.
pub(crate) const INTERNAL: [&str; 28] = [
    AT_LEAST,
    AT_MOST,
    BOUNDED,
    CHARACTERS,
    CONCAT,
    CONTAINED,
    DATE_FORMAT,
    DIFFERENT,
    DISTINCT,
    DISTINCT_BY,
    ECHO,
    EQUAL,
    FORCED,
    GROUP_BY,
    GREATER,
    GROUPS,
    LESS,
    LISTED,
    MISSING,
    MISSING_SOME,
    NOW,
    PACED,
    READ_DATE,
    SAME,
    SORT,
    SORT_BY,
    TIMELY,
    UNEQUAL,
];

/// Creates the JSONLogic engine with templating and every operator of the service; no value it makes takes
/// more than `max_bytes`.
pub(crate) fn engine(secrets: &SharedSecrets, patterns: &Arc<PatternPool>, max_bytes: usize) -> Engine {
    use encoding::{Decode, Encode, TextCodec};
    use equality::Equality;
    let builder = numbers::Exact::ALL
        .into_iter()
        .fold(Engine::builder(), |builder, operator| builder.add_operator(operator.name(), operator));
    let builder = comparison::NumberComparison::ALL
        .into_iter()
        .fold(builder, |builder, (name, operator)| builder.add_operator(name, operator));
    builder
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
        .add_operator("uuid", random::UuidOperator)
        .add_operator(NOW, random::NowOperator)
        .add_operator("round", numbers::RoundOperator)
        .add_operator("sum", numbers::Sum)
        .add_operator("avg", numbers::Average)
        .add_operator("decimal_sum", numbers::ExactSum)
        .add_operator("format_number", numbers::FormatNumber)
        .add_operator("replace", text::ReplaceOperator(max_bytes))
        .add_operator("matches", patterns::MatchesOperator(Arc::clone(patterns)))
        .add_operator("capture", patterns::CaptureOperator(Arc::clone(patterns)))
        .add_operator("index", index::IndexOperator)
        .add_operator("hash", hash::HashOperator)
        .add_operator(DATE_FORMAT, dates::DateFormat)
        .add_operator(READ_DATE, dates::ReadDate)
        .add_operator(BOUNDED, guard::Bounded(max_bytes))
        .add_operator(TIMELY, guard::Timely::step())
        .add_operator(PACED, guard::Timely::always_checking())
        .add_operator(FORCED, forced::Forced)
        .add_operator(ECHO, echo::Echo)
        .add_operator(LISTED, grouping::Listed)
        .add_operator(DISTINCT, grouping::Distinct)
        .add_operator(DISTINCT_BY, grouping::DistinctBy)
        .add_operator(GROUP_BY, grouping::GroupBy)
        .add_operator(GROUPS, groups::NamedGroups::default())
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
        .add_operator(CONCAT, large_integers::Concat)
        .build()
}
