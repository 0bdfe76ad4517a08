//! `url_encode`, `url_decode`, `join`, `replace`.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::bumpalo::collections::Vec as BumpVec;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::arguments::{refuse, render, text_argument};
use super::guard::{spend, text_units};

/// `[text]`: its characters, as `split` at an empty text gives them. Not an operator for authors.
pub(crate) const CHARACTERS: &str = "#characters";

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes one string; a space is `%20`.
pub(super) struct UrlEncode;

impl CustomOperator for UrlEncode {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let text = text_argument("url_encode", args)?;
        Ok(arena.string(&utf8_percent_encode(text, RESERVED).to_string()))
    }
}

/// Decodes one percent-encoded string; `+` stays `+`.
pub(super) struct UrlDecode;

impl CustomOperator for UrlDecode {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let text = text_argument("url_decode", args)?;
        let decoded = percent_decode_str(text)
            .decode_utf8()
            .map_err(|_| refuse("the percent-encoded text does not hold UTF-8"))?;
        Ok(arena.string(&decoded))
    }
}

/// `[array, separator]`: the elements as `cat` renders them, null as nothing; so many bytes at most.
pub(super) struct Join(pub(super) usize);

impl CustomOperator for Join {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::Array(items), DataValue::String(separator)] = args else {
            return Err(refuse("join takes an array and a separator"));
        };
        let mut joined = String::new();
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                joined.push_str(separator);
            }
            let before = joined.len();
            render(item, &mut joined)?;
            spend(text_units(&joined[before..]))?;
            if joined.len() > self.0 {
                return Err(refuse(format!("the text takes more than {} MiB", self.0 >> 20)));
            }
        }
        Ok(arena.string(&joined))
    }
}

/// `[text, from, to]`: every occurrence of a literal text by another; so many bytes at most.
pub(super) struct ReplaceOperator(pub(super) usize);

impl CustomOperator for ReplaceOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::String(text), DataValue::String(from), DataValue::String(to)] = args else {
            return Err(refuse("replace takes three texts: where to look, for what, and the replacement"));
        };
        if from.is_empty() {
            return Err(refuse("replace takes a text to look for that is not empty"));
        }
        spend(text_units(text))?;
        let (mut replaced, mut end) = (String::new(), 0);
        for (at, found) in text.match_indices(*from) {
            spend(text_units(to))?;
            replaced.push_str(&text[end..at]);
            replaced.push_str(to);
            if replaced.len() > self.0 {
                return Err(refuse(format!("the text takes more than {} MiB", self.0 >> 20)));
            }
            end = at + found.len();
        }
        replaced.push_str(&text[end..]);
        Ok(arena.string(&replaced))
    }
}

pub(super) struct Characters;

impl CustomOperator for Characters {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let text = text_argument("split", args)?;
        let mut characters = BumpVec::with_capacity_in(text.len(), arena);
        for (at, character) in text.char_indices() {
            spend(1)?;
            characters.push(DataValue::String(&text[at..at + character.len_utf8()]));
        }
        if characters.is_empty() {
            characters.push(DataValue::String(""));
        }
        Ok(arena.alloc(DataValue::Array(characters.into_bump_slice())))
    }
}
