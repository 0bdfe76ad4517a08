//! Takes secrets out of a text that somebody else wrote.
//!
//! Whoever is sent a secret may repeat it, and seldom as it was sent: percent-encoded in a URL, escaped in a JSON text, as
//! entities in a page. So a secret is looked for unit by unit, each in whatever spelling. Nothing here reads base64: what is sent
//! in it is a secret of its own.
//!
//! Whoever writes the text may mean harm, and so may who issued the secret: how much is read, and how much is tried, has a
//! bound.

mod spelling;

use std::collections::BTreeSet;

use svc_model::mask::MASK;

use spelling::{LONGEST_NAME, SIGNS, units};

/// A shorter value stays where it is: it would be found by accident all over a text, and whoever wants it needs no text to guess
/// it.
const SHORTEST: usize = 4;

/// More of a text is not read, and not shown, in bytes.
const LONGEST: usize = 16 * 1024;

/// Looks at one place for one part of a secret; a text that takes more is not shown at all.
const STEPS: usize = 500_000;

/// A text without these secrets, in whatever spelling it has them, one that the end of the text cuts off included. What several
/// of them cover is hidden as one.
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
        let longest = secrets.iter().filter_map(|secret| spelled(rest, secret, &mut steps)).max();
        if steps == 0 {
            return MASK.to_owned();
        }
        let Some(length) = longest else { continue };
        match hidden.last_mut() {
            Some((_, end)) if at < *end => *end = at.saturating_add(length).max(*end),
            _ => hidden.push((at, at + length)),
        }
    }
    without(text, &hidden)
}

/// How much of the beginning of a text spells a secret, at most; nothing, once there are no steps left.
fn spelled(text: &[u8], secret: &[u8], steps: &mut usize) -> Option<usize> {
    let mut longest = None;
    // What of the secret is found, and what of the text is read for it: in order, so that no way is gone twice.
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

/// Whether a text ends here, or within what stands for one character.
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

/// A text with a mask in the place of each of these spans, which are in order and apart.
fn without(text: String, spans: &[(usize, usize)]) -> String {
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
