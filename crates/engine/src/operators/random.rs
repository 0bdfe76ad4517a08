//! `random`, `uuid` and `now`: values from the random source and the clock of the operating system, which a recording
//! keeps.

use std::collections::BTreeSet;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::datavalue::DataDateTime;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue, Error};
use uuid::Uuid;

use super::arguments::refuse;
use super::encoding::TextCodec;
use crate::clock::system_time;
use crate::recording::draw_value;

/// The versions of identifiers.
pub(crate) const UUID_VERSIONS: [&str; 2] = ["v4", "v7"];

/// Integers every JSON reader represents exactly.
const SAFE_INTEGER: i64 = (1 << 53) - 1;

/// `["uuid", version]`, `["digits", n]`, `["int", min, max]`, `["string", n, alphabet]`,
/// `["bytes", n, encoding]`.
pub(super) struct RandomOperator;

impl CustomOperator for RandomOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        draw_value(|| describe("random", args), arena, || draw_random(args, arena))
    }
}

/// Returns the name of an operator with its arguments.
fn describe(operator: &str, args: &[&DataValue<'_>]) -> String {
    let arguments: serde_json::Value = args.iter().map(|argument| argument.to_serde_value()).collect();
    format!("{operator} {arguments}")
}

fn draw_random<'a>(args: &[&'a DataValue<'a>], arena: &'a Bump) -> datalogic_rs::Result<&'a DataValue<'a>> {
    let [DataValue::String(kind), rest @ ..] = args else {
        return Err(refuse("random takes a kind and its arguments"));
    };
    match (*kind, rest) {
        ("uuid", []) => Ok(arena.string(&make_uuid("v4")?)),
        ("uuid", [DataValue::String(version)]) => Ok(arena.string(&make_uuid(version)?)),
        ("digits", [n]) => Ok(arena.string(&pick(length(n, 64)?, &characters("numeric")?)?)),
        ("int", [min, max]) => random_between(min, max).map(|number| arena.i64(number)),
        ("string", [n, DataValue::String(alphabet)]) => {
            Ok(arena.string(&pick(length(n, 1024)?, &characters(alphabet)?)?))
        }
        ("bytes", [n, DataValue::String(encoding)]) => {
            let encoding = match *encoding {
                "hex" => TextCodec::Hex,
                "base64" => TextCodec::Base64,
                "base64url" => TextCodec::Base64Url,
                _ => return Err(refuse("random bytes are hex, base64 or base64url")),
            };
            Ok(arena.string(&encoding.encode(&bytes(length(n, 1024)?)?)))
        }
        _ => Err(refuse("random knows uuid, digits, int, string and bytes, each with its arguments")),
    }
}

/// `[version]`: a new identifier.
pub(super) struct UuidOperator;

impl CustomOperator for UuidOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::String(version)] = args else { return Err(refuse("uuid takes a version")) };
        draw_value(|| format!("uuid {version}"), arena, || Ok(arena.string(&make_uuid(version)?)))
    }
}

/// `now`, as authors call it. Not an operator for authors.
pub(crate) const NOW: &str = "#now";

/// The instant of the evaluation, in whole seconds.
pub(super) struct NowOperator;

impl CustomOperator for NowOperator {
    fn evaluate<'a>(
        &self,
        _: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        draw_value(
            || "now".to_owned(),
            arena,
            || {
                let now = DataDateTime { dt: system_time(), original_offset: Some(0) };
                Ok(arena.string(&now.to_iso_string()))
            },
        )
    }
}

/// Returns a new identifier: one of random digits, or one that begins with the time.
fn make_uuid(version: &str) -> datalogic_rs::Result<String> {
    match version {
        "v4" => Ok(Uuid::new_v4().to_string()),
        "v7" => Ok(Uuid::now_v7().to_string()),
        _ => Err(refuse(format!("a uuid has the version {}", UUID_VERSIONS.join(" or ")))),
    }
}

fn bytes(count: usize) -> datalogic_rs::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).map_err(|_| Error::custom_message("no random source"))?;
    Ok(bytes)
}

/// Returns a uniform number below `bound`, without modulo bias.
fn random_below(bound: u64) -> datalogic_rs::Result<u64> {
    let accepted = u64::MAX - u64::MAX % bound;
    loop {
        let number = getrandom::u64().map_err(|_| Error::custom_message("no random source"))?;
        if number < accepted {
            return Ok(number % bound);
        }
    }
}

fn length(value: &DataValue<'_>, max: usize) -> datalogic_rs::Result<usize> {
    let length = value.as_i64().and_then(|n| usize::try_from(n).ok());
    length.filter(|n| *n <= max).ok_or_else(|| refuse(format!("random takes a length from 0 to {max}")))
}

fn random_between(min: &DataValue<'_>, max: &DataValue<'_>) -> datalogic_rs::Result<i64> {
    let safe = |value: &DataValue<'_>| value.as_i64().filter(|n| (-SAFE_INTEGER..=SAFE_INTEGER).contains(n));
    match (safe(min), safe(max)) {
        (Some(min), Some(max)) if min <= max => {
            let offset = random_below(min.abs_diff(max) + 1)?;
            Ok(min.wrapping_add_unsigned(offset))
        }
        _ => Err(refuse("random int takes two integers in order, within 2^53-1")),
    }
}

fn characters(alphabet: &str) -> datalogic_rs::Result<Vec<char>> {
    let lower = 'a'..='z';
    let upper = 'A'..='Z';
    let digits = '0'..='9';
    Ok(match alphabet {
        "alphanumeric" => upper.chain(lower).chain(digits).collect(),
        "hex" => digits.chain('a'..='f').collect(),
        "numeric" => digits.collect(),
        "url-safe" => upper.chain(lower).chain(digits).chain(['-', '_']).collect(),
        own => {
            let characters: Vec<char> = own.chars().collect();
            let distinct = characters.iter().collect::<BTreeSet<_>>().len();
            if !(2..=256).contains(&distinct) || distinct != characters.len() {
                return Err(refuse("a random alphabet has 2 to 256 distinct characters"));
            }
            characters
        }
    })
}

fn pick(count: usize, from: &[char]) -> datalogic_rs::Result<String> {
    (0..count).map(|_| random_below(from.len() as u64).map(|n| from[n as usize])).collect()
}
