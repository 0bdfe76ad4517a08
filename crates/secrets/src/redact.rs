//! Redaction of secrets in a text of another system.
//!
//! A system that receives a secret may repeat it, often in another encoding: percent-encoded in a URL,
//! escaped in JSON, as entities in HTML. So the search compares unit by unit and accepts every encoding of
//! each unit. Base64 is not decoded: a value that is sent in base64 must be passed as a secret of its own.
//!
//! Both the text and the secret may come from an attacker, so the length of the text and the number of steps
//! are bounded.

mod spelling;

use std::collections::BTreeSet;

use svc_model::mask::MASK;

use spelling::{LONGEST_NAME, SIGNS, units};

/// Minimum length of a secret that is redacted, in bytes. A shorter one would match by accident all over a
/// text, and could be guessed without it.
const SHORTEST: usize = 4;

/// Maximum length of a text, in bytes. The rest is neither searched nor shown.
const LONGEST: usize = 16 * 1024;

/// Maximum number of comparisons of a position with a part of a secret. A text that needs more is masked as a
/// whole.
const STEPS: usize = 500_000;

/// Returns the text with the secrets masked in every encoding, including one that the end of the text
/// truncates. Overlapping matches become one mask.
pub fn redact<'s>(mut text: String, secrets: impl IntoIterator<Item = &'s str>) -> String {
    text.truncate(text.floor_char_boundary(LONGEST));
    let mut steps = STEPS;
    let secrets: Vec<&[u8]> =
        secrets.into_iter().map(str::as_bytes).filter(|secret| secret.len() >= SHORTEST).collect();
    let mut hidden: Vec<(usize, usize)> = Vec::new();
    let firsts: BTreeSet<u8> = secrets.iter().filter_map(|secret| secret.first()).copied().collect();
    for (at, byte) in text.bytes().enumerate() {
        if !SIGNS.contains(&byte) && !firsts.contains(&byte) {
            continue;
        }
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let longest = secrets.iter().filter_map(|secret| longest_match(rest, secret, &mut steps)).max();
        if steps == 0 {
            return MASK.to_owned();
        }
        let Some(length) = longest else { continue };
        match hidden.last_mut() {
            Some((_, end)) if at < *end => *end = at.saturating_add(length).max(*end),
            _ => hidden.push((at, at + length)),
        }
    }
    remove_spans(text, &hidden)
}

/// Returns the maximum length of a prefix of `text` that encodes `secret`; `None` without a match or without
/// steps left.
fn longest_match(text: &[u8], secret: &[u8], steps: &mut usize) -> Option<usize> {
    let mut longest = None;
    // Pairs of matched bytes of the secret and consumed bytes of the text. The order keeps a pair from being
    // tried twice.
    let mut ways = BTreeSet::from([(0, 0)]);
    while let Some((found, read)) = ways.pop_first() {
        *steps = steps.checked_sub(1)?;
        let due = secret.get(found..).unwrap_or_default();
        let rest = text.get(read..).unwrap_or_default();
        if due.is_empty() {
            longest = longest.max(Some(read));
            continue;
        }
        if found >= SHORTEST && is_cut_off(rest) {
            longest = longest.max(Some(text.len()));
        }
        for unit in units(rest) {
            ways.extend(unit.covers(due).map(|covered| (found + covered, read + unit.length)));
        }
    }
    longest
}

/// Returns true if the text ends here, or inside the encoding of one character.
fn is_cut_off(rest: &[u8]) -> bool {
    match rest {
        [] | [0xc2 | 0xc3] => true,
        [b'%', code @ ..] => code.len() < 2,
        [b'\\', code @ ..] => code.len() < 5 && code.iter().all(u8::is_ascii_alphanumeric),
        [b'&', name @ ..] => {
            name.len() < LONGEST_NAME && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
        }
        _ => false,
    }
}

/// Returns the text with a mask in place of each span. The spans are sorted and do not overlap.
fn remove_spans(text: String, spans: &[(usize, usize)]) -> String {
    if spans.is_empty() {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end) in spans {
        shown.push_str(text.get(from..*start).unwrap_or_default());
        shown.push_str(MASK);
        from = *end;
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    shown
}

#[cfg(test)]
mod tests;
